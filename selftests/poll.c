// SPDX-License-Identifier: GPL-2.0
/* poll(2) on a token. */
#include <poll.h>
#include <sys/select.h>

#include "harness.h"

/* L6: POLLIN = HELD, and nothing else is said without a reason. */
TEST_F(entitylock, L6_POLLIN_is_HELD)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(0, token_poll(token));
		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		EXPECT_EQ(POLLIN, token_poll(token));
		ASSERT_EQ(0, unlock(token));
	}
	close(token);
}

/* L6: a token that waits is not HELD. */
TEST_F(entitylock, L6_no_POLLIN_while_PENDING)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(0, token_poll(token));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_EQ(POLLIN, token_poll(token));
	close(token);
}

struct poller {
	int token;
	short events;
	short got;
	atomic_int tid;
	pthread_t thread;
};

static void *poll_thread(void *data)
{
	struct poller *poller = data;
	struct pollfd pfd = { .fd = poller->token, .events = poller->events };

	poller->tid = gettid();
	poller->got = poll(&pfd, 1, -1) == 1 ? pfd.revents : 0;
	return NULL;
}

/* In poll or ppoll, whichever the library uses. */
static bool asleep(struct poller *poller)
{
	return poller->tid && task_syscall(poller->tid) >= 0;
}

/* L6: one wait queue: every poller of a token is woken by its grant. */
TEST_F(entitylock, L6_a_grant_wakes_all_pollers)
{
	enum { COUNT = 64 };
	static struct poller pollers[COUNT];
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	for (int i = 0; i < COUNT; i++) {
		pollers[i] = (struct poller){ .token = token, .events = POLLIN };
		ASSERT_EQ(0, pthread_create(&pollers[i].thread, NULL, poll_thread, &pollers[i]));
	}
	for (int i = 0; i < COUNT; i++)
		ASSERT_TRUE(eventually(asleep(&pollers[i])));
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	for (int i = 0; i < COUNT; i++)
		EXPECT_TRUE(asleep(&pollers[i]));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	for (int i = 0; i < COUNT; i++) {
		pthread_join(pollers[i].thread, NULL);
		EXPECT_EQ(POLLIN, pollers[i].got);
	}
	close(token);
}

/* L6: many tokens in one poll: exactly those that are HELD are told. */
TEST_F(entitylock, L6_poll_of_many_tokens)
{
	enum { COUNT = 100 };
	struct pollfd pfds[COUNT];

	for (int i = 0; i < COUNT; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", i);
		pfds[i].fd = i % 3 ? idle(self->domain, name) : hold(self->domain, name);
		pfds[i].events = POLLIN;
		ASSERT_LE(0, pfds[i].fd);
	}
	EXPECT_EQ(34, poll(pfds, COUNT, 0));
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(i % 3 ? 0 : POLLIN, pfds[i].revents);
		close(pfds[i].fd);
	}
}

/* L6: select(2) sees the same. */
TEST_F(entitylock, L6_select)
{
	int token = hold(self->domain, "a");
	struct timeval zero = { 0 };
	fd_set in, except;

	ASSERT_LE(0, token);
	FD_ZERO(&in);
	FD_ZERO(&except);
	FD_SET(token, &in);
	FD_SET(token, &except);
	EXPECT_EQ(1, select(token + 1, &in, NULL, &except, &zero));
	EXPECT_TRUE(FD_ISSET(token, &in));
	EXPECT_FALSE(FD_ISSET(token, &except));
	close(token);
}

/* L9: a poll that waits is a reference: a closed fd's poller is woken, and then it is released. */
TEST_F(entitylock, L9_closed_while_polled)
{
	int token = idle(self->domain, "a");
	struct poller poller = { .token = token, .events = POLLIN };
	int copy = dup(token);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, pthread_create(&poller.thread, NULL, poll_thread, &poller));
	ASSERT_TRUE(eventually(asleep(&poller)));
	close(token);
	EXPECT_TRUE(asleep(&poller));
	ASSERT_EQ(0, token_lock(copy, 0, NOWAIT));
	pthread_join(poller.thread, NULL);
	/* poll looks the fd up once more, and it is gone. */
	EXPECT_EQ(POLLNVAL, poller.got);
	close(copy);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

SELFTEST_MAIN
