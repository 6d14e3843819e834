// SPDX-License-Identifier: GPL-2.0
/*
 * L4, L7, L8: what ends a wait races the grant: the verb completes or is
 * cancelled, never both, never neither, and the lock is nobody's orphan: who
 * stands behind has it at once.
 *
 * In each round H holds, W waits for H, B waits behind W.  H is unlocked and
 * the wait is ended at the same moment.  A skew between the two follows the
 * outcomes, so that both keep coming.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

#include "harness.h"

enum verb { LOCK, LOCK_SET, LOCK_GATE, EXTEND, CONVERT };
enum event { CANCEL, UNLOCK, SIGNAL, DEADLINE };

/* How much later the wait is ended: changed by more the longer the outcome stays the same. */
struct skew {
	long ns;
	long step;
	int last;
	unsigned int counts[2];
};

static void skew_learn(struct skew *skew, bool granted)
{
	const long least = 500, most = 10000000;

	if (skew->counts[granted] && skew->last == granted && skew->step < most)
		skew->step *= 2;
	else if (skew->last != granted || !skew->step)
		skew->step = least;
	skew->ns += granted ? -skew->step : skew->step;
	skew->last = granted;
	skew->counts[granted]++;
}

/* Another round?  At least @rounds, and more until both outcomes were seen. */
static bool skew_goes_on(const struct skew *skew, unsigned int round, unsigned int rounds)
{
	return round < rounds ||
	       (!(skew->counts[0] && skew->counts[1]) && round < 10 * rounds);
}

struct releaser {
	struct start_line *line;
	int token;
	long delay;
	int ret;
	pthread_t thread;
};

static void *release(void *data)
{
	struct releaser *releaser = data;

	start_together(releaser->line, 2);
	if (releaser->delay > 0)
		spin_ns(releaser->delay);
	releaser->ret = unlock(releaser->token);
	return NULL;
}

static void handler(int sig)
{
	(void)sig;
}

FIXTURE(race) {
	struct ground ground;
};

FIXTURE_VARIANT(race) {
	enum verb verb;
	enum event event;
};

FIXTURE_SETUP(race)
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR1, &action, NULL);
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(race)
{
	ground_recheck(_metadata, &self->ground);
}

#define RACE(_verb, _event)						\
	FIXTURE_VARIANT_ADD(race, _verb##_##_event) {			\
		.verb = _verb,						\
		.event = _event,					\
	}

RACE(LOCK, CANCEL);
RACE(LOCK, UNLOCK);
RACE(LOCK, SIGNAL);
RACE(LOCK, DEADLINE);
RACE(LOCK_SET, CANCEL);
RACE(LOCK_SET, UNLOCK);
RACE(LOCK_SET, SIGNAL);
RACE(LOCK_SET, DEADLINE);
RACE(LOCK_GATE, CANCEL);
RACE(LOCK_GATE, UNLOCK);
RACE(LOCK_GATE, SIGNAL);
RACE(LOCK_GATE, DEADLINE);
RACE(EXTEND, CANCEL);
RACE(EXTEND, UNLOCK);
RACE(EXTEND, SIGNAL);
RACE(EXTEND, DEADLINE);
RACE(CONVERT, CANCEL);
RACE(CONVERT, UNLOCK);
RACE(CONVERT, SIGNAL);
RACE(CONVERT, DEADLINE);

/* What a verb needs before its race: what H holds, what W is. */
static int holder_token(int domain, enum verb verb)
{
	switch (verb) {
	case LOCK_SET:
		return acquire_these(domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("c"));
	case CONVERT:
		return acquire(domain, "a", SHARED, ENTITYLOCK_OPEN, NOWAIT);
	default:
		return idle(domain, "a");
	}
}

static int waiter_token(int domain, enum verb verb)
{
	switch (verb) {
	case LOCK:
		return idle(domain, "a");
	case LOCK_SET:
		return acquire_these(domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"), X("c"));
	case LOCK_GATE:
		return acquire_gate(domain, ENTITYLOCK_OPEN, NOWAIT);
	case EXTEND:
		return idle(domain, "0");
	case CONVERT:
		return acquire(domain, "a", SHARED, ENTITYLOCK_OPEN, NOWAIT);
	}
	return -EINVAL;
}

static const struct entitylock_entity *extension(void)
{
	static struct entitylock_entity entity;

	entity = (struct entitylock_entity)X("a");
	return &entity;
}

static void start_waiting(struct call *call, int token, enum verb verb, __u64 deadline)
{
	switch (verb) {
	case LOCK:
	case LOCK_SET:
	case LOCK_GATE:
		call_lock(call, token, deadline);
		break;
	case EXTEND:
		call_extend(call, token, extension(), 1, deadline);
		break;
	case CONVERT:
		call_convert(call, token, EXCLUSIVE, deadline);
		break;
	}
}

/* Does somebody wait for what @holder holds? */
static bool awaited(int holder)
{
	return token_poll(holder) & POLLPRI;
}

/* An entity is handed over at once; who waits behind a gate may be let in by a worker. */
static bool handed_over(int token, enum verb verb)
{
	if (verb == LOCK_GATE)
		return eventually(token_state(token) == ENTITYLOCK_HELD);
	return token_state(token) == ENTITYLOCK_HELD;
}

static const int refusals[] = {
	[CANCEL] = -ECANCELED,
	[UNLOCK] = -ECANCELED,
	[SIGNAL] = -EINTR,
	[DEADLINE] = -ETIMEDOUT,
};

/* L4, L7, L8: one outcome, and no orphan. */
TEST_F(race, L4_completed_or_cancelled)
{
	int domain = self->ground.domain;
	bool holding = variant->verb == EXTEND || variant->verb == CONVERT;
	int holder = holder_token(domain, variant->verb);
	int waiter = waiter_token(domain, variant->verb);
	int behind = idle(domain, "a");
	struct skew skew = { 0 };

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	ASSERT_LE(0, behind);
	for (unsigned int round = 0; skew_goes_on(&skew, round, scaled(250, 40)); round++) {
		struct start_line line = { 0 };
		struct releaser releaser = {
			.line = &line,
			.token = holder,
			.delay = variant->event == DEADLINE ? 0 : -skew.ns,
		};
		long patience = NSEC_PER_MSEC + skew.ns;
		__u64 deadline = FOREVER;
		struct call call;
		int ret, ended = 0;
		bool granted;

		if (holding)
			ASSERT_EQ(0, token_lock(waiter, 0, NOWAIT));
		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		if (variant->event == DEADLINE)
			deadline = now() + (patience > 0 ? patience : 0);
		start_waiting(&call, waiter, variant->verb, deadline);
		/* A deadline may come before it is seen to wait. */
		ASSERT_TRUE(eventually(awaited(holder) || call.ret != CALL_STUCK));
		ASSERT_EQ(0, token_lock(behind, ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, pthread_create(&releaser.thread, NULL, release, &releaser));
		start_together(&line, 2);
		if (variant->event != DEADLINE && skew.ns > 0)
			spin_ns(skew.ns);
		switch (variant->event) {
		case CANCEL:
			ended = token_unlock(waiter, ENTITYLOCK_CANCEL, 0);
			break;
		case UNLOCK:
			ended = unlock(waiter);
			break;
		case SIGNAL:
			pthread_kill(call.thread, SIGUSR1);
			break;
		case DEADLINE:
			break;
		}
		ret = call_result(&call);
		pthread_join(releaser.thread, NULL);
		granted = !ret;
		ASSERT_EQ(0, releaser.ret);
		ASSERT_TRUE(granted || ret == refusals[variant->event]);

		/* The one who ended the wait and the one who waited agree. */
		if (variant->event == CANCEL)
			ASSERT_EQ(granted ? -EBADFD : 0, ended);
		if (variant->event == UNLOCK) {
			ASSERT_EQ(0, ended);
			ASSERT_EQ(ENTITYLOCK_IDLE, token_state(waiter));
		} else if (granted || holding) {
			ASSERT_EQ(ENTITYLOCK_HELD, token_state(waiter));
			if (granted)
				ASSERT_EQ(ENTITYLOCK_PENDING, token_state(behind));
			ASSERT_EQ(0, unlock(waiter));
		} else {
			ASSERT_EQ(ENTITYLOCK_IDLE, token_state(waiter));
		}
		ASSERT_TRUE(handed_over(behind, variant->verb));
		ASSERT_EQ(0, unlock(behind));
		skew_learn(&skew, granted);

		/* EXTEND left its set when it was granted; begin each round alike. */
		if (holding) {
			close(waiter);
			waiter = waiter_token(domain, variant->verb);
			ASSERT_LE(0, waiter);
		}
	}
	TH_LOG("%u granted, %u ended", skew.counts[1], skew.counts[0]);
	EXPECT_LT(0, skew.counts[0]);
	EXPECT_LT(0, skew.counts[1]);
	close(holder);
	close(waiter);
	close(behind);
}

/* L2, L9: SIGKILL races the grant: the token that others have too is HELD or IDLE. */
TEST_F(entitylock, L2_SIGKILL_in_LOCK)
{
	int holder = idle(self->domain, "a");
	int waiter = idle(self->domain, "a");
	int behind = idle(self->domain, "a");
	struct skew skew = { 0 };

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	ASSERT_LE(0, behind);
	for (unsigned int round = 0; skew_goes_on(&skew, round, scaled(200, 30)); round++) {
		struct start_line line = { 0 };
		struct releaser releaser = {
			.line = &line,
			.token = holder,
			.delay = -skew.ns,
		};
		__u64 fence = token_fence(waiter);
		int state;
		pid_t pid;

		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		pid = spawn();
		if (!pid) {
			token_lock(waiter, 0, FOREVER);
			for (;;)
				pause();
		}
		ASSERT_TRUE(eventually(token_waiters(holder) == 1));
		ASSERT_EQ(0, token_lock(behind, ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, pthread_create(&releaser.thread, NULL, release, &releaser));
		start_together(&line, 2);
		if (skew.ns > 0)
			spin_ns(skew.ns);
		kill(pid, SIGKILL);
		ASSERT_EQ(256 + SIGKILL, reap(pid));
		pthread_join(releaser.thread, NULL);
		ASSERT_EQ(0, releaser.ret);

		state = token_state(waiter);
		if (state == ENTITYLOCK_HELD) {
			ASSERT_LT(fence, token_fence(waiter));
			ASSERT_EQ(ENTITYLOCK_PENDING, token_state(behind));
			ASSERT_EQ(0, unlock(waiter));
		} else {
			ASSERT_EQ(ENTITYLOCK_IDLE, state);
			ASSERT_EQ(fence, token_fence(waiter));
		}
		ASSERT_EQ(ENTITYLOCK_HELD, token_state(behind));
		ASSERT_EQ(0, unlock(behind));
		skew_learn(&skew, state == ENTITYLOCK_HELD);
	}
	EXPECT_LT(0, skew.counts[0]);
	EXPECT_LT(0, skew.counts[1]);
	close(holder);
	close(waiter);
	close(behind);
}

/* L2, L9: and in ACQUIRE: the token goes with the process, granted or not. */
TEST_F(entitylock, L2_SIGKILL_in_ACQUIRE)
{
	int holder = idle(self->domain, "a");
	int behind = idle(self->domain, "a");
	atomic_int *granted = mmap(NULL, sizeof(*granted), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct skew skew = { 0 };

	ASSERT_LE(0, holder);
	ASSERT_LE(0, behind);
	ASSERT_NE(MAP_FAILED, granted);
	for (unsigned int round = 0; round < scaled(200, 30); round++) {
		struct start_line line = { 0 };
		struct releaser releaser = {
			.line = &line,
			.token = holder,
			.delay = -skew.ns,
		};
		pid_t pid;

		*granted = 0;
		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		pid = spawn();
		if (!pid) {
			*granted = acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER) >= 0;
			for (;;)
				pause();
		}
		ASSERT_TRUE(eventually(token_waiters(holder) == 1));
		ASSERT_EQ(0, token_lock(behind, ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, pthread_create(&releaser.thread, NULL, release, &releaser));
		start_together(&line, 2);
		if (skew.ns > 0)
			spin_ns(skew.ns);
		kill(pid, SIGKILL);
		ASSERT_EQ(256 + SIGKILL, reap(pid));
		pthread_join(releaser.thread, NULL);
		ASSERT_EQ(0, releaser.ret);
		ASSERT_EQ(ENTITYLOCK_HELD, token_state(behind));
		ASSERT_EQ(0, unlock(behind));
		skew_learn(&skew, *granted);
	}
	EXPECT_LT(0, skew.counts[0]);
	munmap(granted, sizeof(*granted));
	close(holder);
	close(behind);
}

/* L9: the last close of a token that waits races the grant. */
TEST_F(entitylock, L9_close_of_an_asynchronous_waiter)
{
	int holder = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("c"));
	int behind = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	ASSERT_LE(0, behind);
	for (unsigned int round = 0; round < scaled(2000, 200); round++) {
		struct start_line line = { 0 };
		struct releaser releaser = {
			.line = &line,
			.token = holder,
			.delay = round % 2 ? round * 10 % 5000 : 0,
		};
		int waiter;

		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		waiter = acquire_these(self->domain, ENTITYLOCK_ASYNC, FOREVER, X("a"), X("b"),
				       X("c"));
		ASSERT_LE(0, waiter);
		ASSERT_EQ(0, token_lock(behind, ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, pthread_create(&releaser.thread, NULL, release, &releaser));
		start_together(&line, 2);
		if (round % 2 == 0)
			spin_ns(round * 10 % 5000);
		close(waiter);
		pthread_join(releaser.thread, NULL);
		ASSERT_EQ(0, releaser.ret);
		/* A step that the worker is about to do ends with the token. */
		ASSERT_TRUE(eventually(token_state(behind) == ENTITYLOCK_HELD));
		ASSERT_EQ(0, unlock(behind));
	}
	close(holder);
	close(behind);
}

/* L6, L7: CANCEL races the end of an asynchronous wait: the same rule, without a thread. */
TEST_F(entitylock, L7_CANCEL_of_an_asynchronous_wait_races_the_grant)
{
	int holder = idle(self->domain, "a");
	int waiter = idle(self->domain, "a");
	struct skew skew = { 0 };

	ASSERT_LE(0, holder);
	ASSERT_LE(0, waiter);
	for (unsigned int round = 0; skew_goes_on(&skew, round, scaled(2000, 200)); round++) {
		struct start_line line = { 0 };
		struct releaser releaser = {
			.line = &line,
			.token = holder,
			.delay = -skew.ns,
		};
		int ret;

		ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
		ASSERT_EQ(0, token_lock(waiter, ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, pthread_create(&releaser.thread, NULL, release, &releaser));
		start_together(&line, 2);
		if (skew.ns > 0)
			spin_ns(skew.ns);
		ret = token_unlock(waiter, ENTITYLOCK_CANCEL, 0);
		pthread_join(releaser.thread, NULL);
		ASSERT_EQ(0, releaser.ret);
		if (ret) {
			ASSERT_EQ(-EBADFD, ret);
			ASSERT_EQ(ENTITYLOCK_HELD, token_state(waiter));
			ASSERT_EQ(0, unlock(waiter));
		} else {
			ASSERT_EQ(ENTITYLOCK_IDLE, token_state(waiter));
		}
		ASSERT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		skew_learn(&skew, ret);
	}
	EXPECT_LT(0, skew.counts[0]);
	EXPECT_LT(0, skew.counts[1]);
	close(holder);
	close(waiter);
}

SELFTEST_MAIN
