// SPDX-License-Identifier: GPL-2.0
/*
 * bench [--short] [GROUP ...]: what the calls cost, and what their peers' calls cost
 *
 * --short: few rounds, for a clock that counts instructions: they differ little.
 * Prints CSV: the median, and how far the rounds were from it.
 */
#include <sys/wait.h>

#include "bench.h"

/* Short, so that most rounds are over before something else runs. */
#define ROUND_NS	NSEC_PER_MSEC
/* On a machine that is busy with other things fewer rounds must do. */
#define GROUP_NS	(20 * NSEC_PER_SEC)
#define LEAST_ROUNDS	5

static __u64 group_ns = GROUP_NS;

static const struct group *const groups[] = {
	&calls_group,
	&ring_group,
	&servers_group,
	&release_group,
	&handover_group,
	&crowd_group,
	&growth_group,
	&memory_group,
	&pending_group,
};

void fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	_exit(1);
}

void record(struct bench_row *row, double value)
{
	/* Grows by doubling, when the number is a power of two. */
	if (!(row->count & (row->count - 1))) {
		row->values = realloc(row->values, 2 * (row->count + 1) * sizeof(*row->values));
		if (!row->values)
			fail("realloc");
	}
	row->values[row->count++] = value;
}

static __u64 time_of(struct bench_row *row)
{
	__u64 begin = now();

	row->loop(row, row->calls);
	return now() - begin;
}

static __u64 quickest_of(struct bench_row *row, unsigned int tries)
{
	__u64 quickest = ~0ULL, time;

	while (tries--) {
		time = time_of(row);
		if (time < quickest)
			quickest = time;
	}
	return quickest;
}

static void measure(struct bench_row *row)
{
	if (row->sample)
		row->sample(row);
	else
		record(row, (double)time_of(row) / row->calls);
}

static void warm_up(const struct group *group, struct bench_row *row)
{
	if (row->sample) {
		/* What is done once may be what can not be done again. */
		if (group->rounds > 1)
			row->sample(row);
		row->count = 0;
		return;
	}
	for (row->calls = 1; quickest_of(row, 5) < ROUND_NS; row->calls *= 2)
		;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Nearest rank. */
static double quantile(const struct bench_row *row, double q)
{
	size_t rank = q * row->count;

	return row->values[rank < row->count ? rank : row->count - 1];
}

static void report(const struct group *group, const struct bench_row *row)
{
	qsort(row->values, row->count, sizeof(*row->values), compare);
	printf("%s,%s,%u,%s,%.1f,%.1f,%.1f,%.1f,%.1f,%zu\n", group->name, row->name, row->param,
	       row->unit ?: "ns", quantile(row, 0.5), quantile(row, 0), quantile(row, 1),
	       quantile(row, 0.99), quantile(row, 0.999), row->count);
}

static void run_group(const struct group *group)
{
	struct bench_row *end = group->rows + group->nr_rows, *row;
	__u64 begin = now();
	bool *there;

	there = calloc(group->nr_rows, sizeof(*there));
	pin_to_cpu(0);
	for (row = group->rows; row < end; row++) {
		there[row - group->rows] = !row->start || row->start(row);
		if (there[row - group->rows])
			warm_up(group, row);
	}
	for (unsigned int round = 0; round < group->rounds; round++) {
		if (round >= LEAST_ROUNDS && now() - begin > group_ns)
			break;
		for (row = group->rows; row < end; row++)
			if (there[row - group->rows])
				measure(row);
	}
	for (row = group->rows; row < end; row++)
		if (there[row - group->rows])
			report(group, row);
	fflush(stdout);
	fprintf(stderr, "bench: %s: %.1f s\n", group->name, (now() - begin) / 1e9);
	_exit(0);
}

static bool chosen(const struct group *group, char **names)
{
	bool any = *names;

	for (; *names; names++)
		if (!strcmp(*names, group->name))
			return true;
	return !any;
}

static bool known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(name, groups[i]->name))
			return true;
	fprintf(stderr, "bench: no group %s; there are", name);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		fprintf(stderr, " %s", groups[i]->name);
	fputc('\n', stderr);
	return false;
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1 && !strcmp(argv[1], "--short")) {
		group_ns = 0;
		argv++;
	}
	for (char **name = argv + 1; *name; name++)
		if (!known(*name))
			return 2;
	puts("group,row,param,unit,median,min,max,p99,p999,samples");
	fflush(stdout);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (!chosen(groups[i], argv + 1))
			continue;
		if (!must(spawn()))
			run_group(groups[i]);
		must(wait(&status));
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return 1;
	}
	return 0;
}
