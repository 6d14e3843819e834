/* SPDX-License-Identifier: GPL-2.0 */
/* A program that runs: its slots, its lanes, and what must be gone at its end. */
#ifndef SELFTESTS_FUZZ_RUN_H
#define SELFTESTS_FUZZ_RUN_H

#include <liburing.h>

#include "../common.h"
#include "coverage.h"
#include "memory.h"
#include "program.h"

#define WATCHES		(STEPS_MAX + 1)
#define NOWHERE		(~0U)	/* a domain that is not known */
#define NOT_MADE	(-1000)	/* result of a step that was not made */

/**
 * struct slot - a place for a descriptor
 * @fd: it, or -1
 * @where: number of its domain: 0 is the default one's
 */
struct slot {
	atomic_int fd;
	atomic_uint where;
};

/**
 * struct lane - a thread that makes steps, and its memory
 * @fence: the last one that it was told
 * @version: likewise
 * @child: this is not the thread itself but its copy in a forked process
 */
struct lane {
	unsigned int number;
	bool start;
	bool child;
	bool has_ring;
	pid_t tid;
	__u64 fence;
	__u64 version;
	struct io_uring ring;
	struct desks desks;
	pthread_t thread;
	pthread_cond_t started;
};

/* Cookies that were given and not claimed, also to children: in shared memory. */
struct cookies {
	atomic_uint count;
	__u8 bytes[STEPS_MAX * 2][ENTITYLOCK_COOKIE_SIZE];
};

/**
 * struct run - what a program uses
 * @watches: domain fds of each domain that it came to; the first is the default one's
 * @copied: a slot's descriptor may be another's as well, and move to another domain with it
 * @exact: nothing ran beside anything else: what slots have in them is known
 * @turn: the step that may be made, if they are ordered; guarded by @lock, as what follows
 * @busy: lanes that are not at their end
 * @over: no further step is made
 */
struct run {
	const struct program *program;
	struct slot slots[SLOTS];
	struct lane lanes[LANES];
	struct edges edges;
	struct cookies *cookies;
	int sockets[2];
	int epoll;
	__u64 lease_max;
	atomic_int watches[WATCHES];
	atomic_uint watched;
	atomic_uint privates;
	atomic_int children[STEPS_MAX];
	atomic_uint births;
	atomic_uint made;
	atomic_bool copied;
	atomic_bool exact;
	int results[STEPS_MAX];
	unsigned int fds;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int turn;
	unsigned int busy;
	bool over;
};

extern struct run run;

/* execute.c */
void run_init(__u8 *known);
/* Return: steps that were made. */
unsigned int run_program(const struct program *program);
int step_make(struct lane *lane, unsigned int number);

/* calls.c: the verbs; around.c: what users do beside them */
int make_call(struct lane *lane, const struct step *step);
int make_around(struct lane *lane, const struct step *step, unsigned int number);
void slot_fill(unsigned int slot, int fd, unsigned int where);
int slot_take(unsigned int slot);
void watch(int fd);

/* end.c: what is left */
unsigned int give_up_all(void);
void nothing_is_left(void);
void nothing_conflicts(void);

/* work.c: something is not as it must be; the process ends */
void violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
