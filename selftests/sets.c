// SPDX-License-Identifier: GPL-2.0
/* Sets that overlap, and sets that do not. */
#include "harness.h"

/* Threads that lock sets and check that nobody else is inside. */
struct worker {
	struct start_line *line;
	int domain;
	unsigned int rounds;
	unsigned int seed;
	/* Which of the names in this round, in an order of its own. */
	unsigned int (*choose)(struct worker *worker, const char **names);
	atomic_int *inside;
	unsigned int intruders;
	unsigned int failed;
	pthread_t thread;
};

#define NAMES	8
static const char *const all_names[NAMES] = { "a", "b", "c", "d", "e", "f", "g", "h" };

static unsigned int number(const char *name)
{
	return name[0] - 'a';
}

static void *work(void *data)
{
	struct worker *worker = data;

	start_together(worker->line, 2);
	for (unsigned int round = 0; round < worker->rounds; round++) {
		struct entitylock_entity set[NAMES];
		const char *names[NAMES];
		unsigned int count = worker->choose(worker, names);
		int token;

		for (unsigned int i = 0; i < count; i++)
			set[i] = (struct entitylock_entity)X(names[i]);
		token = acquire_set(worker->domain, set, count, 0, FOREVER);
		if (token < 0) {
			worker->failed++;
			continue;
		}
		for (unsigned int i = 0; i < count; i++)
			worker->intruders += atomic_fetch_add(&worker->inside[number(names[i])], 1);
		for (unsigned int i = 0; i < count; i++)
			atomic_fetch_sub(&worker->inside[number(names[i])], 1);
		close(token);
	}
	return NULL;
}

static void run_workers(struct __test_metadata *_metadata, struct worker *workers,
			unsigned int count, int domain, unsigned int rounds)
{
	struct start_line line = { 0 };
	atomic_int inside[NAMES] = { 0 };

	for (unsigned int i = 0; i < count; i++) {
		workers[i].line = &line;
		workers[i].domain = domain;
		workers[i].rounds = rounds;
		workers[i].seed = i + 1;
		workers[i].inside = inside;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].failed);
		EXPECT_EQ(0, workers[i].intruders);
	}
}

static unsigned int a_and_b(struct worker *worker, const char **names)
{
	(void)worker;
	names[0] = "a";
	names[1] = "b";
	return 2;
}

static unsigned int b_and_a(struct worker *worker, const char **names)
{
	(void)worker;
	names[0] = "b";
	names[1] = "a";
	return 2;
}

/* L1: {A,B} against {B,A}: never a deadlock, never both inside. */
TEST_F(entitylock, L1_AB_against_BA)
{
	struct worker workers[] = {
		{ .choose = a_and_b }, { .choose = b_and_a },
		{ .choose = a_and_b }, { .choose = b_and_a },
	};

	run_workers(_metadata, workers, ARRAY_SIZE(workers), self->domain, scaled(5000, 300));
}

static unsigned int any_of_them(struct worker *worker, const char **names)
{
	unsigned int mask = rand_r(&worker->seed) % ((1 << NAMES) - 1) + 1;
	unsigned int turn = rand_r(&worker->seed);
	unsigned int count = 0;

	for (unsigned int i = 0; i < NAMES; i++) {
		unsigned int which = (i + turn) % NAMES;

		if (mask & 1 << which)
			names[count++] = all_names[which];
	}
	return count;
}

/* L1: any subsets of eight names, in any order. */
TEST_F(entitylock, L1_overlapping_sets_in_any_order)
{
	struct worker workers[6];

	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		workers[i] = (struct worker){ .choose = any_of_them };
	run_workers(_metadata, workers, ARRAY_SIZE(workers), self->domain, scaled(3000, 200));
}

/* L2: sets that share one name: the second queues there, and holds what comes before. */
TEST_F(entitylock, L2_a_set_waits_with_its_prefix)
{
	int first = acquire_these(self->domain, 0, NOWAIT, X("b"), X("d"));
	struct entitylock_entity set[] = { X("a"), X("b"), X("c") };
	struct call call;
	int token;

	ASSERT_LE(0, first);
	call_acquire_set(&call, self->domain, set, ARRAY_SIZE(set), FOREVER);
	ASSERT_TRUE(eventually(token_waiters(first) == 1));
	EXPECT_EQ(1, queued("b"));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	close(first);
	token = call_result(&call);
	ASSERT_LE(0, token);
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_EQ(0, try_lock(self->domain, "d", EXCLUSIVE));
	close(token);
}

/* L2: sets that share no name never meet. */
TEST_F(entitylock, L2_disjoint_sets_never_wait)
{
	static struct numbered many;
	struct call call;
	int held[8], token;

	/* Also while another set waits. */
	for (int i = 0; i < 8; i++) {
		numbered_set(&many, i * 100, 100, EXCLUSIVE);
		held[i] = acquire_set(self->domain, many.set, 100, 0, NOWAIT);
		ASSERT_LE(0, held[i]);
		if (!i) {
			call_acquire(&call, self->domain, "00000000", EXCLUSIVE, FOREVER);
			ASSERT_TRUE(eventually(token_waiters(held[0]) == 1));
		}
	}
	for (int i = 0; i < 8; i++)
		close(held[i]);
	token = call_result(&call);
	EXPECT_LE(0, token);
	close(token);
}

/* L2: a set that is stopped at one entity after the other. */
TEST_F(entitylock, L2_a_set_waits_step_by_step)
{
	int holders[NAMES];
	struct entitylock_entity set[NAMES];
	struct call call;
	int token;

	for (int i = 0; i < NAMES; i++) {
		holders[i] = hold(self->domain, all_names[i]);
		ASSERT_LE(0, holders[i]);
		set[NAMES - 1 - i] = (struct entitylock_entity)X(all_names[i]);
	}
	call_acquire_set(&call, self->domain, set, NAMES, FOREVER);
	for (int i = 0; i < NAMES; i++) {
		ASSERT_TRUE(eventually(token_waiters(holders[i]) == 1));
		for (int j = i + 1; j < NAMES; j++)
			EXPECT_EQ(0, token_waiters(holders[j]));
		ASSERT_EQ(0, unlock(holders[i]));
		EXPECT_EQ(-EAGAIN, token_lock(holders[i], 0, NOWAIT));
	}
	token = call_result(&call);
	ASSERT_LE(0, token);
	EXPECT_EQ(NAMES, token_info(token).count);
	for (int i = 0; i < NAMES; i++)
		close(holders[i]);
	close(token);
}

/* L4: the release of a set grants the waiters of each of its entities. */
TEST_F(entitylock, L4_release_of_a_set_grants_each_waiter)
{
	enum { COUNT = 200 };
	static struct numbered many;
	static int tokens[COUNT];
	int holder;

	numbered_set(&many, 0, COUNT, EXCLUSIVE);
	holder = acquire_set(self->domain, many.set, COUNT, 0, NOWAIT);
	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++) {
		tokens[i] = acquire(self->domain, many.names[i], EXCLUSIVE, ENTITYLOCK_ASYNC,
				    FOREVER);
		ASSERT_LE(0, tokens[i]);
	}
	EXPECT_EQ(COUNT, token_waiters(holder));
	ASSERT_EQ(0, unlock(holder));
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(tokens[i]));
		close(tokens[i]);
	}
	close(holder);
}

/* L2: a set of 1,024 that fails at its last entity leaves the others free. */
TEST_F(entitylock, L2_1024_with_the_last_one_busy)
{
	static struct numbered many;
	int busy;

	numbered_set(&many, 0, 1024, EXCLUSIVE);
	busy = hold(self->domain, many.names[1023]);
	ASSERT_LE(0, busy);
	EXPECT_EQ(-EAGAIN, acquire_set(self->domain, many.set, 1024, 0, NOWAIT));
	EXPECT_EQ(-ETIMEDOUT, acquire_set(self->domain, many.set, 1024, 0, in_ms(20)));
	EXPECT_EQ(1, live_entities(self->domain));
	for (int i = 0; i < 1023; i += 31)
		EXPECT_EQ(0, try_lock(self->domain, many.names[i], EXCLUSIVE));
	close(busy);
}

/* Nouns: names that hash alike are still two: many names, each its own lock. */
TEST_F(entitylock, NOUN_names_that_hash_alike)
{
	enum { SETS = 8 };
	static struct numbered many;
	int held[SETS], other[SETS];

	/* Even ones are held; the odd ones, neighbours in every bucket, are free. */
	for (int i = 0; i < SETS; i++) {
		numbered_set(&many, i * 2048, 1024, EXCLUSIVE);
		held[i] = acquire_set(self->domain, many.set, 1024, 0, NOWAIT);
		ASSERT_LE(0, held[i]);
	}
	for (int i = 0; i < SETS; i++) {
		numbered_set(&many, i * 2048 + 1024, 1024, EXCLUSIVE);
		other[i] = acquire_set(self->domain, many.set, 1024, 0, NOWAIT);
		ASSERT_LE(0, other[i]);
	}
	EXPECT_EQ(SETS * 2048, live_entities(self->domain));
	for (int i = 0; i < SETS; i++) {
		close(held[i]);
		close(other[i]);
	}
}

SELFTEST_MAIN
