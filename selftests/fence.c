// SPDX-License-Identifier: GPL-2.0
/* L10: every grant carries a number greater than those of earlier conflicting grants. */
#include "harness.h"

/* L10: exclusive grants of one entity rise, on every CPU, also after it was reclaimed. */
TEST_F(entitylock, L10_rise_on_every_CPU)
{
	__u64 last = 0;

	for (unsigned int i = 0; i < scaled(2000, 200); i++) {
		int token;

		pin_to_cpu(i);
		token = hold(self->domain, "a");
		ASSERT_LE(0, token);
		ASSERT_LT(last, token_fence(token));
		last = token_fence(token);
		ASSERT_EQ(0, close(token));
	}
}

/* L10: exclusive after shared, shared after exclusive; shared grants are not ordered. */
TEST_F(entitylock, L10_between_modes)
{
	__u64 exclusive = 0;

	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		int tokens[4];
		__u64 greatest = 0;

		for (int j = 0; j < 4; j++) {
			pin_to_cpu(i + j);
			tokens[j] = acquire(self->domain, "a", SHARED, 0, NOWAIT);
			ASSERT_LE(0, tokens[j]);
			EXPECT_LT(exclusive, token_fence(tokens[j]));
			if (token_fence(tokens[j]) > greatest)
				greatest = token_fence(tokens[j]);
		}
		for (int j = 0; j < 4; j++)
			close(tokens[j]);
		pin_to_cpu(i / 2);
		tokens[0] = hold(self->domain, "a");
		exclusive = token_fence(tokens[0]);
		EXPECT_LT(greatest, exclusive);
		close(tokens[0]);
	}
}

/* L10: one number for a set, greater than that of each of its entities. */
TEST_F(entitylock, L10_of_a_set)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	__u64 last = 0;

	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		int token;

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			pin_to_cpu(i * j);
			token = hold(self->domain, names[j]);
			ASSERT_LE(0, token);
			/* Greater than that of the set which held it before. */
			EXPECT_LT(last, token_fence(token));
			if (j == i % 4)
				last = token_fence(token);
			close(token);
		}
		pin_to_cpu(i + 1);
		token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"), X("c"), X("d"));
		ASSERT_LE(0, token);
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
		close(token);
	}
}

/* L10: greater than those of its own token's earlier grants, whatever it holds by then. */
TEST_F(entitylock, L10_of_a_token)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	__u64 last = token_fence(token);

	ASSERT_LE(0, token);
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		char name[16];

		pin_to_cpu(i);
		snprintf(name, sizeof(name), "x%u", i);
		ASSERT_EQ(0, extend_these(token, 0, NOWAIT, S(name)));
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
		pin_to_cpu(i + 1);
		ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
		ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
		EXPECT_EQ(last, token_fence(token));
		if (i % 10)
			continue;
		ASSERT_EQ(0, unlock(token));
		EXPECT_EQ(last, token_fence(token));
		pin_to_cpu(i);
		ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
	}
	close(token);
}

/* L10: conversion: an upgrade is above the shared grants that it came after. */
TEST_F(entitylock, L10_of_an_upgrade)
{
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		__u64 greatest = 0;
		int token, other;

		pin_to_cpu(i);
		token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
		pin_to_cpu(i + 1);
		other = acquire(self->domain, "a", SHARED, 0, NOWAIT);
		ASSERT_LE(0, token);
		ASSERT_LE(0, other);
		greatest = token_fence(other);
		close(other);
		pin_to_cpu(i);
		ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
		EXPECT_LT(greatest, token_fence(token));
		close(token);
	}
}

/* L10: a grant out of the queue has its number by the same rule. */
TEST_F(entitylock, L10_of_a_grant_handed_over)
{
	int first = idle(self->domain, "a");
	int second = idle(self->domain, "a");
	__u64 last = 0;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_EQ(0, token_lock(first, 0, NOWAIT));
	for (unsigned int i = 0; i < scaled(2000, 100); i++) {
		int swap = first;

		pin_to_cpu(i);
		last = token_fence(first);
		ASSERT_EQ(0, token_lock(second, ENTITYLOCK_ASYNC, FOREVER));
		pin_to_cpu(i / 2);
		ASSERT_EQ(0, unlock(first));
		ASSERT_EQ(ENTITYLOCK_HELD, token_state(second));
		EXPECT_LT(last, token_fence(second));
		first = second;
		second = swap;
	}
	close(first);
	close(second);
}

/* L10: also after the entity was reclaimed, among very many others. */
TEST_F(entitylock, L10_after_reclaim)
{
	enum { KEPT = 200 };
	static __u64 last[KEPT];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < KEPT; i++) {
			char name[16];
			int token;

			pin_to_cpu(round + i);
			snprintf(name, sizeof(name), "kept%u", i);
			token = hold(self->domain, name);
			ASSERT_LE(0, token);
			EXPECT_LT(last[i], token_fence(token));
			last[i] = token_fence(token);
			close(token);
		}
		for (unsigned int i = 0; i < scaled(10000, 500); i++) {
			char name[16];

			snprintf(name, sizeof(name), "other%u", i);
			close(hold(self->domain, name));
		}
	}
}

/* L10: the gate is above all that was granted before it, and below all that comes after. */
TEST_F(entitylock, L10_of_the_gate)
{
	enum { NAMES = 32 };
	__u64 gate_fence = 0;

	for (unsigned int i = 0; i < scaled(200, 20); i++) {
		__u64 greatest = gate_fence;
		int gate;

		for (int j = 0; j < NAMES; j++) {
			char name[16];
			int token;

			pin_to_cpu(i + j);
			/* Old names and such as never were. */
			snprintf(name, sizeof(name), j % 2 ? "old%u" : "new%u.%u", j, i);
			token = acquire(self->domain, name, j % 3 ? EXCLUSIVE : SHARED, 0, NOWAIT);
			ASSERT_LE(0, token);
			EXPECT_LT(gate_fence, token_fence(token));
			if (token_fence(token) > greatest)
				greatest = token_fence(token);
			close(token);
		}
		pin_to_cpu(i);
		gate = acquire_gate(self->domain, 0, NOWAIT);
		ASSERT_LE(0, gate);
		EXPECT_LT(greatest, token_fence(gate));
		gate_fence = token_fence(gate);
		close(gate);
	}
}

/* L10: after the domain was reclaimed: no fd of it was left. */
TEST_F(entitylock, L10_after_the_domain_was_reclaimed)
{
	__u64 last = 0;

	close(self->domain);
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		int domain = domain_open(O_RDWR);
		int token;

		pin_to_cpu(i);
		token = hold(domain, "a");
		ASSERT_LE(0, token);
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
		close(token);
		token = acquire_gate(domain, 0, NOWAIT);
		ASSERT_LE(0, token);
		EXPECT_LT(last, token_fence(token));
		last = token_fence(token);
		close(token);
		close(domain);
	}
	self->domain = domain_open(O_RDWR);
}

/* Threads that lock and note the greatest fence that they saw, each in its turn. */
struct noter {
	struct start_line *line;
	int domain;
	unsigned int cpu;
	unsigned int rounds;
	__u64 *last;
	unsigned int wrong;
	pthread_t thread;
};

static void *note(void *data)
{
	struct noter *noter = data;

	pin_to_cpu(noter->cpu);
	start_together(noter->line, 4);
	for (unsigned int i = 0; i < noter->rounds; i++) {
		int token = acquire(noter->domain, "a", EXCLUSIVE, 0, FOREVER);
		__u64 fence = token_fence(token);

		/* The lock guards what is noted. */
		if (token < 0 || fence <= *noter->last)
			noter->wrong++;
		*noter->last = fence;
		close(token);
	}
	return NULL;
}

/* L10: under contention, from all CPUs at once, the entity reclaimed now and then. */
TEST_F(entitylock, L10_under_contention)
{
	struct start_line line = { 0 };
	struct noter noters[4];
	__u64 last = 0;

	for (int i = 0; i < 4; i++) {
		noters[i] = (struct noter){
			.line = &line,
			.domain = self->domain,
			.cpu = i,
			.rounds = scaled(1000, 200),
			.last = &last,
		};
		ASSERT_EQ(0, pthread_create(&noters[i].thread, NULL, note, &noters[i]));
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(noters[i].thread, NULL);
		EXPECT_EQ(0, noters[i].wrong);
	}
}

/* L2: an EXTEND that failed has changed no fence of what it had touched. */
TEST_F(entitylock, L2_a_failed_EXTEND_changes_no_fence)
{
	int busy = hold(self->domain, "c");
	int watched = idle(self->domain, "b");
	int token = hold(self->domain, "a");
	struct row before, after;

	ASSERT_LE(0, busy);
	ASSERT_LE(0, watched);
	ASSERT_LE(0, token);
	ASSERT_TRUE(listing_find("b", &before));
	EXPECT_EQ(-EAGAIN, extend_these(token, 0, NOWAIT, X("b"), X("c")));
	ASSERT_TRUE(listing_find("b", &after));
	EXPECT_EQ(before.fence, after.fence);
	close(busy);
	close(watched);
	close(token);
}

static __u64 version_of(int token)
{
	struct entitylock_entity entity = { 0 };
	struct entitylock_info info = {
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.capacity = 1,
	};

	return el_ioctl(token, ENTITYLOCK_IOC_INFO, &info) ? ~0ULL : entity.version;
}

/* L2: a set that failed has changed no fence and no version of what it had taken. */
TEST_F(entitylock, L2_a_failed_set_changes_no_fence_and_no_version)
{
	int busy = hold(self->domain, "b");
	int watched = idle(self->domain, "a");
	struct row before, after;
	__u64 version;

	ASSERT_LE(0, busy);
	ASSERT_LE(0, watched);
	ASSERT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	ASSERT_TRUE(listing_find("a", &before));
	version = version_of(watched);
	EXPECT_EQ(-EAGAIN, acquire_these(self->domain, 0, NOWAIT, X("a"), X("b")));
	EXPECT_EQ(-ETIMEDOUT, acquire_these(self->domain, 0, in_ms(5), X("a"), X("b")));
	ASSERT_TRUE(listing_find("a", &after));
	EXPECT_EQ(before.fence, after.fence);
	EXPECT_EQ(version, version_of(watched));
	close(busy);
	close(watched);
}

SELFTEST_MAIN
