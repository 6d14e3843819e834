// SPDX-License-Identifier: GPL-2.0
/*
 * The mode matrix: what a request gets on an entity that is held in a mode,
 * with and without somebody queued, by each verb.  Each cell is a test.
 */
#include "harness.h"

enum { NONE = 0 };

/* Who else is there: one that holds, one that waits; each may be NONE. */
struct others {
	int holder;
	__u32 queued;
	struct call call;
};

static void others_come(struct __test_metadata *_metadata, struct others *others, int domain,
			__u32 holder, __u32 queued_mode)
{
	others->holder = -1;
	others->queued = queued_mode;
	if (holder) {
		others->holder = acquire(domain, "a", holder, 0, NOWAIT);
		ASSERT_LE(0, others->holder);
	}
	if (queued_mode) {
		call_acquire(&others->call, domain, "a", queued_mode, FOREVER);
		ASSERT_TRUE(eventually(queued("a") == 1));
	}
}

static void others_go(struct __test_metadata *_metadata, struct others *others)
{
	int token;

	if (others->holder >= 0)
		close(others->holder);
	if (!others->queued)
		return;
	token = call_result(&others->call);
	EXPECT_LE(0, token);
	close(token);
}

FIXTURE(cell) {
	struct ground ground;
};

FIXTURE_VARIANT(cell) {
	__u32 holder;		/* mode of who holds, NONE */
	__u32 second;		/* mode of who holds too, NONE */
	__u32 queued;		/* mode of who waits already, NONE */
	__u32 request;
	bool granted;
};

FIXTURE_SETUP(cell)
{
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(cell)
{
	ground_recheck(_metadata, &self->ground);
}

#define CELL(name, _holder, _second, _queued, _request, _granted)	\
	FIXTURE_VARIANT_ADD(cell, name) {				\
		.holder = _holder,					\
		.second = _second,					\
		.queued = _queued,					\
		.request = _request,					\
		.granted = _granted,					\
	}

/*   cell                        held                  queued     request    granted */
CELL(free_S,                     NONE,      NONE,      NONE,      SHARED,    true);
CELL(free_X,                     NONE,      NONE,      NONE,      EXCLUSIVE, true);
CELL(held_S_request_S,           SHARED,    NONE,      NONE,      SHARED,    true);
CELL(held_S_request_X,           SHARED,    NONE,      NONE,      EXCLUSIVE, false);
CELL(held_SS_request_S,          SHARED,    SHARED,    NONE,      SHARED,    true);
CELL(held_SS_request_X,          SHARED,    SHARED,    NONE,      EXCLUSIVE, false);
CELL(held_X_request_S,           EXCLUSIVE, NONE,      NONE,      SHARED,    false);
CELL(held_X_request_X,           EXCLUSIVE, NONE,      NONE,      EXCLUSIVE, false);
CELL(held_S_queued_X_request_S,  SHARED,    NONE,      EXCLUSIVE, SHARED,    false);
CELL(held_S_queued_X_request_X,  SHARED,    NONE,      EXCLUSIVE, EXCLUSIVE, false);
CELL(held_SS_queued_X_request_S, SHARED,    SHARED,    EXCLUSIVE, SHARED,    false);
CELL(held_SS_queued_X_request_X, SHARED,    SHARED,    EXCLUSIVE, EXCLUSIVE, false);
CELL(held_X_queued_S_request_S,  EXCLUSIVE, NONE,      SHARED,    SHARED,    false);
CELL(held_X_queued_S_request_X,  EXCLUSIVE, NONE,      SHARED,    EXCLUSIVE, false);
CELL(held_X_queued_X_request_S,  EXCLUSIVE, NONE,      EXCLUSIVE, SHARED,    false);
CELL(held_X_queued_X_request_X,  EXCLUSIVE, NONE,      EXCLUSIVE, EXCLUSIVE, false);

/* L3: granted if it is compatible with who holds and nobody waits. */
TEST_F(cell, L3_request)
{
	int domain = self->ground.domain;
	int token = acquire(domain, "a", variant->request, ENTITYLOCK_OPEN, NOWAIT);
	int expect = variant->granted ? 0 : -EAGAIN;
	struct others others;
	int holder = -1, set;

	ASSERT_LE(0, token);
	if (variant->holder) {
		holder = acquire(domain, "a", variant->holder, 0, NOWAIT);
		ASSERT_LE(0, holder);
	}
	others_come(_metadata, &others, domain, variant->second, variant->queued);

	EXPECT_EQ(expect, try_lock(domain, "a", variant->request));
	EXPECT_EQ(expect, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(variant->granted ? 0 : -EBADFD, unlock(token));
	/* In a set beside a free entity. */
	set = acquire_these(domain, 0, NOWAIT, ENTITY("a", variant->request), X("b"));
	EXPECT_EQ(expect, set < 0 ? set : 0);
	close(set);
	/* Added to a token that holds something before it. */
	set = hold(domain, "0");
	ASSERT_LE(0, set);
	EXPECT_EQ(expect, extend_these(set, 0, NOWAIT, ENTITY("a", variant->request)));
	close(set);

	if (holder >= 0)
		close(holder);
	others_go(_metadata, &others);
	close(token);
}

/* A holder raises or lowers its mode. */
FIXTURE(conversion) {
	struct ground ground;
};

FIXTURE_VARIANT(conversion) {
	__u32 from;
	__u32 second;		/* SHARED: another holder, NONE */
	__u32 queued;		/* mode of who waits already, NONE */
	__u32 to;
	int result;		/* with deadline 0 */
};

FIXTURE_SETUP(conversion)
{
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(conversion)
{
	ground_recheck(_metadata, &self->ground);
}

#define CONVERSION(name, _from, _second, _queued, _to, _result)		\
	FIXTURE_VARIANT_ADD(conversion, name) {				\
		.from = _from,						\
		.second = _second,					\
		.queued = _queued,					\
		.to = _to,						\
		.result = _result,					\
	}

/*         cell               from       second  queued     to         result */
CONVERSION(S_to_S,            SHARED,    NONE,   NONE,      SHARED,    0);
CONVERSION(S_to_X,            SHARED,    NONE,   NONE,      EXCLUSIVE, 0);
CONVERSION(X_to_S,            EXCLUSIVE, NONE,   NONE,      SHARED,    0);
CONVERSION(X_to_X,            EXCLUSIVE, NONE,   NONE,      EXCLUSIVE, 0);
CONVERSION(S_to_S_queued_X,   SHARED,    NONE,   EXCLUSIVE, SHARED,    0);
CONVERSION(S_to_X_queued_X,   SHARED,    NONE,   EXCLUSIVE, EXCLUSIVE, 0);
CONVERSION(X_to_S_queued_S,   EXCLUSIVE, NONE,   SHARED,    SHARED,    0);
CONVERSION(X_to_S_queued_X,   EXCLUSIVE, NONE,   EXCLUSIVE, SHARED,    0);
CONVERSION(X_to_X_queued_X,   EXCLUSIVE, NONE,   EXCLUSIVE, EXCLUSIVE, 0);
CONVERSION(SS_to_S,           SHARED,    SHARED, NONE,      SHARED,    0);
CONVERSION(SS_to_X,           SHARED,    SHARED, NONE,      EXCLUSIVE, -EAGAIN);
CONVERSION(SS_to_S_queued_X,  SHARED,    SHARED, EXCLUSIVE, SHARED,    0);
CONVERSION(SS_to_X_queued_X,  SHARED,    SHARED, EXCLUSIVE, EXCLUSIVE, -EAGAIN);

/* L1, L3: an upgrade waits for the other holders only; a downgrade never waits. */
TEST_F(conversion, L3_CONVERT)
{
	int domain = self->ground.domain;
	int token = acquire(domain, "a", variant->from, 0, NOWAIT);
	__u32 after = variant->result ? variant->from : variant->to;
	__u64 before = token_fence(token);
	struct others others;

	ASSERT_LE(0, token);
	others_come(_metadata, &others, domain, variant->second, variant->queued);
	EXPECT_EQ(variant->result, token_convert(token, variant->to, 0, NOWAIT));
	EXPECT_STREQ(after == SHARED ? "s" : "x", token_modes(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	/* L10: an upgrade is a grant, with a number of its own. */
	EXPECT_EQ(variant->from == SHARED && after == EXCLUSIVE, token_fence(token) > before);
	EXPECT_LE(before, token_fence(token));
	close(token);
	others_go(_metadata, &others);
}

/* The same by EXTEND, which never lowers. */
TEST_F(conversion, L1_EXTEND_of_a_name_already_held)
{
	int domain = self->ground.domain;
	int token = acquire(domain, "a", variant->from, 0, NOWAIT);
	bool raised = variant->to == EXCLUSIVE && !variant->result;
	struct others others;

	ASSERT_LE(0, token);
	others_come(_metadata, &others, domain, variant->second, variant->queued);
	EXPECT_EQ(variant->result, extend_these(token, 0, NOWAIT, ENTITY("a", variant->to)));
	EXPECT_STREQ(raised || variant->from == EXCLUSIVE ? "x" : "s", token_modes(token));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_STREQ("a", token_names(token));
	close(token);
	others_go(_metadata, &others);
}

SELFTEST_MAIN
