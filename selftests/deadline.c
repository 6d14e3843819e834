// SPDX-License-Identifier: GPL-2.0
/* Deadlines: 0, passed, absolute, forever. */
#include "harness.h"

/* Times: deadline 0 = do not wait. */
TEST_F(entitylock, TIMES_zero_does_not_wait)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, hold(self->domain, "a"));
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* Times: a deadline that has passed = try once. */
TEST_F(entitylock, TIMES_passed_tries_once)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, PASSED));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, now()));
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, PASSED));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_fence(token));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, PASSED));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
	token = acquire(self->domain, "a", EXCLUSIVE, 0, PASSED);
	EXPECT_LE(0, token);
	close(token);
}

/* Times: an absolute deadline is met: not before it, and then soon. */
TEST_F(entitylock, TIMES_absolute_deadline)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	__u64 deadline;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	deadline = in_ms(50);
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, deadline));
	EXPECT_LE(deadline, now());
	deadline = in_ms(50);
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, deadline));
	EXPECT_LE(deadline, now());
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_fence(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(token);
	close(holder);
}

/* Times: ENTITYLOCK_FOREVER and everything that is as good as forever. */
TEST_F(entitylock, TIMES_forever_and_the_far_future)
{
	const __u64 ends[] = { FOREVER, FOREVER - 1, 1ULL << 63, (1ULL << 63) - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int holder = hold(self->domain, "a");
		struct call call;
		int token;

		ASSERT_LE(0, holder);
		call_acquire(&call, self->domain, "a", EXCLUSIVE, ends[i]);
		ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
		close(holder);
		token = call_result(&call);
		EXPECT_LE(0, token);
		close(token);
	}
}

/* L4: granted before its deadline: the deadline is of no more concern. */
TEST_F(entitylock, L4_grant_before_the_deadline)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, now() + 3600 * NSEC_PER_SEC);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L3: who times out leaves the queue, and those behind move up. */
TEST_F(entitylock, L3_timed_out_waiter_leaves_the_queue)
{
	int holder = hold(self->domain, "a");
	struct call first, second;
	int token;

	ASSERT_LE(0, holder);
	call_acquire(&first, self->domain, "a", EXCLUSIVE, in_ms(600));
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	call_acquire(&second, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	EXPECT_EQ(-ETIMEDOUT, call_result(&first));
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	token = call_result(&second);
	EXPECT_LE(0, token);
	close(token);
}

/* L3: 100 waiters whose deadlines come in another order than they did. */
TEST_F(entitylock, L3_many_deadlines)
{
	enum { COUNT = 100 };
	struct call calls[COUNT];
	int holder = hold(self->domain, "a");

	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++)
		call_acquire(&calls[i], self->domain, "a", EXCLUSIVE, in_ms(50 + 37 * i % 100));
	for (int i = 0; i < COUNT; i++)
		EXPECT_EQ(-ETIMEDOUT, call_result(&calls[i]));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L2: a set that timed out gives up what it had, and changes no fence. */
TEST_F(entitylock, L2_timed_out_set_changes_nothing)
{
	int watcher = idle(self->domain, "a");
	int busy = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("a"), X("b"), X("c") };
	struct row before, after;
	struct call call;

	ASSERT_LE(0, watcher);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	ASSERT_TRUE(listing_find("a", &before));
	call_acquire_set(&call, self->domain, set, ARRAY_SIZE(set), in_ms(600));
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	/* It waits for b with a in its hand, and without c. */
	EXPECT_EQ(-EAGAIN, token_lock(watcher, 0, NOWAIT));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	ASSERT_TRUE(listing_find("a", &after));
	EXPECT_EQ(before.fence, after.fence);
	EXPECT_EQ(0, token_waiters(busy));
	EXPECT_EQ(0, token_lock(watcher, 0, NOWAIT));
	close(watcher);
	close(busy);
}

/* Errors: bad input is told before a busy lock, a wrong state too. */
TEST_F(entitylock, ERRORS_bad_input_before_busy)
{
	int holder = hold(self->domain, "a");

	ASSERT_LE(0, holder);
	EXPECT_EQ(-EINVAL, acquire(self->domain, "a", EXCLUSIVE, 1U << 31, NOWAIT));
	EXPECT_EQ(-EINVAL, acquire(self->domain, "a", 7, 0, PASSED));
	EXPECT_EQ(-EINVAL, token_lock(holder, 1U << 31, NOWAIT));
	EXPECT_EQ(-EBADFD, token_lock(holder, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, token_lock(holder, 0, PASSED));
	close(holder);
}

SELFTEST_MAIN
