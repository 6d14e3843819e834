// SPDX-License-Identifier: GPL-2.0
/* Authority is the fd: fork, dup, SCM_RIGHTS, threads, exec. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"

/* Nouns: whoever has a token may use its verbs, in any process: a forked child releases. */
TEST_F(entitylock, L9_forked_child_unlocks)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid)
		_exit(unlock(token) ? 1 : 0);
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L9: a child closes its copy, or dies: still held. */
TEST_F(entitylock, L9_held_while_one_copy_is_left)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		close(token);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: the parent closes, the forked copy holds on until its process ends. */
TEST_F(entitylock, L9_held_by_a_childs_copy)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid)
		for (;;)
			pause();
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: UNLOCK frees in spite of copies. */
TEST_F(entitylock, L9_UNLOCK_in_spite_of_copies)
{
	int token = hold(self->domain, "a");
	int copy;
	pid_t pid;

	ASSERT_LE(0, token);
	copy = dup(token);
	pid = spawn();
	if (!pid)
		for (;;)
			pause();
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(copy));
	EXPECT_EQ(-EBADFD, unlock(copy));
	EXPECT_EQ(0, token_lock(copy, 0, NOWAIT));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
	close(copy);
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
}

/* L9: dup: one token, held until the last copy is closed. */
TEST_F(entitylock, L9_dup_is_the_same_token)
{
	int token = hold(self->domain, "a");
	int copy = dup(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, copy);
	EXPECT_EQ(token_info(token).id, token_info(copy).id);
	close(token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(copy));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	/* dup2 over the last copy closes it. */
	EXPECT_EQ(copy, dup2(STDERR_FILENO, copy));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(copy);
}

/* Nouns: fds move to another process over a socket: it holds, and releases. */
TEST_F(entitylock, L9_SCM_RIGHTS_to_another_process)
{
	int pair[2], token;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		char byte;

		token = receive_fd(pair[1]);
		if (token < 0 || token_state(token) != ENTITYLOCK_HELD)
			_exit(1);
		if (token_label(token, "second half"))
			_exit(2);
		if (write(pair[1], "", 1) != 1 || read(pair[1], &byte, 1) != 1)
			_exit(3);
		if (unlock(token) || token_state(token) != ENTITYLOCK_IDLE)
			_exit(4);
		if (write(pair[1], "", 1) != 1)
			_exit(5);
		for (;;)
			pause();
	}
	token = hold(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, send_fd(pair[0], token));
	close(token);
	{
		char byte;
		struct row row;
		char owner[32];

		ASSERT_EQ(1, read(pair[0], &byte, 1));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		/* LABEL made the receiver the recorded owner. */
		snprintf(owner, sizeof(owner), ":x:%d:", pid);
		ASSERT_TRUE(listing_find("a", &row));
		EXPECT_NE(NULL, strstr(row.holder, owner));
		ASSERT_EQ(1, write(pair[0], "", 1));
		ASSERT_EQ(1, read(pair[0], &byte, 1));
	}
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	close(pair[0]);
	close(pair[1]);
}

static void *unlock_thread(void *data)
{
	int *token = data;

	return (void *)(intptr_t)unlock(*token);
}

static void *hold_thread(void *data)
{
	int *domain = data;

	return (void *)(intptr_t)hold(*domain, "a");
}

/* Nouns: a thread takes, another releases, a third had ended in between. */
TEST_F(entitylock, L9_one_thread_takes_another_releases)
{
	pthread_t thread;
	void *ret;
	int token;

	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_thread, &self->domain));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	token = (intptr_t)ret;
	ASSERT_LE(0, token);
	/* The thread that took it is gone; the lock is not. */
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	ASSERT_EQ(0, pthread_create(&thread, NULL, unlock_thread, &token));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* L9: close-on-exec: what a process executes does not keep the lock. */
TEST_F(entitylock, L9_exec_closes_the_token)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		execl("/bin/sleep", "sleep", "3600", NULL);
		_exit(127);
	}
	close(token);
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
}

/* L9: a copy taken out of another process (pidfd_getfd) is a reference as any. */
TEST_F(entitylock, L9_pidfd_getfd)
{
	int token = hold(self->domain, "a");
	int pidfd, copy;
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid)
		for (;;)
			pause();
	close(token);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	ASSERT_LE(0, pidfd);
	copy = syscall(SYS_pidfd_getfd, pidfd, token, 0);
	ASSERT_LE(0, copy);
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(copy));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(copy);
	close(pidfd);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: a domain fd may be passed on as well, with the rights of its opener. */
TEST_F(entitylock, D2_domain_fd_in_another_process)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(1);
		if (hold(self->domain, "a") != -EAGAIN)
			_exit(2);
		_exit(hold(self->domain, "b") >= 0 ? 0 : 3);
	}
	EXPECT_EQ(0, reap(pid));
	close(token);
}

SELFTEST_MAIN
