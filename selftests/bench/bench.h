/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bench is rows in groups.  The rows of a group are measured in turn, round
 * after round, so that what disturbs the machine disturbs all of them; each
 * group is a process of its own, so that no row pays for another group's fds.
 *
 * A new row is an element of its group's table.
 */
#ifndef BENCH_H
#define BENCH_H

#include "common.h"

/**
 * struct bench_row - one thing that is measured
 * @name: how reports know it, together with @param
 * @param: what its cost may grow with, 0 if it is a single number
 * @unit: of the values, NULL for nanoseconds
 * @start: makes what the row needs, once; false: this kernel has no such thing
 * @loop: does it @calls times; the bench takes the time, and divides
 * @sample: in place of @loop: measures by itself, and calls record()
 * @data: the row's own
 * @fd: the same
 * @calls: the bench's: how often to do it in a round
 * @values: the bench's: what was measured
 * @count: the bench's: how many @values
 */
struct bench_row {
	const char *name;
	unsigned int param;
	const char *unit;
	bool (*start)(struct bench_row *row);
	void (*loop)(struct bench_row *row, unsigned int calls);
	void (*sample)(struct bench_row *row);
	void *data;
	int fd;
	unsigned int calls;
	double *values;
	size_t count;
};

struct group {
	const char *name;
	unsigned int rounds;
	struct bench_row *rows;
	unsigned int nr_rows;
};

void record(struct bench_row *row, double value);
void __attribute__((noreturn)) fail(const char *what);

/* What must work, or the numbers mean nothing. */
#define must(call) ({						\
	__typeof__(call) _ret = (call);				\
								\
	if (_ret < 0)						\
		fail(#call);					\
	_ret;							\
})

/* LOCK and UNLOCK, and ACQUIRE of one entity and close, so often. */
void lock_unlock_token(int fd, unsigned int calls);
void acquire_close_one(int domain, unsigned int calls);

extern const struct group calls_group, release_group, handover_group, memory_group,
	pending_group, servers_group, ring_group, crowd_group, growth_group;

#endif
