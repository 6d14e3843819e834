// SPDX-License-Identifier: GPL-2.0
/*
 * What nobody contends for: LOCK and UNLOCK, the gate, and ACQUIRE and the last
 * close among few and many entities that live.
 */
#include <linux/array_size.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "domain.h"

#include "native.h"

#define BATCH		256	/* operations that are timed at once */
#define WARM_UP		5	/* rounds */

/**
 * struct call - what is called
 * @batch: does it BATCH times, and returns how long that took
 * @param: entities that live in its domain, or CPUs
 * @row: the results
 * @domain: its domain
 * @crowd: the entities that live there, if it is among many
 * @token: the token, if it is one
 * @random: which entities are next
 */
struct call {
	u64 (*batch)(struct call *call);
	u32 param;
	struct native_row row;
	struct el_domain *domain;
	struct native_crowd *crowd;
	struct el_token *token;
	struct rnd_state random;
};

static u64 lock_unlock(struct call *call)
{
	u64 begin = ktime_get_ns();
	int i;

	for (i = 0; i < BATCH; i++) {
		native_lock(call->token);
		native_unlock(call->token);
	}
	return ktime_get_ns() - begin;
}

/* Each entity by a token of its own; the names are thought of before. */
static u64 acquire_release(struct call *call, u32 first)
{
	struct native_name names[BATCH / 4];
	struct el_token *token;
	u64 begin;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		native_name(&names[i], first + prandom_u32_state(&call->random) % call->param);
	begin = ktime_get_ns();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		token = native_token(call->domain, &names[i]);
		if (!token)
			break;
		native_lock(token);
		native_end(token);
	}
	return (ktime_get_ns() - begin) * (BATCH / ARRAY_SIZE(names));
}

/* An entity that has a token, which does not hold it. */
static u64 acquire_live(struct call *call)
{
	return acquire_release(call, 0);
}

/* An entity that comes and goes. */
static u64 acquire_new(struct call *call)
{
	return acquire_release(call, 500000000);
}

static const struct {
	const char *name;
	u64 (*batch)(struct call *call);
} among_many[] = {
	{ "acquire_live", acquire_live },
	{ "acquire_new", acquire_new },
};

static const u32 sizes[] = { 1000, 10000, 100000, 1000000, 10000000 };

static void run(struct call *calls, u32 count)
{
	struct call *call;
	int round;
	u64 time;

	for (round = -WARM_UP; round < NATIVE_ROUNDS; round++) {
		for (call = calls; call < calls + count; call++) {
			time = call->batch(call);
			if (round >= 0)
				native_record(&call->row, time, BATCH);
			cond_resched();
		}
	}
	for (call = calls; call < calls + count && !native_error; call++)
		native_report(&call->row);
}

static struct call *begin_call(struct call *call, const char *name, u32 param,
			       u64 (*batch)(struct call *call))
{
	call->row.name = name;
	call->row.param = param;
	call->param = param;
	call->batch = batch;
	call->domain = native_domain();
	prandom_seed_state(&call->random, 1);
	return call;
}

static void end_call(struct call *call)
{
	if (call->token)
		native_end(call->token);
	if (call->crowd)
		native_disperse(call->crowd);
	if (call->domain)
		el_domain_put(call->domain);
}

void native_calls(u32 most)
{
	struct native_name name;
	struct call *calls, *call;
	int i, size;

	calls = kvcalloc(2 + ARRAY_SIZE(among_many) * ARRAY_SIZE(sizes), sizeof(*calls),
			 GFP_KERNEL);
	if (!calls) {
		native_error = -ENOMEM;
		return;
	}
	native_name(&name, 0);
	call = begin_call(calls, "lock_unlock", 0, lock_unlock);
	if (call->domain)
		call->token = native_token(call->domain, &name);
	call = begin_call(call + 1, "gate_lock_unlock", num_possible_cpus(), lock_unlock);
	if (call->domain)
		call->token = native_gate(call->domain);
	for (size = 0; size < ARRAY_SIZE(sizes) && sizes[size] <= most; size++) {
		for (i = 0; i < ARRAY_SIZE(among_many); i++) {
			call = begin_call(call + 1, among_many[i].name, sizes[size],
					  among_many[i].batch);
			if (call->domain)
				call->crowd = native_crowd(call->domain, sizes[size]);
		}
	}
	if (!native_error)
		run(calls, call + 1 - calls);
	for (; call >= calls; call--)
		end_call(call);
	kvfree(calls);
}
