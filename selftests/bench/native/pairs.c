// SPDX-License-Identifier: GPL-2.0
/*
 * Two CPUs that have nothing to do with each other, but for the domain.
 *
 * What two CPUs gain over one is compared with what they gain in a loop that
 * touches no memory: the rest is what they cost each other.  A machine with
 * other work stops a CPU now and then: counted is only what one did while the
 * other did as much.
 */
#include <linux/array_size.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "domain.h"
#include "token.h"

#include "native.h"

#define CHUNK_NS	20000	/* of work between two looks at the clock */
#define CHUNKS		200	/* that count in a round */
#define MOST_CHUNKS	20000	/* after which a round is given up */
#define ROUNDS		21
#define NEIGHBOURS	64	/* of which two are taken */

struct pair;

/**
 * struct side - one CPU's part
 * @pair: both
 * @other: the other side
 * @task: its thread
 * @domain: the domain that both have in common
 * @name: of its entity
 * @token: over its entity
 * @random: of the empty loop
 * @times: of the chunks that count
 * @count: how many of those there are
 * @done: chunks so far; read by the other
 * @enough: it has what it needs, and goes on for the other
 */
struct side {
	struct pair *pair;
	struct side *other;
	struct task_struct *task;
	struct el_domain *domain;
	struct native_name name;
	struct el_token *token;
	u64 random;
	u64 times[CHUNKS];
	u32 count;
	u32 done ____cacheline_aligned_in_smp;
	bool enough;
};

/**
 * struct work - what both do
 * @name: of the row
 * @once: it
 */
struct work {
	const char *name;
	void (*once)(struct side *side);
};

/**
 * struct pair - two sides
 * @work: what they do
 * @times: how often in a chunk
 * @ended: one of them has
 * @sides: the sides
 */
struct pair {
	const struct work *work;
	u32 times;
	struct completion ended;
	struct side sides[2];
};

static void nothing(struct side *side)
{
	int i;

	for (i = 0; i < 64; i++)
		side->random = side->random * 6364136223846793005ULL + 1;
	barrier_data(&side->random);
}

static void lock_unlock(struct side *side)
{
	native_lock(side->token);
	native_unlock(side->token);
}

static void acquire_release(struct side *side)
{
	struct el_token *token = native_token(side->domain, &side->name);

	if (!token)
		return;
	native_lock(token);
	native_end(token);
}

static const struct work works[] = {
	{ "two_cpus_empty", nothing },
	{ "two_cpus_lock_unlock", lock_unlock },
	{ "two_cpus_acquire", acquire_release },
};

static u64 chunk(struct side *side, u32 times)
{
	const struct work *work = side->pair->work;
	u64 begin = ktime_get_ns();

	while (times--)
		work->once(side);
	return ktime_get_ns() - begin;
}

static bool both_have_enough(struct side *side)
{
	return READ_ONCE(side->enough) && (!side->other || READ_ONCE(side->other->enough));
}

static int side_main(void *data)
{
	struct side *side = data, *other = side->other;
	u32 before = 0, i;
	u64 time;

	for (i = 0; i < MOST_CHUNKS && !both_have_enough(side); i++) {
		if (other)
			before = READ_ONCE(other->done);
		time = chunk(side, side->pair->times);
		WRITE_ONCE(side->done, side->done + 1);
		if (side->count < CHUNKS && (!other || READ_ONCE(other->done) != before))
			side->times[side->count++] = time;
		if (side->count == CHUNKS)
			WRITE_ONCE(side->enough, true);
		cond_resched();
	}
	WRITE_ONCE(side->enough, true);
	kthread_complete_and_exit(&side->pair->ended, 0);
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_address(const void *a, const void *b)
{
	const struct el_token *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

static uintptr_t distance(struct el_token **pair)
{
	return (uintptr_t)pair[1] - (uintptr_t)pair[0];
}

/* Median time of a chunk with so many CPUs, 0 if there was none that counts. */
static u64 median_of(struct pair *pair, const struct work *work, int cpus)
{
	struct side *side;
	u64 sum = 0;
	int i;

	pair->work = work;
	init_completion(&pair->ended);
	for (i = 0; i < cpus; i++) {
		side = &pair->sides[i];
		side->other = cpus == 2 ? &pair->sides[!i] : NULL;
		side->count = 0;
		side->done = 0;
		side->enough = false;
		side->task = kthread_create_on_cpu(side_main, side, i, "native/%u");
		if (IS_ERR(side->task)) {
			native_error = PTR_ERR(side->task);
			if (i)
				kthread_stop(pair->sides[0].task);
			return 0;
		}
	}
	for (i = 0; i < cpus; i++)
		wake_up_process(pair->sides[i].task);
	for (i = 0; i < cpus; i++)
		wait_for_completion(&pair->ended);
	for (i = 0; i < cpus; i++) {
		side = &pair->sides[i];
		if (!side->count)
			return 0;
		sort(side->times, side->count, sizeof(*side->times), compare, NULL);
		sum += side->times[side->count / 2];
	}
	return sum / cpus;
}

/* How often the work fits into a chunk. */
static u32 times_of(struct pair *pair, const struct work *work)
{
	u64 time;

	for (pair->times = 1; pair->times < 1 << 20; pair->times *= 2) {
		time = median_of(pair, work, 1);
		if (native_error || time >= CHUNK_NS)
			break;
	}
	return pair->times;
}

/*
 * Two tokens that are as near to each other in memory as any: what they write shares
 * a cache line if it ever does.
 */
static bool take_neighbours(struct pair *pair, struct el_domain *domain)
{
	struct el_token *tokens[NEIGHBOURS] = { };
	struct native_name name;
	int i, first = 0;

	for (i = 0; i < NEIGHBOURS; i++) {
		native_name(&name, i);
		tokens[i] = native_token(domain, &name);
		if (!tokens[i])
			goto out;
	}
	sort(tokens, NEIGHBOURS, sizeof(*tokens), compare_address, NULL);
	for (i = 1; i < NEIGHBOURS - 1; i++)
		if (distance(&tokens[i]) < distance(&tokens[first]))
			first = i;
	for (i = 0; i < 2; i++)
		swap(pair->sides[i].token, tokens[first + i]);
out:
	for (i = 0; i < NEIGHBOURS; i++)
		if (tokens[i])
			native_end(tokens[i]);
	return pair->sides[1].token;
}

static bool begin_pair(struct pair *pair)
{
	struct el_domain *domain = native_domain();
	struct side *side;

	if (!domain)
		return false;
	for (side = pair->sides; side < pair->sides + 2; side++) {
		side->pair = pair;
		side->domain = domain;
		native_name(&side->name, NEIGHBOURS + (side - pair->sides));
	}
	return take_neighbours(pair, domain);
}

static void end_pair(struct pair *pair)
{
	struct side *side;

	for (side = pair->sides; side < pair->sides + 2; side++)
		if (side->token)
			native_end(side->token);
	if (pair->sides[0].domain)
		el_domain_put(pair->sides[0].domain);
	kvfree(pair);
}

/* Gains in each round, one work after the other. */
static void run(struct pair *pair, struct native_row *rows)
{
	u32 times[ARRAY_SIZE(works)];
	u64 one, two;
	int round, i;

	for (i = 0; i < ARRAY_SIZE(works); i++) {
		rows[i].name = works[i].name;
		rows[i].unit = "gain";
		times[i] = times_of(pair, &works[i]);
	}
	for (round = 0; round < ROUNDS && !native_error; round++) {
		for (i = 0; i < ARRAY_SIZE(works); i++) {
			pair->times = times[i];
			one = median_of(pair, &works[i], 1);
			two = median_of(pair, &works[i], 2);
			if (two)
				native_record(&rows[i], 2 * one, two);
		}
	}
	for (i = 0; i < ARRAY_SIZE(works) && !native_error; i++)
		native_report(&rows[i]);
}

void native_pairs(void)
{
	struct native_row *rows;
	struct pair *pair;

	if (num_online_cpus() < 2)
		return;
	pair = kvcalloc(1, sizeof(*pair), GFP_KERNEL);
	rows = kvcalloc(ARRAY_SIZE(works), sizeof(*rows), GFP_KERNEL);
	if (!pair || !rows) {
		native_error = -ENOMEM;
		kvfree(pair);
	} else {
		if (begin_pair(pair))
			run(pair, rows);
		end_pair(pair);
	}
	kvfree(rows);
}
