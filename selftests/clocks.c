// SPDX-License-Identifier: GPL-2.0
/* Deadlines on three clocks, and in a time namespace. */
#include <poll.h>
#include <sched.h>

#include "harness.h"

static const struct {
	clockid_t clock;
	__u32 flag;
} clocks[] = {
	{ CLOCK_MONOTONIC, 0 },
	{ CLOCK_REALTIME, ENTITYLOCK_CLOCK_REALTIME },
	{ CLOCK_BOOTTIME, ENTITYLOCK_CLOCK_BOOTTIME },
};

/* @ms milliseconds from now, more on a slow kernel, on @clock. */
static __u64 deadline_on(clockid_t clock, unsigned int ms)
{
	__u64 delay = in_ms(ms) - now();

	return now_on(clock) + delay;
}

/* Times: the deadline is of the clock that the flag names: not before it, then soon. */
TEST_F(entitylock, TIMES_each_clock)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		__u64 deadline = deadline_on(clocks[i].clock, 50);

		EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, clocks[i].flag,
					      deadline));
		EXPECT_LE(deadline, now_on(clocks[i].clock));
		deadline = deadline_on(clocks[i].clock, 50);
		EXPECT_EQ(-ETIMEDOUT, token_lock(token, clocks[i].flag, deadline));
		EXPECT_LE(deadline, now_on(clocks[i].clock));
		deadline = deadline_on(clocks[i].clock, 50);
		EXPECT_EQ(0, token_lock(token, clocks[i].flag | ENTITYLOCK_ASYNC, deadline));
		EXPECT_EQ(POLLERR, token_poll_wait(token, POLLIN));
		EXPECT_LE(deadline, now_on(clocks[i].clock));
		EXPECT_EQ(-ETIMEDOUT, token_info(token).error);
	}
	close(token);
	close(holder);
}

/* Times: 0, passed and FOREVER mean the same on each. */
TEST_F(entitylock, TIMES_special_values_on_each_clock)
{
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		int holder = hold(self->domain, "a");
		struct call call;
		int token = idle(self->domain, "a");

		ASSERT_LE(0, holder);
		ASSERT_LE(0, token);
		EXPECT_EQ(-EAGAIN, token_lock(token, clocks[i].flag, NOWAIT));
		EXPECT_EQ(-ETIMEDOUT, token_lock(token, clocks[i].flag, PASSED));
		call.lock = (struct entitylock_lock){
			.flags = clocks[i].flag,
			.deadline = FOREVER,
		};
		call_start(&call, token, ENTITYLOCK_IOC_LOCK, &call.lock);
		ASSERT_TRUE(eventually(token_waiters(holder) == 1));
		close(holder);
		EXPECT_EQ(0, call_result(&call));
		close(token);
	}
}

/* Times: EXTEND and CONVERT take the clocks as well. */
TEST_F(entitylock, TIMES_clocks_of_EXTEND_and_CONVERT)
{
	int holder = acquire_these(self->domain, 0, NOWAIT, S("a"), S("b"));
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		__u64 deadline = deadline_on(clocks[i].clock, 20);

		EXPECT_EQ(-ETIMEDOUT, extend_these(token, clocks[i].flag, deadline, X("b")));
		EXPECT_LE(deadline, now_on(clocks[i].clock));
		deadline = deadline_on(clocks[i].clock, 20);
		EXPECT_EQ(-ETIMEDOUT, token_convert(token, EXCLUSIVE, clocks[i].flag, deadline));
		EXPECT_LE(deadline, now_on(clocks[i].clock));
	}
	close(token);
	close(holder);
}

/* Times: a real-time deadline follows the clock when it is set: and others do not. */
TEST_F(entitylock, TIMES_realtime_follows_a_step_of_the_clock)
{
	int holder = hold(self->domain, "a");
	int tokens[2];
	struct call calls[2];
	struct timespec hour;

	ASSERT_LE(0, holder);
	for (int i = 0; i < 2; i++) {
		tokens[i] = idle(self->domain, "a");
		ASSERT_LE(0, tokens[i]);
		calls[i].lock = (struct entitylock_lock){
			.flags = clocks[i].flag,
			.deadline = now_on(clocks[i].clock) + 1800 * NSEC_PER_SEC,
		};
		call_start(&calls[i], tokens[i], ENTITYLOCK_IOC_LOCK, &calls[i].lock);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1));
	}
	clock_gettime(CLOCK_REALTIME, &hour);
	hour.tv_sec += 3600;
	ASSERT_EQ(0, clock_settime(CLOCK_REALTIME, &hour));
	/* The other one waits still; looked at while the clock is ahead. */
	EXPECT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[0]));
	clock_gettime(CLOCK_REALTIME, &hour);
	hour.tv_sec -= 3600;
	ASSERT_EQ(0, clock_settime(CLOCK_REALTIME, &hour));
	EXPECT_EQ(-ETIMEDOUT, call_result(&calls[1]));
	close(holder);
	EXPECT_EQ(0, call_result(&calls[0]));
	close(tokens[0]);
	close(tokens[1]);
}

/* In a time namespace whose clocks are 1,000 s ahead. */
static int check_in_namespace(int domain)
{
	int token = idle(domain, "a");

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		__u64 deadline = deadline_on(clocks[i].clock, 50);

		if (token_lock(token, clocks[i].flag, deadline) != -ETIMEDOUT)
			return 10 + i;
		if (now_on(clocks[i].clock) < deadline)
			return 20 + i;
		deadline = deadline_on(clocks[i].clock, 50);
		if (token_lock(token, clocks[i].flag | ENTITYLOCK_ASYNC, deadline))
			return 30 + i;
		if (token_poll_wait(token, POLLIN) != POLLERR)
			return 40 + i;
		if (now_on(clocks[i].clock) < deadline)
			return 50 + i;
	}
	return 0;
}

/* Times: a deadline is of the caller's time namespace. */
TEST_F(entitylock, TIMES_in_a_time_namespace)
{
	int holder = hold(self->domain, "a");
	__u64 outside = now();
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		pid_t inner;

		if (unshare(CLONE_NEWTIME))
			_exit(1);
		if (write_file("/proc/self/timens_offsets", "monotonic 1000 0\nboottime 1000 0\n"))
			_exit(2);
		inner = spawn();
		if (!inner) {
			if (now() < outside + 999 * NSEC_PER_SEC)
				_exit(3);
			_exit(check_in_namespace(self->domain));
		}
		_exit(reap(inner));
	}
	EXPECT_EQ(0, reap(pid));
	close(holder);
}

/* Times: an absolute time of outside, which is long past inside, is tried once. */
TEST_F(entitylock, TIMES_passed_in_a_time_namespace)
{
	int holder = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		pid_t inner;
		__u64 deadline = now() + 500 * NSEC_PER_SEC;

		if (unshare(CLONE_NEWTIME))
			_exit(1);
		if (write_file("/proc/self/timens_offsets", "monotonic 1000 0\nboottime 1000 0\n"))
			_exit(2);
		inner = spawn();
		if (!inner)
			_exit(acquire(self->domain, "a", EXCLUSIVE, 0, deadline) == -ETIMEDOUT ?
			      0 : 3);
		_exit(reap(inner));
	}
	EXPECT_EQ(0, reap(pid));
	close(holder);
}

/* Times: the far future of a namespace whose clocks are behind is still the future. */
TEST_F(entitylock, TIMES_far_future_in_a_time_namespace)
{
	int holder = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		pid_t inner;

		close(holder);
		if (unshare(CLONE_NEWTIME))
			_exit(1);
		if (write_file("/proc/self/timens_offsets", "monotonic -1 0\nboottime -1 0\n"))
			_exit(2);
		inner = spawn();
		if (!inner)
			_exit(acquire(self->domain, "a", EXCLUSIVE, 0, (1ULL << 63) - 2) >= 0 ?
			      0 : 3);
		_exit(reap(inner));
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	close(holder);
	EXPECT_EQ(0, reap(pid));
}

SELFTEST_MAIN
