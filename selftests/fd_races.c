// SPDX-License-Identifier: GPL-2.0
/*
 * L9: an fd is closed, or replaced, while its verbs are called on other CPUs: each
 * call is on the file that was there when it began, and the last reference to a
 * token, whoever has it, releases what it holds, once.
 */
#include <poll.h>
#include <sys/epoll.h>

#include "owners.h"

/* --- Numbers that mean another file at any moment --- */

struct crowd {
	int domain;
	int token;
	int inner;		/* epolls, the outer one holds the inner one */
	int outer;
	atomic_bool stop;
};

/* What they return depends on what the numbers are just then. */
static void *acquire_all_the_time(void *data)
{
	struct crowd *crowd = data;

	while (!crowd->stop)
		close(acquire_these(crowd->domain, 0, in_ms(1), X("a"), X("b")));
	return NULL;
}

static void *acquire_async_all_the_time(void *data)
{
	struct crowd *crowd = data;

	while (!crowd->stop) {
		int token = acquire(crowd->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);

		token_state(token);
		close(token);
	}
	return NULL;
}

static void *lock_all_the_time(void *data)
{
	struct crowd *crowd = data;

	while (!crowd->stop) {
		token_lock(crowd->token, 0, in_ms(1));
		extend_these(crowd->token, 0, in_ms(1), X("b"));
		token_convert(crowd->token, SHARED, 0, NOWAIT);
		token_convert(crowd->token, EXCLUSIVE, 0, in_ms(1));
		unlock(crowd->token);
	}
	return NULL;
}

static void *look_all_the_time(void *data)
{
	struct crowd *crowd = data;
	struct cookie cookie;

	while (!crowd->stop) {
		token_state(crowd->token);
		token_label(crowd->token, "me");
		if (!token_park(crowd->token, ms(1), &cookie))
			close(claim(crowd->domain, &cookie));
		live_entities(crowd->domain);
	}
	return NULL;
}

#define start_crowd(crowd, threads, parts) do {					\
	for (size_t _i = 0; _i < ARRAY_SIZE(parts); _i++)			\
		ASSERT_EQ(0, pthread_create(&(threads)[_i], NULL, (parts)[_i], crowd)); \
} while (0)

#define end_crowd(crowd, threads) do {						\
	(crowd)->stop = true;							\
	for (size_t _i = 0; _i < ARRAY_SIZE(threads); _i++)			\
		pthread_join((threads)[_i], NULL);				\
} while (0)

/* L9: a domain fd and a token, each closed, or replaced by dup2, under those who use it. */
TEST_F(entitylock, L9_verbs_race_close_and_dup2)
{
	struct crowd crowd = { .domain = domain_open(O_RDWR) };
	void *(*const parts[])(void *) = {
		acquire_all_the_time, acquire_async_all_the_time, lock_all_the_time,
		look_all_the_time,
	};
	pthread_t threads[ARRAY_SIZE(parts)];

	ASSERT_LE(0, crowd.domain);
	crowd.token = idle(self->domain, "a");
	ASSERT_LE(0, crowd.token);
	start_crowd(&crowd, threads, parts);
	for (unsigned int i = 0; i < scaled(1000, 100); i++) {
		int domain = domain_open(O_RDWR);
		int token = idle(self->domain, i % 2 ? "a" : "b");

		/* A number that was closed may be another thread's token when it is replaced. */
		if (i % 3 == 0)
			close(crowd.domain);
		if (i % 5 == 0)
			close(crowd.token);
		dup2(domain, crowd.domain);
		dup2(token, crowd.token);
		if (domain != crowd.domain)
			close(domain);
		if (token != crowd.token)
			close(token);
	}
	end_crowd(&crowd, threads);
	close(crowd.domain);
	close(crowd.token);
	/* What was parked, and not claimed, lives until its lease ends. */
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
}

/* --- The last reference goes --- */

enum put { CLOSES, UNLOCKS, LOCKS, PARKS };

struct putter {
	struct start_line *line;
	enum put put;
	int fd;
	pthread_t thread;
};

static void *put_once(void *data)
{
	struct putter *putter = data;
	struct cookie cookie;

	start_together(putter->line, 2);
	switch (putter->put) {
	case UNLOCKS:
		unlock(putter->fd);
		break;
	case LOCKS:
		unlock(putter->fd);
		token_lock(putter->fd, ENTITYLOCK_ASYNC, FOREVER);
		break;
	case PARKS:
		token_park(putter->fd, 1, &cookie);
		break;
	default:
		break;
	}
	close(putter->fd);
	return NULL;
}

FIXTURE(last_put) {
	union {
		struct ground ground;
		int domain;
	};
};

FIXTURE_VARIANT(last_put) {
	enum put puts[2];
	bool pends;
};

#define LAST_PUT(_name, _pends, ...)					\
	FIXTURE_VARIANT_ADD(last_put, _name) {				\
		.puts = { __VA_ARGS__ },				\
		.pends = _pends,					\
	}

LAST_PUT(close_and_close, false, CLOSES, CLOSES);
LAST_PUT(close_and_UNLOCK, false, CLOSES, UNLOCKS);
LAST_PUT(close_and_LOCK, false, CLOSES, LOCKS);
LAST_PUT(close_and_PARK, false, CLOSES, PARKS);
LAST_PUT(UNLOCK_and_LOCK, false, UNLOCKS, LOCKS);
LAST_PUT(pending_close_and_close, true, CLOSES, CLOSES);
LAST_PUT(pending_close_and_UNLOCK, true, CLOSES, UNLOCKS);
LAST_PUT(pending_close_and_LOCK, true, CLOSES, LOCKS);
LAST_PUT(pending_UNLOCK_and_LOCK, true, UNLOCKS, LOCKS);

FIXTURE_SETUP(last_put)
{
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(last_put)
{
	ground_recheck(_metadata, &self->ground);
}

/* L9: two threads have the last two copies of a token: it is released once, and at once. */
TEST_F(last_put, L9_from_two_threads)
{
	for (unsigned int round = 0; round < scaled(500, 50); round++) {
		int holder = variant->pends ? hold(self->domain, "a") : -1;
		int token = await(self->domain, "a"), next = await(self->domain, "a");
		struct start_line line = { 0 };
		struct putter putters[2];

		ASSERT_LE(0, token);
		ASSERT_LE(0, next);
		for (int i = 0; i < 2; i++) {
			putters[i] = (struct putter){
				.line = &line,
				.put = variant->puts[i],
				.fd = i ? fcntl(token, F_DUPFD_CLOEXEC, 0) : token,
			};
			ASSERT_LE(0, putters[i].fd);
		}
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_create(&putters[i].thread, NULL, put_once,
						    &putters[i]));
		for (int i = 0; i < 2; i++)
			pthread_join(putters[i].thread, NULL);
		if (holder >= 0) {
			EXPECT_EQ(1, token_waiters(holder));
			close(holder);
		}
		/* A parked one ends with its lease. */
		EXPECT_EQ(POLLIN, token_poll_wait(next, POLLIN));
		close(next);
	}
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* --- Nested epoll --- */

static void *nest(void *data)
{
	struct crowd *crowd = data;
	struct epoll_event event = { .events = EPOLLIN | EPOLLPRI | EPOLLET };

	while (!crowd->stop) {
		epoll_ctl(crowd->inner, EPOLL_CTL_ADD, crowd->token, &event);
		epoll_ctl(crowd->outer, EPOLL_CTL_ADD, crowd->inner, &event);
		epoll_ctl(crowd->outer, EPOLL_CTL_ADD, crowd->token, &event);
		epoll_ctl(crowd->outer, EPOLL_CTL_DEL, crowd->token, NULL);
		epoll_ctl(crowd->inner, EPOLL_CTL_DEL, crowd->token, NULL);
		epoll_ctl(crowd->outer, EPOLL_CTL_DEL, crowd->inner, NULL);
	}
	return NULL;
}

static void *wait_on_the_outer(void *data)
{
	struct crowd *crowd = data;
	struct epoll_event events[8];

	while (!crowd->stop)
		epoll_wait(crowd->outer, events, 8, 1);
	return NULL;
}

static void *lock_async_all_the_time(void *data)
{
	struct crowd *crowd = data;

	while (!crowd->stop) {
		token_lock(crowd->token, ENTITYLOCK_ASYNC, FOREVER);
		unlock(crowd->token);
	}
	return NULL;
}

/* L9, L6: a token in an epoll in an epoll: each is closed while all of it is in use. */
TEST_F(entitylock, L9_nested_epoll_races_close)
{
	struct crowd crowd = {
		.domain = self->domain,
		.token = idle(self->domain, "a"),
		.inner = epoll_create1(EPOLL_CLOEXEC),
		.outer = epoll_create1(EPOLL_CLOEXEC),
	};
	void *(*const parts[])(void *) = {
		nest, nest, wait_on_the_outer, lock_async_all_the_time,
	};
	pthread_t threads[ARRAY_SIZE(parts)];
	int token = crowd.token, inner = crowd.inner;

	ASSERT_LE(0, token);
	ASSERT_LE(0, inner);
	ASSERT_LE(0, crowd.outer);
	start_crowd(&crowd, threads, parts);
	for (unsigned int i = 0; i < scaled(2000, 200); i++) {
		/* The same numbers, so that the others hit them. */
		if (i % 2) {
			close(token);
			ASSERT_EQ(token, idle(self->domain, i % 4 == 1 ? "a" : "b"));
		} else {
			close(inner);
			ASSERT_EQ(inner, epoll_create1(EPOLL_CLOEXEC));
		}
	}
	end_crowd(&crowd, threads);
	close(token);
	close(inner);
	close(crowd.outer);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
}

SELFTEST_MAIN
