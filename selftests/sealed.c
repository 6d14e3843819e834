// SPDX-License-Identifier: GPL-2.0
/* SEALED: a token that can be given away, and not made to live or hold longer. */
#include "harness.h"

static int acquire_sealed(int domain, const char *name, __u32 mode)
{
	return acquire(domain, name, mode, ENTITYLOCK_SEALED, NOWAIT);
}

/* Flags: the token refuses EXTEND, RENEW, PARK: EPERM. */
TEST_F(entitylock, SEALED_refuses_EXTEND)
{
	int token = acquire_sealed(self->domain, "a", EXCLUSIVE);
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	EXPECT_EQ(-EPERM, extend_these(token, 0, NOWAIT, X("b")));
	EXPECT_EQ(-EPERM, extend_these(token, 0, FOREVER, X("a")));
	EXPECT_EQ(-EPERM, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(1, live_entities(self->domain));
	close(token);
}

/* Flags: RENEW and PARK likewise, where they exist; no verb loosens the seal. */
TEST_F(entitylock, SEALED_refuses_RENEW_and_PARK)
{
	struct entitylock_renew renew = { .lease = NSEC_PER_SEC };
	struct entitylock_park park = { .lease = NSEC_PER_SEC };
	__u64 have = features(self->domain);
	int token = acquire_sealed(self->domain, "a", EXCLUSIVE);

	ASSERT_LE(0, token);
	EXPECT_EQ(have & ENTITYLOCK_FEATURE_LEASE ? -EPERM : -ENOTTY,
		  el_ioctl(token, ENTITYLOCK_IOC_RENEW, &renew));
	EXPECT_EQ(have & ENTITYLOCK_FEATURE_PARK ? -EPERM : -ENOTTY,
		  el_ioctl(token, ENTITYLOCK_IOC_PARK, &park));
	close(token);
}

/* Header: INFO tells. */
TEST_F(entitylock, SEALED_is_told_by_INFO)
{
	int sealed = acquire_sealed(self->domain, "a", EXCLUSIVE);
	int open_one = hold(self->domain, "b");

	ASSERT_LE(0, sealed);
	ASSERT_LE(0, open_one);
	EXPECT_EQ(ENTITYLOCK_SEALED, token_info(sealed).flags);
	EXPECT_EQ(0, token_info(open_one).flags);
	ASSERT_EQ(0, unlock(sealed));
	EXPECT_EQ(ENTITYLOCK_SEALED, token_info(sealed).flags);
	close(sealed);
	close(open_one);
}

/* Flags: everything else works as on any token. */
TEST_F(entitylock, SEALED_allows_the_other_verbs)
{
	int token = acquire_sealed(self->domain, "a", EXCLUSIVE);

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	EXPECT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(0, token_label(token, "sealed"));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	/* Still sealed after it. */
	EXPECT_EQ(-EPERM, extend_these(token, 0, NOWAIT, X("b")));
	close(token);
}

/* Flags: SEALED is set at ACQUIRE, also of a token that is made IDLE. */
TEST_F(entitylock, SEALED_with_OPEN)
{
	int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_OPEN | ENTITYLOCK_SEALED,
			    NOWAIT);

	ASSERT_LE(0, token);
	EXPECT_EQ(-EINVAL, token_lock(token, ENTITYLOCK_SEALED, NOWAIT));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EPERM, extend_these(token, 0, NOWAIT, X("b")));
	close(token);
}

SELFTEST_MAIN
