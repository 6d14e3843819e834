// SPDX-License-Identifier: GPL-2.0
/*
 * How cost grows: with the entities that live, with the size of a set, and with
 * the operations that a gate finds in flight.  With waiters: release.c; with
 * processes: crowd.c.
 */
#include "bench.h"

#define FDS	250000	/* for as many tokens as any row has, twice */

/* Entities that live in a domain of their own, as many as @param of a row. */
static bool start_entities(struct bench_row *row)
{
	struct entitylock_domain args = { .flags = ENTITYLOCK_PRIVATE };
	static struct numbered many;

	raise_fd_limit(FDS);
	row->fd = must(domain_open(O_RDWR));
	must(ioctl(row->fd, ENTITYLOCK_IOC_DOMAIN, &args));
	for (unsigned int i = 0; i < row->param; i += ENTITYLOCK_SET_MAX) {
		unsigned int count = row->param - i;

		if (count > ENTITYLOCK_SET_MAX)
			count = ENTITYLOCK_SET_MAX;
		numbered_set(&many, i, count, EXCLUSIVE);
		must(acquire_set(row->fd, many.set, count, ENTITYLOCK_OPEN, NOWAIT));
	}
	return true;
}

static void among_entities(struct bench_row *row, unsigned int calls)
{
	acquire_close_one(row->fd, calls);
}

static bool start_set(struct bench_row *row)
{
	struct numbered *many = malloc(sizeof(*many));

	row->fd = must(domain_open(O_RDWR));
	numbered_set(many, 0, row->param, EXCLUSIVE);
	row->data = many;
	return true;
}

static void acquire_set_close(struct bench_row *row, unsigned int calls)
{
	struct numbered *many = row->data;

	while (calls--)
		close(must(acquire_set(row->fd, many->set, row->param, 0, NOWAIT)));
}

/**
 * struct flight - operations in a domain of their own, and its gate
 * @gate: a token for it
 * @tokens: as many as @param of the row, HELD between two samples
 */
struct flight {
	int gate;
	int *tokens;
};

static bool start_flight(struct bench_row *row)
{
	struct entitylock_domain args = { .flags = ENTITYLOCK_PRIVATE };
	struct flight *flight = malloc(sizeof(*flight));
	int domain = must(domain_open(O_RDWR));
	char name[32];

	raise_fd_limit(FDS);
	must(ioctl(domain, ENTITYLOCK_IOC_DOMAIN, &args));
	flight->gate = must(acquire_gate(domain, ENTITYLOCK_OPEN, NOWAIT));
	flight->tokens = calloc(row->param, sizeof(*flight->tokens));
	for (unsigned int i = 0; i < row->param; i++) {
		snprintf(name, sizeof(name), "flight-%u", i);
		flight->tokens[i] = must(hold(domain, name));
	}
	row->data = flight;
	return true;
}

/* From the request for the gate to its grant, each operation ended one after the other. */
static void drain(struct bench_row *row)
{
	struct flight *flight = row->data;
	__u64 begin = now();

	must(token_lock(flight->gate, ENTITYLOCK_ASYNC, FOREVER));
	for (unsigned int i = 0; i < row->param; i++)
		must(unlock(flight->tokens[i]));
	record(row, (double)(now() - begin) / row->param);
	if (token_state(flight->gate) != ENTITYLOCK_HELD)
		fail("the last one out did not grant the gate");
	must(unlock(flight->gate));
	for (unsigned int i = 0; i < row->param; i++)
		must(token_lock(flight->tokens[i], 0, NOWAIT));
}

#define AMONG(_count)	\
	{ "acquire_among", .param = _count, .start = start_entities, .loop = among_entities }
#define SET(_count)	\
	{ "acquire_set", .param = _count, .start = start_set, .loop = acquire_set_close }
#define DRAIN(_count)	\
	{ "gate_drain", .param = _count, .start = start_flight, .sample = drain }

static struct bench_row rows[] = {
	AMONG(1), AMONG(100), AMONG(10000), AMONG(1000000),
	SET(1), SET(4), SET(16), SET(64), SET(256), SET(1024),
	DRAIN(1), DRAIN(10), DRAIN(100), DRAIN(1000), DRAIN(10000), DRAIN(100000),
};

const struct group growth_group = {
	.name = "growth",
	.rounds = 21,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
