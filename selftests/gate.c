// SPDX-License-Identifier: GPL-2.0
/* L5: the gate: held, it excludes every other operation of its domain. */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "harness.h"

static int hold_gate(int domain)
{
	return acquire_gate(domain, 0, NOWAIT);
}

static int await_gate(int domain)
{
	return acquire_gate(domain, ENTITYLOCK_ASYNC, FOREVER);
}

static int await(int domain, const char *name)
{
	return acquire(domain, name, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
}

/* Admission may be done by a worker. */
static bool becomes(int token, int state)
{
	return eventually(token_state(token) == state);
}

static int idle_gate(int domain)
{
	return acquire_gate(domain, ENTITYLOCK_OPEN, NOWAIT);
}

/* L5: an idle domain: granted at once; excludes what exists and what does not yet. */
TEST_F(entitylock, L5_held_it_excludes_every_operation)
{
	int existing = idle(self->domain, "a");
	int gate = hold_gate(self->domain);

	ASSERT_LE(0, existing);
	ASSERT_LE(0, gate);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	EXPECT_EQ(POLLIN, token_poll(gate));
	EXPECT_EQ(-EAGAIN, token_lock(existing, 0, NOWAIT));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "unborn", EXCLUSIVE));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "unborn", SHARED, 0, in_ms(20)));
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	EXPECT_EQ(-ETIMEDOUT, acquire_gate(self->domain, 0, PASSED));
	close(gate);
	EXPECT_EQ(0, try_lock(self->domain, "unborn", EXCLUSIVE));
	EXPECT_EQ(0, token_lock(existing, 0, NOWAIT));
	close(existing);
	EXPECT_EQ(0, try_gate(self->domain));
}

/* L5: IDLE tokens are not counted and may be made at any time. */
TEST_F(entitylock, L5_idle_tokens_do_not_count)
{
	int before[20], after[20];
	int gate;

	for (int i = 0; i < 20; i++)
		before[i] = idle(self->domain, "a");
	gate = hold_gate(self->domain);
	ASSERT_LE(0, gate);
	for (int i = 0; i < 20; i++) {
		after[i] = idle(self->domain, "b");
		EXPECT_LE(0, after[i]);
	}
	close(gate);
	for (int i = 0; i < 20; i++) {
		close(before[i]);
		close(after[i]);
	}
}

/* L5: LOCK and UNLOCK of a gate token. */
TEST_F(entitylock, L5_gate_token_locks_again)
{
	int gate = idle_gate(self->domain);

	ASSERT_LE(0, gate);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(gate));
	EXPECT_EQ(ENTITYLOCK_GATE, token_info(gate).flags);
	EXPECT_EQ(0, token_info(gate).count);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	for (int i = 0; i < 10; i++) {
		__u64 fence = token_fence(gate);

		ASSERT_EQ(0, token_lock(gate, 0, NOWAIT));
		EXPECT_LT(fence, token_fence(gate));
		EXPECT_EQ(-EBADFD, token_lock(gate, 0, NOWAIT));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		ASSERT_EQ(0, unlock(gate));
		EXPECT_EQ(-EBADFD, unlock(gate));
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	}
	close(gate);
}

/* Flags: on a gate token EXTEND, CONVERT, IF_UNCHANGED: EINVAL. */
TEST_F(entitylock, GATE_refuses_what_is_for_entities)
{
	int gate = hold_gate(self->domain);

	ASSERT_LE(0, gate);
	EXPECT_EQ(-EINVAL, extend_these(gate, 0, NOWAIT, X("a")));
	EXPECT_EQ(-EINVAL, token_convert(gate, SHARED, 0, NOWAIT));
	EXPECT_EQ(-EINVAL, token_convert(gate, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	EXPECT_EQ(0, live_entities(self->domain));
	ASSERT_EQ(0, unlock(gate));
	EXPECT_EQ(-EINVAL, token_lock(gate, ENTITYLOCK_IF_UNCHANGED, NOWAIT));
	EXPECT_EQ(-EINVAL, acquire_gate(self->domain, ENTITYLOCK_IF_UNCHANGED, NOWAIT));
	close(gate);
}

/* L5: granted by the last one out. */
TEST_F(entitylock, L5_granted_by_the_last_one_out)
{
	int first = hold(self->domain, "a");
	int second = acquire(self->domain, "b", SHARED, 0, NOWAIT);
	int third = acquire(self->domain, "b", SHARED, 0, NOWAIT);
	struct call call;
	int gate;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_LE(0, third);
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	call_acquire_gate(&call, self->domain, FOREVER);
	/* L6: an awaited gate waits for what the holders hold. */
	EXPECT_TRUE(eventually(token_poll(first) & POLLPRI));
	EXPECT_TRUE(eventually(token_poll(second) & POLLPRI));
	/* New operations are stopped. */
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "b", SHARED));
	close(first);
	EXPECT_TRUE(call_blocked(&call));
	ASSERT_EQ(0, unlock(second));
	EXPECT_TRUE(call_blocked(&call));
	close(third);
	gate = call_result(&call);
	ASSERT_LE(0, gate);
	EXPECT_EQ(-EAGAIN, token_lock(second, 0, NOWAIT));
	close(gate);
	EXPECT_EQ(0, token_lock(second, 0, NOWAIT));
	close(second);
}

/* L5: those counted in finish, also those still queued. */
TEST_F(entitylock, L5_those_queued_before_it_finish)
{
	int holder = hold(self->domain, "a");
	int queued_before = await(self->domain, "a");
	int set = acquire_these(self->domain, ENTITYLOCK_ASYNC, FOREVER, X("0"), X("a"), X("b"));
	int gate = await_gate(self->domain);
	int behind = await(self->domain, "z");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, queued_before);
	ASSERT_LE(0, set);
	ASSERT_LE(0, gate);
	ASSERT_LE(0, behind);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	close(holder);
	EXPECT_TRUE(becomes(queued_before, ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	close(queued_before);
	EXPECT_TRUE(becomes(set, ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	close(set);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	close(gate);
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	close(behind);
}

/* L5: a holder that extends or converts while a gate waits is let through. */
TEST_F(entitylock, L5_EXTEND_and_CONVERT_pass_an_awaited_gate)
{
	int holder = hold(self->domain, "a");
	int other = hold(self->domain, "c");
	int gate = await_gate(self->domain);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, other);
	ASSERT_LE(0, gate);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	EXPECT_EQ(0, extend_these(holder, 0, NOWAIT, X("b")));
	EXPECT_EQ(0, token_convert(holder, SHARED, 0, NOWAIT));
	EXPECT_EQ(0, token_convert(holder, EXCLUSIVE, 0, NOWAIT));
	/* Also when it has to wait. */
	EXPECT_EQ(0, extend_these(holder, ENTITYLOCK_ASYNC, FOREVER, X("c")));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(holder));
	close(other);
	EXPECT_TRUE(becomes(holder, ENTITYLOCK_HELD));
	EXPECT_STREQ("a b c", token_names(holder));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	close(holder);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	close(gate);
}

/* L5: an operation that failed, timed out or was cancelled is not counted any more. */
TEST_F(entitylock, L5_who_gives_up_is_counted_out)
{
	int holder = hold(self->domain, "a");
	int cancelled, closed, gate;

	ASSERT_LE(0, holder);
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, PASSED));
	}
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, in_ms(5)));
	cancelled = await(self->domain, "a");
	closed = await(self->domain, "a");
	gate = await_gate(self->domain);
	ASSERT_LE(0, cancelled);
	ASSERT_LE(0, closed);
	ASSERT_LE(0, gate);
	EXPECT_EQ(0, unlock(cancelled));
	close(closed);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	close(holder);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	close(gate);
	close(cancelled);
}

/* L5: a gate request that times out lets those behind it in at once. */
TEST_F(entitylock, L5_timed_out_request_lets_others_in)
{
	int holder = hold(self->domain, "a");
	__u64 deadline = in_ms(600);
	struct call call;
	int behind;

	ASSERT_LE(0, holder);
	/* Nothing else ends it: the holder never lets go. */
	call_acquire_gate(&call, self->domain, deadline);
	ASSERT_TRUE(eventually(token_poll(holder) & POLLPRI));
	behind = await(self->domain, "unborn");
	ASSERT_LE(0, behind);
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	EXPECT_LE(deadline, now());
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	EXPECT_TRUE(eventually(!(token_poll(holder) & POLLPRI)));
	close(behind);
	close(holder);
}

/* L5: cancelled, unlocked, closed: the same. */
TEST_F(entitylock, L5_cancelled_request_lets_others_in)
{
	int holder = hold(self->domain, "a");

	ASSERT_LE(0, holder);
	for (int way = 0; way < 3; way++) {
		int gate = await_gate(self->domain);
		int behind[3];

		ASSERT_LE(0, gate);
		for (int i = 0; i < 3; i++) {
			char name[] = { 'b' + i, '\0' };

			behind[i] = await(self->domain, name);
			EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind[i]));
		}
		if (way == 0)
			EXPECT_EQ(0, token_unlock(gate, ENTITYLOCK_CANCEL, 0));
		if (way == 1)
			EXPECT_EQ(0, unlock(gate));
		if (way < 2)
			EXPECT_EQ(ENTITYLOCK_IDLE, token_state(gate));
		close(gate);
		for (int i = 0; i < 3; i++) {
			EXPECT_TRUE(becomes(behind[i], ENTITYLOCK_HELD));
			close(behind[i]);
		}
	}
	close(holder);
	EXPECT_EQ(0, try_gate(self->domain));
}

static void handler(int sig)
{
	(void)sig;
}

/* L8: a signal ends a blocking wait for the gate. */
TEST_F(entitylock, L8_EINTR_from_a_wait_for_the_gate)
{
	struct sigaction action = { .sa_handler = handler };
	int holder = hold(self->domain, "a");
	struct call call;

	ASSERT_LE(0, holder);
	sigaction(SIGUSR1, &action, NULL);
	call_acquire_gate(&call, self->domain, FOREVER);
	ASSERT_TRUE(eventually((token_poll(holder) & POLLPRI) && call_blocked(&call)));
	pthread_kill(call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, call_result(&call));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(holder);
}

/* L5: a killed gate holder, a killed gate waiter. */
TEST_F(entitylock, L5_killed_holder_and_killed_waiter)
{
	int behind, holder;
	pid_t pid;

	pid = spawn();
	if (!pid) {
		if (acquire_gate(self->domain, 0, FOREVER) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == -EAGAIN));
	behind = await(self->domain, "a");
	ASSERT_LE(0, behind);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));

	holder = behind;
	pid = spawn();
	if (!pid) {
		acquire_gate(self->domain, 0, FOREVER);
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_poll(holder) & POLLPRI));
	behind = await(self->domain, "b");
	ASSERT_LE(0, behind);
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	close(behind);
	close(holder);
}

/* L5: a gate token handed to another process, which opens the gate. */
TEST_F(entitylock, L5_gate_handed_to_another_process)
{
	int pair[2], gate;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		char byte;

		gate = receive_fd(pair[1]);
		if (gate < 0 || token_state(gate) != ENTITYLOCK_HELD)
			_exit(1);
		if (read(pair[1], &byte, 1) != 1)
			_exit(2);
		_exit(unlock(gate) ? 3 : 0);
	}
	gate = hold_gate(self->domain);
	ASSERT_LE(0, gate);
	ASSERT_EQ(0, send_fd(pair[0], gate));
	close(gate);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	ASSERT_EQ(1, write(pair[0], "", 1));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	close(pair[0]);
	close(pair[1]);
}

/* L5: phase-fair: who came while a gate was held goes before the next gate. */
TEST_F(entitylock, L5_phases_alternate)
{
	int first = hold_gate(self->domain);
	int between[3], second, later, third;

	ASSERT_LE(0, first);
	for (int i = 0; i < 3; i++) {
		char name[] = { 'a' + i, '\0' };

		between[i] = await(self->domain, name);
		ASSERT_LE(0, between[i]);
	}
	second = await_gate(self->domain);
	later = await(self->domain, "z");
	third = await_gate(self->domain);
	ASSERT_LE(0, second);
	ASSERT_LE(0, later);
	ASSERT_LE(0, third);
	close(first);
	for (int i = 0; i < 3; i++)
		EXPECT_TRUE(becomes(between[i], ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(second));
	for (int i = 0; i < 3; i++)
		close(between[i]);
	EXPECT_TRUE(becomes(second, ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(later));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(third));
	close(second);
	EXPECT_TRUE(becomes(later, ENTITYLOCK_HELD));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(third));
	close(later);
	EXPECT_TRUE(becomes(third, ENTITYLOCK_HELD));
	close(third);
}

/* L6: who waits behind a held gate is counted, and told by POLLPRI. */
TEST_F(entitylock, L6_gate_holder_sees_who_waits)
{
	int gate = hold_gate(self->domain);
	int waiter;

	ASSERT_LE(0, gate);
	EXPECT_EQ(0, token_waiters(gate));
	waiter = await(self->domain, "a");
	ASSERT_LE(0, waiter);
	EXPECT_EQ(1, token_waiters(gate));
	EXPECT_TRUE(eventually(token_poll(gate) & POLLPRI));
	close(waiter);
	EXPECT_TRUE(eventually(!(token_poll(gate) & POLLPRI)));
	EXPECT_EQ(0, token_waiters(gate));
	close(gate);
}

/* L5: who waits behind a gate may time out, be cancelled or die; the gate stays. */
TEST_F(entitylock, L5_giving_up_behind_a_gate)
{
	int gate = hold_gate(self->domain);
	int token = idle(self->domain, "a");
	struct call call;
	pid_t pid;

	ASSERT_LE(0, gate);
	ASSERT_LE(0, token);
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, in_ms(20)));
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(gate) == 1));
	EXPECT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, call_result(&call));
	pid = spawn();
	if (!pid) {
		token_lock(token, 0, FOREVER);
		_exit(1);
	}
	ASSERT_TRUE(eventually(token_waiters(gate) == 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_waiters(gate));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	close(gate);
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L1: who holds and awaits the gate deadlocks by itself: its deadline works. */
TEST_F(entitylock, L5_own_lock_under_an_awaited_gate)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, try_gate(self->domain));
	EXPECT_EQ(-ETIMEDOUT, acquire_gate(self->domain, 0, in_ms(50)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
}

/* L5: thousands wait behind a gate: admitted, each entity's in order of arrival. */
TEST_F(entitylock, L5_10000_operations_admitted_in_order)
{
	enum { COUNT = 10000, NAMES = 4 };
	static int tokens[COUNT];
	unsigned int count = scaled(COUNT, 400);
	int gate;

	raise_fd_limit(count + 100);
	gate = hold_gate(self->domain);
	ASSERT_LE(0, gate);
	for (unsigned int i = 0; i < count; i++) {
		char name[] = { 'a' + i % NAMES, '\0' };

		tokens[i] = await(self->domain, name);
		ASSERT_LE(0, tokens[i]);
	}
	EXPECT_EQ(count, token_waiters(gate));
	close(gate);
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_TRUE(becomes(tokens[i], ENTITYLOCK_HELD));
		if (i + NAMES < count)
			ASSERT_EQ(ENTITYLOCK_PENDING, token_state(tokens[i + NAMES]));
		close(tokens[i]);
	}
}

/* Threads that do operations, or take the gate, and look who is inside. */
struct actor {
	int domain;
	bool gate;
	unsigned int seed;
	atomic_bool *stop;
	atomic_int *operations;
	atomic_int *gates;
	atomic_uint grants;
	atomic_uint *all_grants;
	unsigned int intruders;
	pthread_t thread;
};

static void *act(void *data)
{
	struct actor *actor = data;
	int token = actor->gate ? idle_gate(actor->domain) : -1;

	while (!*actor->stop) {
		if (!actor->gate) {
			char name[8];

			snprintf(name, sizeof(name), "%u", rand_r(&actor->seed) % 16);
			token = acquire(actor->domain, name, EXCLUSIVE, 0, FOREVER);
		} else if (token_lock(token, 0, FOREVER)) {
			abort();
		}
		if (token < 0)
			abort();
		atomic_fetch_add(&actor->grants, 1);
		atomic_fetch_add(actor->all_grants, 1);
		if (actor->gate) {
			actor->intruders += atomic_fetch_add(actor->gates, 1);
			actor->intruders += atomic_load(actor->operations);
			atomic_fetch_sub(actor->gates, 1);
			if (unlock(token))
				abort();
		} else {
			atomic_fetch_add(actor->operations, 1);
			actor->intruders += atomic_load(actor->gates);
			atomic_fetch_sub(actor->operations, 1);
			close(token);
		}
	}
	if (actor->gate)
		close(token);
	return NULL;
}

struct stage {
	struct actor actors[6];
	unsigned int count;
	atomic_bool stop;
	atomic_int operations;
	atomic_int gates;
	atomic_uint grants;
};

static void stage_add(struct __test_metadata *_metadata, struct stage *stage, int domain, bool gate)
{
	struct actor *actor = &stage->actors[stage->count++];

	*actor = (struct actor){
		.domain = domain,
		.gate = gate,
		.seed = stage->count,
		.stop = &stage->stop,
		.operations = &stage->operations,
		.gates = &stage->gates,
		.all_grants = &stage->grants,
	};
	ASSERT_EQ(0, pthread_create(&actor->thread, NULL, act, actor));
}

static void stage_end(struct __test_metadata *_metadata, struct stage *stage)
{
	stage->stop = true;
	for (unsigned int i = 0; i < stage->count; i++) {
		pthread_join(stage->actors[i].thread, NULL);
		EXPECT_EQ(0, stage->actors[i].intruders);
	}
}

/* L5: operations and gates of many threads: never inside together, nobody starves. */
TEST_F(entitylock, L5_nobody_inside_and_nobody_starves)
{
	static struct stage stage;

	for (int i = 0; i < 4; i++)
		stage_add(_metadata, &stage, self->domain, false);
	for (int i = 0; i < 2; i++)
		stage_add(_metadata, &stage, self->domain, true);
	for (unsigned int i = 0; i < stage.count; i++)
		EXPECT_TRUE(eventually(stage.actors[i].grants >= scaled(500, 50)));
	stage_end(_metadata, &stage);
}

/*
 * How many grants of the crowd come between a request of @token and its grant:
 * those counted in already, or held, and those not noted yet.
 */
static void count_overtakers(struct __test_metadata *_metadata, struct stage *stage, int token,
			     unsigned int most)
{
	ASSERT_LE(0, token);
	ASSERT_TRUE(eventually(stage->grants > 50));
	for (unsigned int round = 0; round < scaled(100, 10); round++) {
		unsigned int seen;

		ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
		seen = stage->grants;
		ASSERT_TRUE(becomes(token, ENTITYLOCK_HELD));
		EXPECT_GE(most, stage->grants - seen);
		ASSERT_EQ(0, unlock(token));
	}
	close(token);
}

/* L5: a steady stream of operations does not starve a gate. */
TEST_F(entitylock, L5_operations_do_not_starve_a_gate)
{
	static struct stage stage;

	for (int i = 0; i < 4; i++)
		stage_add(_metadata, &stage, self->domain, false);
	count_overtakers(_metadata, &stage, idle_gate(self->domain), 2 * stage.count);
	stage_end(_metadata, &stage);
}

/* L5: a steady stream of gates does not starve an operation. */
TEST_F(entitylock, L5_gates_do_not_starve_an_operation)
{
	static struct stage stage;

	for (int i = 0; i < 3; i++)
		stage_add(_metadata, &stage, self->domain, true);
	count_overtakers(_metadata, &stage, idle(self->domain, "a"), 2 * stage.count);
	stage_end(_metadata, &stage);
}

/* L5: a stream of operations, one that holds long, and a gate: granted after the drain. */
TEST_F(entitylock, L5_stream_and_a_long_holder)
{
	static struct stage stage;
	int holder = hold(self->domain, "long");
	int gate;

	ASSERT_LE(0, holder);
	for (int i = 0; i < 3; i++)
		stage_add(_metadata, &stage, self->domain, false);
	ASSERT_TRUE(eventually(stage.grants > 50));
	gate = await_gate(self->domain);
	ASSERT_LE(0, gate);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "unborn", EXCLUSIVE));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(gate));
	EXPECT_EQ(0, extend_these(holder, 0, NOWAIT, X("longer")));
	close(holder);
	EXPECT_TRUE(becomes(gate, ENTITYLOCK_HELD));
	EXPECT_EQ(0, stage.operations);
	close(gate);
	stage_end(_metadata, &stage);
}

SELFTEST_MAIN
