// SPDX-License-Identifier: GPL-2.0
/* L6: every event loop works: epoll level and edge, nested, racing close. */
#include <poll.h>
#include <sys/epoll.h>

#include "harness.h"

static void watch(struct __test_metadata *_metadata, int epoll, int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

/* The event that is there, or comes within the limit; 0 for none. */
static __u32 next_event(int epoll, bool wait)
{
	struct epoll_event event;

	if (epoll_wait(epoll, &event, 1, wait ? limit_seconds() * 1000 : 0) != 1)
		return 0;
	return event.events;
}

/* L6: level-triggered: told as long as it is HELD. */
TEST_F(entitylock, L6_epoll_level)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLIN);
	EXPECT_EQ(0, next_event(epoll, false));
	close(holder);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(EPOLLIN, next_event(epoll, true));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(0, next_event(epoll, false));
	close(token);
	close(epoll);
}

/* L6: edge-triggered: told once a grant. */
TEST_F(entitylock, L6_epoll_edge)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int holder = idle(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLIN | EPOLLET);
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		EXPECT_EQ(0, next_event(epoll, false));
		ASSERT_EQ(0, unlock(holder));
		EXPECT_EQ(EPOLLIN, next_event(epoll, true));
		EXPECT_EQ(0, next_event(epoll, false));
		ASSERT_EQ(0, unlock(token));
	}
	close(token);
	close(holder);
	close(epoll);
}

/* L6: one shot, and armed again. */
TEST_F(entitylock, L6_epoll_oneshot)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int token = hold(self->domain, "a");
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };

	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLIN | EPOLLONESHOT);
	EXPECT_EQ(EPOLLIN, next_event(epoll, true));
	EXPECT_EQ(0, next_event(epoll, false));
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_MOD, token, &event));
	EXPECT_EQ(EPOLLIN, next_event(epoll, true));
	close(token);
	close(epoll);
}

/* L6: a wait that failed is EPOLLERR, asked for or not. */
TEST_F(entitylock, L6_epoll_of_a_wait_that_times_out)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, in_ms(50));

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLIN | EPOLLET);
	EXPECT_EQ(EPOLLERR, next_event(epoll, true));
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	close(token);
	close(holder);
	close(epoll);
}

/* L6: EPOLLPRI tells a holder that somebody waits. */
TEST_F(entitylock, L6_epoll_of_POLLPRI)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int token = hold(self->domain, "a");
	int waiter;

	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLPRI | EPOLLET);
	EXPECT_EQ(0, next_event(epoll, false));
	waiter = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(EPOLLPRI, next_event(epoll, true));
	close(token);
	close(waiter);
	close(epoll);
}

/* L6: an epoll in an epoll in an epoll. */
TEST_F(entitylock, L6_nested_epoll)
{
	int inner = epoll_create1(EPOLL_CLOEXEC);
	int middle = epoll_create1(EPOLL_CLOEXEC);
	int outer = epoll_create1(EPOLL_CLOEXEC);
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch(_metadata, inner, token, EPOLLIN);
	watch(_metadata, middle, inner, EPOLLIN);
	watch(_metadata, outer, middle, EPOLLIN | EPOLLET);
	EXPECT_EQ(0, next_event(outer, false));
	close(holder);
	EXPECT_EQ(EPOLLIN, next_event(outer, true));
	EXPECT_EQ(EPOLLIN, next_event(middle, true));
	EXPECT_EQ(EPOLLIN, next_event(inner, true));
	close(token);
	EXPECT_EQ(0, next_event(inner, false));
	EXPECT_EQ(0, next_event(outer, false));
	close(inner);
	close(middle);
	close(outer);
}

/* L9: an epoll is no reference: the last close releases. */
TEST_F(entitylock, L9_epoll_does_not_keep_a_token)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	watch(_metadata, epoll, token, EPOLLIN);
	EXPECT_EQ(EPOLLIN, next_event(epoll, true));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, next_event(epoll, false));
	close(epoll);
}

/* L6: many tokens, one epoll: told of each grant, in the order of the grants. */
TEST_F(entitylock, L6_epoll_of_many_tokens)
{
	enum { COUNT = 1000 };
	static int tokens[COUNT];
	unsigned int count = scaled(COUNT, 200);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int holder;

	raise_fd_limit(COUNT + 100);
	holder = hold(self->domain, "a");
	ASSERT_LE(0, holder);
	for (unsigned int i = 0; i < count; i++) {
		tokens[i] = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
		ASSERT_LE(0, tokens[i]);
		watch(_metadata, epoll, tokens[i], EPOLLIN);
	}
	close(holder);
	for (unsigned int i = 0; i < count; i++) {
		struct epoll_event event = { 0 };

		ASSERT_EQ(1, epoll_wait(epoll, &event, 1, limit_seconds() * 1000));
		EXPECT_EQ(tokens[i], event.data.fd);
		EXPECT_EQ(EPOLLIN, event.events);
		close(tokens[i]);
	}
	close(epoll);
}

/* Threads that add and remove a token while others close, lock and wait. */
struct crowd {
	int domain;
	int epoll;
	atomic_int token;
	atomic_bool stop;
};

static void *add_and_remove(void *data)
{
	struct crowd *crowd = data;
	struct epoll_event event = { .events = EPOLLIN | EPOLLPRI };

	while (!crowd->stop) {
		int token = crowd->token;

		epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, token, &event);
		epoll_ctl(crowd->epoll, EPOLL_CTL_MOD, token, &event);
		epoll_ctl(crowd->epoll, EPOLL_CTL_DEL, token, NULL);
	}
	return NULL;
}

static void *wait_for_events(void *data)
{
	struct crowd *crowd = data;
	struct epoll_event events[8];

	while (!crowd->stop)
		epoll_wait(crowd->epoll, events, 8, 1);
	return NULL;
}

static void *lock_and_unlock(void *data)
{
	struct crowd *crowd = data;

	while (!crowd->stop) {
		int token = crowd->token;

		token_lock(token, ENTITYLOCK_ASYNC, FOREVER);
		unlock(token);
	}
	return NULL;
}

/* L9: add, remove, wait, lock, unlock: all race close; nothing is left behind. */
TEST_F(entitylock, L9_epoll_races_close)
{
	struct crowd crowd = {
		.domain = self->domain,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
	};
	void *(*const parts[])(void *) = {
		add_and_remove, add_and_remove, wait_for_events, lock_and_unlock,
	};
	pthread_t threads[ARRAY_SIZE(parts)];
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	crowd.token = token;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, parts[i], &crowd));
	for (unsigned int i = 0; i < scaled(3000, 200); i++) {
		/* The same number, so that the others hit it. */
		close(token);
		ASSERT_EQ(token, idle(self->domain, i % 2 ? "a" : "b"));
	}
	crowd.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		pthread_join(threads[i], NULL);
	close(token);
	close(crowd.epoll);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
}

SELFTEST_MAIN
