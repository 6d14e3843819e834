// SPDX-License-Identifier: GPL-2.0
/*
 * What a release costs that hands over to the first of many waiters.
 *
 * The waiters are tokens that wait asynchronously, and nobody polls: this is
 * the releaser's work alone.  It is too short to be timed by itself, so BATCH
 * releases are: of as many entities, or of one after the other holder of one
 * entity where the waiters are enough for that.  Released tokens queue again,
 * outside of the time.
 */
#include "bench.h"

#define BATCH	100

/* The tokens over one entity: the holder, then those that wait, in order. */
struct ring {
	int *tokens;
	unsigned int size;
	unsigned int holder;
};

struct crowd {
	struct ring rings[BATCH];
	unsigned int nr_rings;
};

static int wait_in_line(int token)
{
	return token_lock(token, ENTITYLOCK_ASYNC, FOREVER);
}

static void fill_ring(struct ring *ring, int domain, const char *name, unsigned int size)
{
	ring->size = size;
	ring->tokens = calloc(size, sizeof(*ring->tokens));
	for (unsigned int i = 0; i < size; i++) {
		ring->tokens[i] = must(idle(domain, name));
		must(wait_in_line(ring->tokens[i]));
	}
}

static bool start(struct bench_row *row)
{
	bool one = row->param > BATCH;
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	int domain;
	char name[32];

	raise_fd_limit(200000);
	domain = must(domain_open(O_RDWR));
	crowd->nr_rings = one ? 1 : BATCH;
	for (unsigned int i = 0; i < crowd->nr_rings; i++) {
		snprintf(name, sizeof(name), "crowd-%u-%u", row->param, i);
		fill_ring(&crowd->rings[i], domain, name, row->param + (one ? BATCH : 1));
	}
	row->data = crowd;
	return true;
}

static void release(struct bench_row *row)
{
	struct entitylock_unlock unlock = { 0 };
	struct crowd *crowd = row->data;
	int released[BATCH];
	struct ring *ring;
	__u64 begin;

	for (unsigned int i = 0; i < BATCH; i++) {
		ring = &crowd->rings[i % crowd->nr_rings];
		released[i] = ring->tokens[ring->holder];
		ring->holder = (ring->holder + 1) % ring->size;
	}
	begin = now();
	for (unsigned int i = 0; i < BATCH; i++)
		must(ioctl(released[i], ENTITYLOCK_IOC_UNLOCK, &unlock));
	record(row, (double)(now() - begin) / BATCH);
	for (unsigned int i = 0; i < BATCH; i++)
		must(wait_in_line(released[i]));
}

static struct bench_row rows[] = {
	{ "release", .param = 1, .start = start, .sample = release },
	{ "release", .param = 10, .start = start, .sample = release },
	{ "release", .param = 100, .start = start, .sample = release },
	{ "release", .param = 1000, .start = start, .sample = release },
	{ "release", .param = 10000, .start = start, .sample = release },
	{ "release", .param = 100000, .start = start, .sample = release },
};

const struct group release_group = {
	.name = "release",
	.rounds = 101,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
