// SPDX-License-Identifier: GPL-2.0
/*
 * The library for owners that vanish: leases kept on the caller's event loop, cookies
 * as text, what an idle token has seen, marks in the listing.
 */
#include <signal.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "owners.h"
#include "../userspace/lib/include/entitylock.h"

#define LOST_STATUS	42	/* of a process that was told of the loss */

static __u64 interval_of(int timer)
{
	struct itimerspec spec = { 0 };

	timerfd_gettime(timer, &spec);
	return spec.it_interval.tv_sec * NSEC_PER_SEC + spec.it_interval.tv_nsec;
}

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* About a third of @lease, which ran for a moment before it was looked at. */
static bool is_third(__u64 interval, __u64 lease)
{
	return interval <= lease / 3 && interval > lease / 3 - limit_seconds() * NSEC_PER_SEC;
}

TEST_F(owners, V2_a_timer_of_a_third)
{
	int token = hold_for(self->domain, "x", HOUR), timer;
	char path[64], line[64];
	int clock = -1;
	FILE *file;

	timer = entitylock_keep_timer(token, 0);
	ASSERT_LE(0, timer);
	EXPECT_EQ(FD_CLOEXEC, fcntl(timer, F_GETFD));
	EXPECT_TRUE(fcntl(timer, F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(is_third(interval_of(timer), HOUR));
	EXPECT_FALSE(is_readable(timer));

	/* The clock that counts suspend, as leases do. */
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", timer);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "clockid: %d", &clock);
	fclose(file);
	EXPECT_EQ(CLOCK_BOOTTIME, clock);

	/* It follows the lease that the token has. */
	EXPECT_EQ(0, entitylock_renew(token, 24 * HOUR));
	EXPECT_EQ(0, entitylock_keep(timer, token));
	EXPECT_TRUE(is_third(interval_of(timer), 24 * HOUR));
	close(timer);
	timer = entitylock_keep_timer(token, 3 * HOUR);
	EXPECT_EQ(HOUR, interval_of(timer));
	EXPECT_TRUE(lease_left(token) > 2 * HOUR && lease_left(token) <= 3 * HOUR);
	close(timer);
	close(token);
}

/* Nobody came: the one who was late goes on, with the same fence. */
TEST_F(owners, V2_late_and_not_missed)
{
	int token = hold_for(self->domain, "x", ms(100)), timer, i;
	__u64 fence = token_fence(token);

	timer = entitylock_keep_timer(token, 0);
	ASSERT_LE(0, timer);
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(runs_out(token));
		EXPECT_TRUE(eventually(is_readable(timer)));
		/* It may run out again before it is looked at. */
		EXPECT_TRUE(eventually(entitylock_keep(timer, token) == 0 && lease_left(token)));
	}
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(timer);
	close(token);
}

TEST_F(owners, V2_late_and_missed)
{
	int token = hold_for(self->domain, "x", ms(50)), timer, other;
	__u64 fence;

	timer = entitylock_keep_timer(token, 0);
	ASSERT_LE(0, timer);
	EXPECT_TRUE(runs_out(token));
	other = hold(self->domain, "x");
	ASSERT_LE(0, other);
	fence = token_fence(other);
	EXPECT_LT(token_fence(token), fence);

	EXPECT_TRUE(eventually(is_readable(timer)));
	EXPECT_TRUE(token_poll_wait(token, 0) & POLLHUP);
	EXPECT_EQ(-ESTALE, entitylock_keep(timer, token));
	EXPECT_EQ(-ESTALE, entitylock_keep(timer, token));
	EXPECT_EQ(-ESTALE, entitylock_keep_timer(token, HOUR));
	EXPECT_TRUE(is_lost(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
	EXPECT_EQ(fence, token_fence(other));
	close(other);
	close(timer);
	close(token);
}

/* A program with an event loop that keeps its lease, and exits when told of the loss. */
static int keep_until_lost(int token)
{
	struct pollfd pfd[2] = {
		{ .fd = entitylock_keep_timer(token, 0), .events = POLLIN },
		{ .fd = token },
	};
	int err = pfd[0].fd < 0 ? pfd[0].fd : 0;

	while (!err && poll(pfd, 2, -1) > 0)
		err = entitylock_keep(pfd[0].fd, token);
	return err == -ESTALE ? LOST_STATUS : 1;
}

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
}

TEST_F(owners, V2_a_paused_program_is_told)
{
	int token = hold_for(self->domain, "x", ms(100)), other;
	__u64 fence = token_fence(token);
	pid_t pid = spawn();

	if (!pid)
		_exit(keep_until_lost(token));

	/* Paused past the end of its lease, and nobody came. */
	stop(pid);
	EXPECT_TRUE(runs_out(token));
	kill(pid, SIGCONT);
	EXPECT_TRUE(eventually(lease_left(token)));
	EXPECT_EQ(fence, token_fence(token));

	stop(pid);
	EXPECT_TRUE(runs_out(token));
	other = hold(self->domain, "x");
	ASSERT_LE(0, other);
	EXPECT_LT(fence, token_fence(other));
	kill(pid, SIGCONT);
	EXPECT_EQ(LOST_STATUS, reap(pid));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
	close(other);
	close(token);
}

/* Not held, not to be renewed, or not a token at all. */
TEST_F(owners, V2_what_cannot_be_kept)
{
	int token = hold_for(self->domain, "x", HOUR), timer = entitylock_keep_timer(token, 0);
	int lasting = hold(self->domain, "y");
	int sealed = lease_entity(self->domain, "z", EXCLUSIVE, ENTITYLOCK_SEALED, NOWAIT, HOUR);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	EXPECT_EQ(-EINVAL, entitylock_keep_timer(lasting, 0));
	EXPECT_EQ(-EINVAL, entitylock_keep_timer(lasting, FOREVER));
	EXPECT_EQ(FOREVER, lease_left(lasting));
	EXPECT_EQ(-EPERM, entitylock_keep_timer(sealed, 0));
	EXPECT_EQ(-EPERM, entitylock_keep(timer, sealed));
	EXPECT_EQ(-ENOTTY, entitylock_keep_timer(self->domain, HOUR));
	EXPECT_EQ(-ENOTTY, entitylock_keep_timer(null, HOUR));
	EXPECT_EQ(-ENOTTY, entitylock_keep(timer, null));
	EXPECT_EQ(-EBADF, entitylock_keep_timer(-1, HOUR));
	EXPECT_EQ(-EBADF, entitylock_keep(timer, -1));
	EXPECT_EQ(-EBADF, entitylock_keep(-1, token));
	EXPECT_EQ(-EINVAL, entitylock_keep(token, token));

	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-EBADFD, entitylock_keep(timer, token));
	EXPECT_EQ(-EBADFD, entitylock_keep_timer(token, HOUR));
	/* Locked again, the same timer serves. */
	EXPECT_EQ(0, token_lock_for(token, 0, NOWAIT, 2 * HOUR));
	EXPECT_EQ(0, entitylock_keep(timer, token));
	EXPECT_TRUE(is_third(interval_of(timer), 2 * HOUR));
	close(null);
	close(sealed);
	close(lasting);
	close(timer);
	close(token);
}

/* L6: a token that waits has no lease yet, or keeps the one of what it holds. */
TEST_F(owners, V2_kept_while_it_waits)
{
	int other = hold(self->domain, "x"), timer;
	int token = lease_entity(self->domain, "x", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER, HOUR);

	ASSERT_LE(0, token);
	EXPECT_EQ(-EINVAL, entitylock_keep_timer(token, 0));
	timer = entitylock_keep_timer(token, 3 * HOUR);
	ASSERT_LE(0, timer);
	EXPECT_EQ(0, entitylock_keep(timer, token));
	EXPECT_EQ(HOUR, interval_of(timer));
	EXPECT_EQ(FOREVER, lease_left(token));
	close(other);
	EXPECT_TRUE(becomes(token, ENTITYLOCK_HELD));
	EXPECT_TRUE(lease_left(token) > 2 * HOUR && lease_left(token) <= 3 * HOUR);

	other = hold(self->domain, "y");
	EXPECT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("y")));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	EXPECT_EQ(0, entitylock_renew(token, HOUR));
	EXPECT_EQ(0, entitylock_keep(timer, token));
	EXPECT_TRUE(is_third(interval_of(timer), HOUR));
	close(other);
	EXPECT_TRUE(becomes(token, ENTITYLOCK_HELD));
	close(timer);
	close(token);
}

TEST_F(owners, V4_cookies_as_text)
{
	static const char *const bad[] = {
		"", "0", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
		"0123456789abcdef0123456789abcdeg", "0123456789abcdef 123456789abcdef",
		"0x23456789abcdef0123456789abcdef", "-123456789abcdef0123456789abcdef",
	};
	unsigned char cookie[ENTITYLOCK_COOKIE_SIZE], parsed[ENTITYLOCK_COOKIE_SIZE];
	char text[ENTITYLOCK_COOKIE_TEXT];
	int token = hold(self->domain, "x"), claimed;
	size_t i;

	EXPECT_EQ(0, entitylock_cookie_parse("00112233445566778899aAbBcCdDeEfF", cookie));
	for (i = 0; i < ENTITYLOCK_COOKIE_SIZE; i++)
		EXPECT_EQ(i * 0x11, cookie[i]);
	entitylock_cookie_format(cookie, text);
	EXPECT_STREQ("00112233445566778899aabbccddeeff", text);

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, entitylock_cookie_parse(bad[i], cookie));
	EXPECT_EQ(0xff, cookie[15]);

	EXPECT_EQ(0, entitylock_park(token, HOUR, cookie));
	close(token);
	entitylock_cookie_format(cookie, text);
	EXPECT_EQ(0, entitylock_cookie_parse(text, parsed));
	claimed = entitylock_claim(self->domain, parsed);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(claimed));
	EXPECT_EQ(-ENOENT, entitylock_claim(self->domain, parsed));
	close(claimed);
}

/* Lock and unlock, which is a change. */
static void change(int domain, const char *name)
{
	int token = hold(domain, name);

	unlock(token);
	close(token);
}

TEST_F(owners, V3_seen)
{
	struct entitylock_options unchanged = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_entity set[] = { X("c"), X("a"), X("b") };
	struct entitylock_entity ask[] = { X("b"), X("z"), X("a"), X("b") };
	struct entitylock_options open = ENTITYLOCK_OPTIONS_INIT;
	__u64 version;
	int token;

	open.flags = ENTITYLOCK_OPEN;
	token = entitylock_acquire_set(self->domain, set, 3, &open, NULL);
	ASSERT_LE(0, token);
	version = set[2].version;
	change(self->domain, "b");
	EXPECT_EQ(POLLPRI, token_poll_wait(token, POLLPRI) & POLLPRI);
	unchanged.flags = ENTITYLOCK_IF_UNCHANGED;
	EXPECT_EQ(-ESTALE, entitylock_lock(token, &unchanged, NULL));

	ask[1].version = 77;
	EXPECT_EQ(0, entitylock_seen(token, ask, 4));
	EXPECT_EQ(ENTITYLOCK_CHANGED, ask[0].result);
	EXPECT_NE(version, ask[0].version);
	EXPECT_EQ(ask[0].version, ask[3].version);
	EXPECT_EQ(77, ask[1].version);
	EXPECT_EQ(0, ask[2].result);
	EXPECT_EQ(set[1].version, ask[2].version);

	/* Now it has seen it. */
	EXPECT_EQ(0, entitylock_seen(token, ask, 4));
	EXPECT_EQ(0, ask[0].result);
	EXPECT_EQ(0, token_poll(token) & POLLPRI);
	EXPECT_EQ(0, entitylock_lock(token, &unchanged, NULL));
	EXPECT_EQ(0, unlock(token));
	change(self->domain, "c");
	EXPECT_EQ(0, entitylock_seen(token, NULL, 0));
	EXPECT_EQ(0, entitylock_lock(token, &unchanged, NULL));

	EXPECT_EQ(-ENOTTY, entitylock_seen(self->domain, NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_seen(self->domain, ask, 4));
	close(token);
}

/* The entry of "x", which is the only one. */
static struct entitylock_list_entry entry_of_x(int domain)
{
	struct entitylock_list_entry entry = { 0 };
	const struct entitylock_list_entry *next;
	struct entitylock_list *list;

	if (entitylock_list_open(domain, &list))
		return entry;
	if (entitylock_list_next(list, &next) == 1)
		entry = *next;
	entitylock_list_close(list);
	return entry;
}

TEST_F(owners, V1_marks_are_listed)
{
	int token = hold(self->domain, "x");

	EXPECT_EQ(0, entry_of_x(self->domain).abandoned);
	EXPECT_EQ(1, entry_of_x(self->domain).holders);
	close(token);
	close(lease_entity(self->domain, "x", EXCLUSIVE, ROBUST, NOWAIT, 0));
	EXPECT_EQ(1, entry_of_x(self->domain).abandoned);
	EXPECT_EQ(0, entry_of_x(self->domain).holders);
	token = hold(self->domain, "x");
	EXPECT_EQ(1, entry_of_x(self->domain).abandoned);
	EXPECT_EQ(1, entry_of_x(self->domain).holders);
	EXPECT_EQ(0, entitylock_unlock(token, 0, ENTITYLOCK_CONSISTENT));
	EXPECT_EQ(0, entry_of_x(self->domain).abandoned);
	close(token);
}

SELFTEST_MAIN
