// SPDX-License-Identifier: GPL-2.0
/* V4: parked tokens, which live without an fd. */
#include <sys/socket.h>

#include "owners.h"

/* Park @token, and close it. */
static int put_away(int token, __u64 duration, struct cookie *cookie)
{
	int ret = token_park(token, duration, cookie);

	close(token);
	return ret;
}

/* V4: parked, with all fds closed, it holds; claimed it is the same token. */
TEST_F(owners, V4_a_parked_token_holds)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), S("b"));
	struct entitylock_info before, after;
	struct cookie cookie;

	ASSERT_LE(0, token);
	before = token_info(token);
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	EXPECT_EQ(2, live_entities(self->domain));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", SHARED));
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));

	token = claim(self->domain, &cookie);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	after = token_info(token);
	EXPECT_EQ(ENTITYLOCK_HELD, after.state);
	EXPECT_EQ(before.id, after.id);
	EXPECT_EQ(before.fence, after.fence);
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_STREQ("xs", token_modes(token));
	/* One that was HELD keeps the lease of its parking. */
	EXPECT_LT(HOUR / 2, after.lease_left);
	EXPECT_GE(HOUR, after.lease_left);
	EXPECT_EQ(POLLIN, token_poll(token));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, X("c")));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* V4: its process is gone, another one claims it, and is the recorded owner. */
TEST_F(owners, V4_claimed_in_another_process)
{
	struct cookie cookie;
	int pipes[2], token;
	pid_t pid;

	ASSERT_EQ(0, pipe(pipes));
	pid = spawn();
	if (!pid) {
		token = hold(self->domain, "a");
		if (token_park(token, HOUR, &cookie))
			_exit(1);
		_exit(write(pipes[1], &cookie, sizeof(cookie)) == sizeof(cookie) ? 0 : 2);
	}
	EXPECT_EQ(0, reap(pid));
	ASSERT_EQ((ssize_t)sizeof(cookie), read(pipes[0], &cookie, sizeof(cookie)));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));

	pid = spawn();
	if (!pid) {
		token = claim(self->domain, &cookie);
		if (token < 0 || token_state(token) != ENTITYLOCK_HELD)
			_exit(1);
		if (token_info(token).owner_pid != (__u32)getpid())
			_exit(2);
		_exit(claim(self->domain, &cookie) == -ENOENT ? 0 : 3);
	}
	EXPECT_EQ(0, reap(pid));
	/* Claimed, it lives as long as its fds. */
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));
	close(pipes[0]);
	close(pipes[1]);
}

/* V4: the cookie works once; of each parking it is another. */
TEST_F(owners, V4_a_cookie_works_once)
{
	enum { COUNT = 20 };
	struct cookie cookies[COUNT];
	int token = hold_for(self->domain, "a", HOUR);

	ASSERT_LE(0, token);
	for (int i = 0; i < COUNT; i++) {
		int again;

		ASSERT_EQ(0, token_park(token, 0, &cookies[i]));
		for (int j = 0; j < i; j++) {
			EXPECT_NE(0, memcmp(&cookies[j], &cookies[i], sizeof(cookies[i])));
			EXPECT_EQ(-ENOENT, claim(self->domain, &cookies[j]));
		}
		again = claim(self->domain, &cookies[i]);
		ASSERT_LE(0, again);
		EXPECT_EQ(-ENOENT, claim(self->domain, &cookies[i]));
		close(token);
		token = again;
	}
	close(token);
}

/* V4: wrong cookies open nothing, and do not spoil the right one. */
TEST_F(owners, V4_wrong_cookies)
{
	static const struct cookie zeros;
	struct cookie cookie, wrong;
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(-ENOENT, claim(self->domain, &zeros));
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	EXPECT_EQ(-ENOENT, claim(self->domain, &zeros));
	for (unsigned int bit = 0; bit < 8 * sizeof(cookie); bit++) {
		wrong = cookie;
		wrong.bytes[bit / 8] ^= 1 << bit % 8;
		EXPECT_EQ(-ENOENT, claim(self->domain, &wrong));
	}
	token = claim(self->domain, &cookie);
	EXPECT_LE(0, token);
	close(token);
}

/* V4: another domain's cookie is nobody's; D2: CLAIM needs the fd open for writing. */
TEST_F(owners, V4_in_its_own_domain_only)
{
	int reader = domain_open(O_RDONLY), token = hold(self->domain, "a");
	struct cookie cookie;
	pid_t pid;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	pid = spawn();
	if (!pid) {
		int domain;

		if (enter_user_namespace())
			_exit(1);
		domain = domain_open(O_RDWR);
		_exit(domain >= 0 && claim(domain, &cookie) == -ENOENT ? 0 : 2);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(-EBADF, claim(reader, &cookie));
	token = claim(self->domain, &cookie);
	EXPECT_LE(0, token);
	close(token);
	close(reader);
}

/* V4: parking twice: EBADFD; claimed it may be parked again. */
TEST_F(owners, V4_parking_twice)
{
	int token = hold_for(self->domain, "a", HOUR), again;
	struct cookie first, second;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, 0, &first));
	EXPECT_EQ(-EBADFD, token_park(token, 0, &second));
	EXPECT_EQ(-EBADFD, token_park(token, HOUR, &second));
	EXPECT_EQ(-ENOENT, claim(self->domain, &second));
	again = claim(self->domain, &first);
	ASSERT_LE(0, again);
	EXPECT_EQ(0, token_park(again, 0, &second));
	EXPECT_EQ(-ENOENT, claim(self->domain, &first));
	close(again);
	again = claim(self->domain, &second);
	EXPECT_LE(0, again);
	close(again);
	close(token);
}

/* V4: it needs a lease: a running one, or one that PARK gives. */
TEST_F(owners, V4_which_lease)
{
	int token = hold(self->domain, "a"), fresh = idle(self->domain, "b");
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_LE(0, fresh);
	EXPECT_EQ(-EINVAL, token_park(token, 0, &cookie));
	EXPECT_EQ(-EINVAL, token_park(fresh, 0, &cookie));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(fresh));
	/* 0: the running one goes on. */
	ASSERT_EQ(0, token_renew(token, HOUR));
	ASSERT_EQ(0, token_park(token, 0, &cookie));
	EXPECT_GE(HOUR, lease_left(token));
	close(claim(self->domain, &cookie));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	/* Another one begins with PARK. */
	ASSERT_EQ(0, token_park(token, 2 * HOUR, &cookie));
	EXPECT_LT(HOUR, lease_left(token));
	close(claim(self->domain, &cookie));
	EXPECT_LT(HOUR, lease_left(token));
	close(fresh);
	close(token);
}

/* V4: an expired token without a new lease: ETIME. */
TEST_F(owners, V4_ETIME_without_a_new_lease)
{
	int token = hold_for(self->domain, "a", ms(20));
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(-ETIME, token_park(token, 0, &cookie));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(0, token_park(token, HOUR, &cookie));
	EXPECT_LT(HOUR / 2, lease_left(token));
	close(token);
	token = claim(self->domain, &cookie);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* V4: only what is HELD or IDLE may be parked; a SEALED token not at all. */
TEST_F(owners, V4_what_may_not_be_parked)
{
	int sealed = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_SEALED, NOWAIT);
	int waiter = await(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, sealed);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(-EPERM, token_park(sealed, HOUR, &cookie));
	EXPECT_EQ(-EBADFD, token_park(waiter, HOUR, &cookie));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(sealed));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
	close(sealed);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	close(waiter);
}

/* V4: nobody comes for it, and nobody wants what it holds: freed when its lease ends. */
TEST_F(owners, V4_freed_when_its_lease_ends)
{
	__u64 begin = now_on(CLOCK_BOOTTIME);
	struct cookie cookie;

	ASSERT_EQ(0, put_away(hold(self->domain, "a"), ms(50), &cookie));
	ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	EXPECT_LE(begin + ms(50), now_on(CLOCK_BOOTTIME));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));

	/* The same for one whose lease ran before, */
	ASSERT_EQ(0, put_away(hold_for(self->domain, "a", ms(50)), 0, &cookie));
	ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));

	/* for an IDLE one, */
	ASSERT_EQ(0, put_away(idle(self->domain, "a"), ms(50), &cookie));
	ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));

	/* and for a gate. */
	ASSERT_EQ(0, put_away(hold_gate_for(self->domain, 0, 0), ms(50), &cookie));
	ASSERT_TRUE(eventually(try_lock(self->domain, "a", SHARED) == 0));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));
}

/* V4: with an fd left it is LOST then, HELD or IDLE. */
TEST_F(owners, V4_lost_when_its_lease_ends)
{
	int held = hold(self->domain, "a"), fresh = idle(self->domain, "b");
	struct cookie cookies[2];

	ASSERT_LE(0, held);
	ASSERT_LE(0, fresh);
	ASSERT_EQ(0, token_park(held, ms(50), &cookies[0]));
	ASSERT_EQ(0, token_park(fresh, ms(50), &cookies[1]));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(held, 0));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(fresh, 0));
	EXPECT_TRUE(is_lost(held));
	EXPECT_TRUE(is_lost(fresh));
	EXPECT_TRUE(eventually(claim(self->domain, &cookies[0]) == -ENOENT));
	EXPECT_TRUE(eventually(claim(self->domain, &cookies[1]) == -ENOENT));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(fresh);
	close(held);
}

/* V4: and also when it was locked again meanwhile, through an fd that was left open. */
TEST_F(owners, V4_locked_again_it_ends_with_its_parking)
{
	struct cookie cookie;

	/* With somebody waiting for it, and without. */
	for (int wanted = 0; wanted < 2; wanted++) {
		int token = idle(self->domain, "a"), waiter = -1;

		ASSERT_LE(0, token);
		ASSERT_EQ(0, token_park(token, HOUR, &cookie));
		/* A lease of its own it can not have. */
		EXPECT_EQ(-EINVAL, token_lock_for(token, 0, NOWAIT, 2 * HOUR));
		EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
		ASSERT_TRUE(eventually(lease_left(token) < HOUR - ms(20)));
		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		EXPECT_GT(HOUR - ms(20), lease_left(token));
		ASSERT_EQ(0, unlock(token));
		EXPECT_GE(HOUR, lease_left(token));
		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		if (wanted)
			waiter = await(self->domain, "a");
		ASSERT_EQ(0, token_renew(token, ms(50)));
		EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(token, 0));
		EXPECT_TRUE(is_lost(token));
		EXPECT_TRUE(!wanted || becomes(waiter, ENTITYLOCK_HELD));
		EXPECT_TRUE(eventually(claim(self->domain, &cookie) == -ENOENT));
		close(waiter);
		EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
		close(token);
	}
}

/* V4: the end of its lease also ends a wait. */
TEST_F(owners, V4_the_end_of_its_lease_ends_a_wait)
{
	int holder = hold(self->domain, "a");
	int blocked = idle(self->domain, "a"), pending = idle(self->domain, "a");
	struct cookie cookies[2];
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, blocked);
	ASSERT_LE(0, pending);
	ASSERT_EQ(0, token_park(blocked, HOUR, &cookies[0]));
	ASSERT_EQ(0, token_park(pending, HOUR, &cookies[1]));
	call_lock(&call, blocked, FOREVER);
	ASSERT_EQ(0, token_lock(pending, ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	ASSERT_EQ(0, token_renew(blocked, ms(20)));
	ASSERT_EQ(0, token_renew(pending, ms(20)));
	EXPECT_EQ(-ESTALE, call_result(&call));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(pending, 0));
	EXPECT_EQ(-ESTALE, token_info(pending).error);
	EXPECT_TRUE(is_lost(blocked));
	EXPECT_TRUE(is_lost(pending));
	EXPECT_TRUE(eventually(token_waiters(holder) == 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(pending);
	close(blocked);
	close(holder);
}

/* V4: RENEW restarts the lease of parking, of a HELD and of an IDLE token. */
TEST_F(owners, V4_RENEW_of_a_parked_token)
{
	int held = hold(self->domain, "a"), fresh = idle(self->domain, "b");
	struct cookie cookies[2];

	ASSERT_LE(0, held);
	ASSERT_LE(0, fresh);
	ASSERT_EQ(0, token_park(held, HOUR, &cookies[0]));
	ASSERT_EQ(0, token_park(fresh, HOUR, &cookies[1]));
	EXPECT_EQ(0, token_renew(held, 2 * HOUR));
	EXPECT_EQ(0, token_renew(fresh, 2 * HOUR));
	EXPECT_LT(HOUR, lease_left(held));
	EXPECT_LT(HOUR, lease_left(fresh));
	EXPECT_EQ(0, token_renew(fresh, 0));
	EXPECT_LT(HOUR, lease_left(fresh));
	/* To an end that comes soon. */
	EXPECT_EQ(0, token_renew(held, ms(20)));
	EXPECT_EQ(0, token_renew(fresh, ms(20)));
	EXPECT_TRUE(becomes(held, ENTITYLOCK_LOST));
	EXPECT_TRUE(becomes(fresh, ENTITYLOCK_LOST));
	close(fresh);
	close(held);
}

/* V4: an IDLE token that is claimed drops the lease; what it saw stays seen. */
TEST_F(owners, V4_a_claimed_IDLE_token)
{
	int token = idle(self->domain, "a"), other;
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	token = claim(self->domain, &cookie);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(-EBADFD, token_renew(token, HOUR));
	EXPECT_EQ(0, token_lock(token, ENTITYLOCK_IF_UNCHANGED, NOWAIT));
	EXPECT_EQ(FOREVER, lease_left(token));
	ASSERT_EQ(0, unlock(token));

	/* For long edits: parked, changed by another, and found out. */
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	other = hold(self->domain, "a");
	ASSERT_LE(0, other);
	close(other);
	token = claim(self->domain, &cookie);
	ASSERT_LE(0, token);
	EXPECT_EQ(-ESTALE, token_lock(token, ENTITYLOCK_IF_UNCHANGED, NOWAIT));
	close(token);
}

/* V4: claimed while it waits: a lease as long as that of parking begins with the grant. */
TEST_F(owners, V4_claimed_while_it_waits)
{
	int holder = hold(self->domain, "a"), token = idle(self->domain, "a"), claimed;
	struct cookie cookie;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	/* The wait needs no fd. */
	close(token);
	EXPECT_EQ(1, token_waiters(holder));
	claimed = claim(self->domain, &cookie);
	ASSERT_LE(0, claimed);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(claimed));
	EXPECT_EQ(FOREVER, lease_left(claimed));
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(claimed));
	EXPECT_LT(HOUR / 2, lease_left(claimed));
	EXPECT_GE(HOUR, lease_left(claimed));
	close(claimed);
}

/* V4: parked, granted without an fd, and then claimed. */
TEST_F(owners, V4_granted_without_an_fd)
{
	int holder = hold(self->domain, "a"), token = idle(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	close(token);
	close(holder);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	token = claim(self->domain, &cookie);
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* V4: claimed in time, a HELD token's lease is an ordinary one again: it ends lazily. */
TEST_F(owners, V4_claimed_it_ends_lazily)
{
	int token = hold(self->domain, "a");
	struct cookie cookie;
	int claimed;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	claimed = claim(self->domain, &cookie);
	ASSERT_LE(0, claimed);
	ASSERT_EQ(0, token_renew(claimed, ms(20)));
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(claimed));
	EXPECT_EQ(0, token_renew(claimed, HOUR));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(claimed);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	close(token);
}

/* V4: a parked token is broken like any other: freed, or LOST where an fd is left. */
TEST_F(owners, V4_broken)
{
	int token = hold(self->domain, "a"), kept = hold(self->domain, "b");
	int gate, waiter = await(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_LE(0, kept);
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	EXPECT_TRUE(eventually(claim(self->domain, &cookie) == -ENOENT));
	close(waiter);
	EXPECT_TRUE(eventually(live_entities(self->domain) == 1));

	ASSERT_EQ(0, token_park(kept, HOUR, &cookie));
	EXPECT_EQ(0, break_entity(self->domain, "b", token_fence(kept)));
	EXPECT_TRUE(is_lost(kept));
	EXPECT_TRUE(eventually(claim(self->domain, &cookie) == -ENOENT));
	close(kept);

	gate = hold_gate_for(self->domain, 0, 0);
	ASSERT_EQ(0, put_away(gate, HOUR, &cookie));
	EXPECT_EQ(0, break_gate(self->domain, 0));
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
	EXPECT_TRUE(eventually(claim(self->domain, &cookie) == -ENOENT));
}

/* V4, V1: a robust one whose time is over leaves its marks. */
TEST_F(owners, V1_a_parked_token_that_nobody_claims)
{
	int token = acquire_these(self->domain, ROBUST, NOWAIT, X("a"), X("b"));
	struct cookie cookie;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, put_away(token, ms(50), &cookie));
	token = acquire(self->domain, "a", EXCLUSIVE, 0, soon());
	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_ABANDONED, entity_info(token).result);
	close(token);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(eventually(break_entity(self->domain, "b", 0) == 0));
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "b", 0));
}

/* V4: a gate waits for a parked operation, until its lease ends. */
TEST_F(owners, V4_a_gate_behind_a_parked_token)
{
	struct cookie cookie;
	int gate;

	ASSERT_EQ(0, put_away(hold(self->domain, "a"), ms(100), &cookie));
	gate = acquire_gate(self->domain, 0, soon());
	EXPECT_LE(0, gate);
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));
	close(gate);
}

/* L2: the cookie is written before the token is parked: unwritable, it is not. */
TEST_F(owners, L2_an_unwritable_cookie)
{
	struct entitylock_park arg = { .lease = HOUR };
	void *unwritable = read_only_copy(&arg, sizeof(arg));
	int token = hold(self->domain, "a");
	struct cookie cookie;

	ASSERT_LE(0, token);
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_PARK, unwritable));
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(0, token_park(token, HOUR, &cookie));
	close(token);
	token = claim(self->domain, &cookie);
	EXPECT_LE(0, token);
	close(token);
	munmap(unwritable, sizeof(arg));
}

/* V4: no fd to be had: the cookie works later. */
TEST_F(owners, V4_EMFILE_does_not_spend_the_cookie)
{
	struct cookie cookie;
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, put_away(token, HOUR, &cookie));
	raise_fd_limit(token);
	EXPECT_EQ(-EMFILE, claim(self->domain, &cookie));
	raise_fd_limit(token + 1);
	token = claim(self->domain, &cookie);
	EXPECT_LE(0, token);
	close(token);
}

/* V4, D4: quota per user: EDQUOT, the token as it was; given back by CLAIM, BREAK, the end. */
TEST_F(owners, D4_each_user_has_a_quota_of_parked_tokens)
{
	int token = hold(self->domain, "c");
	struct cookie a, b, cookie;
	pid_t pid;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, set_parameter("parked_max", 2));
	ASSERT_EQ(0, put_away(hold(self->domain, "a"), HOUR, &a));
	ASSERT_EQ(0, put_away(hold(self->domain, "b"), HOUR, &b));
	EXPECT_EQ(-EDQUOT, token_park(token, HOUR, &cookie));
	EXPECT_EQ(FOREVER, lease_left(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	pid = spawn();
	if (!pid) {
		if (become_user(65534))
			_exit(1);
		_exit(token_park(idle(self->domain, "d"), ms(20), &cookie) ? 2 : 0);
	}
	EXPECT_EQ(0, reap(pid));
	/* What is refused or unwritable is not charged. */
	close(claim(self->domain, &a));
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(-EINVAL, token_park(token, 0, &cookie));
	EXPECT_EQ(0, put_away(token, ms(20), &cookie));
	EXPECT_EQ(-EDQUOT, put_away(hold(self->domain, "e"), HOUR, &a));
	/* The end of the lease, and BREAK. */
	EXPECT_TRUE(eventually(live_entities(self->domain) == 1));
	token = hold(self->domain, "e");
	EXPECT_TRUE(eventually(token_park(token, HOUR, &cookie) == 0));
	EXPECT_EQ(0, break_entity(self->domain, "b", 0));
	close(claim(self->domain, &cookie));
	close(token);
	token = acquire_these(self->domain, 0, NOWAIT, X("f"), X("g"));
	EXPECT_TRUE(eventually(token_park(token, HOUR, &cookie) == 0));
	close(claim(self->domain, &cookie));
	close(token);
}

/* V4: thousands parked, each claimed by its own cookie. */
TEST_F(owners, V4_thousands_of_parked_tokens)
{
	enum { COUNT = 4000 };
	static struct cookie cookies[COUNT];
	static __u64 ids[COUNT];
	unsigned int count = scaled(COUNT, 300), wrong = 0;
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		int token;

		snprintf(name, sizeof(name), "%u", i);
		token = hold(self->domain, name);
		ASSERT_LE(0, token);
		ids[i] = token_info(token).id;
		/* Each third one is over by itself. */
		ASSERT_EQ(0, put_away(token, i % 3 ? HOUR : ms(20), &cookies[i]));
	}
	EXPECT_TRUE(eventually(live_entities(self->domain) == count - (count + 2) / 3));
	for (unsigned int i = count; i--;) {
		int token = claim(self->domain, &cookies[i]);

		if (i % 3 ? token < 0 || token_info(token).id != ids[i] : token != -ENOENT)
			wrong++;
		if (token >= 0)
			close(token);
	}
	EXPECT_EQ(0, wrong);
}

struct claimer {
	struct start_line *line;
	int domain;
	struct cookie cookie;
	int ret;
	pthread_t thread;
};

static void *race_to_claim(void *data)
{
	struct claimer *claimer = data;

	start_together(claimer->line, 2);
	claimer->ret = claim(claimer->domain, &claimer->cookie);
	return NULL;
}

/* V4: of two claims at the same moment one wins. */
TEST_F(owners, V4_two_claims_race)
{
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		struct start_line line = { 0 };
		struct claimer claimers[2];

		claimers[0].line = &line;
		claimers[0].domain = self->domain;
		ASSERT_EQ(0, put_away(hold(self->domain, "a"), HOUR, &claimers[0].cookie));
		claimers[1] = claimers[0];
		for (int j = 0; j < 2; j++)
			ASSERT_EQ(0, pthread_create(&claimers[j].thread, NULL, race_to_claim,
						    &claimers[j]));
		for (int j = 0; j < 2; j++)
			pthread_join(claimers[j].thread, NULL);
		ASSERT_TRUE((claimers[0].ret >= 0) != (claimers[1].ret >= 0));
		for (int j = 0; j < 2; j++) {
			ASSERT_TRUE(claimers[j].ret == -ENOENT ||
				    token_state(claimers[j].ret) == ENTITYLOCK_HELD);
			close(claimers[j].ret);
		}
		ASSERT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	}
}

/* V4: a claim, or BREAK, at the very end of the lease: freed or claimed, nothing between. */
TEST_F(owners, V4_the_end_of_the_lease_races)
{
	unsigned int claimed = 0, rounds = scaled(300, 40);
	long patience = NSEC_PER_MSEC;

	for (unsigned int i = 0; i < rounds; i++) {
		bool breaks = i % 4 == 3;
		struct cookie cookie;
		int ret;

		ASSERT_EQ(0, put_away(hold(self->domain, "a"), NSEC_PER_MSEC, &cookie));
		spin_ns(patience);
		if (breaks) {
			ret = break_entity(self->domain, "a", 0);
			ASSERT_TRUE(ret == 0 || ret == -ENOENT);
		}
		ret = claim(self->domain, &cookie);
		if (ret >= 0) {
			/* Its lease may end at any time: lazily by now. */
			ASSERT_TRUE(breaks || token_state(ret) == ENTITYLOCK_HELD ||
				    is_lost(ret));
			claimed++;
			patience += 2000;
			close(ret);
		} else {
			ASSERT_EQ(-ENOENT, ret);
			patience -= patience > 2000 ? 2000 : 0;
		}
		ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	}
	TH_LOG("%u of %u claimed", claimed, rounds);
}

SELFTEST_MAIN
