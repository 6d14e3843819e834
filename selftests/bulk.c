// SPDX-License-Identifier: GPL-2.0
/*
 * L2: a set that fails at its k-th element, whichever that is and whatever it fails
 * for: nothing is held of those before it, nothing is changed, and the same call
 * without the fault is taken afterwards.
 */
#include "owners.h"

#define COUNT	12

enum fault {
	BUSY, BUSY_IN_TIME, BAD_MODE, BAD_LENGTH, BAD_FLAG, BAD_NAME, BAD_ARRAY, BAD_RESULT,
	OTHER_VERSION, NO_QUOTA
};

FIXTURE(bulk) {
	union {
		struct ground ground;
		int domain;
	};
	struct quotas quotas;
	long page;
	char *pages;
};

FIXTURE_VARIANT(bulk) {
	enum fault fault;
	int error;
};

#define FAULT(_fault, _error)						\
	FIXTURE_VARIANT_ADD(bulk, _fault) {				\
		.fault = _fault,					\
		.error = _error,					\
	}

FAULT(BUSY, -EAGAIN);
FAULT(BUSY_IN_TIME, -ETIMEDOUT);
FAULT(BAD_MODE, -EINVAL);
FAULT(BAD_LENGTH, -EINVAL);
FAULT(BAD_FLAG, -EINVAL);
FAULT(BAD_NAME, -EFAULT);
FAULT(BAD_ARRAY, -EFAULT);
FAULT(BAD_RESULT, -EFAULT);
FAULT(OTHER_VERSION, -ESTALE);
FAULT(NO_QUOTA, -EDQUOT);

FIXTURE_SETUP(bulk)
{
	ground_check(_metadata, &self->ground);
	self->quotas = quotas_read();
	self->page = sysconf(_SC_PAGESIZE);
	self->pages = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->pages);
}

FIXTURE_TEARDOWN(bulk)
{
	munmap(self->pages, 2 * self->page);
	quotas_restore(_metadata, self->quotas);
	ground_recheck(_metadata, &self->ground);
}

/* The names of a set, the k-th of which is at the beginning of the second page. */
static struct entitylock_entity *make_set(FIXTURE_DATA(bulk) *bulk, unsigned int k)
{
	struct entitylock_entity *set = (void *)(bulk->pages + bulk->page);
	static char names[COUNT][4];

	set -= k;
	for (unsigned int i = 0; i < COUNT; i++) {
		sprintf(names[i], "%02u", i);
		set[i] = (struct entitylock_entity)X(names[i]);
	}
	return set;
}

/* One busy entity, or none. */
static int set_fault(FIXTURE_DATA(bulk) *bulk, enum fault fault,
		     struct entitylock_entity *entity, unsigned int k)
{
	char name[4];

	switch (fault) {
	case BUSY:
	case BUSY_IN_TIME:
		sprintf(name, "%02u", k);
		return hold(bulk->domain, name);
	case BAD_MODE:
		entity->mode = 3;
		break;
	case BAD_LENGTH:
		entity->name_len = ENTITYLOCK_NAME_MAX + 1;
		break;
	case BAD_FLAG:
		entity->flags = 1;
		break;
	case BAD_NAME:
		entity->name = 8;
		break;
	case BAD_ARRAY:
		mprotect(bulk->pages + bulk->page, bulk->page, PROT_NONE);
		break;
	case BAD_RESULT:
		mprotect(bulk->pages + bulk->page, bulk->page, PROT_READ);
		break;
	case OTHER_VERSION:
		entity->version = 1;
		break;
	case NO_QUOTA:
		set_parameter("marks_max", k);
		break;
	}
	return -1;
}

static void clear_fault(FIXTURE_DATA(bulk) *bulk, int busy)
{
	mprotect(bulk->pages + bulk->page, bulk->page, PROT_READ | PROT_WRITE);
	set_parameter("marks_max", bulk->quotas.marks_max);
	if (busy >= 0)
		close(busy);
}

static __u32 flags_of(enum fault fault)
{
	return fault == OTHER_VERSION ? ENTITYLOCK_IF_UNCHANGED : 0;
}

static __u64 deadline_of(enum fault fault)
{
	return fault == BUSY_IN_TIME ? in_ms(2) : NOWAIT;
}

/* L2: ACQUIRE */
TEST_F(bulk, L2_ACQUIRE_fails_at_the_kth)
{
	__u32 flags = flags_of(variant->fault) | (variant->fault == NO_QUOTA ? ROBUST : 0);

	for (unsigned int k = 0; k < COUNT; k++) {
		struct entitylock_entity *set = make_set(self, k);
		int busy = set_fault(self, variant->fault, &set[k], k), token;

		EXPECT_EQ(variant->error, acquire_set(self->domain, set, COUNT, flags,
						      deadline_of(variant->fault)));
		/* Which one, and no other. */
		for (unsigned int i = 0; variant->fault == OTHER_VERSION && i < COUNT; i++)
			EXPECT_EQ(i == k ? ENTITYLOCK_CHANGED : 0, set[i].result);
		EXPECT_EQ(busy >= 0, live_entities(self->domain));
		clear_fault(self, busy);
		token = acquire_set(self->domain, make_set(self, k), COUNT, flags, NOWAIT);
		EXPECT_LE(0, token);
		EXPECT_EQ(0, unlock(token));
		close(token);
	}
}

/* L2: EXTEND: what was held before, and its number, stay. */
TEST_F(bulk, L2_EXTEND_fails_at_the_kth)
{
	__u32 robust = variant->fault == NO_QUOTA ? ROBUST : 0;

	for (unsigned int k = 0; k < COUNT; k++) {
		struct entitylock_entity *set = make_set(self, k);
		/* Its own mark is one more. */
		int token = acquire(self->domain, "!", EXCLUSIVE, robust, NOWAIT);
		int busy = set_fault(self, variant->fault, &set[k], k + !!robust);
		__u64 fence = token_fence(token);

		ASSERT_LE(0, token);
		EXPECT_EQ(variant->error, token_extend(token, set, COUNT,
						       flags_of(variant->fault),
						       deadline_of(variant->fault)));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_EQ(fence, token_fence(token));
		EXPECT_STREQ("!", token_names(token));
		EXPECT_EQ(1 + (busy >= 0), live_entities(self->domain));
		clear_fault(self, busy);
		EXPECT_EQ(0, token_extend(token, make_set(self, k), COUNT, 0, NOWAIT));
		EXPECT_EQ(1 + COUNT, token_info(token).count);
		EXPECT_EQ(0, unlock(token));
		close(token);
	}
}

SELFTEST_MAIN
