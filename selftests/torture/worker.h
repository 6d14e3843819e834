/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of a worker share. */
#ifndef SELFTESTS_TORTURE_WORKER_H
#define SELFTESTS_TORTURE_WORKER_H

#include "torture.h"

#define DUPLICATES	4
#define HOUR		(3600 * NSEC_PER_SEC)

/* A thread of this process. */
struct self {
	unsigned int number;
	struct actor *actor;
	struct worker *worker;
	struct seat *seats;
	int domain;
	struct random random;
	struct set more;	/* what an EXTEND asks for */
	struct entitylock_entity array[ENTITYLOCK_SET_MAX + DUPLICATES];
};

static inline bool may(unsigned int what)
{
	return (shared->may & what) == what;
}

static inline bool finisher(const struct self *self)
{
	return self->worker->kind == FINISHER;
}

/* locking.c */
extern const struct timing no_wait;
enum outcome outcome_of(int ret);
void note(struct self *self, struct seat *seat, enum verb verb, int ret);
void expect(struct self *self, struct seat *seat, enum verb verb, int ret, int expected);
int ioctl_set(struct self *self, struct seat *seat, const struct set *set, __u32 flags,
	      __u64 *fence);
int ioctl_convert(struct seat *seat, __u32 mode, __u64 *fence);
void set_fd(struct seat *seat, int fd);
int exchange_fd(struct seat *seat, int fd);
void lock_verb(struct self *self, struct seat *seat, enum verb verb);
void look(struct self *self, struct seat *seat);

/* operations.c */
void do_receive(struct self *self, struct seat *seat);
void do_close(struct self *self, struct seat *seat);
void await(struct self *self);
void operate(struct self *self, struct seat *seat);

#endif
