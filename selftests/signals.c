// SPDX-License-Identifier: GPL-2.0
/* Signals while a verb waits. */
#include <signal.h>

#include "harness.h"

static atomic_int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	handled = 0;
	sigaction(SIGUSR1, &action, NULL);
}

/* L8: blocking waits are interruptible. */
TEST_F(entitylock, L8_EINTR_from_ACQUIRE)
{
	int holder = hold(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	handle(0);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, call_result(&call));
	EXPECT_EQ(1, handled);
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L8: an interrupted LOCK leaves the token as it was. */
TEST_F(entitylock, L8_EINTR_from_LOCK)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	handle(0);
	call_lock(&call, token, now() + 3600 * NSEC_PER_SEC);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L8: an interrupted set gives up the part that it had. */
TEST_F(entitylock, L8_EINTR_from_a_set)
{
	int holder = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("a"), X("b") };
	struct call call;

	ASSERT_LE(0, holder);
	handle(0);
	call_acquire_set(&call, self->domain, set, ARRAY_SIZE(set), FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && call_blocked(&call)));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, call_result(&call));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(holder);
}

/* L8: with SA_RESTART the wait goes on, from the end of the queue. */
TEST_F(entitylock, L8_SA_RESTART_waits_on_at_the_end_of_the_queue)
{
	int holder = hold(self->domain, "a");
	int tokens[] = { idle(self->domain, "a"), idle(self->domain, "a") };
	struct call calls[2];

	ASSERT_LE(0, holder);
	handle(SA_RESTART);
	for (int i = 0; i < 2; i++) {
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1 &&
				       call_blocked(&calls[i])));
	}
	pthread_kill(calls[0].thread, SIGUSR1);
	ASSERT_TRUE(eventually(handled == 1));
	ASSERT_TRUE(eventually(token_waiters(holder) == 2 && call_blocked(&calls[0])));
	close(holder);
	EXPECT_EQ(0, call_result(&calls[1]));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[0]));
	EXPECT_EQ(0, unlock(tokens[1]));
	EXPECT_EQ(0, call_result(&calls[0]));
	close(tokens[0]);
	close(tokens[1]);
}

/* L8: the deadline of a restarted wait is still the same. */
TEST_F(entitylock, L8_SA_RESTART_keeps_the_deadline)
{
	int holder = hold(self->domain, "a");
	__u64 deadline;
	struct call call;

	ASSERT_LE(0, holder);
	handle(SA_RESTART);
	deadline = in_ms(600);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, deadline);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	EXPECT_LE(deadline, now());
	EXPECT_EQ(1, handled);
	close(holder);
}

/* L8: a signal that is ignored or blocked interrupts nothing. */
TEST_F(entitylock, L8_ignored_signals_do_not_interrupt)
{
	int holder = hold(self->domain, "a");
	int tokens[] = { idle(self->domain, "a"), idle(self->domain, "a") };
	struct call calls[2];

	ASSERT_LE(0, holder);
	signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1 &&
				       call_blocked(&calls[i])));
	}
	for (int i = 0; i < 100; i++)
		pthread_kill(calls[0].thread, SIGUSR1);
	/* Its place is its own still. */
	close(holder);
	EXPECT_EQ(0, call_result(&calls[0]));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[1]));
	EXPECT_EQ(0, unlock(tokens[0]));
	EXPECT_EQ(0, call_result(&calls[1]));
	close(tokens[0]);
	close(tokens[1]);
}

/* L8: SIGKILL ends a wait, and the queue goes on without it. */
TEST_F(entitylock, L8_SIGKILL_while_waiting)
{
	int holder = hold(self->domain, "a");
	struct call call;
	pid_t pid;
	int token;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER);
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(1, token_waiters(holder));
	/* The child had a copy of the holder; ours is the last now. */
	close(holder);
	token = call_result(&call);
	EXPECT_LE(0, token);
	close(token);
}

static char task_state(pid_t pid)
{
	char path[64], text[512] = "";
	char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

/* L8: a stopped waiter is interrupted: nobody waits behind it, and it goes on later. */
TEST_F(entitylock, L8_SIGSTOP_while_waiting)
{
	int holder = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		close(holder);
		_exit(acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER) >= 0 ? 0 : 1);
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && task_blocked(pid)));
	kill(pid, SIGSTOP);
	ASSERT_TRUE(eventually(task_state(pid) == 'T'));
	EXPECT_EQ(0, token_waiters(holder));
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(0, token_lock(holder, 0, NOWAIT));
	kill(pid, SIGCONT);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(0, reap(pid));
	close(holder);
}

SELFTEST_MAIN
