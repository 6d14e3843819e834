/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a recorder's process does, and how it is written down.
 *
 * Each writes its calls into a log in shared memory, before it makes them, so that
 * a call is known in which it was killed.  A process has one token at a time, so
 * that they cannot deadlock among themselves; it may hand it over to another.
 */
#ifndef SELFTESTS_RECORD_H
#define SELFTESTS_RECORD_H

#include "../common.h"
#include "history.h"

#define WORKERS		12
#define LOG_MAX		20000	/* calls of a worker */

struct log {
	atomic_uint count;
	struct event events[LOG_MAX];
};

/* What a worker holds, as far as others know. */
struct board {
	atomic_ullong fence;
	atomic_uint thing;
};

/* Of a parcel; above these, its owner is the process of that number above PARCEL_OF. */
enum { PARCEL_EMPTY, PARCEL_FULL, PARCEL_OF };

/**
 * struct parcel - a token on its way from one process to another
 * @ends: of a socket, in which it is if it is not @parked
 */
struct parcel {
	atomic_uint state;
	bool parked;
	int ends[2];
	__u8 cookie[ENTITYLOCK_COOKIE_SIZE];
	u32 token;
	__u64 lease;
	u32 count;
	struct item items[ITEMS];
};

#define PARCELS		4

struct shared {
	atomic_bool stop;
	atomic_uint tokens;
	struct board boards[WORKERS];
	struct parcel parcels[PARCELS];
	struct log logs[WORKERS + 1];
};

extern struct shared *shared;

/**
 * struct worker - a process
 * @slot: of its log, and its board
 * @fd: its token, -1 = none
 * @token: number of that
 * @locked: it holds, or waits, or has lost it, as far as is known
 * @lease: that it was locked with
 * @items: what it is for, in order, the gate first
 */
struct worker {
	unsigned int slot;
	u32 process;
	unsigned int seed;
	int domain;
	int fd;
	u32 token;
	bool locked;
	__u64 lease;
	u32 count;
	struct item items[ITEMS];
};

/* The names; those in small letters are kept. */
#define LETTERS		6
extern const char *const letters[LETTERS];

unsigned int below(struct worker *worker, unsigned int n);
bool chance(struct worker *worker, unsigned int percent);
bool has_gate(const struct worker *worker);

struct event *call_begins(struct worker *worker, enum verb verb);
void call_ends(struct event *event, enum result result, __u64 fence);

/* Calls: each of them makes one, drawn at random, and writes it down. */
enum result acquire_call(struct worker *worker);
enum result lock_call(struct worker *worker);
enum result look_call(struct worker *worker);
void close_call(struct worker *worker);
void unlock_call(struct worker *worker);
void renew_call(struct worker *worker);
void extend_call(struct worker *worker);
void convert_call(struct worker *worker);
void break_call(struct worker *worker);

/* To whoever takes it; and what somebody has handed over: false if there is nothing. */
void hand_over_call(struct worker *worker);
bool take_over_call(struct worker *worker);

bool parcels_make(void);
/* One that a process was about to pack, or unpack, when it was killed. */
void parcels_of_the_dead(u32 process);
/* Those that nobody has taken: none may be left, or others would wait for ever. */
void parcels_drop(void);

/* Others may know now what it holds. */
void post(struct worker *worker, __u64 fence);

#endif
