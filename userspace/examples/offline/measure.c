// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"
#include "measure.h"
#include "worker.h"

#define HEAD_START	100000000	/* from the order to the start */

static unsigned int most(const struct size *sizes, unsigned int nr, bool workers)
{
	unsigned int i, is, most = 0;

	for (i = 0; i < nr; i++) {
		is = workers ? sizes[i].workers : sizes[i].rows;
		most = is > most ? is : most;
	}
	return most;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest that so many hundredths of all do not exceed, in milliseconds. */
static double percentile(const uint64_t *sorted, unsigned int nr, unsigned int hundredths)
{
	return nr ? sorted[(nr * hundredths + 99) / 100 - 1] / 1e6 : 0;
}

/* All waits in one array, sorted, to be freed. */
static uint64_t *all_waits(const struct score *scores, unsigned int workers, unsigned int *nr)
{
	unsigned int i, n = 0;
	uint64_t *waits;

	for (i = 0; i < workers; i++)
		n += scores[i].nr_waits;
	waits = calloc(n + 1, sizeof(*waits));
	if (!waits)
		die_errno("waits");
	*nr = n;
	for (i = 0, n = 0; i < workers; i++) {
		memcpy(&waits[n], scores[i].waits, scores[i].nr_waits * sizeof(*waits));
		n += scores[i].nr_waits;
	}
	qsort(waits, n, sizeof(*waits), compare);
	return waits;
}

/* Returns whether no update was lost. */
static bool report(const struct way *way, const struct size *size, const struct score *scores,
		   unsigned long statements)
{
	unsigned long changes = 0, saved = 0, wasted = 0, least = -1, most = 0;
	uint64_t wasted_time = 0, *waits;
	unsigned int i, nr;
	int64_t lost;

	for (i = 0; i < size->workers; i++) {
		changes += scores[i].changes;
		saved += scores[i].saved;
		wasted += scores[i].wasted;
		wasted_time += scores[i].wasted_time;
		least = scores[i].changes < least ? scores[i].changes : least;
		most = scores[i].changes > most ? scores[i].changes : most;
	}
	lost = (int64_t)saved - database_sum();
	waits = all_waits(scores, size->workers, &nr);
	printf("cell,%s,%u,%u,%g,%lu,%lu,%.2f,%lu,%.0f,%.0f,%lu,%lu,%lu,%lld\n", way->name,
	       size->rows, size->workers, size->seconds, changes, wasted, wasted_time / 1e9,
	       statements, percentile(waits, nr, 50), percentile(waits, nr, 99), most, least,
	       saved, (long long)lost);
	fflush(stdout);
	free(waits);
	return !lost;
}

/* The scores' counts of statements go on from cell to cell. */
static unsigned long statements_of(const struct score *scores, unsigned int workers)
{
	unsigned long statements = 0;
	unsigned int i;

	for (i = 0; i < workers; i++)
		statements += scores[i].statements[0] + scores[i].statements[1];
	return statements;
}

static void clear(struct score *score)
{
	score->changes = 0;
	score->saved = 0;
	score->wasted = 0;
	score->wasted_time = 0;
	score->nr_waits = 0;
}

static bool run(const struct measure *what, const struct way *way, const struct size *size,
		struct worker *workers, struct shared *shared)
{
	unsigned long statements;
	uint64_t start;
	unsigned int i;

	fprintf(stderr, "%u rows, %u workers: %s\n", size->rows, size->workers, way->title);
	database_reset();
	for (i = 0; i < size->workers; i++)
		clear(&shared->scores[i]);
	start = now() + HEAD_START;
	shared->cell = (struct cell) {
		.way = way,
		.rows = size->rows,
		.start = start,
		.end = start + (uint64_t)(size->seconds * 1e9),
		.think = what->think,
		.rest = what->rest,
		.pause = what->pause,
	};
	statements = statements_of(shared->scores, size->workers);
	workers_run(workers, size->workers);
	statements = statements_of(shared->scores, size->workers) - statements;
	return report(way, size, shared->scores, statements);
}

bool measure(const struct measure *what)
{
	unsigned int nr = most(what->sizes, what->nr_sizes, true), i, j;
	size_t size = sizeof(struct shared) + nr * sizeof(struct score);
	struct worker *workers = calloc(nr, sizeof(*workers));
	struct shared *shared;
	bool right = true;

	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!workers || shared == MAP_FAILED)
		die_errno("memory");
	workers_start(workers, nr, shared, what->seed);
	database_open();
	database_create(most(what->sizes, what->nr_sizes, false));

	fputs("# cell,way,rows,workers,seconds,changes,wasted,wasted_s,statements,", stdout);
	puts("p50_ms,p99_ms,most,least,saved,lost");
	for (i = 0; i < what->nr_sizes; i++)
		for (j = 0; j < what->nr_ways; j++)
			right &= run(what, what->ways[j], &what->sizes[i], workers, shared);

	for (i = 0; i < nr; i++)
		close(workers[i].sock);
	while (wait(NULL) > 0)
		;
	free(workers);
	munmap(shared, size);
	return right;
}
