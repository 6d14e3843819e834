// SPDX-License-Identifier: GPL-2.0
/* POLLPRI: look: somebody waits for what a token holds, or an entity changed. */
#include <poll.h>

#include "harness.h"

/* Changes may be told by a worker. */
static bool pri_becomes(int token, bool set)
{
	return eventually(!!(token_poll(token) & POLLPRI) == set);
}

/* L6: set while somebody waits, and no longer. */
TEST_F(entitylock, L6_POLLPRI_while_somebody_waits)
{
	int token = hold(self->domain, "a");
	int waiter = idle(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, waiter);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(POLLIN, token_poll(token));
		ASSERT_EQ(0, token_lock(waiter, ENTITYLOCK_ASYNC, FOREVER));
		EXPECT_TRUE(pri_becomes(token, true));
		EXPECT_EQ(POLLIN | POLLPRI, token_poll(token));
		ASSERT_EQ(0, unlock(waiter));
		EXPECT_TRUE(pri_becomes(token, false));
	}
	close(token);
	close(waiter);
}

/* L6: a request that does not wait is nothing to look at. */
TEST_F(entitylock, L6_no_POLLPRI_for_who_does_not_wait)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_poll(token) & POLLPRI);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, PASSED));
	EXPECT_TRUE(pri_becomes(token, false));
	close(token);
}

struct poller {
	int token;
	short got;
	atomic_int tid;
	pthread_t thread;
};

/* Sleeps for POLLPRI alone. */
static void *poll_for_pri(void *data)
{
	struct poller *poller = data;
	struct pollfd pfd = { .fd = poller->token, .events = POLLPRI };

	poller->tid = gettid();
	poller->got = poll(&pfd, 1, limit_seconds() * 1000) == 1 ? pfd.revents : 0;
	return NULL;
}

static void start_polling(struct __test_metadata *_metadata, struct poller *poller, int token)
{
	*poller = (struct poller){ .token = token };
	ASSERT_EQ(0, pthread_create(&poller->thread, NULL, poll_for_pri, poller));
	ASSERT_TRUE(eventually(poller->tid && task_syscall(poller->tid) >= 0));
}

/* L6: who polls for it is woken by it. */
TEST_F(entitylock, L6_POLLPRI_wakes)
{
	int token = hold(self->domain, "a");
	struct poller pollers[4];
	int waiter;

	ASSERT_LE(0, token);
	for (int i = 0; i < 4; i++)
		start_polling(_metadata, &pollers[i], token);
	waiter = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, waiter);
	for (int i = 0; i < 4; i++) {
		pthread_join(pollers[i].thread, NULL);
		EXPECT_EQ(POLLPRI, pollers[i].got & POLLPRI);
	}
	close(token);
	close(waiter);
}

/* L6: polled before anybody waits, and then told, over and over. */
TEST_F(entitylock, L6_POLLPRI_is_never_lost)
{
	int token = hold(self->domain, "a");
	int waiter = idle(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, waiter);
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		struct poller poller = { .token = token };

		ASSERT_EQ(0, pthread_create(&poller.thread, NULL, poll_for_pri, &poller));
		if (i % 2)
			spin_ns(i * 1000);
		ASSERT_EQ(0, token_lock(waiter, ENTITYLOCK_ASYNC, FOREVER));
		pthread_join(poller.thread, NULL);
		EXPECT_EQ(POLLPRI, poller.got & POLLPRI);
		ASSERT_EQ(0, unlock(waiter));
		ASSERT_TRUE(pri_becomes(token, false));
	}
	close(token);
	close(waiter);
}

/* L6: every holder of what is waited for is told. */
TEST_F(entitylock, L6_POLLPRI_for_all_shared_holders)
{
	int first = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int second = acquire_these(self->domain, 0, NOWAIT, X("0"), S("a"), X("b"));
	int other = hold(self->domain, "c");
	int waiter;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_LE(0, other);
	waiter = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, waiter);
	EXPECT_TRUE(pri_becomes(first, true));
	EXPECT_TRUE(pri_becomes(second, true));
	EXPECT_EQ(POLLIN, token_poll(other));
	close(waiter);
	EXPECT_TRUE(pri_becomes(first, false));
	EXPECT_TRUE(pri_becomes(second, false));
	close(first);
	close(second);
	close(other);
}

/* L6: a new holder that takes over a queue is told of it at once. */
TEST_F(entitylock, L6_POLLPRI_on_a_lock_taken_over)
{
	int holder = hold(self->domain, "a");
	int first = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	int second = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);

	ASSERT_LE(0, holder);
	close(holder);
	ASSERT_EQ(ENTITYLOCK_HELD, token_state(first));
	EXPECT_TRUE(pri_becomes(first, true));
	close(first);
	ASSERT_EQ(ENTITYLOCK_HELD, token_state(second));
	EXPECT_EQ(POLLIN, token_poll(second));
	close(second);
}

/* L6: an upgrade that waits is somebody who waits. */
TEST_F(entitylock, L6_POLLPRI_for_an_upgrade)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int other = acquire(self->domain, "a", SHARED, 0, NOWAIT);

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, token_convert(other, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_TRUE(pri_becomes(token, true));
	close(other);
	EXPECT_TRUE(pri_becomes(token, false));
	close(token);
}

/* L6: neither an IDLE nor a PENDING token is asked to let go. */
TEST_F(entitylock, L6_no_POLLPRI_without_holding)
{
	int holder = hold(self->domain, "a");
	int pending = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	int last = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_TRUE(pri_becomes(holder, true));
	EXPECT_EQ(0, token_poll(pending) & POLLPRI);
	EXPECT_EQ(0, token_poll(last) & POLLPRI);
	close(last);
	close(pending);
	close(holder);
}

/* L6: who polls while it is PENDING is told, once HELD, of those who waited before. */
TEST_F(entitylock, L6_POLLPRI_of_who_waited_before_the_grant)
{
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	int behind = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	struct poller poller;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_LE(0, behind);
	start_polling(_metadata, &poller, token);
	close(holder);
	pthread_join(poller.thread, NULL);
	EXPECT_EQ(POLLPRI, poller.got & POLLPRI);
	close(token);
	close(behind);
}

/* L6: who polls while it is HELD is told of those who wait for what it was extended by. */
TEST_F(entitylock, L6_POLLPRI_for_what_EXTEND_added)
{
	int token = hold(self->domain, "a");
	struct poller poller;
	int waiter;

	ASSERT_LE(0, token);
	start_polling(_metadata, &poller, token);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("b")));
	waiter = acquire(self->domain, "b", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, waiter);
	pthread_join(poller.thread, NULL);
	EXPECT_EQ(POLLPRI, poller.got & POLLPRI);
	close(token);
	close(waiter);
}

/* L6: the holder of the gate is told of who comes to wait at it. */
TEST_F(entitylock, L6_POLLPRI_for_the_holder_of_the_gate)
{
	for (int way = 0; way < 2; way++) {
		int gate = acquire_gate(self->domain, 0, NOWAIT);
		struct poller poller;
		int waiter;

		ASSERT_LE(0, gate);
		start_polling(_metadata, &poller, gate);
		waiter = way ? acquire_gate(self->domain, ENTITYLOCK_ASYNC, FOREVER) :
			       acquire(self->domain, "a", SHARED, ENTITYLOCK_ASYNC, FOREVER);
		ASSERT_LE(0, waiter);
		pthread_join(poller.thread, NULL);
		EXPECT_EQ(POLLPRI, poller.got & POLLPRI);
		close(gate);
		close(waiter);
	}
}

/* L6: an operation is told of a gate that comes to wait for it. */
TEST_F(entitylock, L6_POLLPRI_for_an_awaited_gate)
{
	int token = hold(self->domain, "a");
	struct poller poller;
	int gate;

	ASSERT_LE(0, token);
	start_polling(_metadata, &poller, token);
	gate = acquire_gate(self->domain, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, gate);
	pthread_join(poller.thread, NULL);
	EXPECT_EQ(POLLPRI, poller.got & POLLPRI);
	close(token);
	close(gate);
}

SELFTEST_MAIN
