// SPDX-License-Identifier: GPL-2.0
/*
 * L6: whatever a token is waited on with, poll, epoll, an epoll in an epoll, aio or
 * io_uring, it is told when a lease ends, when it is broken, when its time is up,
 * and when its domain has no fd any more.
 */
#include <liburing.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "domains.h"

enum means { POLL, EPOLL, NESTED, AIO, URING };

/* Somebody who waits for a token, without looking again by itself. */
struct watch {
	enum means means;
	struct pollfd pfd;
	pthread_t thread;
	int epolls[2];
	aio_context_t aio;
	struct io_uring ring;
};

FIXTURE(ends) {
	union {
		struct ground ground;
		int domain;
	};
	struct watch watch;
};

FIXTURE_VARIANT(ends) {
	enum means means;
};

#define MEANS(name)	FIXTURE_VARIANT_ADD(ends, name) { .means = name }

MEANS(POLL);
MEANS(EPOLL);
MEANS(NESTED);
MEANS(AIO);
MEANS(URING);

FIXTURE_SETUP(ends)
{
	ground_check(_metadata, &self->ground);
	self->watch.means = variant->means;
}

FIXTURE_TEARDOWN(ends)
{
	/* What a ring, or aio, held goes some time after it. */
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
	ground_recheck(_metadata, &self->ground);
}

static void *poll_thread(void *data)
{
	struct watch *watch = data;

	if (poll(&watch->pfd, 1, limit_seconds() * 1000) < 1)
		watch->pfd.revents = 0;
	return NULL;
}

static int epoll_with(int fd, __u32 events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : epoll;
}

static int aio_poll(aio_context_t aio, int fd, short events)
{
	struct iocb block = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = fd,
		.aio_buf = events,
	}, *blocks[] = { &block };

	return syscall(SYS_io_submit, aio, 1, blocks) == 1 ? 0 : -errno;
}

static int ring_poll(struct io_uring *ring, int fd, short events)
{
	io_uring_prep_poll_add(io_uring_get_sqe(ring), fd, events);
	return io_uring_submit(ring) == 1 ? 0 : -EIO;
}

/* Only a thread that polls may not have begun to when this returns. */
static void watch_start(struct __test_metadata *_metadata, struct watch *watch, int token,
			short events)
{
	watch->pfd = (struct pollfd){ .fd = token, .events = events };
	switch (watch->means) {
	case POLL:
		ASSERT_EQ(0, pthread_create(&watch->thread, NULL, poll_thread, watch));
		break;
	case NESTED:
	case EPOLL:
		watch->epolls[0] = epoll_with(token, events);
		ASSERT_LE(0, watch->epolls[0]);
		if (watch->means == NESTED) {
			watch->epolls[1] = epoll_with(watch->epolls[0], EPOLLIN);
			ASSERT_LE(0, watch->epolls[1]);
		}
		break;
	case AIO:
		ASSERT_EQ(0, syscall(SYS_io_setup, 1, &watch->aio));
		ASSERT_EQ(0, aio_poll(watch->aio, token, events));
		break;
	case URING:
		ASSERT_EQ(0, io_uring_queue_init(8, &watch->ring, 0));
		ASSERT_EQ(0, ring_poll(&watch->ring, token, events));
		break;
	}
}

static short epoll_told(int epoll)
{
	struct epoll_event event = { 0 };

	return epoll_wait(epoll, &event, 1, limit_seconds() * 1000) == 1 ? event.events : 0;
}

static short aio_told(aio_context_t aio)
{
	struct timespec limit = { .tv_sec = limit_seconds() };
	struct io_event event;

	return syscall(SYS_io_getevents, aio, 1, 1, &event, &limit) == 1 ? event.res : 0;
}

static short ring_told(struct io_uring *ring)
{
	struct __kernel_timespec limit = { .tv_sec = limit_seconds() };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &limit) ? 0 : cqe->res;
}

/* The events of which it was told, 0 when that took too long; it is no more. */
static short watch_end(struct watch *watch)
{
	short events = 0;

	switch (watch->means) {
	case POLL:
		pthread_join(watch->thread, NULL);
		events = watch->pfd.revents;
		break;
	case NESTED:
		if (epoll_told(watch->epolls[1]) == EPOLLIN)
			events = epoll_told(watch->epolls[0]);
		close(watch->epolls[1]);
		close(watch->epolls[0]);
		break;
	case EPOLL:
		events = epoll_told(watch->epolls[0]);
		close(watch->epolls[0]);
		break;
	case AIO:
		events = aio_told(watch->aio);
		syscall(SYS_io_destroy, watch->aio);
		break;
	case URING:
		events = ring_told(&watch->ring);
		io_uring_queue_exit(&watch->ring);
		break;
	}
	return events;
}

/* What is so, and nothing else: aio and io_uring pass on what the module wakes them with. */
#define EXPECT_TOLD(expected)						\
	EXPECT_EQ(expected, watch_end(&self->watch))

/* V2: its own lease has run out, and somebody comes. */
TEST_F(ends, V2_the_lease_of_a_holder_ends)
{
	int token = hold_for(self->domain, "a", ms(1)), next;

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	watch_start(_metadata, &self->watch, token, 0);
	next = await(self->domain, "a");
	EXPECT_TOLD(POLLERR | POLLHUP);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(next));
	close(next);
	close(token);
}

/* V2: the lease that it waits behind ends: nobody calls the module then. */
TEST_F(ends, V2_the_lease_of_who_is_before_it_ends)
{
	int holder = hold_for(self->domain, "a", ms(20)), token = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, POLLIN);
	EXPECT_TOLD(POLLIN);
	EXPECT_TRUE(is_lost(holder));
	close(holder);
	close(token);
}

/* V4: it is parked, and that ends. */
TEST_F(ends, V4_the_lease_of_its_parking_ends)
{
	int token = hold(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, ms(20), &cookie));
	watch_start(_metadata, &self->watch, token, 0);
	EXPECT_TOLD(POLLERR | POLLHUP);
	close(token);
}

/* D3 */
TEST_F(ends, D3_it_is_broken)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, 0);
	EXPECT_EQ(0, break_entity(self->domain, "a", token_fence(token)));
	EXPECT_TOLD(POLLERR | POLLHUP);
	close(token);
}

/* L6: POLLPRI */
TEST_F(ends, L6_somebody_waits_for_what_it_holds)
{
	int token = hold(self->domain, "a"), next;

	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, POLLPRI);
	next = await(self->domain, "a");
	ASSERT_LE(0, next);
	EXPECT_TOLD(POLLPRI);
	close(next);
	close(token);
}

/* L6: POLLPRI */
TEST_F(ends, L6_what_it_has_seen_changes)
{
	int token = idle(self->domain, "a"), other;

	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, POLLPRI);
	other = hold(self->domain, "a");
	ASSERT_LE(0, other);
	EXPECT_EQ(0, unlock(other));
	EXPECT_TOLD(POLLPRI);
	close(other);
	close(token);
}

/* L6 */
TEST_F(ends, L6_its_time_is_up)
{
	int holder = hold(self->domain, "a");
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, in_ms(20));

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, POLLIN);
	EXPECT_TOLD(POLLERR);
	EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	close(token);
	close(holder);
}

/* D1, L9: the last fd of its domain is closed: it waits on, and is granted. */
TEST_F(ends, D1_its_domain_has_no_fd_any_more)
{
	int domain = domain_enter(NULL, PRIVATE, 0, O_RDWR);
	int holder, token;

	ASSERT_LE(0, domain);
	holder = hold(domain, "a");
	token = await(domain, "a");
	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	watch_start(_metadata, &self->watch, token, POLLIN);
	close(domain);
	close(holder);
	EXPECT_TOLD(POLLIN);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* D1, V2: the same, and it is a lease that ends. */
TEST_F(ends, D1_a_lease_ends_in_a_domain_without_an_fd)
{
	int domain = domain_enter(NULL, PRIVATE, 0, O_RDWR);
	int holder, token;

	ASSERT_LE(0, domain);
	holder = hold_for(domain, "a", ms(20));
	token = await(domain, "a");
	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	close(domain);
	watch_start(_metadata, &self->watch, token, POLLIN);
	EXPECT_TOLD(POLLIN);
	EXPECT_EQ(ENTITYLOCK_LOST, token_state(holder));
	close(token);
	close(holder);
}

/* L9: what aio and io_uring wait on is theirs as well, until they have been told. */
TEST_F(entitylock, L9_aio_and_io_uring_keep_what_they_wait_on)
{
	static const enum means means[] = { AIO, URING };

	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		struct watch watch = { .means = means[i] };
		int holder = hold(self->domain, "a"), token = await(self->domain, "a"), next;

		ASSERT_LE(0, holder);
		ASSERT_LE(0, token);
		watch_start(_metadata, &watch, token, POLLIN);
		close(token);
		next = await(self->domain, "a");
		ASSERT_LE(0, next);
		EXPECT_EQ(2, token_waiters(holder));
		/* It is granted, of which they are told, and were the last to refer to it. */
		close(holder);
		EXPECT_EQ(POLLIN, token_poll_wait(next, POLLIN));
		EXPECT_EQ(POLLIN, watch_end(&watch) & POLLIN);
		close(next);
	}
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
}

/* Leases that run out, and ends of waits, while others arm and disarm. */
struct storm {
	int domain;
	enum means means;
	unsigned int rounds;
	unsigned int stuck;
	pthread_t thread;
};

static void *wait_for_ends(void *data)
{
	struct storm *storm = data;

	for (unsigned int i = 0; i < storm->rounds; i++) {
		struct watch watch = { .means = storm->means };
		int token = lease_entity(storm->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC,
					 i % 3 ? FOREVER : in_ms(1), i % 2 ? ms(1) : 1);
		int epoll;

		if (token < 0)
			continue;
		switch (storm->means) {
		case AIO:
			if (!syscall(SYS_io_setup, 1, &watch.aio) &&
			    !aio_poll(watch.aio, token, POLLIN))
				storm->stuck += !watch_end(&watch);
			break;
		case URING:
			if (!io_uring_queue_init(8, &watch.ring, 0) &&
			    !ring_poll(&watch.ring, token, POLLIN))
				storm->stuck += !watch_end(&watch);
			break;
		default:
			epoll = epoll_with(token, EPOLLIN);
			storm->stuck += !epoll_told(epoll);
			close(epoll);
			break;
		}
		/* Often it is HELD, and its lease ends by the next one's wish. */
		if (i % 4)
			usleep(2000);
		close(token);
	}
	return NULL;
}

/* L6, V2: all of them at once, on one name: nobody is forgotten. */
TEST_F(entitylock, L6_waits_of_all_kinds_while_leases_end)
{
	static const enum means means[] = { EPOLL, AIO, URING, EPOLL };
	struct storm storms[ARRAY_SIZE(means)];

	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		storms[i] = (struct storm){
			.domain = self->domain,
			.means = means[i],
			.rounds = scaled(100, 10),
		};
		ASSERT_EQ(0, pthread_create(&storms[i].thread, NULL, wait_for_ends, &storms[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(means); i++) {
		pthread_join(storms[i].thread, NULL);
		EXPECT_EQ(0, storms[i].stuck);
	}
	EXPECT_TRUE(eventually(live_entities(self->domain) == 0));
}

SELFTEST_MAIN
