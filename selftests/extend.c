// SPDX-License-Identifier: GPL-2.0
/* EXTEND: adds entities, all or none, and never waits against the order. */
#include <signal.h>

#include "harness.h"

/* L10: EXTEND is a grant of all the token then holds, with a number of its own. */
TEST_F(entitylock, L10_EXTEND_adds_entities)
{
	int token = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("c"), S("a") };
	struct entitylock_acquire arg = {
		.count = 2,
		.entities = ptr(set),
		.entity_size = sizeof(set[0]),
		.result = ~0U,
	};
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_EXTEND, &arg));
	EXPECT_LT(fence, arg.fence);
	EXPECT_EQ(arg.fence, token_fence(token));
	EXPECT_EQ(0, arg.result);
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_STREQ("sxx", token_modes(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "c", SHARED));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* Flags: EXTEND keeps the label and the owner. */
TEST_F(entitylock, EXTEND_keeps_the_label)
{
	char label[8] = "";
	struct entitylock_info info = { .label = ptr(label), .label_len = sizeof(label) };
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_label(token, "import"));
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_STREQ("import", label);
	EXPECT_EQ(getpid(), (pid_t)info.owner_pid);
	close(token);
}

/* Flags: a later LOCK takes the set that EXTEND left. */
TEST_F(entitylock, EXTEND_is_kept_by_a_later_LOCK)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
	EXPECT_EQ(0, live_entities(self->domain));
}

/* Flags: EXTEND needs HELD. */
TEST_F(entitylock, EXTEND_needs_HELD)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EBADFD, extend_these(token, 0, NOWAIT, X("b")));
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(-EBADFD, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(1, live_entities(self->domain));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	close(token);
}

/* Flags: over 1,024 in all: E2BIG; names that are there already do not count. */
TEST_F(entitylock, EXTEND_over_1024_is_E2BIG)
{
	static struct numbered many;
	int token;

	numbered_set(&many, 0, 1024, EXCLUSIVE);
	token = acquire_set(self->domain, many.set, 1023, 0, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(-E2BIG, extend_these(token, 0, NOWAIT, X("x"), X("y")));
	EXPECT_EQ(1023, token_info(token).count);
	EXPECT_EQ(1023, live_entities(self->domain));
	EXPECT_EQ(0, token_extend(token, many.set, 1024, 0, NOWAIT));
	EXPECT_EQ(1024, token_info(token).count);
	EXPECT_EQ(-E2BIG, extend_these(token, 0, NOWAIT, X("x")));
	EXPECT_EQ(0, token_extend(token, many.set, 1024, 0, NOWAIT));
	close(token);
}

/* L1: against the order: a free entity is granted. */
TEST_F(entitylock, L1_against_the_order_and_free)
{
	int token = hold(self->domain, "b");

	ASSERT_LE(0, token);
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("a")));
	EXPECT_STREQ("a b", token_names(token));
	close(token);
}

/* L1: against the order and busy: EDEADLK at once, whatever the deadline, token as it was. */
TEST_F(entitylock, L1_against_the_order_and_busy)
{
	const __u64 deadlines[] = { NOWAIT, PASSED, FOREVER };
	int busy = hold(self->domain, "a");
	int token = hold(self->domain, "b");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, busy);
	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		EXPECT_EQ(-EDEADLK, extend_these(token, 0, deadlines[i], X("a")));
		EXPECT_EQ(-EDEADLK, extend_these(token, 0, deadlines[i], S("a")));
		/* Also when other entities of the call are free, before and after. */
		EXPECT_EQ(-EDEADLK, extend_these(token, 0, deadlines[i], X("0"), X("a"), X("c")));
	}
	EXPECT_EQ(-EDEADLK, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("a")));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("b", token_names(token));
	EXPECT_EQ(0, token_waiters(busy));
	EXPECT_EQ(0, try_lock(self->domain, "0", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(2, live_entities(self->domain));
	close(token);
	close(busy);
}

/* L1: in the order: it waits. */
TEST_F(entitylock, L1_in_the_order_it_waits)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("b") };
	__u64 fence = token_fence(token);
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	EXPECT_EQ(-EAGAIN, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(-ETIMEDOUT, extend_these(token, 0, PASSED, X("b")));
	EXPECT_EQ(-ETIMEDOUT, extend_these(token, 0, in_ms(20), X("b")));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	call_extend(&call, token, set, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HOLDING, token_info(token).flags & ENTITYLOCK_HOLDING);
	/* It holds what it held. */
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(busy);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_LT(fence, token_fence(token));
	close(token);
}

/* L1: free before what it holds, busy behind: it may wait, with all else before. */
TEST_F(entitylock, L1_free_before_and_busy_behind)
{
	int token = hold(self->domain, "b");
	int busy = hold(self->domain, "c");
	struct entitylock_entity set[] = { X("d"), X("c"), X("a") };
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	call_extend(&call, token, set, 3, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	/* d comes after c: not yet. */
	EXPECT_EQ(0, try_lock(self->domain, "d", EXCLUSIVE));
	close(busy);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_STREQ("a b c d", token_names(token));
	close(token);
}

/* L1: a stronger mode on a name already held is an upgrade, under its rules. */
TEST_F(entitylock, L1_EXTEND_upgrades)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), S("b"));
	int other = acquire_these(self->domain, 0, NOWAIT, S("a"), S("b"));
	struct entitylock_entity set[] = { X("b") };
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EDEADLK, extend_these(token, 0, FOREVER, X("a")));
	EXPECT_EQ(-EAGAIN, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_STREQ("ss", token_modes(token));
	call_extend(&call, token, set, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(other) == 1));
	EXPECT_EQ(-EDEADLK, extend_these(other, 0, FOREVER, X("b")));
	close(other);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_STREQ("sx", token_modes(token));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("a")));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);
}

/* Flags: a name already held, equal or weaker: no change, also when others wait for it. */
TEST_F(entitylock, EXTEND_equal_or_weaker_is_no_change)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"));
	struct call call;
	int ret;

	ASSERT_LE(0, token);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 1));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("a")));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, S("a"), X("b"), X("c")));
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_STREQ("xxx", token_modes(token));
	EXPECT_EQ(1, token_waiters(token));
	close(token);
	ret = call_result(&call);
	EXPECT_LE(0, ret);
	close(ret);
}

/* L7: CANCEL ends an EXTEND that waits, and keeps what was held; UNLOCK does not. */
TEST_F(entitylock, L7_CANCEL_and_UNLOCK_of_EXTEND)
{
	int token = hold(self->domain, "b");
	int busy = hold(self->domain, "c");
	struct entitylock_entity set[] = { X("a"), X("c") };
	__u64 fence = token_fence(token);
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	call_extend(&call, token, set, 2, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("b", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));

	call_extend(&call, token, set, 2, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_STREQ("b", token_names(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	EXPECT_EQ(2, live_entities(self->domain));
	close(busy);
	close(token);
}

static void handler(int sig)
{
	(void)sig;
}

/* L8: a signal ends an EXTEND that waits, the token as it was. */
TEST_F(entitylock, L8_EINTR_from_EXTEND)
{
	struct sigaction action = { .sa_handler = handler };
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("b") };
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	sigaction(SIGUSR1, &action, NULL);
	call_extend(&call, token, set, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1 && call_blocked(&call)));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(0, token_waiters(busy));
	close(busy);
	close(token);
}

/* L1: tokens that extend towards one another: one is told, the other is granted. */
TEST_F(entitylock, L1_two_tokens_extend_crosswise)
{
	int a = hold(self->domain, "a");
	int b = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("b") };
	struct call call;

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	call_extend(&call, a, set, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(b) == 1));
	EXPECT_EQ(-EDEADLK, extend_these(b, 0, FOREVER, X("a")));
	EXPECT_EQ(0, unlock(b));
	EXPECT_EQ(0, call_result(&call));
	close(a);
	close(b);
}

/* L9: closed while EXTEND waits elsewhere: it ends with the grant, and then with the token. */
TEST_F(entitylock, L9_closed_while_EXTEND_waits)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("b") };
	struct call call;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	call_extend(&call, token, set, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1 && call_blocked(&call)));
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(busy);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
}

SELFTEST_MAIN
