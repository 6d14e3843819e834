// SPDX-License-Identifier: GPL-2.0
/* Holders and waiters that die. */
#include <signal.h>

#include "harness.h"

/* A child that holds @set and then does nothing, or does @end. */
static pid_t holder_child(int domain, const struct entitylock_entity *set, __u32 count,
			  int ready, void (*end)(void))
{
	pid_t pid = spawn();

	if (pid)
		return pid;
	if (acquire_set(domain, set, count, 0, NOWAIT) < 0)
		_exit(1);
	if (write(ready, "", 1) != 1)
		_exit(2);
	if (end)
		end();
	for (;;)
		pause();
}

static void end_by_exit(void)
{
	exit(0);
}

static void end_by_segv(void)
{
	volatile uintptr_t nowhere = 8;

	signal(SIGSEGV, SIG_DFL);
	*(volatile int *)nowhere = 0;
}

static void end_by_abort(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void *exit_thread(void *unused)
{
	(void)unused;
	exit(0);
}

static void end_by_another_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exit_thread, NULL);
}

static void end_by_exec(void)
{
	execl("/bin/true", "true", NULL);
}

/* L9: for a dead process the kernel closes, whatever it died of. */
TEST_F(entitylock, L9_every_way_to_die_releases)
{
	void (*const ends[])(void) = {
		end_by_exit, end_by_segv, end_by_abort, end_by_another_thread, end_by_exec,
	};
	struct entitylock_entity set[] = { X("a"), X("b") };
	int ready[2];

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		pid_t pid = holder_child(self->domain, set, 2, ready[1], ends[i]);
		char byte;

		ASSERT_EQ(1, read(ready[0], &byte, 1));
		EXPECT_LE(0, reap(pid));
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	}
	close(ready[0]);
	close(ready[1]);
}

/* L4: holder killed: the next waiter has it at once, and the others stay in line. */
TEST_F(entitylock, L4_killed_holder_hands_over)
{
	struct entitylock_entity set[] = { X("a") };
	struct call calls[20];
	int ready[2];
	char byte;
	pid_t pid;
	int token;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	pid = holder_child(self->domain, set, 1, ready[1], NULL);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		call_acquire(&calls[i], self->domain, "a", EXCLUSIVE, FOREVER);
		ASSERT_TRUE(eventually(queued("a") == i + 1));
	}
	kill(pid, SIGKILL);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		token = call_result(&calls[i]);
		ASSERT_LE(0, token);
		EXPECT_EQ(ARRAY_SIZE(calls) - 1 - i, token_waiters(token));
		close(token);
	}
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	close(ready[0]);
	close(ready[1]);
}

/* L4: a killed holder of a set of 1,024 frees each of them. */
TEST_F(entitylock, L4_killed_holder_of_1024)
{
	static struct numbered many;
	struct call calls[3];
	const unsigned int at[] = { 0, 500, 1023 };
	int ready[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	numbered_set(&many, 0, 1024, EXCLUSIVE);
	pid = holder_child(self->domain, many.set, 1024, ready[1], NULL);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	for (int i = 0; i < 3; i++) {
		call_acquire(&calls[i], self->domain, many.names[at[i]], EXCLUSIVE, FOREVER);
		ASSERT_TRUE(eventually(queued(many.names[at[i]]) == 1));
	}
	kill(pid, SIGKILL);
	for (int i = 0; i < 3; i++) {
		int token = call_result(&calls[i]);

		EXPECT_LE(0, token);
		close(token);
	}
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
	close(ready[0]);
	close(ready[1]);
}

/* L2: a killed waiter gives up the part of its set that it had. */
TEST_F(entitylock, L2_killed_waiter_gives_up_its_prefix)
{
	int holder = hold(self->domain, "b");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		acquire_these(self->domain, 0, FOREVER, X("a"), X("b"));
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
}

/* L2: a process killed in LOCK on a token that others have too: the token is IDLE. */
TEST_F(entitylock, L2_killed_in_LOCK_on_a_shared_fd)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		token_lock(token, 0, FOREVER);
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(-EBADFD, token_lock(token, 0, NOWAIT));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L9: a killed thread group with several threads in verbs. */
TEST_F(entitylock, L9_killed_with_many_threads_waiting)
{
	enum { COUNT = 16 };
	int holder = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		struct call calls[COUNT];

		for (int i = 0; i < COUNT; i++)
			call_acquire(&calls[i], self->domain, "a", EXCLUSIVE, FOREVER);
		for (;;)
			pause();
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == COUNT));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: holder and all waiters killed together, over and over: nothing is left. */
TEST_F(entitylock, L9_all_killed_at_once)
{
	enum { COUNT = 8 };

	for (unsigned int round = 0; round < scaled(30, 5); round++) {
		pid_t pids[COUNT];

		for (int i = 0; i < COUNT; i++) {
			pids[i] = spawn();
			if (!pids[i])
				for (;;) {
					int token = acquire_these(self->domain, 0, FOREVER,
								  X("a"), X("b"));

					close(token);
				}
		}
		for (unsigned int i = 0; i < scaled(100, 10); i++)
			close(acquire(self->domain, "b", EXCLUSIVE, 0, FOREVER));
		for (int i = 0; i < COUNT; i++)
			kill(pids[i], SIGKILL);
		for (int i = 0; i < COUNT; i++)
			EXPECT_EQ(256 + SIGKILL, reap(pids[i]));
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
		EXPECT_EQ(0, live_entities(self->domain));
	}
}

SELFTEST_MAIN
