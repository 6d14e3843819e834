// SPDX-License-Identifier: GPL-2.0
/* ACQUIRE, LOCK, UNLOCK, LABEL: the good path, sets, their order. */
#include "harness.h"

/* Verbs: ACQUIRE makes a token and locks it, returns its fd, always close-on-exec. */
TEST_F(entitylock, ACQUIRE_locks_and_returns_an_fd)
{
	struct entitylock_entity entity = X("a");
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.deadline = NOWAIT,
		/* Output fields are ignored on entry. */
		.fence = ~0ULL,
		.result = ~0U,
	};
	int token;

	entity.result = ~0U;
	token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_NE(0, arg.fence);
	EXPECT_NE(~0ULL, arg.fence);
	EXPECT_EQ(arg.fence, token_fence(token));
	EXPECT_EQ(0, arg.result);
	EXPECT_EQ(0, entity.result);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	EXPECT_EQ(1, live_entities(self->domain));
	close(token);
	EXPECT_EQ(0, live_entities(self->domain));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
}

/* L9: the lock goes with the token, not with the domain fd that made it. */
TEST_F(entitylock, L9_token_outlives_its_domain_fd)
{
	int domain = domain_open(O_RDWR);
	int token = hold(domain, "a");

	ASSERT_LE(0, token);
	close(domain);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* Flags: OPEN makes the token IDLE and does not lock. */
TEST_F(entitylock, OPEN_makes_an_idle_token)
{
	int other = hold(self->domain, "a");
	int token = idle(self->domain, "a");

	ASSERT_LE(0, other);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, token_fence(token));
	EXPECT_EQ(0, token_waiters(other));
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	close(other);
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

/* Nouns: an entity exists while a token refers to it, and leaves nothing behind. */
TEST_F(entitylock, NOUN_entity_lives_as_long_as_its_tokens)
{
	int first = idle(self->domain, "a");
	int second = idle(self->domain, "a");

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	EXPECT_EQ(1, live_entities(self->domain));
	close(first);
	EXPECT_EQ(1, live_entities(self->domain));
	close(second);
	EXPECT_EQ(0, live_entities(self->domain));
}

/* Verbs: LOCK locks an IDLE token's set again, UNLOCK makes it IDLE at once. */
TEST_F(entitylock, LOCK_and_UNLOCK_alternate)
{
	__u64 last = 0;
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (int i = 0; i < 100; i++) {
		struct entitylock_lock arg = { .fence = ~0ULL, .result = ~0U };

		ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg));
		EXPECT_EQ(0, arg.result);
		EXPECT_LT(last, arg.fence);
		EXPECT_EQ(arg.fence, token_fence(token));
		EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
		EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		ASSERT_EQ(0, unlock(token));
		EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
		EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		last = arg.fence;
	}
	close(token);
}

/* L1: the same thread takes twice: it waits, and is never silently granted. */
TEST_F(entitylock, L1_a_second_token_of_the_same_thread_waits)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, hold(self->domain, "a"));
	EXPECT_EQ(-ETIMEDOUT, acquire(self->domain, "a", EXCLUSIVE, 0, in_ms(20)));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	close(token);
}

static void check_set(struct __test_metadata *_metadata, int domain, unsigned int count)
{
	static struct numbered many;
	static struct entitylock_entity got[ENTITYLOCK_SET_MAX];
	static char names[ENTITYLOCK_SET_MAX][12];
	struct entitylock_info info = {
		.entities = ptr(got),
		.entity_size = sizeof(got[0]),
		.capacity = count,
	};
	const unsigned int probes[] = { 0, count / 2, count - 1 };
	int token;

	numbered_set(&many, 0, count, EXCLUSIVE);
	/* Any order but that of the names. */
	for (unsigned int i = 0; i < count; i++) {
		unsigned int j = (unsigned long)i * 7919 % count;
		struct entitylock_entity tmp = many.set[i];

		many.set[i] = many.set[j];
		many.set[j] = tmp;
	}
	token = acquire_set(domain, many.set, count, 0, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(count, live_entities(domain));
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		EXPECT_EQ(-EAGAIN, try_lock(domain, many.names[probes[i]], EXCLUSIVE));

	for (unsigned int i = 0; i < count; i++)
		got[i] = (struct entitylock_entity){
			.name = ptr(names[i]),
			.name_len = sizeof(names[i]),
		};
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(count, info.count);
	for (unsigned int i = 0; i < count; i++) {
		ASSERT_EQ(8, got[i].name_len);
		EXPECT_EQ(0, memcmp(names[i], many.names[i], 8));
		EXPECT_EQ(EXCLUSIVE, got[i].mode);
	}
	ASSERT_EQ(0, unlock(token));
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		EXPECT_EQ(0, try_lock(domain, many.names[probes[i]], EXCLUSIVE));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-EAGAIN, try_lock(domain, many.names[count - 1], EXCLUSIVE));
	close(token);
	EXPECT_EQ(0, live_entities(domain));
}

/* L1, L2: a set of any size is taken as a whole, in the order of names. */
TEST_F(entitylock, L2_a_set_of_any_size_is_locked_as_a_whole)
{
	static const unsigned int sizes[] = { 1, 2, 3, 63, 64, 65, 128, 1023, 1024 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_set(_metadata, self->domain, sizes[i]);
}

/* L1: names are ordered bytewise, unsigned, a prefix first. */
TEST_F(entitylock, L1_names_are_ordered_bytewise)
{
	static const struct {
		const char *bytes;
		__u32 len;
	} ordered[] = {
		{ "\0", 1 }, { "\0\0", 2 }, { "\0a", 2 }, { "\x01", 1 }, { "A", 1 },
		{ "a", 1 }, { "a\0", 2 }, { "aa", 2 }, { "ab", 2 }, { "b", 1 },
		{ "\x7f", 1 }, { "\x80", 1 }, { "\xff", 1 }, { "\xff\xff", 2 },
	};
	struct entitylock_entity set[ARRAY_SIZE(ordered)], got[ARRAY_SIZE(ordered)];
	char names[ARRAY_SIZE(ordered)][8];
	struct entitylock_info info = {
		.entities = ptr(got),
		.entity_size = sizeof(got[0]),
		.capacity = ARRAY_SIZE(got),
	};
	int token;

	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		set[ARRAY_SIZE(ordered) - 1 - i] = (struct entitylock_entity){
			.name = ptr(ordered[i].bytes),
			.name_len = ordered[i].len,
			.mode = EXCLUSIVE,
		};
		got[i] = (struct entitylock_entity){
			.name = ptr(names[i]),
			.name_len = sizeof(names[i]),
		};
	}
	token = acquire_set(self->domain, set, ARRAY_SIZE(set), 0, NOWAIT);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	ASSERT_EQ(ARRAY_SIZE(ordered), info.count);
	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		EXPECT_EQ(ordered[i].len, got[i].name_len);
		EXPECT_EQ(0, memcmp(ordered[i].bytes, names[i], ordered[i].len));
	}
	close(token);
}

/* L1: a duplicate counts once. */
TEST_F(entitylock, L1_duplicates_count_once)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("b"), X("a"), X("b"), X("a"), X("b"));

	ASSERT_LE(0, token);
	EXPECT_EQ(2, token_info(token).count);
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_EQ(2, live_entities(self->domain));
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
}

/* L1: a duplicate takes its stronger mode. */
TEST_F(entitylock, L1_duplicates_take_the_stronger_mode)
{
	int token = acquire_these(self->domain, 0, NOWAIT, S("a"), X("b"), X("a"), S("b"), S("c"),
				  S("c"));

	ASSERT_LE(0, token);
	EXPECT_STREQ("a b c", token_names(token));
	EXPECT_STREQ("xxs", token_modes(token));
	close(token);
}

/* L1: a thousand duplicates are one entity. */
TEST_F(entitylock, L1_a_set_of_one_name_a_thousand_times)
{
	static struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	int token;

	for (size_t i = 0; i < ARRAY_SIZE(set); i++)
		set[i] = (struct entitylock_entity)X("a");
	token = acquire_set(self->domain, set, ARRAY_SIZE(set), 0, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(1, token_info(token).count);
	close(token);
}

/* Nouns: an entity's name is 1 to 255 bytes, any bytes. */
TEST_F(entitylock, NOUN_names_of_every_length_and_byte)
{
	unsigned char name[ENTITYLOCK_NAME_MAX];

	for (unsigned int len = 1; len <= sizeof(name); len++) {
		struct entitylock_entity entity = {
			.name = ptr(name),
			.name_len = len,
			.mode = EXCLUSIVE,
		};
		int token, again;

		for (unsigned int i = 0; i < len; i++)
			name[i] = len * 31 + i;
		token = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
		ASSERT_LE(0, token);
		EXPECT_EQ(-EAGAIN, acquire_set(self->domain, &entity, 1, 0, NOWAIT));
		/* One other byte, at its end, is another name. */
		name[len - 1]++;
		again = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
		EXPECT_LE(0, again);
		close(again);
		close(token);
	}
}

/* L2: with one entity busy, nothing of the set is taken. */
TEST_F(entitylock, L2_a_set_with_one_busy_entity_takes_nothing)
{
	int busy = hold(self->domain, "b");

	ASSERT_LE(0, busy);
	EXPECT_EQ(-EAGAIN, acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"), X("c")));
	EXPECT_EQ(-ETIMEDOUT, acquire_these(self->domain, 0, PASSED, X("a"), X("b"), X("c")));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(0, token_waiters(busy));
	close(busy);
}

/* Verbs: LABEL makes the caller the recorded owner, with a new label. */
TEST_F(entitylock, LABEL_replaces_the_label)
{
	char text[ENTITYLOCK_LABEL_MAX];
	struct entitylock_info info = { .label = ptr(text), .label_len = sizeof(text) };
	struct entitylock_entity entity = X("a");
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.label = ptr("import"),
		.label_len = 6,
	};
	int token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(6, info.label_len);
	EXPECT_EQ(0, memcmp("import", text, 6));

	ASSERT_EQ(0, token_label(token, "export"));
	info.label_len = sizeof(text);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(6, info.label_len);
	EXPECT_EQ(0, memcmp("export", text, 6));

	ASSERT_EQ(0, token_label(token, ""));
	info.label_len = sizeof(text);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(0, info.label_len);
	close(token);
}

SELFTEST_MAIN
