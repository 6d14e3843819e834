// SPDX-License-Identifier: GPL-2.0
/* entitylock stat: the numbers of a domain, and how long was waited in it */
#include <fcntl.h>
#include <unistd.h>

#include "duration.h"
#include "json.h"
#include "request.h"
#include "rounds.h"

static const struct subcommand subcommand = {
	.name = "stat",
	.bit = STAT,
	.help =
"Usage: entitylock stat [OPTION...]\n"
"\n"
"Prints how many entities, tokens and waiters there are in the domain, how many\n"
"locks were granted, and how many of those were waited for; then how long, a line\n"
"for each power of two.  With -i, rates: what has happened since the last round.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
};

#define BAR	40	/* the longest, in characters */

/* The upper end of a bucket, in nanoseconds. */
static uint64_t bucket_end(unsigned int bucket)
{
	return (1ULL << bucket) * 1000;
}

static void print_histogram(const char *title, const uint64_t *buckets)
{
	unsigned int i, first = ENTITYLOCK_STATS_BUCKETS, last = 0;
	char text[DURATION_TEXT];
	uint64_t most = 0;

	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = most > buckets[i] ? most : buckets[i];
	}
	if (!most)
		return;
	printf("\n%s\n", title);
	for (i = first; i <= last; i++) {
		if (i == ENTITYLOCK_STATS_BUCKETS - 1)
			printf("  longer    ");
		else
			printf("  < %-8s", duration(bucket_end(i), text));
		printf("%12llu ", (unsigned long long)buckets[i]);
		/* None is shown as none, and few as something. */
		printf("%.*s\n", (int)((buckets[i] * BAR + most - 1) / most),
		       "########################################");
	}
}

static void print_all(const struct entitylock_stats *stats)
{
	printf("entities   %llu\n", (unsigned long long)stats->entities);
	printf("tokens     %llu\n", (unsigned long long)stats->tokens);
	printf("waiters    %llu\n", (unsigned long long)stats->waiters);
	printf("in flight  %llu\n", (unsigned long long)stats->in_flight);
	printf("grants     %llu\n", (unsigned long long)stats->grants);
	printf("contended  %llu", (unsigned long long)stats->contended);
	if (stats->grants)
		printf(" (%.1f %%)", 100.0 * (double)stats->contended / (double)stats->grants);
	putchar('\n');
	print_histogram("waited", stats->waits);
	if (stats->counts_holds)
		print_histogram("held", stats->holds);
}

/* What has happened since @before; what there is stays as it is. */
static struct entitylock_stats since(const struct entitylock_stats *now,
				     const struct entitylock_stats *before)
{
	struct entitylock_stats stats = *now;
	unsigned int i;

	stats.grants -= before->grants;
	stats.contended -= before->contended;
	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS; i++) {
		stats.waits[i] -= before->waits[i];
		stats.holds[i] -= before->holds[i];
	}
	return stats;
}

/* The time below which the waits in that part of the buckets were. */
static const char *part_below(const uint64_t *buckets, double part, char text[DURATION_TEXT])
{
	uint64_t total = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS; i++)
		total += buckets[i];
	if (!total)
		return "-";
	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS - 1; i++) {
		seen += buckets[i];
		if ((double)seen >= part * (double)total)
			break;
	}
	return duration(bucket_end(i), text);
}

static void print_rates(const struct entitylock_stats *stats, uint64_t ns)
{
	double seconds = (double)ns / (double)NSEC_PER_SEC;
	char half[DURATION_TEXT], most[DURATION_TEXT];

	printf("%8llu %8llu %8llu %9llu %12.1f %12.1f %10s %10s\n",
	       (unsigned long long)stats->entities, (unsigned long long)stats->tokens,
	       (unsigned long long)stats->waiters, (unsigned long long)stats->in_flight,
	       (double)stats->grants / seconds, (double)stats->contended / seconds,
	       part_below(stats->waits, 0.5, half), part_below(stats->waits, 0.99, most));
}

static void put_histogram(const char *key, const uint64_t *buckets)
{
	unsigned int i;

	json_open(key, '[');
	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS; i++)
		json_number(NULL, buckets[i]);
	json_close(']');
}

/* @ns is the time in which it has happened, 0 = since the domain was made. */
static void print_json(const struct entitylock_stats *stats, uint64_t ns)
{
	json_begin();
	if (ns)
		json_seconds("interval", ns);
	else
		json_null("interval");
	json_number("entities", stats->entities);
	json_number("tokens", stats->tokens);
	json_number("waiters", stats->waiters);
	json_number("in_flight", stats->in_flight);
	json_number("grants", stats->grants);
	json_number("contended", stats->contended);
	put_histogram("waits", stats->waits);
	if (stats->counts_holds)
		put_histogram("holds", stats->holds);
	else
		json_null("holds");
	json_close('}');
}

static int refused(const struct request *request, int error)
{
	return domain_refused(request, "read the statistics", ENTITYLOCK_VERB_STATS, error);
}

/* A title now and then, for those who scroll. */
#define ROWS_OF_TITLE	20

static int print_rounds(const struct request *request, int domain,
			struct entitylock_stats *before)
{
	uint64_t last = entitylock_deadline_in(0), next = last + request->interval, round, now;
	struct entitylock_stats stats, rates;
	int err, status = 0;

	rounds_begin();
	for (round = 0; !status && (!request->rounds || round < request->rounds); round++) {
		while (!rounds_ended() && entitylock_deadline_in(0) < next)
			rounds_sleep(next, -1);
		if (rounds_ended())
			break;
		err = entitylock_stats(domain, &stats);
		if (err)
			return refused(request, err);
		now = entitylock_deadline_in(0);
		rates = since(&stats, before);
		if (!request->json && !(round % ROWS_OF_TITLE))
			printf("%8s %8s %8s %9s %12s %12s %10s %10s\n", "entities", "tokens",
			       "waiters", "in-flight", "grants/s", "contended/s", "half<", "99%<");
		if (request->json)
			print_json(&rates, now - last);
		else
			print_rates(&rates, now - last);
		status = finish_output("stat");
		*before = stats;
		last = now;
		next = now + request->interval;
	}
	return status;
}

int stat_main(int argc, char **argv)
{
	static struct request request;
	struct entitylock_stats stats;
	int domain, status, err;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	domain = domain_open(&request, O_REFER);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	err = entitylock_stats(domain, &stats);
	if (err) {
		status = refused(&request, err);
	} else if (request.interval) {
		status = print_rounds(&request, domain, &stats);
	} else if (request.json) {
		print_json(&stats, 0);
		status = finish_output("stat");
	} else {
		print_all(&stats);
		status = finish_output("stat");
	}
	close(domain);
	return status;
}
