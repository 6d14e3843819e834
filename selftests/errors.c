// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input: one bad field a test, each with the contract's errno, nothing
 * changed, and the same call without the bad field taken afterwards.
 */
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness.h"

#define NO_ADDRESS	8ULL			/* in the page that is never mapped */
#define KERNEL_ADDRESS	0xffff888000000000ULL
#define UNKNOWN_FLAG	(1U << 31)
#define SHORT_ENTITY	(sizeof(struct entitylock_entity) - 8)
#define TWO_CLOCKS	(ENTITYLOCK_CLOCK_REALTIME | ENTITYLOCK_CLOCK_BOOTTIME)

enum verb { ACQUIRE, LOCK, UNLOCK, CONVERT, EXTEND, LABEL, INFO };

static const struct {
	unsigned long cmd;
	size_t size;
	bool has_output;
} verbs[] = {
	[ACQUIRE] = { ENTITYLOCK_IOC_ACQUIRE, sizeof(struct entitylock_acquire), true },
	[LOCK] = { ENTITYLOCK_IOC_LOCK, sizeof(struct entitylock_lock), true },
	[UNLOCK] = { ENTITYLOCK_IOC_UNLOCK, sizeof(struct entitylock_unlock), false },
	[CONVERT] = { ENTITYLOCK_IOC_CONVERT, sizeof(struct entitylock_convert), true },
	[EXTEND] = { ENTITYLOCK_IOC_EXTEND, sizeof(struct entitylock_acquire), true },
	[LABEL] = { ENTITYLOCK_IOC_LABEL, sizeof(struct entitylock_label), false },
	[INFO] = { ENTITYLOCK_IOC_INFO, sizeof(struct entitylock_info), true },
};

/* A call that succeeds, to be spoilt: of a verb, on an fd, with its argument. */
struct good {
	struct ground ground;
	int token;
	int fd;
	struct entitylock_entity entity;
	char label[8];
	union {
		struct entitylock_acquire acquire;
		struct entitylock_lock lock;
		struct entitylock_unlock unlock;
		struct entitylock_convert convert;
		struct entitylock_label label_arg;
		struct entitylock_info info;
		char bytes[256];
	} arg;
};

static void good_call(struct __test_metadata *_metadata, struct good *good, enum verb verb)
{
	ground_check(_metadata, &good->ground);
	good->token = acquire(good->ground.domain, "a", EXCLUSIVE,
			      verb == LOCK ? ENTITYLOCK_OPEN : 0, NOWAIT);
	ASSERT_LE(0, good->token);
	ASSERT_EQ(0, token_label(good->token, "label"));
	good->fd = verb == ACQUIRE ? good->ground.domain : good->token;
	good->entity = (struct entitylock_entity)X("b");
	switch (verb) {
	case ACQUIRE:
		good->arg.acquire.label = ptr("new");
		good->arg.acquire.label_len = 3;
		/* fallthrough */
	case EXTEND:
		good->arg.acquire.count = 1;
		good->arg.acquire.entities = ptr(&good->entity);
		good->arg.acquire.entity_size = sizeof(good->entity);
		break;
	case CONVERT:
		good->arg.convert.mode = SHARED;
		break;
	case LABEL:
		good->arg.label_arg.label = ptr("new");
		good->arg.label_arg.label_len = 3;
		break;
	case INFO:
		good->entity = (struct entitylock_entity){
			.name = ptr(good->label),
			.name_len = 1,
		};
		good->arg.info.entities = ptr(&good->entity);
		good->arg.info.entity_size = sizeof(good->entity);
		good->arg.info.capacity = 1;
		good->arg.info.label = ptr(good->label);
		good->arg.info.label_len = sizeof(good->label);
		break;
	case LOCK:
	case UNLOCK:
		break;
	}
}

static int call(struct good *good, enum verb verb, void *arg)
{
	return el_ioctl(good->fd, verbs[verb].cmd, arg);
}

/* The verb works; what it made is dropped. */
static void expect_good(struct __test_metadata *_metadata, struct good *good, enum verb verb,
			unsigned long cmd, void *arg)
{
	int ret = el_ioctl(good->fd, cmd, arg);

	if (verb == ACQUIRE) {
		EXPECT_LE(0, ret);
		close(ret);
	} else {
		EXPECT_EQ(0, ret);
	}
}

static void good_end(struct __test_metadata *_metadata, struct good *good)
{
	close(good->token);
	ground_recheck(_metadata, &good->ground);
}

/* What a verb may change. */
struct snapshot {
	struct entitylock_info info;
	char label[ENTITYLOCK_LABEL_MAX];
	char names[64];
	char modes[64];
	unsigned int entities;
};

static struct snapshot take_snapshot(const struct good *good)
{
	struct snapshot shot;

	memset(&shot, 0, sizeof(shot));
	shot.info.label = ptr(shot.label);
	shot.info.label_len = sizeof(shot.label);
	el_ioctl(good->token, ENTITYLOCK_IOC_INFO, &shot.info);
	shot.info.age = 0;
	shot.info.label = 0;
	strcpy(shot.names, token_names(good->token));
	strcpy(shot.modes, token_modes(good->token));
	shot.entities = live_entities(good->ground.domain);
	return shot;
}

static bool unchanged(const struct good *good, const struct snapshot *before)
{
	struct snapshot after = take_snapshot(good);

	return !memcmp(before, &after, sizeof(after));
}

/* One bad field. */
FIXTURE(bad) {
	struct good good;
};

FIXTURE_VARIANT(bad) {
	enum verb verb;
	bool in_entity;
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

#define BAD_ENTITY(_verb, field, what, _value, _error)			\
	FIXTURE_VARIANT_ADD(bad, _verb##_entity_##field##_##what) {	\
		.verb = _verb,						\
		.in_entity = true,					\
		.offset = offsetof(struct entitylock_entity, field),	\
		.size = sizeof(((struct entitylock_entity *)0)->field),	\
		.value = _value,					\
		.error = _error,					\
	}

BAD(ACQUIRE, entitylock_acquire, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, cancel, ENTITYLOCK_CANCEL, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, seen, ENTITYLOCK_SEEN, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, holding, ENTITYLOCK_HOLDING, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, create, ENTITYLOCK_CREATE, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, two_clocks, TWO_CLOCKS, EINVAL);
BAD(ACQUIRE, entitylock_acquire, flags, gate_with_a_set, ENTITYLOCK_GATE, EINVAL);
BAD(ACQUIRE, entitylock_acquire, count, 0, 0, EINVAL);
BAD(ACQUIRE, entitylock_acquire, count, 1025, 1025, EINVAL);
BAD(ACQUIRE, entitylock_acquire, count, huge, ~0U, EINVAL);
BAD(ACQUIRE, entitylock_acquire, entities, null, 0, EFAULT);
BAD(ACQUIRE, entitylock_acquire, entities, unreadable, NO_ADDRESS, EFAULT);
BAD(ACQUIRE, entitylock_acquire, entities, kernel, KERNEL_ADDRESS, EFAULT);
BAD(ACQUIRE, entitylock_acquire, entity_size, 0, 0, EINVAL);
BAD(ACQUIRE, entitylock_acquire, entity_size, smaller, SHORT_ENTITY, EINVAL);
BAD(ACQUIRE, entitylock_acquire, label_len, 64, 64, EINVAL);
BAD(ACQUIRE, entitylock_acquire, label_len, huge, ~0U, EINVAL);
BAD(ACQUIRE, entitylock_acquire, label, null, 0, EFAULT);
BAD(ACQUIRE, entitylock_acquire, label, unreadable, NO_ADDRESS, EFAULT);
BAD(ACQUIRE, entitylock_acquire, lease, above_the_limit, ~0ULL, EINVAL);
BAD(ACQUIRE, entitylock_acquire, reserved, 1, 1, EINVAL);
BAD_ENTITY(ACQUIRE, name, null, 0, EFAULT);
BAD_ENTITY(ACQUIRE, name, unreadable, NO_ADDRESS, EFAULT);
BAD_ENTITY(ACQUIRE, name, kernel, KERNEL_ADDRESS, EFAULT);
BAD_ENTITY(ACQUIRE, name_len, 0, 0, EINVAL);
BAD_ENTITY(ACQUIRE, name_len, 256, 256, EINVAL);
BAD_ENTITY(ACQUIRE, name_len, huge, ~0U, EINVAL);
BAD_ENTITY(ACQUIRE, mode, 0, 0, EINVAL);
BAD_ENTITY(ACQUIRE, mode, 3, 3, EINVAL);
BAD_ENTITY(ACQUIRE, mode, huge, ~0U, EINVAL);
BAD_ENTITY(ACQUIRE, flags, 1, 1, EINVAL);
BAD_ENTITY(ACQUIRE, flags, unknown, UNKNOWN_FLAG, EINVAL);

BAD(LOCK, entitylock_lock, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(LOCK, entitylock_lock, flags, gate, ENTITYLOCK_GATE, EINVAL);
BAD(LOCK, entitylock_lock, flags, open, ENTITYLOCK_OPEN, EINVAL);
BAD(LOCK, entitylock_lock, flags, sealed, ENTITYLOCK_SEALED, EINVAL);
BAD(LOCK, entitylock_lock, flags, cancel, ENTITYLOCK_CANCEL, EINVAL);
BAD(LOCK, entitylock_lock, flags, two_clocks, TWO_CLOCKS, EINVAL);
BAD(LOCK, entitylock_lock, lease, above_the_limit, ~0ULL, EINVAL);

BAD(UNLOCK, entitylock_unlock, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(UNLOCK, entitylock_unlock, flags, async, ENTITYLOCK_ASYNC, EINVAL);
BAD(UNLOCK, entitylock_unlock, flags, cancel_on_held, ENTITYLOCK_CANCEL, EBADFD);
BAD(UNLOCK, entitylock_unlock, reserved, 1, 1, EINVAL);
BAD(UNLOCK, entitylock_unlock, fence, stale, 1, ESTALE);
BAD(UNLOCK, entitylock_unlock, fence, of_the_future, ~0ULL, ESTALE);

BAD(CONVERT, entitylock_convert, mode, 0, 0, EINVAL);
BAD(CONVERT, entitylock_convert, mode, 3, 3, EINVAL);
BAD(CONVERT, entitylock_convert, mode, huge, ~0U, EINVAL);
BAD(CONVERT, entitylock_convert, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(CONVERT, entitylock_convert, flags, gate, ENTITYLOCK_GATE, EINVAL);
BAD(CONVERT, entitylock_convert, flags, open, ENTITYLOCK_OPEN, EINVAL);
BAD(CONVERT, entitylock_convert, flags, robust, ENTITYLOCK_ROBUST, EINVAL);
BAD(CONVERT, entitylock_convert, flags, sealed, ENTITYLOCK_SEALED, EINVAL);
BAD(CONVERT, entitylock_convert, flags, if_unchanged, ENTITYLOCK_IF_UNCHANGED, EINVAL);
BAD(CONVERT, entitylock_convert, flags, two_clocks, TWO_CLOCKS, EINVAL);

BAD(EXTEND, entitylock_acquire, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(EXTEND, entitylock_acquire, flags, gate, ENTITYLOCK_GATE, EINVAL);
BAD(EXTEND, entitylock_acquire, flags, open, ENTITYLOCK_OPEN, EINVAL);
BAD(EXTEND, entitylock_acquire, flags, robust, ENTITYLOCK_ROBUST, EINVAL);
BAD(EXTEND, entitylock_acquire, flags, sealed, ENTITYLOCK_SEALED, EINVAL);
BAD(EXTEND, entitylock_acquire, flags, two_clocks, TWO_CLOCKS, EINVAL);
BAD(EXTEND, entitylock_acquire, count, 0, 0, EINVAL);
BAD(EXTEND, entitylock_acquire, count, 1025, 1025, EINVAL);
BAD(EXTEND, entitylock_acquire, entities, null, 0, EFAULT);
BAD(EXTEND, entitylock_acquire, entities, unreadable, NO_ADDRESS, EFAULT);
BAD(EXTEND, entitylock_acquire, entity_size, 0, 0, EINVAL);
BAD(EXTEND, entitylock_acquire, entity_size, smaller, SHORT_ENTITY, EINVAL);
BAD(EXTEND, entitylock_acquire, label_len, 1, 1, EINVAL);
BAD(EXTEND, entitylock_acquire, lease, 1, NSEC_PER_SEC, EINVAL);
BAD(EXTEND, entitylock_acquire, reserved, 1, 1, EINVAL);
BAD_ENTITY(EXTEND, name, null, 0, EFAULT);
BAD_ENTITY(EXTEND, name, unreadable, NO_ADDRESS, EFAULT);
BAD_ENTITY(EXTEND, name_len, 0, 0, EINVAL);
BAD_ENTITY(EXTEND, name_len, 256, 256, EINVAL);
BAD_ENTITY(EXTEND, mode, 0, 0, EINVAL);
BAD_ENTITY(EXTEND, mode, 3, 3, EINVAL);
BAD_ENTITY(EXTEND, flags, 1, 1, EINVAL);

BAD(LABEL, entitylock_label, label, null, 0, EFAULT);
BAD(LABEL, entitylock_label, label, unreadable, NO_ADDRESS, EFAULT);
BAD(LABEL, entitylock_label, label_len, 64, 64, EINVAL);
BAD(LABEL, entitylock_label, label_len, huge, ~0U, EINVAL);
BAD(LABEL, entitylock_label, reserved, 1, 1, EINVAL);

BAD(INFO, entitylock_info, flags, unknown, UNKNOWN_FLAG, EINVAL);
BAD(INFO, entitylock_info, flags, async, ENTITYLOCK_ASYNC, EINVAL);
BAD(INFO, entitylock_info, entities, null, 0, EFAULT);
BAD(INFO, entitylock_info, entities, unreadable, NO_ADDRESS, EFAULT);
BAD(INFO, entitylock_info, entity_size, 0, 0, EINVAL);
BAD(INFO, entitylock_info, entity_size, smaller, SHORT_ENTITY, EINVAL);
BAD(INFO, entitylock_info, entity_size, large, 1 << 20, E2BIG);
BAD(INFO, entitylock_info, label, null, 0, EFAULT);
BAD(INFO, entitylock_info, label, unreadable, NO_ADDRESS, EFAULT);
BAD(INFO, entitylock_info, reserved, 1, 1, EINVAL);
BAD_ENTITY(INFO, name, unreadable, NO_ADDRESS, EFAULT);

/* L2: a failed verb changes nothing. */
TEST_F(bad, L2_is_refused_and_changes_nothing)
{
	struct good *good = &self->good;
	struct snapshot before = take_snapshot(good);
	char *fields = variant->in_entity ? (char *)&good->entity : good->arg.bytes;
	char saved[sizeof(good->arg.bytes)];
	struct entitylock_entity entity = good->entity;

	memcpy(saved, good->arg.bytes, sizeof(saved));
	memcpy(fields + variant->offset, &variant->value, variant->size);
	EXPECT_EQ(-variant->error, call(good, variant->verb, &good->arg));
	EXPECT_TRUE(unchanged(good, &before));
	memcpy(good->arg.bytes, saved, sizeof(saved));
	good->entity = entity;
	expect_good(_metadata, good, variant->verb, verbs[variant->verb].cmd, &good->arg);
}

/* What is wrong with the argument as a whole, for each verb. */
FIXTURE(verb) {
	struct good good;
};

FIXTURE_VARIANT(verb) {
	enum verb verb;
};

#define VERB(_verb) FIXTURE_VARIANT_ADD(verb, _verb) { .verb = _verb }

VERB(ACQUIRE);
VERB(LOCK);
VERB(UNLOCK);
VERB(CONVERT);
VERB(EXTEND);
VERB(LABEL);
VERB(INFO);

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
	struct snapshot before = take_snapshot(good);
	long page = sysconf(_SC_PAGESIZE);
	char *hidden = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	ASSERT_NE(MAP_FAILED, hidden);
	EXPECT_EQ(-EFAULT, call(good, variant->verb, NULL));
	EXPECT_EQ(-EFAULT, call(good, variant->verb, (void *)NO_ADDRESS));
	/* Its last byte is in a page that cannot be read. */
	ASSERT_EQ(0, mprotect(hidden + page, page, PROT_NONE));
	memcpy(hidden + page - verbs[variant->verb].size + 1, &good->arg,
	       verbs[variant->verb].size - 1);
	EXPECT_EQ(-EFAULT, call(good, variant->verb,
				hidden + page - verbs[variant->verb].size + 1));
	EXPECT_TRUE(unchanged(good, &before));
	munmap(hidden, 2 * page);
	expect_good(_metadata, good, variant->verb, verbs[variant->verb].cmd, &good->arg);
}

/* Structs: the first published size is the least accepted. */
TEST_F(verb, ABI_smaller_struct_is_EINVAL)
{
	struct good *good = &self->good;
	struct snapshot before = take_snapshot(good);
	size_t size = verbs[variant->verb].size;
	const size_t sizes[] = { 0, 8, size - 8, size - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_EQ(-EINVAL, el_ioctl(good->fd,
					    resized(verbs[variant->verb].cmd, sizes[i]),
					    &good->arg));
	EXPECT_TRUE(unchanged(good, &before));
	expect_good(_metadata, good, variant->verb, verbs[variant->verb].cmd, &good->arg);
}

/* Structs: growth at the end: a longer struct whose unknown tail is zero. */
TEST_F(verb, ABI_longer_struct_with_a_zero_tail_is_taken)
{
	struct good *good = &self->good;
	unsigned long cmd = resized(verbs[variant->verb].cmd, verbs[variant->verb].size + 64);

	expect_good(_metadata, good, variant->verb, cmd, &good->arg);
}

/* Structs: a tail that says something unknown is E2BIG. */
TEST_F(verb, ABI_longer_struct_with_a_tail_is_E2BIG)
{
	struct good *good = &self->good;
	struct snapshot before = take_snapshot(good);
	size_t size = verbs[variant->verb].size;
	unsigned long cmd = resized(verbs[variant->verb].cmd, size + 64);

	for (size_t at = size; at < size + 64; at += 63) {
		good->arg.bytes[at] = 1;
		EXPECT_EQ(-E2BIG, el_ioctl(good->fd, cmd, &good->arg));
		good->arg.bytes[at] = 0;
	}
	EXPECT_TRUE(unchanged(good, &before));
	expect_good(_metadata, good, variant->verb, cmd, &good->arg);
}

static void *read_only_copy(const void *from, size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, from, size);
	mprotect(page, size, PROT_READ);
	return page;
}

/* L2: results that cannot be written: given back as if never granted. */
TEST_F(verb, L2_argument_that_cannot_be_written)
{
	struct good *good = &self->good;
	struct snapshot before = take_snapshot(good);
	void *arg = read_only_copy(&good->arg, sizeof(good->arg));

	if (!verbs[variant->verb].has_output) {
		expect_good(_metadata, good, variant->verb, verbs[variant->verb].cmd, arg);
		return;
	}
	EXPECT_EQ(-EFAULT, call(good, variant->verb, arg));
	EXPECT_TRUE(unchanged(good, &before));
	EXPECT_EQ(0, try_lock(good->ground.domain, "b", EXCLUSIVE));
	expect_good(_metadata, good, variant->verb, verbs[variant->verb].cmd, &good->arg);
}

/* L2: the results of the entities cannot be written. */
TEST_F(entitylock, L2_entities_that_cannot_be_written)
{
	struct entitylock_entity set[] = { X("b"), X("c") };
	struct entitylock_entity *fixed = read_only_copy(set, sizeof(set));
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	struct entitylock_info info = {
		.entities = ptr(fixed),
		.entity_size = sizeof(*fixed),
		.capacity = 2,
	};

	ASSERT_LE(0, token);
	EXPECT_EQ(-EFAULT, acquire_set(self->domain, fixed, 2, 0, NOWAIT));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(-EFAULT, token_extend(token, fixed, 2, 0, NOWAIT));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(1, live_entities(self->domain));
	munmap(fixed, sizeof(set));
	close(token);
}

/* L2: a grant is given back, and passes on to who is next. */
TEST_F(entitylock, L2_grant_given_back_goes_to_the_next)
{
	struct entitylock_entity entity = X("a");
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.deadline = FOREVER,
	};
	struct entitylock_acquire *fixed = read_only_copy(&arg, sizeof(arg));
	int holder = hold(self->domain, "a");
	struct call first, second;
	int token;

	ASSERT_LE(0, holder);
	call_start(&first, self->domain, ENTITYLOCK_IOC_ACQUIRE, fixed);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	call_acquire(&second, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 2));
	close(holder);
	EXPECT_EQ(-EFAULT, call_result(&first));
	token = call_result(&second);
	EXPECT_LE(0, token);
	close(token);
	munmap(fixed, sizeof(arg));
}

/* L2: the results' memory goes away while the verb waits. */
TEST_F(entitylock, L2_results_unmapped_while_waiting)
{
	long page = sysconf(_SC_PAGESIZE);
	struct entitylock_lock *arg = mmap(NULL, page, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct call call;

	ASSERT_NE(MAP_FAILED, arg);
	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	arg->deadline = FOREVER;
	call_start(&call, token, ENTITYLOCK_IOC_LOCK, arg);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	munmap(arg, page);
	close(holder);
	EXPECT_EQ(-EFAULT, call_result(&call));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_fence(token));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* Structs: elements of a longer kind: the stride is entity_size, the tail zero. */
TEST_F(entitylock, ABI_entities_may_grow)
{
	struct {
		struct entitylock_entity entity;
		__u64 later;
	} set[] = { { X("b"), 0 }, { X("a"), 0 } };
	struct entitylock_acquire arg = {
		.count = 2,
		.entities = ptr(set),
		.entity_size = sizeof(set[0]),
	};
	char names[2][8];
	struct entitylock_info info = {
		.entities = ptr(set),
		.entity_size = sizeof(set[0]),
		.capacity = 2,
	};
	int token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);

	ASSERT_LE(0, token);
	EXPECT_STREQ("a b", token_names(token));
	for (int i = 0; i < 2; i++) {
		set[i].entity.name = ptr(names[i]);
		set[i].entity.name_len = sizeof(names[i]);
	}
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ('a', names[0][0]);
	EXPECT_EQ('b', names[1][0]);
	close(token);

	for (int i = 0; i < 2; i++)
		set[i].entity = (struct entitylock_entity)X("a");
	set[1].later = 1;
	EXPECT_EQ(-E2BIG, el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg));
}

/* Errors: the last of 1,024 entities is bad: nothing is taken. */
TEST_F(entitylock, L2_one_bad_entity_among_1024)
{
	static struct numbered many;

	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	many.set[1023].mode = 7;
	EXPECT_EQ(-EINVAL, acquire_set(self->domain, many.set, 1024, 0, NOWAIT));
	many.set[1023].mode = EXCLUSIVE;
	many.set[1023].name = NO_ADDRESS;
	EXPECT_EQ(-EFAULT, acquire_set(self->domain, many.set, 1024, 0, NOWAIT));
	EXPECT_EQ(0, live_entities(self->domain));
}

/* Errors: an element size so large that the array's end overflows. */
TEST_F(entitylock, EINVAL_or_worse_for_an_absurd_entity_size)
{
	static struct numbered many;
	struct entitylock_acquire arg = {
		.count = 1024,
		.entities = ptr(many.set),
		.entity_size = ~0U & ~7U,
	};

	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	EXPECT_GT(0, el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg));
	EXPECT_EQ(0, live_entities(self->domain));
}

/* L8: ACQUIRE reserves its fd before it waits: EMFILE at once, not after the wait. */
TEST_F(entitylock, L8_EMFILE_before_any_wait)
{
	int holder = hold(self->domain, "a");
	struct rlimit saved, none = { 0 };

	ASSERT_LE(0, holder);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &saved));
	none.rlim_max = saved.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER));
	EXPECT_EQ(-EMFILE, acquire(self->domain, "b", EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(-EMFILE, acquire(self->domain, "b", EXCLUSIVE, ENTITYLOCK_OPEN, NOWAIT));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &saved));
	EXPECT_EQ(0, token_waiters(holder));
	EXPECT_EQ(1, live_entities(self->domain));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(holder);
}

/* Errors: ENFILE, for a user whom the system's limit binds. */
TEST_F(entitylock, ENFILE_when_the_system_has_no_file)
{
	char saved[32] = "";
	FILE *file = fopen("/proc/sys/fs/file-max", "re");
	int go[2];
	pid_t pid;

	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(saved, sizeof(saved), file));
	fclose(file);
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = spawn();
	if (!pid) {
		char byte;

		if (setresuid(65534, 65534, 65534) || read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(hold(self->domain, "a") == -ENFILE ? 0 : 2);
	}
	/* 0: the kernel compares an estimate first, which is low where few are open. */
	ASSERT_EQ(0, write_file("/proc/sys/fs/file-max", "0"));
	EXPECT_EQ(1, write(go[1], "", 1));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, write_file("/proc/sys/fs/file-max", saved));
	close(go[0]);
	close(go[1]);
}

/* D2: ACQUIRE needs an fd open for writing, read(2) one open for reading. */
TEST_F(entitylock, D2_EBADF_by_the_mode_of_the_open)
{
	int reader = domain_open(O_RDONLY);
	int writer = domain_open(O_WRONLY);
	int path = domain_open(O_PATH);
	char byte;

	ASSERT_LE(0, reader);
	ASSERT_LE(0, writer);
	ASSERT_LE(0, path);
	EXPECT_EQ(-EBADF, hold(reader, "a"));
	EXPECT_EQ(-EBADF, idle(reader, "a"));
	EXPECT_EQ(-1, read(writer, &byte, 1));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(-EBADF, hold(path, "a"));
	EXPECT_EQ(0, try_lock(writer, "a", EXCLUSIVE));
	EXPECT_EQ(1, read(reader, &byte, 1));
	close(reader);
	close(writer);
	close(path);
}

/* Bad input: fds of other kinds know none of the verbs. */
TEST_F(entitylock, ENOTTY_from_fds_of_other_kinds)
{
	int pair[2];
	int others[] = {
		open("/dev/null", O_RDWR | O_CLOEXEC),
		eventfd(0, EFD_CLOEXEC),
		memfd_create("none", MFD_CLOEXEC),
		open("/proc/self/status", O_RDONLY | O_CLOEXEC),
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ? -1 : pair[0],
	};
	char space[256] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		ASSERT_LE(0, others[i]);
		for (size_t v = 0; v < ARRAY_SIZE(verbs); v++)
			EXPECT_EQ(-ENOTTY, el_ioctl(others[i], verbs[v].cmd, space));
		close(others[i]);
	}
	close(pair[1]);
	EXPECT_EQ(-EBADF, unlock(-1));
}

/* L7: a second UNLOCK, LOCK on a HELD token: EBADFD, nothing is masked. */
TEST_F(entitylock, L7_EBADFD_in_the_wrong_state)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	EXPECT_EQ(-EBADFD, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EBADFD, token_lock(token, 0, FOREVER));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(-EBADFD, unlock(token));
	EXPECT_EQ(-EBADFD, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L7: with a fence it acts on that grant only. */
TEST_F(entitylock, L7_ESTALE_for_the_fence_of_an_earlier_grant)
{
	int token = hold(self->domain, "a");
	__u64 first = token_fence(token), second;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_unlock(token, 0, first));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	second = token_fence(token);
	EXPECT_EQ(-ESTALE, token_unlock(token, 0, first));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, token_unlock(token, 0, second));
	close(token);
}

/* L7: the grant that is held while more is waited for is meant by its number, too. */
TEST_F(entitylock, L7_the_fence_of_what_is_held_while_more_is_awaited)
{
	int token = hold(self->domain, "a"), busy = hold(self->domain, "b");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, busy);
	for (int cancel = 1; cancel >= 0; cancel--) {
		__u32 flags = cancel ? ENTITYLOCK_CANCEL : 0;

		ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
		EXPECT_EQ(-ESTALE, token_unlock(token, flags, fence - 1));
		EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
		EXPECT_EQ(0, token_unlock(token, flags, fence));
		EXPECT_EQ(cancel ? ENTITYLOCK_HELD : ENTITYLOCK_IDLE, token_state(token));
	}
	close(busy);
	close(token);
}

SELFTEST_MAIN
