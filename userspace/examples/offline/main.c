// SPDX-License-Identifier: GPL-2.0
/*
 * offline [OPTION...] measure ROWSxWORKERSxSECONDS...
 * offline [OPTION...] vanish
 *
 *   --ways NAMES     of version3, version2, column4, column2, token, parked,
 *                    unchanged, none, with commas between (all but parked and none)
 *   --think MS       to think, from reading a row to writing it (300)
 *   --rest MS        between two edits of a worker, on average (600)
 *   --pause MS       after a conflict, in those ways that cannot wait for its end (300)
 *   --seed N         for other random numbers
 *   --repeats N      vanish: how often (3)
 *   --lease MS       vanish: the lease, where there is one (1000)
 *   --limit MS       vanish: how long another editor tries (5000)
 *
 * measure: workers edit rows of a table, each way for so many seconds.  Every edit adds
 * one to the value that it has read, so that the sum tells of lost updates.
 * vanish: an editor is killed or paused amid an edit, and another wants the row.
 *
 * Prints CSV.  The exit status is 1 if an update was lost.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "vanish.h"

#define MS		1000000ULL
#define WAYS_MAX	8

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: offline [OPTION...] measure ROWSxWORKERSxSECONDS...\n", stderr);
	fputs("       offline [OPTION...] vanish\n", stderr);
	fputs("options: --ways NAMES --think MS --rest MS --pause MS --seed N\n", stderr);
	fputs("         --repeats N --lease MS --limit MS\n", stderr);
	exit(2);
}

static unsigned int number(const char *option, const char *text, unsigned int least)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	if (!*text || *text == '-' || *end || value < least || value > 1000000) {
		fprintf(stderr, "offline: --%s %s: a number from %u to 1000000 is needed\n",
			option, text, least);
		exit(2);
	}
	return value;
}

static struct size size_of(const char *text)
{
	struct size size;
	int end = 0;

	if (sscanf(text, "%ux%ux%lf%n", &size.rows, &size.workers, &size.seconds, &end) == 3 &&
	    !text[end] && size.rows >= 1 && size.rows <= 1000 && size.workers >= 1 &&
	    size.workers <= 64 && size.seconds > 0 && size.seconds <= 3600)
		return size;
	fprintf(stderr, "offline: %s: ROWSxWORKERSxSECONDS is needed, such as 1x16x24\n", text);
	fputs("offline: up to 1000 rows, 64 workers, 3600 seconds\n", stderr);
	exit(2);
}

static unsigned int parse_ways(char *names, const struct way **ways)
{
	unsigned int nr = 0;
	char *name;

	for (name = strtok(names, ","); name; name = strtok(NULL, ",")) {
		if (nr == WAYS_MAX) {
			fprintf(stderr, "offline: at most %d ways\n", WAYS_MAX);
			exit(2);
		}
		ways[nr] = way_find(name);
		if (!ways[nr++]) {
			fprintf(stderr, "offline: there is no way \"%s\"\n", name);
			usage();
		}
	}
	if (!nr)
		usage();
	return nr;
}

static int run_measure(struct measure *what, char **sizes, unsigned int nr)
{
	unsigned int i;
	bool right;

	if (!nr)
		usage();
	what->nr_sizes = nr;
	what->sizes = calloc(nr, sizeof(*what->sizes));
	if (!what->sizes)
		die_errno("memory");
	for (i = 0; i < nr; i++)
		what->sizes[i] = size_of(sizes[i]);
	printf("# think %llu ms, rest %llu ms on average, pause on conflict %llu ms, seed %u\n",
	       what->think / MS, what->rest / MS, what->pause / MS, what->seed);
	for (i = 0; i < what->nr_ways; i++)
		printf("# way %s: %s\n", what->ways[i]->name, what->ways[i]->title);
	right = measure(what);
	free(what->sizes);
	return !right;
}

static int run_vanish(const struct vanish *what)
{
	printf("# %u times each, lease %llu ms, given up after %llu ms\n", what->repeats,
	       what->lease / MS, what->limit / MS);
	return !vanish(what);
}

enum { WAYS, THINK, REST, PAUSE, SEED, REPEATS, LEASE, LIMIT };

static const struct option options[] = {
	{ "ways", required_argument, NULL, WAYS },
	{ "think", required_argument, NULL, THINK },
	{ "rest", required_argument, NULL, REST },
	{ "pause", required_argument, NULL, PAUSE },
	{ "seed", required_argument, NULL, SEED },
	{ "repeats", required_argument, NULL, REPEATS },
	{ "lease", required_argument, NULL, LEASE },
	{ "limit", required_argument, NULL, LIMIT },
	{ NULL, 0, NULL, 0 }
};

int main(int argc, char **argv)
{
	const struct way *ways[WAYS_MAX];
	char default_ways[] = "version3,version2,column4,column2,token,unchanged";
	struct measure measure = {
		.ways = ways,
		.think = 300 * MS,
		.rest = 600 * MS,
		.seed = 1,
	};
	struct vanish vanish = { .repeats = 3, .lease = 1000 * MS, .limit = 5000 * MS };
	uint64_t pause = 300 * MS;
	int option, status;

	measure.nr_ways = parse_ways(default_ways, ways);
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (option) {
		case WAYS:
			measure.nr_ways = parse_ways(optarg, ways);
			break;
		case THINK:
			measure.think = number("think", optarg, 0) * MS;
			break;
		case REST:
			measure.rest = number("rest", optarg, 0) * MS;
			break;
		case PAUSE:
			pause = number("pause", optarg, 0) * MS;
			break;
		case SEED:
			measure.seed = number("seed", optarg, 0);
			break;
		case REPEATS:
			vanish.repeats = number("repeats", optarg, 1);
			break;
		case LEASE:
			vanish.lease = number("lease", optarg, 1) * MS;
			break;
		case LIMIT:
			vanish.limit = number("limit", optarg, 1) * MS;
			break;
		default:
			usage();
		}
	}
	measure.pause = pause;
	vanish.pause = pause;
	argv += optind;
	argc -= optind;
	if (argc && !strcmp(argv[0], "measure"))
		status = run_measure(&measure, argv + 1, argc - 1);
	else if (argc == 1 && !strcmp(argv[0], "vanish"))
		status = run_vanish(&vanish);
	else
		usage();
	if (status)
		fputs("offline: updates were lost\n", stderr);
	return status;
}
