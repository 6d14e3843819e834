// SPDX-License-Identifier: GPL-2.0
/* D3: BREAK: take an entity, or the gate, from its holders. */
#include <sys/socket.h>

#include <sys/syscall.h>

#include "owners.h"

/* D3: any grant: the whole token is LOST, and who waits is next. */
TEST_F(owners, D3_without_a_fence)
{
	int holder = hold(self->domain, "a");
	int waiter = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	EXPECT_LT(token_fence(holder), token_fence(waiter));
	EXPECT_TRUE(is_lost(holder));
	close(holder);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	close(waiter);
}

/* D3: with a fence only if that grant still holds. */
TEST_F(owners, D3_with_the_right_fence_or_a_stale_one)
{
	int holder = hold(self->domain, "a");
	__u64 old = token_fence(holder), fence;

	ASSERT_LE(0, holder);
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", old));
	ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
	fence = token_fence(holder);
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", old));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", fence - 1));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", fence + 1));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", ~0ULL));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	/* An upgrade or an EXTEND is another grant. */
	ASSERT_EQ(0, extend_these(holder, 0, NOWAIT, X("b")));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", fence));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	EXPECT_EQ(0, break_entity(self->domain, "a", token_fence(holder)));
	EXPECT_TRUE(is_lost(holder));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", fence));
	close(holder);
}

/* D3: the fence of an old grant does not touch the new holder. */
TEST_F(owners, D3_a_stale_fence_spares_the_new_holder)
{
	int old = hold(self->domain, "a");
	__u64 fence = token_fence(old);
	int next;

	ASSERT_LE(0, old);
	close(old);
	next = hold(self->domain, "a");
	ASSERT_LE(0, next);
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", fence));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(next));
	close(next);
}

/* D3: of a set: the whole token, and the waiters of each of its entities. */
TEST_F(owners, D3_of_a_set)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	int holder = acquire_these(self->domain, 0, NOWAIT, X("a"), S("b"), X("c"), X("d"));
	int waiters[ARRAY_SIZE(names)];

	ASSERT_LE(0, holder);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		waiters[i] = await(self->domain, names[i]);
		ASSERT_LE(0, waiters[i]);
	}
	EXPECT_EQ(0, break_entity(self->domain, "c", token_fence(holder)));
	EXPECT_TRUE(is_lost(holder));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT_TRUE(becomes(waiters[i], ENTITYLOCK_HELD));
		EXPECT_LT(token_fence(holder), token_fence(waiters[i]));
		close(waiters[i]);
	}
	close(holder);
}

/* D3, L4: a request that meets a LOST holder treats it as gone. */
TEST_F(owners, L4_the_rest_of_a_broken_set_is_free_at_once)
{
	static struct numbered many;

	for (unsigned int round = 0; round < scaled(20, 3); round++) {
		int holder, other;

		numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
		holder = acquire_set(self->domain, many.set, ENTITYLOCK_SET_MAX, 0, NOWAIT);
		ASSERT_LE(0, holder);
		ASSERT_EQ(0, break_entity(self->domain, many.names[0], 0));
		ASSERT_EQ(0, try_lock(self->domain, many.names[1023], EXCLUSIVE));
		other = acquire_set(self->domain, many.set, ENTITYLOCK_SET_MAX, 0, NOWAIT);
		EXPECT_LE(0, other);
		EXPECT_LT(token_fence(holder), token_fence(other));
		EXPECT_TRUE(is_lost(holder));
		close(other);
		close(holder);
	}
}

/* D3: of shared holders: all of them, or the one whose grant it is. */
TEST_F(owners, D3_of_shared_holders)
{
	enum { COUNT = 300 };
	int holders[COUNT], writer;

	raise_fd_limit(COUNT + 100);
	for (int i = 0; i < COUNT; i++) {
		holders[i] = share(self->domain, "a");
		ASSERT_LE(0, holders[i]);
	}
	writer = await(self->domain, "a");
	ASSERT_LE(0, writer);
	/* Numbers of shared grants need not differ: this one's does. */
	ASSERT_EQ(0, extend_these(holders[COUNT / 2], 0, NOWAIT, X("b")));
	EXPECT_EQ(0, break_entity(self->domain, "a", token_fence(holders[COUNT / 2])));
	EXPECT_TRUE(is_lost(holders[COUNT / 2]));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	for (int i = 0; i < COUNT; i++)
		if (i != COUNT / 2)
			ASSERT_EQ(ENTITYLOCK_HELD, token_state(holders[i]));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(writer));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(writer));
	for (int i = 0; i < COUNT; i++) {
		ASSERT_TRUE(is_lost(holders[i]));
		close(holders[i]);
	}
	close(writer);
}

/* D3: of the gate. */
TEST_F(owners, D3_of_the_gate)
{
	int gate = hold_gate_for(self->domain, 0, 0);
	__u64 fence = token_fence(gate);
	int operation = await(self->domain, "a");
	int next = await_gate(self->domain);

	ASSERT_LE(0, gate);
	ASSERT_LE(0, operation);
	ASSERT_LE(0, next);
	EXPECT_EQ(-ESTALE, break_gate(self->domain, fence - 1));
	EXPECT_EQ(-ESTALE, break_gate(self->domain, fence + 1));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	/* It is not held by an entity's name. */
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "a", 0));
	EXPECT_EQ(0, break_gate(self->domain, fence));
	EXPECT_TRUE(is_lost(gate));
	EXPECT_TRUE(becomes(operation, ENTITYLOCK_HELD));
	EXPECT_LT(fence, token_fence(operation));
	/* The next one is awaited, not held. */
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	EXPECT_EQ(-ESTALE, break_gate(self->domain, fence));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(next));
	close(operation);
	EXPECT_TRUE(becomes(next, ENTITYLOCK_HELD));
	EXPECT_EQ(0, break_gate(self->domain, 0));
	EXPECT_TRUE(is_lost(next));
	EXPECT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == 0));
	close(next);
	close(gate);
}

/* D3, L5: a broken operation is counted out: the gate that waited for it is granted. */
TEST_F(owners, L5_a_broken_operation_is_counted_out)
{
	int holder = hold(self->domain, "a");
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	close(gate);
	close(holder);
}

/* L4, L5: as for an entity, so for the gate: those who are LOST are gone. */
TEST_F(owners, L4_the_gate_is_free_of_the_broken_at_once)
{
	enum { COUNT = 150 };
	static struct numbered many;
	int holders[COUNT];

	raise_fd_limit(COUNT + 100);
	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	for (unsigned int round = 0; round < scaled(20, 3); round++) {
		int holder = acquire_set(self->domain, many.set, ENTITYLOCK_SET_MAX, 0, NOWAIT);

		ASSERT_LE(0, holder);
		ASSERT_EQ(0, break_entity(self->domain, many.names[0], 0));
		ASSERT_EQ(0, try_gate(self->domain));
		close(holder);
		for (int i = 0; i < COUNT; i++) {
			holders[i] = share(self->domain, "a");
			ASSERT_LE(0, holders[i]);
		}
		ASSERT_EQ(0, break_entity(self->domain, "a", 0));
		ASSERT_EQ(0, try_gate(self->domain));
		for (int i = 0; i < COUNT; i++)
			close(holders[i]);
	}
}

/* D3: nobody holds it, and no mark: ENOENT; there never was such a grant: ESTALE. */
TEST_F(owners, D3_nothing_to_break)
{
	int token = idle(self->domain, "a");
	int gate = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);

	ASSERT_LE(0, token);
	ASSERT_LE(0, gate);
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "a", 0));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", 1));
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "unborn", 0));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "unborn", 1));
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	EXPECT_EQ(-ESTALE, break_gate(self->domain, 1));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(1, live_entities(self->domain));
	close(gate);
	close(token);
}

/* D3: those who wait hold nothing there: they are not broken. */
TEST_F(owners, D3_waiters_are_not_broken)
{
	int holder = share(self->domain, "a");
	int first = await(self->domain, "a");
	int second = await(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(is_lost(holder));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(first));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(second));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(is_lost(first));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(second));
	close(second);
	close(first);
	close(holder);
}

/* L6: BREAK of the prefix of a set that waits: the verb that blocks returns ESTALE. */
TEST_F(owners, L6_BREAK_of_a_prefix_ends_the_wait)
{
	struct entitylock_entity set[] = { X("a"), X("b") };
	int token = acquire_set(self->domain, set, 2, 0, NOWAIT);
	struct call lock, make;
	int pending, waiter, busy;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	busy = hold(self->domain, "b");
	ASSERT_LE(0, busy);
	/* LOCK; */
	call_lock(&lock, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	waiter = await(self->domain, "a");
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", 1));
	/* It still carries the number of its last grant, which is over. */
	ASSERT_NE(0, token_fence(token));
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", token_fence(token)));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(-ESTALE, call_result(&lock));
	EXPECT_TRUE(is_lost(token));
	EXPECT_TRUE(eventually(token_waiters(busy) == 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(waiter));
	close(waiter);
	/* ACQUIRE: there is no token; */
	call_acquire_set(&make, self->domain, set, 2, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 1));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(-ESTALE, call_result(&make));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	/* and in the background. */
	pending = acquire_set(self->domain, set, 2, ENTITYLOCK_ASYNC, FOREVER);
	ASSERT_LE(0, pending);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(pending, POLLIN));
	EXPECT_EQ(-ESTALE, token_info(pending).error);
	EXPECT_TRUE(is_lost(pending));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(busy);
	EXPECT_TRUE(eventually(try_lock(self->domain, "b", EXCLUSIVE) == 0));
	close(pending);
	close(token);
}

/* L6: BREAK of a token whose EXTEND or upgrade waits. */
TEST_F(owners, L6_BREAK_ends_an_EXTEND_and_an_upgrade)
{
	struct entitylock_entity more = X("b");

	for (int way = 0; way < 4; way++) {
		bool extend = way & 1, async = way & 2;
		int token = share(self->domain, "a"), other = share(self->domain, "a");
		int busy = hold(self->domain, "b");
		__u64 fence = token_fence(token);
		struct call call;

		ASSERT_LE(0, token);
		ASSERT_LE(0, other);
		ASSERT_LE(0, busy);
		/* So that the other's grant is another number. */
		ASSERT_EQ(0, extend_these(other, 0, NOWAIT, X("aa")));
		if (extend && async)
			EXPECT_EQ(0, token_extend(token, &more, 1, ENTITYLOCK_ASYNC, FOREVER));
		if (!extend && async)
			EXPECT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
		if (extend && !async)
			call_extend(&call, token, &more, 1, FOREVER);
		if (!extend && !async)
			call_convert(&call, token, EXCLUSIVE, FOREVER);
		ASSERT_TRUE(eventually(token_waiters(extend ? busy : other) == 1));
		EXPECT_EQ(ENTITYLOCK_HOLDING, token_info(token).flags);
		EXPECT_EQ(0, break_entity(self->domain, "a", fence));
		if (async) {
			EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(token, POLLIN));
			EXPECT_EQ(-ESTALE, token_info(token).error);
		} else {
			EXPECT_EQ(-ESTALE, call_result(&call));
		}
		EXPECT_TRUE(is_lost(token));
		EXPECT_EQ(fence, token_fence(token));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(other));
		EXPECT_TRUE(eventually(token_waiters(extend ? busy : other) == 0));
		close(other);
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		close(busy);
		EXPECT_TRUE(eventually(try_lock(self->domain, "b", EXCLUSIVE) == 0));
		close(token);
	}
}

/* D3: it needs the domain's owner, or CAP_SYS_ADMIN: of whoever opened the fd. */
TEST_F(owners, D3_EPERM_for_others)
{
	int holder = hold(self->domain, "a");
	int gate = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);
	__u64 fence = token_fence(holder);
	pid_t pid;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	pid = spawn();
	if (!pid) {
		int domain;

		if (become_user(65534))
			_exit(1);
		domain = domain_open(O_RDWR);
		if (domain < 0)
			_exit(2);
		if (break_entity(domain, "a", 0) != -EPERM ||
		    break_entity(domain, "a", fence) != -EPERM ||
		    break_entity(domain, "a", 1) != -EPERM ||
		    break_entity(domain, "unborn", 0) != -EPERM)
			_exit(3);
		if (break_gate(domain, 0) != -EPERM)
			_exit(4);
		if (token_state(holder) != ENTITYLOCK_HELD)
			_exit(5);
		/* An fd that root has opened gives root's right. */
		_exit(break_entity(self->domain, "a", fence) == 0 ? 0 : 6);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* D3: an fd that another has opened gives no right, even to root. */
TEST_F(owners, D3_the_right_is_the_openers)
{
	int pair[2], holder = hold(self->domain, "a"), domain;
	pid_t pid;

	ASSERT_LE(0, holder);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		if (become_user(65534))
			_exit(1);
		domain = domain_open(O_RDWR);
		_exit(domain < 0 || send_fd(pair[1], domain) ? 2 : 0);
	}
	domain = receive_fd(pair[0]);
	ASSERT_LE(0, domain);
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(-EPERM, break_entity(domain, "a", 0));
	EXPECT_EQ(-EPERM, break_gate(domain, 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(domain);
	close(holder);
	close(pair[0]);
	close(pair[1]);
}

/* D3: the root of a user namespace owns its default domain, and no other. */
TEST_F(owners, D3_the_owner_of_a_namespace)
{
	int holder = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, holder);
	pid = spawn();
	if (!pid) {
		int domain, token;

		if (enter_user_namespace())
			_exit(1);
		domain = domain_open(O_RDWR);
		token = hold(domain, "a");
		if (token < 0 || break_entity(domain, "a", token_fence(token)))
			_exit(2);
		if (!is_lost(token) || token_state(holder) != ENTITYLOCK_HELD)
			_exit(3);
		_exit(break_entity(domain, "a", 0) == -ENOENT ? 0 : 4);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(holder);
}

/* D1, D2: the root of a namespace owns its domain, also if that was opened before there was one. */
TEST_F(owners, D2_a_domain_that_is_older_than_the_ids_of_its_namespace)
{
	struct { __u32 version; int pid; } header = { 0x20080522, 0 };
	__u32 no_rights[6] = { 0 };
	pid_t pid = spawn();

	if (!pid) {
		int early, domain, token;

		if (unshare(CLONE_NEWUSER))
			_exit(1);
		early = domain_open(O_RDWR);
		if (early < 0 || write_file("/proc/self/uid_map", "0 0 1"))
			_exit(2);
		/* It must be the owner who may, not CAP_SYS_ADMIN. */
		if (syscall(SYS_capset, &header, no_rights))
			_exit(3);
		domain = domain_open(O_RDWR);
		token = hold(domain, "a");
		if (token < 0 || break_entity(domain, "a", 0))
			_exit(4);
		_exit(is_lost(token) ? 0 : 5);
	}
	EXPECT_EQ(0, reap(pid));
}

/* D2: BREAK needs the fd open for writing. */
TEST_F(owners, D2_BREAK_through_a_read_only_fd)
{
	int holder = hold(self->domain, "a");
	int domain = domain_open(O_RDONLY);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, domain);
	EXPECT_EQ(-EBADF, break_entity(domain, "a", 0));
	EXPECT_EQ(-EBADF, break_gate(domain, 0));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	close(domain);
	close(holder);
}

/* D3: again and again, each time another holder. */
TEST_F(owners, D3_every_holder_in_turn)
{
	enum { COUNT = 1000 };
	static int tokens[COUNT];
	unsigned int count = scaled(COUNT, 100);

	raise_fd_limit(COUNT + 100);
	for (unsigned int i = 0; i < count; i++) {
		tokens[i] = await(self->domain, "a");
		ASSERT_LE(0, tokens[i]);
	}
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_EQ(ENTITYLOCK_HELD, token_state(tokens[i]));
		ASSERT_EQ(0, break_entity(self->domain, "a", token_fence(tokens[i])));
		ASSERT_EQ(ENTITYLOCK_LOST, token_state(tokens[i]));
	}
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "a", 0));
	for (unsigned int i = 0; i < count; i++)
		close(tokens[i]);
}

/*
 * D3: who has lost an entity with another is no holder of it any more, though a
 * worker may still be about to take it from him: nothing is left to be broken, and
 * what he leaves behind can be dropped.
 */
TEST_F(owners, D3_one_who_is_lost_holds_nothing)
{
	unsigned int rounds = scaled(200, 20);
	__u64 fence;
	int token;

	for (unsigned int round = 0; round < rounds; round++) {
		token = acquire_these(self->domain, ROBUST, NOWAIT, X("a"), X("b"), X("c"));
		ASSERT_LE(0, token);
		fence = token_fence(token);
		ASSERT_EQ(0, break_entity(self->domain, "a", fence));
		ASSERT_EQ(-ESTALE, break_entity(self->domain, "c", fence));
		ASSERT_EQ(0, break_entity(self->domain, "c", 0));
		ASSERT_EQ(-ENOENT, break_entity(self->domain, "c", 0));
		ASSERT_EQ(0, break_entity(self->domain, "a", 0));
		ASSERT_EQ(0, break_entity(self->domain, "b", 0));
		close(token);
	}
}

SELFTEST_MAIN
