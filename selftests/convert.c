// SPDX-License-Identifier: GPL-2.0
/* CONVERT: exclusive to shared never waits; back it may. */
#include "harness.h"

static int hold_shared(int domain, const char *name)
{
	return acquire(domain, name, SHARED, 0, NOWAIT);
}

/* L10: a downgrade keeps the fence, and lets shared waiters in at once. */
TEST_F(entitylock, L10_downgrade_keeps_the_fence)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	struct entitylock_convert arg = { .mode = SHARED, .fence = ~0ULL };
	struct call shared, exclusive;
	int other;

	ASSERT_LE(0, token);
	call_acquire(&shared, self->domain, "a", SHARED, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 1));
	call_acquire(&exclusive, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 2));
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_CONVERT, &arg));
	EXPECT_EQ(fence, arg.fence);
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	other = call_result(&shared);
	EXPECT_LE(0, other);
	EXPECT_EQ(1, token_waiters(token));
	close(token);
	close(other);
	other = call_result(&exclusive);
	EXPECT_LE(0, other);
	close(other);
}

/* Verbs: a downgrade never waits: the deadline is of no concern. */
TEST_F(entitylock, CONVERT_downgrade_never_waits)
{
	const __u64 deadlines[] = { NOWAIT, PASSED, FOREVER };

	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		int token = hold(self->domain, "a");

		ASSERT_LE(0, token);
		EXPECT_EQ(0, token_convert(token, SHARED, 0, deadlines[i]));
		EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
		close(token);
	}
}

/* L10: an upgrade is a grant with a number of its own. */
TEST_F(entitylock, L10_upgrade_has_a_new_fence)
{
	int token = hold_shared(self->domain, "a");
	__u64 fence = token_fence(token);
	struct entitylock_convert arg = { .mode = EXCLUSIVE, .fence = 0 };

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_CONVERT, &arg));
	EXPECT_LT(fence, arg.fence);
	EXPECT_EQ(arg.fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	close(token);
}

/* L2: an upgrade that would have to wait and may not leaves the token as it was. */
TEST_F(entitylock, L2_failed_upgrade_changes_nothing)
{
	int token = hold_shared(self->domain, "a");
	int other = hold_shared(self->domain, "a");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EAGAIN, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(-ETIMEDOUT, token_convert(token, EXCLUSIVE, 0, PASSED));
	EXPECT_EQ(-ETIMEDOUT, token_convert(token, EXCLUSIVE, 0, in_ms(20)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("s", token_modes(token));
	EXPECT_EQ(0, token_waiters(other));
	/* Nobody is kept out by what has failed. */
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	close(token);
	close(other);
}

/* L3: an upgrade waits for the other holders, ahead of the queue. */
TEST_F(entitylock, L3_upgrade_goes_before_queued_writers)
{
	int token = hold_shared(self->domain, "a");
	int other = hold_shared(self->domain, "a");
	struct call writer, upgrade;
	int ret;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	call_acquire(&writer, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	call_convert(&upgrade, token, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 2));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HOLDING, token_info(token).flags & ENTITYLOCK_HOLDING);
	close(other);
	EXPECT_EQ(0, call_result(&upgrade));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(0, token_info(token).flags & ENTITYLOCK_HOLDING);
	EXPECT_EQ(1, token_waiters(token));
	close(token);
	ret = call_result(&writer);
	EXPECT_LE(0, ret);
	close(ret);
}

/* L3: two upgraders of one entity: the second gets EDEADLK, at once, always. */
TEST_F(entitylock, L3_upgrade_against_upgrade)
{
	int first = hold_shared(self->domain, "a");
	int second = hold_shared(self->domain, "a");
	struct call upgrade;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	call_convert(&upgrade, first, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(second) == 1));
	EXPECT_EQ(-EDEADLK, token_convert(second, EXCLUSIVE, 0, FOREVER));
	EXPECT_EQ(-EDEADLK, token_convert(second, EXCLUSIVE, 0, PASSED));
	EXPECT_EQ(-EDEADLK, token_convert(second, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(-EDEADLK, token_convert(second, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(second));
	EXPECT_STREQ("s", token_modes(second));
	EXPECT_EQ(0, unlock(second));
	EXPECT_EQ(0, call_result(&upgrade));
	close(first);
	close(second);
}

/* L3: while an upgrade waits, newcomers wait behind it; when it gives up, they are let in. */
TEST_F(entitylock, L3_newcomers_wait_behind_an_upgrade)
{
	int token = hold_shared(self->domain, "a");
	int other = hold_shared(self->domain, "a");
	struct call upgrade, reader;
	int ret;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	call_convert(&upgrade, token, EXCLUSIVE, in_ms(600));
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	call_acquire(&reader, self->domain, "a", SHARED, FOREVER);
	EXPECT_EQ(-ETIMEDOUT, call_result(&upgrade));
	ret = call_result(&reader);
	EXPECT_LE(0, ret);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(ret);
	close(token);
	close(other);
}

/* L1: an upgrade of an entity that is not the token's last may not wait. */
TEST_F(entitylock, L1_upgrade_against_the_order)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), S("b"));
	__u64 fence = token_fence(token);
	int other = hold_shared(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EDEADLK, token_convert(token, EXCLUSIVE, 0, FOREVER));
	EXPECT_EQ(-EDEADLK, token_convert(token, EXCLUSIVE, 0, PASSED));
	EXPECT_EQ(-EDEADLK, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_STREQ("ss", token_modes(token));
	EXPECT_EQ(fence, token_fence(token));
	/* b was not taken in passing. */
	EXPECT_EQ(0, try_lock(self->domain, "b", SHARED));
	close(other);
	EXPECT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);
}

/* L1: of the token's last entity it may: everything else comes before it. */
TEST_F(entitylock, L1_upgrade_in_the_order_waits)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), S("b"));
	int other = hold_shared(self->domain, "b");
	struct call upgrade;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EAGAIN, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_STREQ("ss", token_modes(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	call_convert(&upgrade, token, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	close(other);
	EXPECT_EQ(0, call_result(&upgrade));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);
}

/* L1: reader to writer by the same thread through two tokens times out, and says so. */
TEST_F(entitylock, L1_reader_to_writer_by_two_tokens_times_out)
{
	int reader = hold_shared(self->domain, "a");

	ASSERT_LE(0, reader);
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, in_ms(50)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(reader));
	EXPECT_EQ(0, token_waiters(reader));
	/* What to use in its place. */
	EXPECT_EQ(0, token_convert(reader, EXCLUSIVE, 0, NOWAIT));
	close(reader);
}

/* Flags: CONVERT needs HELD. */
TEST_F(entitylock, CONVERT_needs_HELD)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EBADFD, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, token_convert(token, EXCLUSIVE, 0, FOREVER));
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(-EBADFD, token_convert(token, SHARED, 0, NOWAIT));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	close(token);
}

/* Flags: a later LOCK takes the modes that CONVERT left. */
TEST_F(entitylock, CONVERT_is_kept_by_a_later_LOCK)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), S("b"));

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_STREQ("ss", token_modes(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);
}

/* L7: CANCEL ends an upgrade that waits and keeps what was held. */
TEST_F(entitylock, L7_CANCEL_of_an_upgrade_keeps_the_lock)
{
	int token = hold_shared(self->domain, "a");
	int other = hold_shared(self->domain, "a");
	__u64 fence = token_fence(token);
	struct call upgrade;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	call_convert(&upgrade, token, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, call_result(&upgrade));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("s", token_modes(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	close(other);
}

/* L7: UNLOCK ends it and gives up everything. */
TEST_F(entitylock, L7_UNLOCK_of_an_upgrade_gives_up_everything)
{
	int token = hold_shared(self->domain, "a");
	int other = hold_shared(self->domain, "a");
	struct call upgrade;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	call_convert(&upgrade, token, EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-ECANCELED, call_result(&upgrade));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(other);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L3: a killed upgrader: the queue behind it goes on. */
TEST_F(entitylock, L3_killed_upgrader)
{
	int other = hold_shared(self->domain, "a");
	struct call reader;
	pid_t pid;
	int ret;

	ASSERT_LE(0, other);
	pid = spawn();
	if (!pid) {
		int token = hold_shared(self->domain, "a");

		close(other);
		token_convert(token, EXCLUSIVE, 0, FOREVER);
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	call_acquire(&reader, self->domain, "a", SHARED, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 2));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	ret = call_result(&reader);
	EXPECT_LE(0, ret);
	close(ret);
	EXPECT_EQ(0, token_convert(other, EXCLUSIVE, 0, NOWAIT));
	close(other);
}

SELFTEST_MAIN
