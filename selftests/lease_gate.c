// SPDX-License-Identifier: GPL-2.0
/* V2: leases and the gate: it waits for leased holders, and may be held with a lease. */
#include "owners.h"

/* A gate is wanted without waiting: the holders whose lease has run out are LOST. */
TEST_F(owners, V2_a_deadline_0_gate_takes_what_has_run_out)
{
	static const __u64 deadlines[] = { NOWAIT, PASSED };
	struct entitylock_entity set[] = { X("b"), S("c") };

	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		int one = hold_for(self->domain, "a", ms(20));
		int two = lease_set(self->domain, set, 2, 0, NOWAIT, ms(20));
		int three = share_for(self->domain, "c", ms(20));
		int gate;

		ASSERT_LE(0, one);
		ASSERT_LE(0, two);
		ASSERT_LE(0, three);
		ASSERT_TRUE(runs_out(one));
		ASSERT_TRUE(runs_out(two));
		ASSERT_TRUE(runs_out(three));
		gate = acquire_gate(self->domain, 0, deadlines[i]);
		ASSERT_LE(0, gate);
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
		EXPECT_TRUE(is_lost(one));
		EXPECT_TRUE(is_lost(two));
		EXPECT_TRUE(is_lost(three));
		EXPECT_LT(token_fence(one), token_fence(gate));
		close(gate);
		close(one);
		close(two);
		close(three);
	}
}

/* V2: LOST at once, even if the gate is refused because of another. */
TEST_F(owners, V2_a_gate_that_is_refused_expires_too)
{
	int old = hold_for(self->domain, "a", ms(20));
	int runs = hold_for(self->domain, "b", HOUR);
	int plain = hold(self->domain, "c");

	ASSERT_LE(0, old);
	ASSERT_LE(0, runs);
	ASSERT_LE(0, plain);
	ASSERT_TRUE(runs_out(old));
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	EXPECT_TRUE(is_lost(old));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(runs));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(plain));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(plain);
	close(runs);
	close(old);
}

/* L9: LOCK that is refused for its token's state takes nothing from others. */
TEST_F(owners, L9_a_gate_that_cannot_be_locked_takes_nothing)
{
	int lost = hold_gate_for(self->domain, 0, 0), pending, parked, busy, old;
	struct cookie cookie;

	ASSERT_LE(0, lost);
	ASSERT_EQ(0, break_gate(self->domain, 0));
	parked = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);
	ASSERT_LE(0, parked);
	ASSERT_EQ(0, token_park(parked, HOUR, &cookie));
	busy = hold(self->domain, "b");
	old = hold_for(self->domain, "a", ms(20));
	ASSERT_LE(0, busy);
	ASSERT_LE(0, old);
	ASSERT_TRUE(runs_out(old));
	EXPECT_EQ(-ESTALE, token_lock(lost, 0, NOWAIT));
	EXPECT_EQ(-EINVAL, token_lock_for(parked, 0, NOWAIT, HOUR));
	EXPECT_EQ(0, token_renew(old, ms(20)));
	pending = await_gate(self->domain);
	ASSERT_LE(0, pending);
	EXPECT_EQ(-EBADFD, token_lock(pending, 0, NOWAIT));
	close(pending);
	close(old);
	close(busy);
	close(claim(self->domain, &cookie));
	close(parked);
	close(lost);
}

/* V2: a gate behind leased holders is granted when the last lease ends. */
TEST_F(owners, V2_a_gate_waits_for_the_last_lease)
{
	__u64 duration = ms(100), begin = now_on(CLOCK_BOOTTIME);
	int old = hold_for(self->domain, "a", ms(20));
	int one = hold_for(self->domain, "b", ms(50));
	int last = share_for(self->domain, "c", duration);
	int gate, behind;

	ASSERT_LE(0, old);
	ASSERT_LE(0, one);
	ASSERT_LE(0, last);
	ASSERT_TRUE(runs_out(old));
	gate = await_gate(self->domain);
	behind = await(self->domain, "a");
	ASSERT_LE(0, gate);
	ASSERT_LE(0, behind);
	EXPECT_TRUE(becomes(old, ENTITYLOCK_LOST));
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(old));
	EXPECT_TRUE(is_lost(one));
	EXPECT_TRUE(is_lost(last));
	EXPECT_LT(token_fence(last), token_fence(gate));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	close(gate);
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	close(behind);
	close(last);
	close(one);
	close(old);
}

/* V2: the holder whose lease was to end next goes before; the gate does not forget the others. */
TEST_F(owners, V2_the_lease_that_was_to_end_next_goes)
{
	for (int way = 0; way < 3; way++) {
		int next = hold_for(self->domain, "a", HOUR);
		int last = hold_for(self->domain, "b", 2 * HOUR);
		int gate = await_gate(self->domain);

		ASSERT_LE(0, next);
		ASSERT_LE(0, last);
		ASSERT_LE(0, gate);
		ASSERT_TRUE(eventually(armed_timers().boottime == 1));
		if (way == 0)
			EXPECT_EQ(0, unlock(next));
		if (way == 1)
			EXPECT_EQ(0, break_entity(self->domain, "a", 0));
		close(next);
		EXPECT_TRUE(eventually(armed_timers().boottime == 1));
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
		EXPECT_EQ(0, token_renew(last, ms(20)));
		EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
		EXPECT_TRUE(is_lost(last));
		close(gate);
		close(last);
	}
}

/* V2: a blocking gate request needs nobody to help it either. */
TEST_F(owners, V2_a_blocking_gate_waits_for_the_lease)
{
	int holder = hold_for(self->domain, "a", ms(50));
	int gate;

	ASSERT_LE(0, holder);
	gate = acquire_gate(self->domain, 0, soon());
	EXPECT_LE(0, gate);
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* V2: before its end a lease stands in the way of a gate like any lock. */
TEST_F(owners, V2_a_gate_does_not_take_a_running_lease)
{
	int holder = hold_for(self->domain, "a", HOUR);

	ASSERT_LE(0, holder);
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	EXPECT_EQ(-ETIMEDOUT, acquire_gate(self->domain, 0, in_ms(20)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	EXPECT_TRUE(eventually(try_lock(self->domain, "b", EXCLUSIVE) == 0));
	close(holder);
}

/* V2: RENEW under a gate: a shorter lease ends sooner, a longer one later. */
TEST_F(owners, V2_RENEW_under_a_gate)
{
	int holder = hold_for(self->domain, "a", HOUR);
	__u64 fence = token_fence(holder), begin;
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	EXPECT_EQ(0, token_renew(holder, 2 * HOUR));
	EXPECT_LT(HOUR, lease_left(holder));
	EXPECT_EQ(fence, token_fence(holder));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	begin = now_on(CLOCK_BOOTTIME);
	ASSERT_EQ(0, token_renew(holder, ms(50)));
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_LE(begin + ms(50), now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* V2: renewed again and again under a gate it is kept; then it is not. */
TEST_F(owners, V2_a_heartbeat_keeps_the_gate_out)
{
	__u64 duration = ms(500), begin = now_on(CLOCK_BOOTTIME);
	int holder = hold_for(self->domain, "a", duration);
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	while (now_on(CLOCK_BOOTTIME) < begin + 3 * duration / 2)
		ASSERT_EQ(0, token_renew(holder, 0));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* V2: a first lease, given while a gate waits. */
TEST_F(owners, V2_a_first_lease_under_a_gate)
{
	int holder = hold(self->domain, "a");
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	ASSERT_EQ(0, token_renew(holder, ms(20)));
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* V2: a leased operation that is granted from the queue after the gate began to wait. */
TEST_F(owners, V2_a_lease_granted_under_a_gate)
{
	struct entitylock_entity set[] = { X("a"), X("b") };
	int holder = hold(self->domain, "a");
	int first = lease_entity(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER, ms(20));
	int second = lease_set(self->domain, set, 2, ENTITYLOCK_ASYNC, FOREVER, ms(20));
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_LE(0, gate);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	close(holder);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_TRUE(is_lost(first));
	EXPECT_TRUE(is_lost(second));
	EXPECT_LT(token_fence(first), token_fence(second));
	EXPECT_LT(token_fence(second), token_fence(gate));
	close(gate);
	close(second);
	close(first);
}

/* V2: leased operations that a gate lets in, and another gate behind them. */
TEST_F(owners, V2_leases_between_two_gates)
{
	enum { COUNT = 20 };
	int gate = hold_gate_for(self->domain, 0, 0);
	int tokens[COUNT], next;

	ASSERT_LE(0, gate);
	for (int i = 0; i < COUNT; i++) {
		char name[] = { 'a' + i, '\0' };

		tokens[i] = lease_entity(self->domain, name, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER,
					 ms(20));
		ASSERT_LE(0, tokens[i]);
	}
	next = await_gate(self->domain);
	ASSERT_LE(0, next);
	close(gate);
	EXPECT_TRUE(becomes(next, ENTITYLOCK_HELD));
	for (int i = 0; i < COUNT; i++) {
		ASSERT_TRUE(is_lost(tokens[i]));
		ASSERT_LT(0, token_fence(tokens[i]));
		close(tokens[i]);
	}
	close(next);
}

/* L6: expiry of a token whose EXTEND waits, for the sake of a gate. */
TEST_F(owners, L6_a_gate_expires_a_token_that_waits_for_more)
{
	int holder = hold_for(self->domain, "a", HOUR);
	int other = hold_for(self->domain, "b", HOUR);
	int busy = hold(self->domain, "c");
	struct entitylock_entity entity = X("c");
	struct call call;
	int gate;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, other);
	ASSERT_LE(0, busy);
	ASSERT_EQ(0, extend_these(other, ENTITYLOCK_ASYNC, FOREVER, X("c")));
	call_extend(&call, holder, &entity, 1, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(busy) == 2));
	gate = await_gate(self->domain);
	ASSERT_LE(0, gate);
	ASSERT_EQ(0, token_renew(holder, ms(20)));
	ASSERT_EQ(0, token_renew(other, ms(20)));
	EXPECT_EQ(-ESTALE, call_result(&call));
	EXPECT_EQ(POLLERR | POLLHUP, token_poll_wait(other, POLLIN));
	EXPECT_EQ(-ESTALE, token_info(other).error);
	EXPECT_TRUE(is_lost(holder));
	EXPECT_TRUE(is_lost(other));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	close(busy);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	close(gate);
	close(other);
	close(holder);
}

/* V2: run out, a token that waits for more gets it not, and stands in a gate's way no longer. */
TEST_F(owners, V2_ETIME_under_a_gate)
{
	int holder = hold_for(self->domain, "a", ms(20));
	int gate;

	ASSERT_LE(0, holder);
	ASSERT_TRUE(runs_out(holder));
	EXPECT_EQ(-ETIME, extend_these(holder, 0, NOWAIT, X("b")));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(holder));
	gate = acquire_gate(self->domain, 0, soon());
	EXPECT_LE(0, gate);
	EXPECT_TRUE(is_lost(holder));
	close(gate);
	close(holder);
}

/* V2: many leases, of which a gate waits for the last; some are renewed, some shortened. */
TEST_F(owners, V2_a_gate_and_thousands_of_leases)
{
	enum { COUNT = 10000 };
	enum { ENDS, RENEWED, SHORTENED, KINDS };
	static int tokens[COUNT];
	unsigned int count = scaled(COUNT, 300), wrong = 0, seed = 1;
	int gate;

	raise_fd_limit(COUNT + 100);
	for (unsigned int i = 0; i < count; i++) {
		__u64 brief = ms(20 + rand_r(&seed) % 200);
		char name[16];

		snprintf(name, sizeof(name), "%u", i / 2);
		tokens[i] = share_for(self->domain, name, i % KINDS == SHORTENED ? HOUR : brief);
		ASSERT_LE(0, tokens[i]);
		if (i % KINDS == RENEWED)
			ASSERT_EQ(0, token_renew(tokens[i], HOUR));
	}
	gate = await_gate(self->domain);
	ASSERT_LE(0, gate);
	for (unsigned int i = SHORTENED; i < count; i += KINDS)
		ASSERT_EQ(0, token_renew(tokens[i], ms(20)));
	for (unsigned int i = 0; i < count; i++)
		ASSERT_TRUE(i % KINDS == RENEWED || becomes(tokens[i], ENTITYLOCK_LOST));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	for (unsigned int i = RENEWED; i < count; i += KINDS) {
		if (token_state(tokens[i]) != ENTITYLOCK_HELD)
			wrong++;
		ASSERT_EQ(0, token_renew(tokens[i], ms(20)));
	}
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	for (unsigned int i = 0; i < count; i++) {
		if (token_state(tokens[i]) != ENTITYLOCK_LOST)
			wrong++;
		close(tokens[i]);
	}
	EXPECT_EQ(0, wrong);
	close(gate);
}

/* V2: a gate may be held with a lease: run out and wanted by nobody, it is kept. */
TEST_F(owners, V2_a_leased_gate_is_kept_until_wanted)
{
	int gate = hold_gate_for(self->domain, 0, ms(20));
	__u64 fence = token_fence(gate);

	ASSERT_LE(0, gate);
	ASSERT_TRUE(runs_out(gate));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	EXPECT_EQ(0, token_renew(gate, HOUR));
	EXPECT_EQ(fence, token_fence(gate));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	EXPECT_EQ(0, token_renew(gate, ms(20)));
	ASSERT_TRUE(runs_out(gate));
	EXPECT_EQ(0, unlock(gate));
	close(gate);
}

/* V2: whoever wants it without waiting has it at once: an operation, another gate. */
TEST_F(owners, V2_a_leased_gate_that_has_run_out_is_taken)
{
	for (int other = 0; other < 2; other++) {
		int gate = hold_gate_for(self->domain, 0, ms(20));
		int token;

		ASSERT_LE(0, gate);
		ASSERT_TRUE(runs_out(gate));
		token = other ? acquire_gate(self->domain, 0, NOWAIT) : hold(self->domain, "a");
		EXPECT_LE(0, token);
		EXPECT_TRUE(is_lost(gate));
		EXPECT_LT(token_fence(gate), token_fence(token));
		close(token);
		close(gate);
	}
}

/* V2: those who wait behind a leased gate are granted when its lease ends. */
TEST_F(owners, V2_waiters_behind_a_leased_gate)
{
	__u64 duration = ms(100), begin = now_on(CLOCK_BOOTTIME);
	int gate = hold_gate_for(self->domain, 0, duration);
	int one = await(self->domain, "a");
	int two = await(self->domain, "b");
	int next = await_gate(self->domain);

	ASSERT_LE(0, gate);
	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	ASSERT_LE(0, next);
	EXPECT_TRUE(becomes(one, ENTITYLOCK_HELD));
	EXPECT_LE(begin + duration, now_on(CLOCK_BOOTTIME));
	EXPECT_TRUE(becomes(two, ENTITYLOCK_HELD));
	EXPECT_TRUE(is_lost(gate));
	EXPECT_LT(token_fence(gate), token_fence(one));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(next));
	close(two);
	close(one);
	EXPECT_TRUE(becomes(next, ENTITYLOCK_HELD));
	close(next);
	close(gate);
}

/* V2: a chain of leased gates, each granted from the queue. */
TEST_F(owners, V2_a_chain_of_leased_gates)
{
	enum { COUNT = 6 };
	int tokens[COUNT], last;

	for (int i = 0; i < COUNT; i++) {
		tokens[i] = lease_set(self->domain, NULL, 0, ENTITYLOCK_GATE | ENTITYLOCK_ASYNC,
				      FOREVER, ms(20));
		ASSERT_LE(0, tokens[i]);
	}
	last = acquire(self->domain, "a", EXCLUSIVE, 0, soon());
	EXPECT_LE(0, last);
	for (int i = 0; i < COUNT; i++) {
		ASSERT_TRUE(is_lost(tokens[i]));
		if (i)
			ASSERT_LT(token_fence(tokens[i - 1]), token_fence(tokens[i]));
		close(tokens[i]);
	}
	close(last);
}

/* V2: RENEW of a gate behind which somebody waits: shorter, longer, a first lease. */
TEST_F(owners, V2_RENEW_of_a_gate_under_a_waiter)
{
	for (int first = 0; first < 2; first++) {
		int gate = hold_gate_for(self->domain, 0, first ? 0 : HOUR);
		int waiter = await(self->domain, "a");
		__u64 begin;

		ASSERT_LE(0, gate);
		ASSERT_LE(0, waiter);
		EXPECT_EQ(0, token_renew(gate, 2 * HOUR));
		EXPECT_LT(HOUR, lease_left(gate));
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(waiter));
		begin = now_on(CLOCK_BOOTTIME);
		ASSERT_EQ(0, token_renew(gate, ms(50)));
		EXPECT_TRUE(becomes(waiter, ENTITYLOCK_HELD));
		EXPECT_LE(begin + ms(50), now_on(CLOCK_BOOTTIME));
		EXPECT_TRUE(is_lost(gate));
		close(waiter);
		close(gate);
	}
}

SELFTEST_MAIN
