// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to RENEW, PARK, CLAIM and BREAK, and to the flags that go with them: one
 * bad field a test, nothing changed, and the same call without it taken afterwards.
 */
#include <stddef.h>

#include "owners.h"

#define NO_ADDRESS	8ULL			/* in the page that is never mapped */
#define UNKNOWN_FLAG	(1U << 31)

enum verb { RENEW, PARK, CLAIM, BREAK };

static const struct {
	unsigned long cmd;
	size_t size;
} verbs[] = {
	[RENEW] = { ENTITYLOCK_IOC_RENEW, sizeof(struct entitylock_renew) },
	[PARK] = { ENTITYLOCK_IOC_PARK, sizeof(struct entitylock_park) },
	[CLAIM] = { ENTITYLOCK_IOC_CLAIM, sizeof(struct entitylock_claim) },
	[BREAK] = { ENTITYLOCK_IOC_BREAK, sizeof(struct entitylock_break) },
};

/* A token that holds "a" for an hour, and the call that is to be spoilt. */
struct good {
	struct ground ground;
	enum verb verb;
	int token;
	int fd;
	struct entitylock_info before;
	union {
		struct entitylock_renew renew;
		struct entitylock_park park;
		struct entitylock_claim claim;
		struct entitylock_break break_;
		char bytes[256];
	} arg;
};

static void good_call(struct __test_metadata *_metadata, struct good *good, enum verb verb)
{
	struct cookie cookie;

	ground_check(_metadata, &good->ground);
	good->verb = verb;
	good->token = hold_for(good->ground.domain, "a", HOUR);
	ASSERT_LE(0, good->token);
	good->fd = verb == RENEW || verb == PARK ? good->token : good->ground.domain;
	switch (verb) {
	case RENEW:
		good->arg.renew.lease = 2 * HOUR;
		break;
	case PARK:
		good->arg.park.lease = 2 * HOUR;
		break;
	case CLAIM:
		ASSERT_EQ(0, token_park(good->token, 0, &cookie));
		memcpy(good->arg.claim.cookie, cookie.bytes, sizeof(cookie.bytes));
		break;
	case BREAK:
		good->arg.break_.name = ptr("a");
		good->arg.break_.name_len = 1;
		break;
	}
	good->before = token_info(good->token);
}

static int call(struct good *good, unsigned long cmd, void *arg)
{
	return el_ioctl(good->fd, cmd, arg);
}

/* HELD by the same grant, with the same lease, and nothing else there. */
static bool unchanged(const struct good *good)
{
	struct entitylock_info now = token_info(good->token);

	return now.state == ENTITYLOCK_HELD && now.fence == good->before.fence &&
	       now.lease_left <= good->before.lease_left && !now.error &&
	       live_entities(good->ground.domain) == 1 && good->ground.fds + 1 == open_fds();
}

/* The verb works, once more. */
static void expect_good(struct __test_metadata *_metadata, struct good *good, unsigned long cmd)
{
	struct cookie cookie;
	int ret = call(good, cmd, &good->arg);

	switch (good->verb) {
	case RENEW:
		EXPECT_EQ(0, ret);
		EXPECT_LT(HOUR, lease_left(good->token));
		break;
	case PARK:
		EXPECT_EQ(0, ret);
		EXPECT_LT(HOUR, lease_left(good->token));
		memcpy(cookie.bytes, good->arg.park.cookie, sizeof(cookie.bytes));
		close(claim(good->ground.domain, &cookie));
		break;
	case CLAIM:
		EXPECT_LE(0, ret);
		close(ret);
		break;
	case BREAK:
		EXPECT_EQ(0, ret);
		EXPECT_TRUE(is_lost(good->token));
		break;
	}
}

static void good_end(struct __test_metadata *_metadata, struct good *good)
{
	close(good->token);
	ground_recheck(_metadata, &good->ground);
}

FIXTURE(bad) {
	struct good good;
};

FIXTURE_VARIANT(bad) {
	enum verb verb;
	size_t offset;
	size_t size;
	__u64 value;
	int error;
};

FIXTURE_SETUP(bad)
{
	good_call(_metadata, &self->good, variant->verb);
}

FIXTURE_TEARDOWN(bad)
{
	good_end(_metadata, &self->good);
}

#define BAD(_verb, type, field, what, _value, _error)			\
	FIXTURE_VARIANT_ADD(bad, _verb##_##field##_##what) {		\
		.verb = _verb,						\
		.offset = offsetof(struct type, field),			\
		.size = sizeof(((struct type *)0)->field),		\
		.value = _value,					\
		.error = _error,					\
	}

BAD(RENEW, entitylock_renew, lease, above_the_limit, 1ULL << 62, EINVAL);
BAD(RENEW, entitylock_renew, lease, huge, ~0ULL, EINVAL);
BAD(RENEW, entitylock_renew, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(RENEW, entitylock_renew, flags, async, ENTITYLOCK_ASYNC, EINVAL);
BAD(RENEW, entitylock_renew, reserved, 1, 1, EINVAL);
BAD(PARK, entitylock_park, lease, above_the_limit, 1ULL << 62, EINVAL);
BAD(PARK, entitylock_park, lease, huge, ~0ULL, EINVAL);
BAD(PARK, entitylock_park, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(PARK, entitylock_park, flags, robust, ENTITYLOCK_ROBUST, EINVAL);
BAD(PARK, entitylock_park, reserved, 1, 1, EINVAL);
BAD(CLAIM, entitylock_claim, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(CLAIM, entitylock_claim, flags, async, ENTITYLOCK_ASYNC, EINVAL);
BAD(CLAIM, entitylock_claim, reserved, 1, 1, EINVAL);
BAD(BREAK, entitylock_break, name, null, 0, EFAULT);
BAD(BREAK, entitylock_break, name, unreadable, NO_ADDRESS, EFAULT);
BAD(BREAK, entitylock_break, name_len, 0, 0, EINVAL);
BAD(BREAK, entitylock_break, name_len, 256, 256, EINVAL);
BAD(BREAK, entitylock_break, name_len, huge, ~0U, EINVAL);
BAD(BREAK, entitylock_break, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(BREAK, entitylock_break, flags, robust, ENTITYLOCK_ROBUST, EINVAL);
BAD(BREAK, entitylock_break, flags, gate_with_a_name, ENTITYLOCK_GATE, EINVAL);
BAD(BREAK, entitylock_break, fence, stale, 1, ESTALE);

/* L2: a failed verb changes nothing. */
TEST_F(bad, L2_is_refused_and_changes_nothing)
{
	struct good *good = &self->good;
	char saved[sizeof(good->arg)];

	memcpy(saved, &good->arg, sizeof(saved));
	memcpy(good->arg.bytes + variant->offset, &variant->value, variant->size);
	EXPECT_EQ(-variant->error, call(good, verbs[variant->verb].cmd, &good->arg));
	EXPECT_TRUE(unchanged(good));
	memcpy(&good->arg, saved, sizeof(saved));
	expect_good(_metadata, good, verbs[variant->verb].cmd);
}

FIXTURE(verb) {
	struct good good;
};

FIXTURE_VARIANT(verb) {
	enum verb verb;
};

#define VERB(_verb) FIXTURE_VARIANT_ADD(verb, _verb) { .verb = _verb }

VERB(RENEW);
VERB(PARK);
VERB(CLAIM);
VERB(BREAK);

FIXTURE_SETUP(verb)
{
	good_call(_metadata, &self->good, variant->verb);
}

FIXTURE_TEARDOWN(verb)
{
	good_end(_metadata, &self->good);
}

/* Errors: EFAULT. */
TEST_F(verb, EFAULT_for_an_argument_that_cannot_be_read)
{
	struct good *good = &self->good;

	EXPECT_EQ(-EFAULT, call(good, verbs[variant->verb].cmd, NULL));
	EXPECT_EQ(-EFAULT, call(good, verbs[variant->verb].cmd, (void *)NO_ADDRESS));
	EXPECT_TRUE(unchanged(good));
	expect_good(_metadata, good, verbs[variant->verb].cmd);
}

/* Structs: the first published size is the least accepted. */
TEST_F(verb, ABI_smaller_struct_is_EINVAL)
{
	size_t size = verbs[variant->verb].size;
	const size_t sizes[] = { 0, 8, size - 8, size - 1 };
	struct good *good = &self->good;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_EQ(-EINVAL, call(good, resized(verbs[variant->verb].cmd, sizes[i]),
					&good->arg));
	EXPECT_TRUE(unchanged(good));
	expect_good(_metadata, good, verbs[variant->verb].cmd);
}

/* Structs: growth at the end: a tail of zeros is taken, any other is E2BIG. */
TEST_F(verb, ABI_longer_struct)
{
	size_t size = verbs[variant->verb].size;
	unsigned long cmd = resized(verbs[variant->verb].cmd, size + 64);
	struct good *good = &self->good;

	for (size_t at = size; at < size + 64; at += 63) {
		good->arg.bytes[at] = 1;
		EXPECT_EQ(-E2BIG, call(good, cmd, &good->arg));
		good->arg.bytes[at] = 0;
	}
	EXPECT_TRUE(unchanged(good));
	expect_good(_metadata, good, cmd);
}

/* Errors: ENOTTY: a verb of the other kind of fd. */
TEST_F(verb, ENOTTY_from_the_other_kind_of_fd)
{
	struct good *good = &self->good;
	int other = good->fd == good->token ? good->ground.domain : good->token;

	EXPECT_EQ(-ENOTTY, el_ioctl(other, verbs[variant->verb].cmd, &good->arg));
	EXPECT_TRUE(unchanged(good));
	expect_good(_metadata, good, verbs[variant->verb].cmd);
}

/* BREAK of the gate has no name. */
TEST_F(owners, EINVAL_for_a_gate_without_its_flag)
{
	struct entitylock_break arg = { .fence = 0 };
	int gate = hold_gate_for(self->domain, 0, 0);

	ASSERT_LE(0, gate);
	EXPECT_EQ(-EINVAL, el_ioctl(self->domain, ENTITYLOCK_IOC_BREAK, &arg));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(gate));
	/* What is not used is not looked at. */
	arg.flags = ENTITYLOCK_GATE;
	arg.name = NO_ADDRESS;
	EXPECT_EQ(0, el_ioctl(self->domain, ENTITYLOCK_IOC_BREAK, &arg));
	EXPECT_TRUE(is_lost(gate));
	close(gate);
}

/* Flags: OPEN does not lock: it takes neither a lease nor what goes with locking. */
TEST_F(owners, EINVAL_for_OPEN_with_what_locks)
{
	static const __u32 flags[] = {
		ROBUST, ENTITYLOCK_IF_UNCHANGED, ENTITYLOCK_ASYNC,
		ENTITYLOCK_CLOCK_REALTIME, ENTITYLOCK_CLOCK_BOOTTIME,
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-EINVAL, acquire(self->domain, "a", EXCLUSIVE,
					   ENTITYLOCK_OPEN | flags[i], NOWAIT));
	EXPECT_EQ(-EINVAL, lease_entity(self->domain, "a", EXCLUSIVE, ENTITYLOCK_OPEN, NOWAIT,
					HOUR));
	EXPECT_EQ(0, live_entities(self->domain));
}

/* L9: a verb on a LOST token is ESTALE, whatever else there is to say against it. */
TEST_F(owners, L9_ESTALE_before_EPERM_and_EDQUOT)
{
	int sealed = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_SEALED, NOWAIT);
	int parked = hold(self->domain, "b"), lost = hold(self->domain, "c");
	struct cookie cookie, unused;

	ASSERT_LE(0, sealed);
	ASSERT_LE(0, parked);
	ASSERT_LE(0, lost);
	ASSERT_EQ(0, token_park(parked, HOUR, &cookie));
	ASSERT_EQ(0, break_entity(self->domain, "a", 0));
	ASSERT_EQ(0, break_entity(self->domain, "c", 0));
	ASSERT_EQ(0, set_parameter("parked_max", 0));
	EXPECT_EQ(-ESTALE, token_renew(sealed, HOUR));
	EXPECT_EQ(-ESTALE, extend_these(sealed, 0, NOWAIT, X("z")));
	EXPECT_EQ(-ESTALE, token_park(sealed, HOUR, &unused));
	EXPECT_EQ(-ESTALE, token_park(lost, HOUR, &unused));
	EXPECT_EQ(-EBADFD, token_park(parked, HOUR, &unused));
	close(claim(self->domain, &cookie));
	close(parked);
	close(lost);
	close(sealed);
}

/* V2: what RENEW repeats is a duration that may be asked for. */
TEST_F(owners, V2_RENEW_repeats_no_lease_above_the_limit)
{
	int token = hold_for(self->domain, "a", 100 * NSEC_PER_SEC);

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_renew(token, 0));
	ASSERT_EQ(0, set_parameter("lease_max", 99));
	EXPECT_EQ(-EINVAL, token_renew(token, 0));
	EXPECT_EQ(0, token_renew(token, 99 * NSEC_PER_SEC));
	EXPECT_EQ(0, token_renew(token, 0));
	close(token);
}

/* Flags: each where it belongs: those of UNLOCK and INFO. */
TEST_F(owners, EINVAL_for_flags_of_other_verbs)
{
	static const __u32 unlock_flags[] = {
		ENTITYLOCK_ROBUST, ENTITYLOCK_IF_UNCHANGED, ENTITYLOCK_SEEN, ENTITYLOCK_GATE,
	};
	static const __u32 info_flags[] = {
		ENTITYLOCK_UNCHANGED, ENTITYLOCK_CONSISTENT, ENTITYLOCK_HOLDING,
		ENTITYLOCK_ROBUST,
	};
	static const __u32 lock_flags[] = {
		ENTITYLOCK_UNCHANGED, ENTITYLOCK_CONSISTENT, ENTITYLOCK_SEEN,
	};
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(unlock_flags); i++)
		EXPECT_EQ(-EINVAL, token_unlock(token, unlock_flags[i], 0));
	for (size_t i = 0; i < ARRAY_SIZE(info_flags); i++) {
		struct entitylock_info info = { .flags = info_flags[i] };

		EXPECT_EQ(-EINVAL, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	}
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	ASSERT_EQ(0, unlock(token));
	for (size_t i = 0; i < ARRAY_SIZE(lock_flags); i++) {
		EXPECT_EQ(-EINVAL, token_lock(token, lock_flags[i], NOWAIT));
		EXPECT_EQ(-EINVAL, acquire(self->domain, "b", EXCLUSIVE, lock_flags[i], NOWAIT));
	}
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(token);
}

/* VERSION: the feature bits of all that these tests are about. */
TEST_F(owners, VERSION_tells_the_features)
{
	const __u64 bits = ENTITYLOCK_FEATURE_ROBUST | ENTITYLOCK_FEATURE_LEASE |
			   ENTITYLOCK_FEATURE_VERSION | ENTITYLOCK_FEATURE_BREAK |
			   ENTITYLOCK_FEATURE_PARK;

	EXPECT_EQ(bits, features(self->domain) & bits);
}

SELFTEST_MAIN
