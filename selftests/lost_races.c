// SPDX-License-Identifier: GPL-2.0
/*
 * D3, V2, L6: a token that is broken, or whose lease ends, in the middle of a verb: the
 * verb has come first, or it says ESTALE; nothing in between.
 */
#include "owners.h"

/* Breaks one entity, or of one fence, together with a verb of the main thread. */
struct breaker {
	struct start_line line;
	pthread_t thread;
	int domain;
	const char *name;
	__u64 fence;
	int ret;
};

static void *breaker_thread(void *data)
{
	struct breaker *breaker = data;

	start_together(&breaker->line, 2);
	breaker->ret = break_entity(breaker->domain, breaker->name, breaker->fence);
	return NULL;
}

static void breaker_start(struct breaker *breaker, int domain, const char *name, __u64 fence)
{
	*breaker = (struct breaker){ .domain = domain, .name = name, .fence = fence };
	if (pthread_create(&breaker->thread, NULL, breaker_thread, breaker))
		abort();
	start_together(&breaker->line, 2);
	spin_ns(rand() % 20000);
}

static int breaker_end(struct breaker *breaker)
{
	pthread_join(breaker->thread, NULL);
	return breaker->ret;
}

static unsigned int rounds(void)
{
	return scaled(500, 30);
}

/* A refusal leaves the token as it was, IDLE. */
TEST_F(owners, L6_LOCK_is_refused_or_the_token_lost)
{
	int holder = hold(self->domain, "b");

	for (unsigned int i = 0; i < rounds(); i++) {
		int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
		struct breaker breaker;
		int ret;

		ASSERT_LE(0, token);
		breaker_start(&breaker, self->domain, "a", 0);
		ret = token_lock(token, 0, NOWAIT);
		breaker_end(&breaker);
		ASSERT_EQ(ret == -ESTALE ? ENTITYLOCK_LOST : ENTITYLOCK_IDLE, token_state(token));
		if (ret != -ESTALE)
			ASSERT_EQ(-EAGAIN, ret);
		close(token);
	}
	close(holder);
}

TEST_F(owners, V4_PARK_of_what_is_broken_is_ESTALE)
{
	for (unsigned int i = 0; i < rounds(); i++) {
		int token = hold_for(self->domain, "a", ms(100000));
		struct breaker breaker;
		struct cookie cookie;
		int ret;

		ASSERT_LE(0, token);
		breaker_start(&breaker, self->domain, "a", 0);
		ret = token_park(token, 0, &cookie);
		ASSERT_EQ(0, breaker_end(&breaker));
		if (ret)
			ASSERT_EQ(-ESTALE, ret);
		close(token);
		ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	}
}

TEST_F(owners, L6_CANCEL_of_what_is_broken_is_ESTALE)
{
	for (unsigned int i = 0; i < rounds(); i++) {
		int holder = hold(self->domain, "b");
		int token = acquire_these(self->domain, ENTITYLOCK_ASYNC, FOREVER, X("a"), X("b"));
		struct breaker breaker;
		int ret;

		ASSERT_LE(0, token);
		breaker_start(&breaker, self->domain, "a", 0);
		ret = token_unlock(token, ENTITYLOCK_CANCEL, 0);
		breaker_end(&breaker);
		if (ret)
			ASSERT_EQ(-ESTALE, ret);
		ASSERT_EQ(ret ? ENTITYLOCK_LOST : ENTITYLOCK_IDLE, token_state(token));
		close(token);
		close(holder);
	}
}

/* D3: an attempt that is given up is not the grant of before. */
TEST_F(owners, D3_an_old_fence_breaks_nothing_of_a_later_LOCK)
{
	int holder = hold(self->domain, "c");
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	__u64 fence;

	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("a2")));
	fence = token_fence(token);
	ASSERT_EQ(0, unlock(token));
	close(holder);
	holder = hold(self->domain, "b");
	for (unsigned int i = 0; i < rounds(); i++) {
		struct breaker breaker;

		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		breaker_start(&breaker, self->domain, "a", fence);
		ASSERT_EQ(0, unlock(token));
		ASSERT_NE(0, breaker_end(&breaker));
	}
	close(token);
	close(holder);
}

/* V1: a downgrade that was broken before it began leaves a mark on each. */
TEST_F(owners, V1_a_downgrade_comes_first_or_fails)
{
	unsigned int broken = 0;

	for (unsigned int i = 0; i < rounds(); i++) {
		int token = acquire_these(self->domain, ROBUST, soon(), X("a"), X("b"));
		struct breaker breaker;
		int ret;

		ASSERT_LE(0, token);
		breaker_start(&breaker, self->domain, "a", 0);
		ret = token_convert(token, SHARED, 0, NOWAIT);
		ASSERT_EQ(0, breaker_end(&breaker));
		ASSERT_EQ(ENTITYLOCK_LOST, token_state(token));
		close(token);
		if (ret) {
			ASSERT_EQ(-ESTALE, ret);
			broken++;
		} else {
			ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
		}
		/* Drop the marks that there are. */
		ASSERT_TRUE(eventually(break_entity(self->domain, "a", 0) == -ENOENT));
		ASSERT_TRUE(eventually(break_entity(self->domain, "b", 0) == -ENOENT));
		ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	}
	TH_LOG("%u broken first", broken);
}

/* V2: one who waits behind a holder is granted when its lease ends, also if it waits itself. */
static void *extend_two(void *data)
{
	return (void *)(long)extend_these(*(int *)data, 0, FOREVER, X("a"), X("b"));
}

TEST_F(owners, V2_of_one_who_waits_for_more)
{
	int other = hold(self->domain, "b"), first = hold(self->domain, "a"), token, waiter;
	pthread_t thread;
	void *ret;

	token = hold_for(self->domain, "0", ms(1000));
	ASSERT_LE(0, token);
	ASSERT_EQ(0, pthread_create(&thread, NULL, extend_two, &token));
	ASSERT_TRUE(eventually(queued("a") == 1));
	waiter = await(self->domain, "a");
	ASSERT_LE(0, waiter);
	ASSERT_EQ(0, unlock(first));
	EXPECT_TRUE(token_poll_wait(waiter, POLLIN) & POLLIN);
	pthread_join(thread, &ret);
	EXPECT_EQ(-ESTALE, (long)ret);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
	close(waiter);
	close(token);
	close(first);
	close(other);
}

/* V2, L4: what has run out is taken also if it waits to be exclusive, and so is first. */
TEST_F(owners, V2_a_reader_behind_an_upgrade_that_has_run_out)
{
	int token = share_for(self->domain, "a", ms(20)), second = share(self->domain, "a"), third;

	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_TRUE(runs_out(token));
	third = share(self->domain, "a");
	EXPECT_LE(0, third);
	EXPECT_EQ(ENTITYLOCK_LOST, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(second));
	close(third);
	close(second);
	close(token);
}

SELFTEST_MAIN
