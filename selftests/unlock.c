// SPDX-License-Identifier: GPL-2.0
/* UNLOCK from a second thread, CANCEL, close while a verb waits. */
#include "harness.h"

/* L7: UNLOCK on a PENDING token ends the wait: ECANCELED. */
TEST_F(entitylock, L7_UNLOCK_ends_a_LOCK_that_waits)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L7: with CANCEL it acts on PENDING only. */
TEST_F(entitylock, L7_CANCEL_ends_a_LOCK_that_waits)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EBADFD, token_unlock(holder, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	EXPECT_EQ(-EBADFD, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(holder);
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L7: UNLOCK of a set that waits gives up everything that it had. */
TEST_F(entitylock, L7_UNLOCK_ends_a_set_that_waits)
{
	int holder = hold(self->domain, "b");
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"), X("c"));
	struct call call, next;
	int ret;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	call_acquire(&next, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(queued("a") == 1));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	/* Who waited for the prefix has it. */
	ret = call_result(&next);
	EXPECT_LE(0, ret);
	close(ret);
	close(holder);
	close(token);
}

/* L7: a cancelled waiter in the middle of the queue: those behind move up. */
TEST_F(entitylock, L7_cancel_in_the_middle_of_a_queue)
{
	int holder = hold(self->domain, "a");
	int tokens[3];
	struct call calls[3];

	ASSERT_LE(0, holder);
	for (int i = 0; i < 3; i++) {
		tokens[i] = idle(self->domain, "a");
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1));
	}
	EXPECT_EQ(0, token_unlock(tokens[1], ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, call_result(&calls[1]));
	EXPECT_EQ(2, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, call_result(&calls[0]));
	EXPECT_EQ(0, unlock(tokens[0]));
	EXPECT_EQ(0, call_result(&calls[2]));
	for (int i = 0; i < 3; i++)
		close(tokens[i]);
}

/* L7: the fence of an earlier grant does not end a later wait. */
TEST_F(entitylock, L7_stale_fence_does_not_end_a_wait)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	struct call call;
	int holder;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	holder = hold(self->domain, "a");
	ASSERT_LE(0, holder);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(-ESTALE, token_unlock(token, 0, fence));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	close(token);
}

/* L7: a stale token never releases the new holder's lock. */
TEST_F(entitylock, L7_second_UNLOCK_does_not_touch_the_next_holder)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	int next;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	next = hold(self->domain, "a");
	ASSERT_LE(0, next);
	EXPECT_EQ(-EBADFD, unlock(token));
	EXPECT_GT(0, token_unlock(token, 0, fence));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(next));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(next));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(next);
}

/* L6: while PENDING, by whatever verb, only some verbs work. */
TEST_F(entitylock, L6_verbs_on_a_PENDING_token)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(-EBADFD, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, token_lock(token, 0, FOREVER));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(0, token_info(token).fence);
	EXPECT_EQ(0, token_label(token, "waiting still"));
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	close(token);
}

/* L9: close does not end another thread's verb; its end is the last reference. */
TEST_F(entitylock, L9_close_while_another_thread_waits)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	close(token);
	EXPECT_EQ(1, token_waiters(holder));
	EXPECT_TRUE(call_blocked(&call));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	/* Nobody can reach the token any more: released. */
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: dup2 over a token is a close. */
TEST_F(entitylock, L9_dup2_while_another_thread_waits)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	ASSERT_EQ(token, dup2(STDERR_FILENO, token));
	EXPECT_EQ(1, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L9: the domain fd is closed while ACQUIRE waits on it. */
TEST_F(entitylock, L9_domain_closed_while_ACQUIRE_waits)
{
	int domain = domain_open(O_RDWR);
	int holder = hold(self->domain, "a");
	struct call call;
	int token;

	ASSERT_LE(0, domain);
	ASSERT_LE(0, holder);
	call_acquire(&call, domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	close(domain);
	close(holder);
	token = call_result(&call);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L7: two threads UNLOCK one token at once: one succeeds, nothing is masked. */
struct unlocker {
	struct start_line *line;
	int token;
	int ret;
	pthread_t thread;
};

static void *unlock_once(void *data)
{
	struct unlocker *unlocker = data;

	start_together(unlocker->line, 2);
	unlocker->ret = unlock(unlocker->token);
	return NULL;
}

/* L7 */
TEST_F(entitylock, L7_two_UNLOCKs_race)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (unsigned int round = 0; round < scaled(1000, 100); round++) {
		struct start_line line = { 0 };
		struct unlocker unlockers[2];

		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		for (int i = 0; i < 2; i++) {
			unlockers[i].line = &line;
			unlockers[i].token = token;
			ASSERT_EQ(0, pthread_create(&unlockers[i].thread, NULL, unlock_once,
						    &unlockers[i]));
		}
		for (int i = 0; i < 2; i++)
			pthread_join(unlockers[i].thread, NULL);
		EXPECT_EQ(-EBADFD, unlockers[0].ret + unlockers[1].ret);
		EXPECT_TRUE(!unlockers[0].ret || !unlockers[1].ret);
	}
	close(token);
}

SELFTEST_MAIN
