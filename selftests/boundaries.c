// SPDX-License-Identifier: GPL-2.0
/*
 * The boundary of everything that has one: names, counts, labels, leases, deadlines,
 * sizes.  Each row is the value beside the boundary and what comes of it, for each
 * verb that takes it.
 */
#include "domains.h"

static char text[ENTITYLOCK_NAME_MAX + 2];
static struct numbered many;

/* A token that is made is closed. */
static int tried(int ret)
{
	if (ret >= 0)
		close(ret);
	return ret < 0 ? ret : 0;
}

FIXTURE(boundaries) {
	union {
		struct ground ground;
		int domain;
	};
	struct quotas quotas;
	int token;
};

FIXTURE_SETUP(boundaries)
{
	memset(text, 'n', sizeof(text) - 1);
	ground_check(_metadata, &self->ground);
	self->quotas = quotas_read();
	self->token = hold(self->domain, "held");
	ASSERT_LE(0, self->token);
}

FIXTURE_TEARDOWN(boundaries)
{
	close(self->token);
	quotas_restore(_metadata, self->quotas);
	ground_recheck(_metadata, &self->ground);
}

/* Nouns: a name of an entity, or of a domain, has 1 to 255 bytes. */
TEST_F(boundaries, NOUN_length_of_a_name)
{
	static const struct {
		__u32 len;
		int error;
	} rows[] = {
		{ 0, -EINVAL }, { 1, 0 }, { 2, 0 }, { 254, 0 }, { 255, 0 }, { 256, -EINVAL },
		{ 1U << 16, -EINVAL }, { INT32_MAX, -EINVAL }, { 1U << 31, -EINVAL },
		{ UINT32_MAX, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct entitylock_entity entity = {
			.name = ptr(text),
			.name_len = rows[i].len,
			.mode = EXCLUSIVE,
		};
		struct entitylock_break broken = { .name = ptr(text), .name_len = rows[i].len };
		struct entitylock_domain place = {
			.name = ptr(text),
			.name_len = rows[i].len,
			.flags = CREATE | EXCL,
			.mode = 0700,
		};
		int token = hold(self->domain, "extended"), fd = domain_open(O_RDWR);

		EXPECT_EQ(rows[i].error, tried(acquire_set(self->domain, &entity, 1, 0, NOWAIT)));
		EXPECT_EQ(rows[i].error, token_extend(token, &entity, 1, 0, NOWAIT));
		EXPECT_EQ(rows[i].error, el_ioctl(self->domain, ENTITYLOCK_IOC_BREAK, &broken));
		EXPECT_EQ(rows[i].error, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &place));
		close(fd);
		close(token);
	}
}

/* Nouns: 1 to 1,024 entities, in all. */
TEST_F(boundaries, NOUN_entities_of_a_token)
{
	static const struct {
		__u32 count;
		int acquired;
		int extended;		/* a token that holds one */
	} rows[] = {
		{ 0, -EINVAL, -EINVAL },
		{ 1, 0, 0 },
		{ 2, 0, 0 },
		{ ENTITYLOCK_SET_MAX - 1, 0, 0 },
		{ ENTITYLOCK_SET_MAX, 0, -E2BIG },
		{ ENTITYLOCK_SET_MAX + 1, -EINVAL, -EINVAL },
		{ INT32_MAX, -EINVAL, -EINVAL },
		{ UINT32_MAX, -EINVAL, -EINVAL },
	};

	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct entitylock_acquire arg = {
			.count = rows[i].count,
			.entities = ptr(many.set),
			.entity_size = sizeof(many.set[0]),
		};
		int token = hold(self->domain, "extended");

		EXPECT_EQ(rows[i].acquired,
			  tried(el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg)));
		EXPECT_EQ(rows[i].extended, el_ioctl(token, ENTITYLOCK_IOC_EXTEND, &arg));
		close(token);
	}
}

/* Nouns: a label has 0 to 63 bytes. */
TEST_F(boundaries, NOUN_length_of_a_label)
{
	static const struct {
		__u32 len;
		int error;
	} rows[] = {
		{ 0, 0 }, { 1, 0 }, { 62, 0 }, { 63, 0 }, { 64, -EINVAL }, { 255, -EINVAL },
		{ UINT32_MAX, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct entitylock_entity entity = X("a");
		struct entitylock_acquire acquire = {
			.count = 1,
			.entities = ptr(&entity),
			.entity_size = sizeof(entity),
			.label = ptr(text),
			.label_len = rows[i].len,
		};
		struct entitylock_label label = { .label = ptr(text), .label_len = rows[i].len };

		EXPECT_EQ(rows[i].error,
			  tried(el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &acquire)));
		EXPECT_EQ(rows[i].error, el_ioctl(self->token, ENTITYLOCK_IOC_LABEL, &label));
		EXPECT_EQ(rows[i].error ? 63 : rows[i].len, token_info(self->token).label_len);
	}
}

/* V2: a lease is at most what VERSION says; none where one is needed is EINVAL. */
TEST_F(boundaries, V2_length_of_a_lease)
{
	struct entitylock_version version = { 0 };
	struct cookie cookie;

	ASSERT_EQ(0, el_ioctl(self->domain, ENTITYLOCK_IOC_VERSION, &version));
	ASSERT_LT(0, version.lease_max);
	const struct {
		__u64 lease;
		int locked;
		int given;		/* to a token without one */
	} rows[] = {
		{ 0, 0, -EINVAL },
		{ 1, 0, 0 },
		{ version.lease_max - 1, 0, 0 },
		{ version.lease_max, 0, 0 },
		{ version.lease_max + 1, -EINVAL, -EINVAL },
		{ INT64_MAX, -EINVAL, -EINVAL },
		{ 1ULL << 63, -EINVAL, -EINVAL },
		{ UINT64_MAX, -EINVAL, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int locked = idle(self->domain, "a"), renewed = hold(self->domain, "b");
		int parked = hold(self->domain, "c");

		EXPECT_EQ(rows[i].locked, tried(hold_for(self->domain, "d", rows[i].lease)));
		EXPECT_EQ(rows[i].locked,
			  tried(hold_gate_for(self->domain, ENTITYLOCK_ASYNC, rows[i].lease)));
		EXPECT_EQ(rows[i].locked, token_lock_for(locked, 0, NOWAIT, rows[i].lease));
		EXPECT_EQ(rows[i].given, token_renew(renewed, rows[i].lease));
		EXPECT_EQ(rows[i].given, token_park(parked, rows[i].lease, &cookie));
		if (!rows[i].given)
			close(claim(self->domain, &cookie));
		close(parked);
		close(renewed);
		close(locked);
	}
}

/* Times: what each deadline is, on each clock, for what is free and for what is not. */
TEST_F(boundaries, TIMES_of_a_deadline)
{
	static const struct {
		__u64 deadline;
		int busy;		/* with ASYNC; 0: it waits */
	} rows[] = {
		{ NOWAIT, -EAGAIN },
		{ 1, -ETIMEDOUT },
		{ 2, -ETIMEDOUT },
		{ INT64_MAX - 1, 0 },
		{ INT64_MAX, 0 },
		{ 1ULL << 63, 0 },
		{ UINT64_MAX - 1, 0 },
		{ FOREVER, 0 },
	};
	static const __u32 clocks[] = {
		0, ENTITYLOCK_CLOCK_REALTIME, ENTITYLOCK_CLOCK_BOOTTIME,
	};
	int reader = share(self->domain, "shared"), other = share(self->domain, "shared");

	for (size_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(clocks); i++) {
		__u64 deadline = rows[i / ARRAY_SIZE(clocks)].deadline;
		int busy = rows[i / ARRAY_SIZE(clocks)].busy;
		__u32 flags = clocks[i % ARRAY_SIZE(clocks)];
		int locked = idle(self->domain, "held"), extended = hold(self->domain, "a");
		int free = idle(self->domain, "free");

		EXPECT_EQ(0, tried(acquire(self->domain, "free", EXCLUSIVE, flags, deadline)));
		EXPECT_EQ(0, token_lock(free, flags, deadline));
		flags |= ENTITYLOCK_ASYNC;
		EXPECT_EQ(busy, tried(acquire(self->domain, "held", EXCLUSIVE, flags, deadline)));
		EXPECT_EQ(busy, tried(acquire_gate(self->domain, flags, deadline)));
		EXPECT_EQ(busy, token_lock(locked, flags, deadline));
		EXPECT_EQ(busy, extend_these(extended, flags, deadline, X("held")));
		EXPECT_EQ(busy, token_convert(reader, EXCLUSIVE, flags, deadline));
		if (!busy) {
			EXPECT_EQ(ENTITYLOCK_PENDING, token_state(reader));
			EXPECT_EQ(0, token_unlock(reader, ENTITYLOCK_CANCEL, 0));
		}
		close(free);
		close(extended);
		close(locked);
	}
	close(reader);
	close(other);
}

/* ABI: the stride of an array is that of an entity, to a page. */
TEST_F(boundaries, ABI_size_of_an_entity)
{
	const __u32 size = sizeof(struct entitylock_entity), page = sysconf(_SC_PAGESIZE);
	const struct {
		__u32 size;
		int error;
	} rows[] = {
		{ 0, -EINVAL }, { 1, -EINVAL }, { size - 1, -EINVAL }, { size, 0 },
		{ size + 8, 0 }, { page, 0 }, { page + 1, -E2BIG }, { UINT32_MAX, -E2BIG },
	};
	/* Two, so far apart as can be. */
	char *array = calloc(2, page);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct entitylock_acquire acquire = {
			.count = 2,
			.entities = ptr(array),
			.entity_size = rows[i].size,
		};
		struct entitylock_info info = {
			.entities = ptr(array),
			.entity_size = rows[i].size,
			.capacity = 1,
		};
		struct entitylock_entity a = X("a"), b = X("b");

		memset(array, 0, 2 * page);
		if (!rows[i].error)
			memcpy(array + rows[i].size, &b, sizeof(b));
		memcpy(array, &a, sizeof(a));
		EXPECT_EQ(rows[i].error,
			  tried(el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &acquire)));
		memset(array, 0, 2 * page);
		EXPECT_EQ(rows[i].error, el_ioctl(self->token, ENTITYLOCK_IOC_INFO, &info));
	}
	free(array);
}

/* D4: quotas: the last that fits, and the first that does not. */
TEST_F(boundaries, D4_quotas)
{
	static const unsigned int quotas[] = { 0, 1, 2, ENTITYLOCK_SET_MAX };
	struct cookie cookies[2];

	for (size_t i = 0; i < ARRAY_SIZE(quotas); i++) {
		unsigned int most = quotas[i];
		int token;

		ASSERT_EQ(0, set_parameter("marks_max", most));
		numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
		token = most ? acquire_set(self->domain, many.set, most, ROBUST, NOWAIT) : -1;
		EXPECT_EQ(!most, token < 0);
		EXPECT_EQ(-EDQUOT, acquire(self->domain, "one more", EXCLUSIVE, ROBUST, NOWAIT));
		EXPECT_EQ(most ? 0 : -EBADF, unlock(token));
		close(token);
	}
	for (unsigned int most = 0; most < 2; most++) {
		int one = hold(self->domain, "a"), other = hold(self->domain, "b");

		ASSERT_EQ(0, set_parameter("parked_max", most));
		EXPECT_EQ(most ? 0 : -EDQUOT, token_park(one, HOUR, &cookies[0]));
		EXPECT_EQ(-EDQUOT, token_park(other, HOUR, &cookies[1]));
		if (most)
			close(claim(self->domain, &cookies[0]));
		close(one);
		close(other);
	}
}

SELFTEST_MAIN
