/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker: one user, whose edits begin in one process and end in another
 *
 * Each of the two processes has its own connection to the database, and lives until
 * whoever started the worker ends.
 */
#ifndef OFFLINE_WORKER_H
#define OFFLINE_WORKER_H

#include "way.h"

#define WAITS_MAX	4096

/* What all workers of a cell do; written while they idle. */
struct cell {
	const struct way *way;
	unsigned int rows;
	uint64_t start, end;
	uint64_t think;		/* from reading a row to writing it */
	uint64_t rest;		/* between two edits, on average */
	uint64_t pause;		/* before another try */
};

/* What one of them has done: times are nanoseconds. */
struct score {
	unsigned long changes;	/* within the time */
	unsigned long saved;	/* also after its end */
	unsigned long wasted;	/* edits in vain */
	uint64_t wasted_time;
	unsigned long statements[2];	/* by either process, in all */
	/*
	 * From the wish to edit to the change, less the time to think.  What was
	 * still under way at the end counts with what it had waited until then.
	 */
	unsigned int nr_waits;
	uint64_t waits[WAITS_MAX];
};

struct worker {
	int sock;		/* to its first process */
};

/* In memory that both processes of all workers share. */
struct shared {
	struct cell cell;
	struct score scores[];
};

/* Workers are started one after the other, by a process without a connection. */
void workers_start(struct worker *workers, unsigned int nr, struct shared *shared,
		   unsigned int seed);

/* Let the first @nr work in shared->cell, and wait until all have done. */
void workers_run(struct worker *workers, unsigned int nr);

#endif
