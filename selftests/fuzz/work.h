/* SPDX-License-Identifier: GPL-2.0 */
/* What the processes share: those that run programs, and the one that looks after them. */
#ifndef SELFTESTS_FUZZ_WORK_H
#define SELFTESTS_FUZZ_WORK_H

#include "run.h"

#define EXECUTORS	4
#define CORPUS_MAX	4096
#define FAILED		3	/* exit status: see what was found */

enum task { FUZZ, REPLAY, MERGE };

/* A program is complete when it is @ready. */
struct entry {
	atomic_bool ready;
	struct program program;
};

/**
 * struct executor - a process that runs programs
 * @since: when it began with the one that runs, 0 between two of them
 * @calls: that it has made
 */
struct executor {
	pid_t pid;
	atomic_ullong since;
	atomic_ullong calls;
	atomic_ullong programs;
	struct program program;
};

/**
 * struct shared - of all processes
 * @wanted: calls in all
 * @given: programs of the corpus that were read
 * @count: and those that were found
 * @next: of them that no executor has run
 * @found: something is wrong, as said in @text
 */
struct shared {
	enum task task;
	__u64 seed;
	__u64 wanted;
	unsigned int times;
	unsigned int given;
	int log;
	atomic_bool quit;
	atomic_uint count;
	atomic_uint next;
	atomic_int found;
	char text[256];
	struct program culprit;
	struct executor executors[EXECUTORS];
	struct entry corpus[CORPUS_MAX];
	__u8 known[EDGES_MAX];
};

extern struct shared *shared;

void executor_main(unsigned int number) __attribute__((noreturn));
__u64 calls_made(void);

#endif
