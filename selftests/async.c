// SPDX-License-Identifier: GPL-2.0
/* ASYNC: ask, go on, be told by poll(2). */
#include <poll.h>
#include <signal.h>

#include "harness.h"

static int acquire_async(int domain, const char *name, __u64 deadline)
{
	return acquire(domain, name, EXCLUSIVE, ENTITYLOCK_ASYNC, deadline);
}

/* L6: free: HELD at once. */
TEST_F(entitylock, L6_free_is_HELD_at_once)
{
	struct entitylock_lock arg = { .flags = ENTITYLOCK_ASYNC, .deadline = FOREVER };
	int token = acquire_async(self->domain, "a", FOREVER);

	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(POLLIN, token_poll(token));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg));
	EXPECT_NE(0, arg.fence);
	EXPECT_EQ(arg.fence, token_fence(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L6: busy: PENDING, fence 0; POLLIN tells of the grant. */
TEST_F(entitylock, L6_busy_is_PENDING_until_POLLIN)
{
	struct entitylock_entity entity = X("a");
	struct entitylock_acquire arg = {
		.flags = ENTITYLOCK_ASYNC,
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.deadline = FOREVER,
		.fence = ~0ULL,
	};
	int holder = hold(self->domain, "a");
	int token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, arg.fence);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(0, token_info(token).flags & ENTITYLOCK_HOLDING);
	EXPECT_EQ(0, token_fence(token));
	EXPECT_EQ(0, token_poll(token));
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_NE(0, token_fence(token));
	EXPECT_EQ(0, token_info(token).error);
	close(token);
}

/* Times: deadline 0 = EAGAIN, also with ASYNC, no token. */
TEST_F(entitylock, TIMES_ASYNC_with_deadline_0)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, acquire_async(self->domain, "a", NOWAIT));
	EXPECT_EQ(-EAGAIN, token_lock(token, ENTITYLOCK_ASYNC, NOWAIT));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_poll(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, NOWAIT));
	close(token);
}

/* Times: a deadline that has passed = try once, also with ASYNC: nothing is left waiting. */
TEST_F(entitylock, TIMES_ASYNC_with_a_passed_deadline)
{
	int holder = hold(self->domain, "a");
	int token = acquire_async(self->domain, "a", PASSED);

	ASSERT_LE(0, holder);
	EXPECT_EQ(-ETIMEDOUT, token);
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	token = acquire_async(self->domain, "a", PASSED);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L6: a wait that times out: POLLERR, INFO.error, until something succeeds. */
TEST_F(entitylock, L6_timed_out_wait_is_POLLERR)
{
	int holder = hold(self->domain, "a");
	__u64 deadline = in_ms(50);
	int token = acquire_async(self->domain, "a", deadline);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(POLLERR, token_poll_wait(token, POLLIN));
	EXPECT_LE(deadline, now());
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	EXPECT_EQ(0, token_fence(token));
	EXPECT_EQ(0, token_waiters(holder));
	/* Kept until a verb succeeds; one that fails does not count. */
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, unlock(token));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	EXPECT_EQ(POLLERR, token_poll(token));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(0, token_info(token).error);
	EXPECT_EQ(POLLIN, token_poll(token));
	close(token);
}

/* L6: who waits again waits for the new outcome: the error of the last wait is over. */
TEST_F(entitylock, L6_a_new_wait_forgets_the_old_error)
{
	int holder = hold(self->domain, "a");
	int token = acquire_async(self->domain, "a", in_ms(20));

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_EQ(POLLERR, token_poll_wait(token, POLLIN));
	ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(0, token_info(token).error);
	EXPECT_EQ(0, token_poll(token));
	close(holder);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	close(token);
}

/* L6: while PENDING only INFO, RENEW, LABEL, UNLOCK work. */
TEST_F(entitylock, L6_verbs_while_PENDING)
{
	int holder = hold(self->domain, "a");
	int token = acquire_async(self->domain, "a", FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EBADFD, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(-EBADFD, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(0, token_label(token, "patient"));
	EXPECT_EQ(1, token_waiters(holder));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	close(token);
}

/* L7: CANCEL of an asynchronous wait. */
TEST_F(entitylock, L7_CANCEL_of_an_asynchronous_wait)
{
	int holder = hold(self->domain, "a");
	int token = acquire_async(self->domain, "a", FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_poll(token) & POLLIN);
	EXPECT_EQ(-EBADFD, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L3: asynchronous and blocking requests stand in one queue. */
TEST_F(entitylock, L3_one_queue_for_both)
{
	int holder = hold(self->domain, "a");
	struct call call;
	int first, last, middle;

	ASSERT_LE(0, holder);
	first = acquire_async(self->domain, "a", FOREVER);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	last = acquire_async(self->domain, "a", FOREVER);
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(first));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(last));
	close(first);
	middle = call_result(&call);
	EXPECT_LE(0, middle);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(last));
	close(middle);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(last));
	close(last);
}

static void handler(int sig)
{
	(void)sig;
}

/* L8: asynchronous waits keep their place, whatever signals come. */
TEST_F(entitylock, L8_signals_do_not_touch_an_asynchronous_wait)
{
	struct sigaction action = { .sa_handler = handler };
	int holder = hold(self->domain, "a");
	int first = acquire_async(self->domain, "a", FOREVER);
	int second = acquire_async(self->domain, "a", FOREVER);

	ASSERT_LE(0, holder);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(first));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(second));
	close(first);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(second));
	close(second);
}

/* L6: the wait is the token's, not that of the process that began it. */
TEST_F(entitylock, L6_wait_survives_the_process_that_began_it)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid)
		_exit(token_lock(token, ENTITYLOCK_ASYNC, FOREVER) ? 1 : 0);
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	close(holder);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	close(token);
}

/* L9: closing a token that waits takes it out of the queue. */
TEST_F(entitylock, L9_closing_a_PENDING_token)
{
	int holder = hold(self->domain, "b");
	int token = acquire_these(self->domain, ENTITYLOCK_ASYNC, FOREVER, X("a"), X("b"));
	int next = acquire_async(self->domain, "b", FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_LE(0, next);
	EXPECT_EQ(2, token_waiters(holder));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	EXPECT_EQ(1, token_waiters(holder));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(next));
	close(next);
}

/* L4: further steps of a set need nobody to act: POLLIN comes when all is held. */
TEST_F(entitylock, L4_a_set_goes_on_by_itself)
{
	int a = hold(self->domain, "a");
	int b = hold(self->domain, "b");
	int d = hold(self->domain, "d");
	int token = acquire_these(self->domain, ENTITYLOCK_ASYNC, FOREVER, X("a"), X("b"), S("c"),
				  X("d"));

	ASSERT_LE(0, token);
	EXPECT_EQ(1, token_waiters(a));
	close(a);
	EXPECT_TRUE(eventually(token_waiters(b) == 1));
	EXPECT_EQ(0, token_poll(token));
	close(b);
	EXPECT_TRUE(eventually(token_waiters(d) == 1));
	EXPECT_EQ(0, token_poll(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "c", EXCLUSIVE));
	close(d);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a b c d", token_names(token));
	close(token);
}

/* L6: asynchronous EXTEND: PENDING and HOLDING, then HELD with a new fence. */
TEST_F(entitylock, L6_asynchronous_EXTEND)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	__u64 fence = token_fence(token);
	struct entitylock_info info;

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	info = token_info(token);
	EXPECT_EQ(ENTITYLOCK_PENDING, info.state);
	EXPECT_EQ(ENTITYLOCK_HOLDING, info.flags & ENTITYLOCK_HOLDING);
	EXPECT_EQ(0, token_poll(token) & POLLIN);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-EBADFD, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, extend_these(token, 0, NOWAIT, X("c")));
	EXPECT_EQ(-EBADFD, token_convert(token, SHARED, 0, NOWAIT));
	close(busy);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	info = token_info(token);
	EXPECT_EQ(ENTITYLOCK_HELD, info.state);
	EXPECT_EQ(0, info.flags & ENTITYLOCK_HOLDING);
	EXPECT_LT(fence, info.fence);
	EXPECT_STREQ("a b", token_names(token));
	close(token);
}

/* L6: failing returns it to HELD, with its old set and fence. */
TEST_F(entitylock, L6_asynchronous_EXTEND_that_times_out)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, in_ms(50), X("b"), X("c")));
	EXPECT_EQ(POLLIN | POLLERR, token_poll_wait(token, POLLIN));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(0, token_waiters(busy));
	EXPECT_EQ(2, live_entities(self->domain));
	/* The next one that succeeds clears the error. */
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("c")));
	EXPECT_EQ(0, token_info(token).error);
	EXPECT_EQ(POLLIN, token_poll(token));
	close(token);
	close(busy);
}

/* L6: an UNLOCK that succeeds is the end of the error as well. */
TEST_F(entitylock, L6_UNLOCK_forgets_the_error)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, in_ms(20), X("b")));
	ASSERT_EQ(POLLIN | POLLERR, token_poll_wait(token, POLLIN));
	EXPECT_EQ(-EAGAIN, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_info(token).error);
	EXPECT_EQ(0, token_poll(token));
	close(token);
	close(busy);
}

/* L6: and a CONVERT that succeeds, whether it had to change anything or not. */
TEST_F(entitylock, L6_CONVERT_forgets_the_error)
{
	const __u32 modes[] = { SHARED, EXCLUSIVE };
	int busy = hold(self->domain, "b");

	ASSERT_LE(0, busy);
	for (int i = 0; i < 2; i++) {
		int token = hold(self->domain, "a");

		ASSERT_LE(0, token);
		ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, in_ms(20), X("b")));
		ASSERT_EQ(POLLIN | POLLERR, token_poll_wait(token, POLLIN));
		ASSERT_EQ(0, token_convert(token, modes[i], 0, NOWAIT));
		EXPECT_EQ(0, token_info(token).error);
		EXPECT_EQ(POLLIN, token_poll(token));
		close(token);
	}
	close(busy);
}

/* L6: asynchronous CONVERT likewise. */
TEST_F(entitylock, L6_asynchronous_CONVERT)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int other = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	/* One that times out, */
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, in_ms(50)));
	EXPECT_EQ(POLLIN | POLLERR, token_poll_wait(token, POLLIN));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	EXPECT_STREQ("s", token_modes(token));
	/* and one that is granted. */
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(ENTITYLOCK_HOLDING, token_info(token).flags & ENTITYLOCK_HOLDING);
	close(other);
	EXPECT_EQ(POLLIN, token_poll_wait(token, POLLIN));
	EXPECT_EQ(0, token_info(token).error);
	EXPECT_STREQ("x", token_modes(token));
	EXPECT_LT(fence, token_fence(token));
	/* A downgrade does not wait: HELD at once. */
	ASSERT_EQ(0, token_convert(token, SHARED, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* L6: what is HELD may be cancelled out of its asynchronous EXTEND, and is HELD again. */
TEST_F(entitylock, L7_CANCEL_of_an_asynchronous_EXTEND)
{
	int token = hold(self->domain, "a");
	int busy = hold(self->domain, "b");

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(POLLIN, token_poll(token) & POLLIN);
	close(token);
	close(busy);
}

/* L6: LOCK again and again on one token, each wait with its own outcome. */
TEST_F(entitylock, L6_a_token_that_waits_many_times)
{
	int token = idle(self->domain, "a");
	int other = idle(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		ASSERT_EQ(0, token_lock(other, 0, NOWAIT));
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
		if (i % 3) {
			ASSERT_EQ(0, unlock(other));
			EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
			ASSERT_EQ(0, unlock(token));
		} else {
			ASSERT_EQ(0, unlock(token));
			EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
			ASSERT_EQ(0, unlock(other));
		}
	}
	close(token);
	close(other);
}

/* L6: thousands of waits of one thread, told by one poll each. */
TEST_F(entitylock, L6_thousands_of_waits_in_one_thread)
{
	enum { COUNT = 4000 };
	static struct pollfd pfds[COUNT];
	unsigned int count = scaled(COUNT, 300);
	int holder, granted = 0;

	raise_fd_limit(count + 100);
	holder = hold(self->domain, "a");
	ASSERT_LE(0, holder);
	for (unsigned int i = 0; i < count; i++) {
		pfds[i].fd = acquire_async(self->domain, "a", FOREVER);
		pfds[i].events = POLLIN;
		ASSERT_LE(0, pfds[i].fd);
	}
	EXPECT_EQ(count, token_waiters(holder));
	EXPECT_EQ(0, poll(pfds, count, 0));
	close(holder);
	/* One after the other, in the order in which they came. */
	for (unsigned int i = 0; i < count; i++) {
		if (poll(&pfds[i], 1, limit_seconds() * 1000) == 1 && pfds[i].revents == POLLIN)
			granted++;
		close(pfds[i].fd);
	}
	EXPECT_EQ(count, (unsigned int)granted);
}

SELFTEST_MAIN
