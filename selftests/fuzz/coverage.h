/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of the module has run: edges, from one place in its code to the next that a
 * thread came to in a system call, as KCOV tells.  Each is known by its hash.
 */
#ifndef SELFTESTS_FUZZ_COVERAGE_H
#define SELFTESTS_FUZZ_COVERAGE_H

#include <stdbool.h>
#include <linux/types.h>

#define EDGES_MAX	(1U << 18)
#define FRESH_MAX	4096

/**
 * struct edges - those of a program
 * @known: of all processes: those that were reached before
 * @stamp: the run in which each was reached last
 * @run: the number of this run
 * @fresh: those that were not known
 * @count: of them
 */
struct edges {
	__u8 *known;
	__u32 *stamp;
	__u32 run;
	__u32 fresh[FRESH_MAX];
	__u32 count;
};

/* Does this kernel tell? */
bool coverage_there(void);
/* For the calling thread, from now on; a child that it forks has none. */
void coverage_start(void);
void coverage_child(void);
void coverage_begin(void);
void coverage_end(struct edges *edges);

void edges_init(struct edges *edges, __u8 *known);
void edges_new_run(struct edges *edges);
/* Have all of @count been reached in this run? */
bool edges_reached(const struct edges *edges, const __u32 *these, __u32 count);
/* Leave those of @these that were reached; how many? */
__u32 edges_keep_reached(const struct edges *edges, __u32 *these, __u32 count);
void edges_learn(struct edges *edges, const __u32 *these, __u32 count);

#endif
