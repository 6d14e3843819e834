/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Torture: many processes do random verbs, and check each other.
 *
 *   torture.c    the controller: rounds, kills, signals, the watchdog, the result
 *   worker.c     what a worker does, step by step
 *   operations.c what it may do with a token: a table by its state
 *   locking.c    the verbs that lock, and what may come of them
 *   occupancy.c  who holds what, by the holders' own word, and what must be true of it
 *   stress.c     what makes it hard meanwhile: CPUs off and on, no memory, priorities
 *   set.c        sets of names, and random numbers
 *   report.c     what is said of a violation
 *
 * All that the processes share is one mapping of memory.  A process may be
 * killed at any point, so nobody ever waits for another there.
 */
#ifndef SELFTESTS_TORTURE_H
#define SELFTESTS_TORTURE_H

#include "../common.h"

#define FEW		3		/* names that everybody wants */
#define MANY		10000		/* names that are wanted now and then */
#define GATE		0		/* the gate, as the first thing of every set */
#define THINGS		(1 + FEW + MANY)
#define SET_MAX		(1 + ENTITYLOCK_SET_MAX)

#define SINGLES		10		/* workers of one thread */
#define THREADED	4		/* workers of ACTORS_EACH threads */
#define FINISHERS	6		/* workers that end what others have begun */
#define ACTORS_EACH	4
#define WORKERS		(SINGLES + THREADED + FINISHERS)
#define ACTORS		(SINGLES + THREADED * ACTORS_EACH + FINISHERS)
#define PLACES		2		/* tokens that a thread may have at a time */
#define SEATS		(ACTORS * PLACES)
#define EVENTS		16		/* last operations that a seat remembers */

_Static_assert(SEATS <= 64, "a seat is a bit of a word");

struct item {
	__u16 what;
	__u16 mode;
};

/* In order, each once.  Operations hold the gate shared, by way of being inside. */
struct set {
	__u32 count;
	struct item items[SET_MAX];
};

struct random {
	__u64 state;
};

enum kind { SINGLE, MULTI, FINISHER, KINDS };

enum verb {
	ACQUIRE, TAKE_GATE, LOCK, EXTEND, UPGRADE, DOWNGRADE, UNLOCK, CANCEL, CLOSE,
	DUP, INFO, POLL, LABEL, SEND, RECEIVE, RENEW, PARK, CLAIM, BREAK, VERBS
};

enum outcome { OK, PENDS, AGAIN, TIMEDOUT, INTR, CANCELED, DEADLK, BADFD, STALE, NOMEM,
	       OUTCOMES };

enum check {
	ALONE, GATE_ALONE, FENCES, ORDER, WOKEN, VERBS_RIGHT, NOTHING_LEFT, ALL_DONE, FAIR, CHECKS
};

/* What may happen in a round. */
#define DO_FEW		(1U << 0)
#define DO_MANY		(1U << 1)
#define DO_GATE		(1U << 2)
#define DO_ASYNC	(1U << 3)
#define DO_HANDOVER	(1U << 4)
#define DO_DEADLINES	(1U << 5)
#define DO_CANCELS	(1U << 6)
#define DO_SIGNALS	(1U << 7)
#define DO_KILLS	(1U << 8)
#define DO_OWNERS	(1U << 9)	/* leases, marks, BREAK, PARK */
#define DO_ALL		((1U << 10) - 1)
/* What may by accident wake whoever was forgotten. */
#define DO_RESCUES	(DO_DEADLINES | DO_CANCELS | DO_SIGNALS | DO_KILLS | DO_OWNERS)

/* What makes it hard. */
#define HOTPLUG		(1U << 0)
#define PRESSURE	(1U << 1)
#define PRIORITIES	(1U << 2)

struct timing {
	clockid_t clock;
	__u32 flags;
	__u64 deadline;
};

struct event {
	__u64 time;
	__u64 fence;
	struct timing timing;
	int ret;
	__u16 what;
	__u16 count;
	__u8 verb;
};

/* EMPTY: no token. */
enum state { EMPTY = 100, IDLE = ENTITYLOCK_IDLE, PENDING = ENTITYLOCK_PENDING,
	     HELD = ENTITYLOCK_HELD };

/**
 * struct seat - a place for a token; its owner is one thread
 * @lock: siblings of the owner hold it while they use @fd, the owner while it
 *	changes it.  Between threads of one process, that die together.
 * @fd: the token, -1 if there is none
 * @state: what the owner knows of it
 * @base: state to which it returns if the verb that it waits for fails
 * @verb: the last verb that locks
 * @timing: until when that waits
 * @lease: of that, 0 for none
 * @raising: number of the grant that the owner holds while it is blocked for
 *	more, else 0; @lock
 * @unlocked: a sibling has given that grant back; @lock
 * @fence: number of the last grant
 * @issued: ticket drawn before the last verb that locks
 * @confirmed: ticket that was current when it was known to wait, 0 if it is not
 * @since: when it began to wait, 0 if it does not
 * @until: when it will be over by itself, FOREVER if never
 * @set: what the token is for
 * @want: what it will be for when the verb succeeds
 */
struct seat {
	pthread_mutex_t lock;
	int fd;
	enum state state;
	enum state base;
	enum verb verb;
	struct timing timing;
	__u64 lease;
	__u64 raising;
	bool unlocked;
	__u64 fence;
	__u64 issued;
	__u64 confirmed;
	atomic_ullong since;
	atomic_ullong until;
	struct set set;
	struct set want;
	unsigned int nr_events;
	struct event events[EVENTS];
};

/* A thread of a worker. */
struct actor {
	unsigned int worker;
	atomic_int tid;
	atomic_bool resting;
	atomic_bool realtime;
	__u64 operations;
	__u64 grants;
	__u64 ordered;		/* grants of which the order was checked */
	__u32 done[VERBS][OUTCOMES];
};

/**
 * struct worker - a process
 * @killed: set before it is killed, cleared when its marks have been.  Marks of
 *	its seats that another sees meanwhile count for nothing.
 */
struct worker {
	enum kind kind;
	unsigned int first;	/* of its actors */
	unsigned int actors;
	unsigned int incarnation;
	pid_t pid;
	atomic_bool killed;
};

/* What is known of those who hold, or held, a thing in one mode. */
struct side {
	atomic_ullong marks;	/* seats that hold it, a bit each */
	atomic_ullong fence;	/* the greatest of all grants */
	atomic_ullong issued;	/* the latest of all requests that were granted */
};

/* An entity, or the gate. */
struct thing {
	struct side by[EXCLUSIVE + 1];
};

/* Violations of one check, and what the first was. */
struct finding {
	atomic_uint count;
	char text[256];
};

/* Both sides of the first violation of all, as they were then. */
struct report {
	atomic_ullong since;	/* 0: there was none */
	unsigned int round;
	unsigned int count;
	unsigned int numbers[2];
	struct seat seats[2];
};

/* How hard it was. */
struct hardship {
	atomic_uint unplugged;		/* CPUs that went off */
	atomic_uint unplugged_at_gate;	/* while the gate was held or awaited */
	atomic_uint eaters;		/* of memory, that were killed for it */
	atomic_uint refused;		/* verbs that failed for want of memory */
	atomic_uint raised;		/* threads that became real-time ones */
};

struct shared {
	__u64 seed;
	__u64 begin;
	int inbox[2];		/* tokens on their way to a finisher */
	atomic_uint round;
	atomic_uint may;	/* DO_... */
	atomic_bool stop;	/* come to rest */
	atomic_bool quit;
	atomic_ullong ticket;
	struct finding findings[CHECKS];
	struct report report;
	struct hardship hardship;
	struct worker workers[WORKERS];
	struct actor actors[ACTORS];
	struct seat seats[SEATS];
	struct thing things[THINGS];
};

extern struct shared *shared;

/* Longer on a slow kernel. */
static inline __u64 scaled_ns(__u64 ns)
{
	return ns * limit_seconds() / 10;
}

static inline unsigned int seat_number(const struct seat *seat)
{
	return seat - shared->seats;
}

static inline struct worker *seat_worker(unsigned int number)
{
	return &shared->workers[shared->actors[number / PLACES].worker];
}

/* set.c */
struct random random_from(__u64 seed, __u64 a, __u64 b, __u64 c);
unsigned int below(struct random *random, unsigned int n);
bool chance(struct random *random, unsigned int percent);
void names_init(void);
const char *name_of(unsigned int what);
void set_clear(struct set *set, __u16 gate_mode);
void set_add(struct set *set, __u16 what, __u16 mode);
void set_copy(struct set *to, const struct set *from);
void set_merge(struct set *set, const struct set *more);
void set_draw(struct set *set, struct random *random, unsigned int may, unsigned int most);
bool set_all(const struct set *set, __u16 mode);
bool set_is_gate(const struct set *set);

/* occupancy.c */
void granted(struct seat *seat, __u64 fence);
void resumed(struct seat *seat);
void still_alone(struct seat *seat);
void about_to_lower(struct seat *seat);
void about_to_leave(struct seat *seat);
void forget(unsigned int first_seat, unsigned int seats);
bool free_for(const struct seat *seat);
unsigned int occupied(void);

/* stress.c */
extern unsigned int stress;
bool stress_ready(void);
void stress_begin(void);
void stress_tick(struct random *random);
void stress_end(void);
void stress_worker(void);
void stress_step(const struct actor *actor);
bool out_of_memory(int ret);

/* worker.c */
int worker_main(unsigned int number);

/* report.c */
extern const char *const check_names[CHECKS];
extern const char *const verb_names[VERBS];
extern const char *const kind_names[KINDS];
void violation(enum check check, const struct seat *one, const struct seat *other,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));
void report_waits(void);
void report_print(void);

#endif
