// SPDX-License-Identifier: GPL-2.0
/*
 * V2: the end of a lease races RENEW, UNLOCK, close, BREAK, a grant, and who waits
 * for it: one outcome each time, and nothing is nobody's.
 *
 * In each round H holds, with a lease of two milliseconds, and W waits for H.  At the
 * end of the lease, by a skew that follows the outcomes, something else happens.
 */
#include "owners.h"

enum event { RENEW, UNLOCK, CLOSE, BREAK, GRANT, CANCEL, DEADLINE };
enum kind { OPERATION, GATE };

/* A kernel that is slow needs more, or it is always too late. */
#define LEASE	ms(2)

FIXTURE(race) {
	struct ground ground;
};

FIXTURE_VARIANT(race) {
	enum kind holder;
	enum kind waiter;
	enum event event;
};

FIXTURE_SETUP(race)
{
	int domain = domain_open(O_RDWR);

	/* What another left that failed in the middle is not this one's fault. */
	break_entity(domain, "a", 0);
	break_entity(domain, "c", 0);
	break_gate(domain, 0);
	close(domain);
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(-ENOENT, break_gate(self->ground.domain, 0));
	ground_recheck(_metadata, &self->ground);
}

#define RACE(_holder, _waiter, _event)					\
	FIXTURE_VARIANT_ADD(race, _holder##_##_waiter##_##_event) {	\
		.holder = _holder,					\
		.waiter = _waiter,					\
		.event = _event,					\
	}

RACE(OPERATION, OPERATION, RENEW);
RACE(OPERATION, OPERATION, UNLOCK);
RACE(OPERATION, OPERATION, CLOSE);
RACE(OPERATION, OPERATION, BREAK);
RACE(OPERATION, OPERATION, GRANT);
RACE(OPERATION, OPERATION, CANCEL);
RACE(OPERATION, OPERATION, DEADLINE);
RACE(OPERATION, GATE, RENEW);
RACE(OPERATION, GATE, UNLOCK);
RACE(OPERATION, GATE, CLOSE);
RACE(OPERATION, GATE, BREAK);
RACE(OPERATION, GATE, GRANT);
RACE(OPERATION, GATE, CANCEL);
RACE(OPERATION, GATE, DEADLINE);
RACE(GATE, OPERATION, RENEW);
RACE(GATE, OPERATION, UNLOCK);
RACE(GATE, OPERATION, CLOSE);
RACE(GATE, OPERATION, BREAK);
RACE(GATE, OPERATION, CANCEL);
RACE(GATE, OPERATION, DEADLINE);
RACE(GATE, GATE, RENEW);
RACE(GATE, GATE, UNLOCK);
RACE(GATE, GATE, BREAK);

/* How much later than the end of the lease the event comes. */
struct skew {
	long ns;
	long step;
	bool last;
	unsigned int expired;
	unsigned int other;
};

/* Another round?  At least @rounds, and more until both outcomes were seen. */
static bool skew_goes_on(const struct skew *skew, unsigned int round, unsigned int rounds)
{
	return round < rounds || (!(skew->expired && skew->other) && round < 10 * rounds);
}

/* The lease came first: earlier, then; the longer it stays so, the more. */
static void skew_learn(struct skew *skew, bool expired)
{
	const long least = LEASE / 2000, most = LEASE / 4;

	if (skew->last != expired || !skew->step)
		skew->step = least;
	else if (skew->step < most)
		skew->step *= 2;
	skew->ns += expired ? -skew->step : skew->step;
	skew->last = expired;
	if (expired)
		skew->expired++;
	else
		skew->other++;
}

static int make(int domain, enum kind kind)
{
	return kind == GATE ? acquire_gate(domain, ENTITYLOCK_OPEN, NOWAIT) : idle(domain, "a");
}

static int break_holder(int domain, enum kind kind, __u64 fence)
{
	return kind == GATE ? break_gate(domain, fence) : break_entity(domain, "a", fence);
}

struct round {
	int domain;
	int holder;
	int waiter;
	int busy;
	__u64 fence;
	__u64 end;
};

/* H holds, robust, W waits for it; or for a GRANT: H waits for more, behind another. */
static void begin(struct __test_metadata *_metadata, struct round *round,
		  const FIXTURE_VARIANT(race) *variant, long skew)
{
	__u64 deadline = FOREVER;
	int ret;

	if (round->holder < 0)
		round->holder = make(round->domain, variant->holder);
	ASSERT_LE(0, round->holder);
	ASSERT_EQ(0, token_lock_for(round->holder, ROBUST, soon(), HOUR));
	round->fence = token_fence(round->holder);
	if (variant->event == GRANT) {
		ASSERT_EQ(0, token_lock(round->busy, 0, soon()));
		ASSERT_EQ(0, extend_these(round->holder, ENTITYLOCK_ASYNC, FOREVER, X("c")));
	}
	/* Nobody knows how long it took to come here. */
	ASSERT_EQ(0, token_renew(round->holder, LEASE));
	round->end = now() + LEASE;
	if (variant->event == DEADLINE)
		deadline = round->end + skew > now() ? round->end + skew : now() + 1;
	round->waiter = make(round->domain, variant->waiter);
	ASSERT_LE(0, round->waiter);
	/* A deadline may have passed by now. */
	ret = token_lock(round->waiter, ENTITYLOCK_ASYNC, deadline);
	ASSERT_TRUE(ret == 0 || (ret == -ETIMEDOUT && variant->event == DEADLINE));
}

/* W waits no longer.  Return: it was granted before, because the lease has ended. */
static bool waiter_was_granted(struct __test_metadata *_metadata, const struct round *round)
{
	int state = token_state(round->waiter);

	ASSERT_TRUE(state == ENTITYLOCK_HELD || state == ENTITYLOCK_IDLE);
	if (state == ENTITYLOCK_IDLE)
		return false;
	ASSERT_TRUE(is_lost(round->holder));
	return true;
}

/* The event.  Return: did the lease come first?  Where that cannot be told: by turns. */
static bool happen(struct __test_metadata *_metadata, struct round *round,
		   const FIXTURE_VARIANT(race) *variant)
{
	bool expired = false;
	int ret;

	switch (variant->event) {
	case RENEW:
		ret = token_renew(round->holder, HOUR);
		expired = ret;
		ASSERT_EQ(expired ? -ESTALE : 0, ret);
		ASSERT_EQ(expired ? ENTITYLOCK_LOST : ENTITYLOCK_HELD, token_state(round->holder));
		ASSERT_EQ(round->fence, token_fence(round->holder));
		if (expired)
			break;
		ASSERT_EQ(ENTITYLOCK_PENDING, token_state(round->waiter));
		ASSERT_EQ(0, unlock(round->holder));
		break;
	case UNLOCK:
		ret = unlock(round->holder);
		expired = ret;
		ASSERT_EQ(expired ? -ESTALE : 0, ret);
		ASSERT_EQ(expired ? ENTITYLOCK_LOST : ENTITYLOCK_IDLE, token_state(round->holder));
		break;
	case CLOSE:
		close(round->holder);
		round->holder = -1;
		expired = round->fence & 1;
		break;
	case BREAK:
		ret = break_holder(round->domain, variant->holder, round->fence);
		expired = ret;
		ASSERT_EQ(expired ? -ESTALE : 0, ret);
		ASSERT_TRUE(is_lost(round->holder));
		break;
	case GRANT:
		ASSERT_EQ(0, unlock(round->busy));
		ASSERT_TRUE(becomes(round->holder, ENTITYLOCK_LOST));
		expired = token_fence(round->holder) == round->fence;
		break;
	case CANCEL:
		ret = token_unlock(round->waiter, ENTITYLOCK_CANCEL, 0);
		expired = waiter_was_granted(_metadata, round);
		ASSERT_EQ(expired ? -EBADFD : 0, ret);
		break;
	case DEADLINE:
		ASSERT_TRUE(eventually(token_state(round->waiter) != ENTITYLOCK_PENDING));
		expired = waiter_was_granted(_metadata, round);
		break;
	}
	return expired;
}

/* Has H vanished?  Otherwise it is IDLE now. */
static bool has_vanished(const struct round *round)
{
	if (round->holder < 0 || token_state(round->holder) == ENTITYLOCK_LOST)
		return true;
	/* Nobody has wanted it, or not any more. */
	return unlock(round->holder) == -ESTALE;
}

/* V2: one outcome: for H, for W, and for the mark. */
TEST_F(race, V2_one_outcome)
{
	struct round round = { .domain = self->ground.domain, .holder = -1 };
	bool may_give_up = variant->event == CANCEL || variant->event == DEADLINE;
	struct skew skew = { 0 };
	unsigned int marks = 0;

	round.busy = idle(round.domain, "c");
	ASSERT_LE(0, round.busy);
	for (unsigned int i = 0; skew_goes_on(&skew, i, scaled(120, 30)); i++) {
		bool expired, lost, more;

		begin(_metadata, &round, variant, skew.ns);
		while (variant->event != DEADLINE && now() < round.end + skew.ns)
			;
		expired = happen(_metadata, &round, variant);
		/* Whoever waits still is granted. */
		ASSERT_TRUE(becomes(round.waiter, may_give_up && !expired ? ENTITYLOCK_IDLE :
				    ENTITYLOCK_HELD));
		close(round.waiter);

		/* All is free, and what has vanished, nothing else, has left a mark. */
		lost = has_vanished(&round);
		more = round.holder >= 0 && token_fence(round.holder) != round.fence;
		ASSERT_TRUE(eventually(try_gate(round.domain) == 0));
		ASSERT_EQ(0, try_lock(round.domain, "a", EXCLUSIVE));
		ASSERT_EQ(0, try_lock(round.domain, "c", EXCLUSIVE));
		ASSERT_EQ(lost ? 0 : -ENOENT, break_holder(round.domain, variant->holder, 0));
		ASSERT_EQ(more ? 0 : -ENOENT, break_entity(round.domain, "c", 0));
		marks += lost;
		if (lost && round.holder >= 0) {
			ASSERT_TRUE(is_lost(round.holder));
			close(round.holder);
			round.holder = -1;
		}
		skew_learn(&skew, expired);
	}
	TH_LOG("%u leases came first, %u did not; %u marks", skew.expired, skew.other, marks);
	EXPECT_LT(0, skew.expired);
	EXPECT_LT(0, skew.other);
	close(round.holder);
	close(round.busy);
}

SELFTEST_MAIN
