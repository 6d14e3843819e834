// SPDX-License-Identifier: GPL-2.0
/* VERSION, and what it says about verbs and flags. */
#include "harness.h"

static int ask(int fd, struct entitylock_version *version)
{
	memset(version, 0xff, sizeof(*version));
	return el_ioctl(fd, ENTITYLOCK_IOC_VERSION, version);
}

/* Verbs: VERSION tells ABI version, feature bits and limits. */
TEST_F(entitylock, VERSION_reports_abi_and_limits)
{
	struct entitylock_version version;

	ASSERT_EQ(0, ask(self->domain, &version));
	EXPECT_EQ(ENTITYLOCK_ABI, version.abi);
	EXPECT_EQ(ENTITYLOCK_SET_MAX, version.set_max);
	EXPECT_EQ(!!(version.features & ENTITYLOCK_FEATURE_LEASE), version.lease_max != 0);
}

/* D2: rights are for reading and locking; anybody may ask for the version. */
TEST_F(entitylock, D2_VERSION_works_on_every_open)
{
	const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct entitylock_version version;
		int fd = domain_open(modes[i]);

		ASSERT_LE(0, fd);
		EXPECT_EQ(0, ask(fd, &version));
		EXPECT_EQ(ENTITYLOCK_ABI, version.abi);
		close(fd);
	}
}

/* Structs: verbs are dispatched by type and number. */
TEST_F(entitylock, ABI_direction_bits_do_not_matter)
{
	struct entitylock_version version = { 0 };
	unsigned long cmd = _IOC(_IOC_READ | _IOC_WRITE, ENTITYLOCK_IOC_TYPE,
				 _IOC_NR(ENTITYLOCK_IOC_VERSION), sizeof(version));

	ASSERT_EQ(0, el_ioctl(self->domain, cmd, &version));
	EXPECT_EQ(ENTITYLOCK_ABI, version.abi);
}

/* Structs: growth at the end works both ways, the first size is the least. */
TEST_F(entitylock, ABI_version_may_grow)
{
	struct {
		struct entitylock_version version;
		__u64 later[4];
	} longer = { 0 };

	ASSERT_EQ(0, el_ioctl(self->domain,
			      resized(ENTITYLOCK_IOC_VERSION, sizeof(longer)), &longer));
	EXPECT_EQ(ENTITYLOCK_ABI, longer.version.abi);
	for (size_t i = 0; i < ARRAY_SIZE(longer.later); i++)
		EXPECT_EQ(0, longer.later[i]);
	EXPECT_EQ(-EINVAL, el_ioctl(self->domain,
				    resized(ENTITYLOCK_IOC_VERSION, sizeof(longer.version) - 8),
				    &longer));
}

/* Errors: ENOTTY unknown verb, a verb that belongs to the other kind of fd. */
TEST_F(entitylock, ENOTTY_for_what_is_no_verb_of_this_fd)
{
	static const unsigned long domain_verbs[] = {
		ENTITYLOCK_IOC_VERSION, ENTITYLOCK_IOC_ACQUIRE, ENTITYLOCK_IOC_DOMAIN,
		ENTITYLOCK_IOC_CLAIM, ENTITYLOCK_IOC_BREAK,
	};
	static const unsigned long token_verbs[] = {
		ENTITYLOCK_IOC_LOCK, ENTITYLOCK_IOC_UNLOCK, ENTITYLOCK_IOC_CONVERT,
		ENTITYLOCK_IOC_EXTEND, ENTITYLOCK_IOC_RENEW, ENTITYLOCK_IOC_LABEL,
		ENTITYLOCK_IOC_PARK, ENTITYLOCK_IOC_INFO,
	};
	static const unsigned long no_verbs[] = {
		_IO(ENTITYLOCK_IOC_TYPE, 0xff), _IO('!', 0), _IO('!', 0x10),
		_IOR('!', 0x01, struct entitylock_acquire),
	};
	char space[256] = { 0 };
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(domain_verbs); i++)
		EXPECT_EQ(-ENOTTY, el_ioctl(token, domain_verbs[i], space));
	for (size_t i = 0; i < ARRAY_SIZE(token_verbs); i++)
		EXPECT_EQ(-ENOTTY, el_ioctl(self->domain, token_verbs[i], space));
	for (size_t i = 0; i < ARRAY_SIZE(no_verbs); i++) {
		EXPECT_EQ(-ENOTTY, el_ioctl(token, no_verbs[i], space));
		EXPECT_EQ(-ENOTTY, el_ioctl(self->domain, no_verbs[i], space));
	}
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* Header: a verb without its feature bit is refused, one with it is there. */
TEST_F(entitylock, ABI_feature_bits_match_the_verbs)
{
	static const struct {
		__u64 feature;
		unsigned long cmd;
		bool on_token;
	} verbs[] = {
		{ ENTITYLOCK_FEATURE_CONVERT, ENTITYLOCK_IOC_CONVERT, true },
		{ ENTITYLOCK_FEATURE_EXTEND, ENTITYLOCK_IOC_EXTEND, true },
		{ ENTITYLOCK_FEATURE_LEASE, ENTITYLOCK_IOC_RENEW, true },
		{ ENTITYLOCK_FEATURE_PARK, ENTITYLOCK_IOC_PARK, true },
		{ ENTITYLOCK_FEATURE_PARK, ENTITYLOCK_IOC_CLAIM, false },
		{ ENTITYLOCK_FEATURE_BREAK, ENTITYLOCK_IOC_BREAK, false },
		{ ENTITYLOCK_FEATURE_DOMAIN, ENTITYLOCK_IOC_DOMAIN, false },
	};
	__u64 have = features(self->domain);
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		/* A null pointer: EFAULT from a verb that is there. */
		int expect = have & verbs[i].feature ? -EFAULT : -ENOTTY;
		int fresh = domain_open(O_RDWR);

		EXPECT_EQ(expect, el_ioctl(verbs[i].on_token ? token : fresh, verbs[i].cmd, NULL));
		close(fresh);
	}
	close(token);
}

/* Header: a flag or mode without its feature bit is EINVAL, one with it is taken. */
TEST_F(entitylock, ABI_feature_bits_match_the_flags)
{
	static const struct {
		__u64 feature;
		__u32 mode;
		__u32 flags;
	} rows[] = {
		{ ENTITYLOCK_FEATURE_SHARED, SHARED, 0 },
		{ ENTITYLOCK_FEATURE_ASYNC, EXCLUSIVE, ENTITYLOCK_ASYNC },
		{ ENTITYLOCK_FEATURE_EXTEND, EXCLUSIVE, ENTITYLOCK_SEALED },
		{ ENTITYLOCK_FEATURE_ROBUST, EXCLUSIVE, ENTITYLOCK_ROBUST },
		{ ENTITYLOCK_FEATURE_VERSION, EXCLUSIVE, ENTITYLOCK_IF_UNCHANGED },
		{ ENTITYLOCK_FEATURE_CLOCKS, EXCLUSIVE, ENTITYLOCK_CLOCK_REALTIME },
		{ ENTITYLOCK_FEATURE_CLOCKS, EXCLUSIVE, ENTITYLOCK_CLOCK_BOOTTIME },
	};
	__u64 have = features(self->domain);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int token = acquire(self->domain, "a", rows[i].mode, rows[i].flags, FOREVER);

		if (have & rows[i].feature) {
			EXPECT_LE(0, token);
			/* ROBUST would leave a mark. */
			unlock(token);
			close(token);
		} else {
			EXPECT_EQ(-EINVAL, token);
		}
	}
}

SELFTEST_MAIN
