// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the order of names, and sets.
 */
#include <kunit/test.h>
#include <linux/overflow.h>
#include <linux/random.h>

#include <linux/entitylock.h>

#include "../order.c"

static struct el_entity *named(struct kunit *test, const char *name, u8 len)
{
	struct el_entity *entity;

	entity = kunit_kzalloc(test, struct_size(entity, name, len), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, entity);
	entity->name_len = len;
	memcpy(entity->name, name, len);
	return entity;
}

static struct el_hold *hold_on(struct kunit *test, struct el_entity *entity, u8 want)
{
	struct el_hold *hold = kunit_kzalloc(test, sizeof(*hold), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, hold);
	hold->entity = entity;
	hold->want = want;
	return hold;
}

static void names_in_order(struct kunit *test)
{
	/* Each before the next: a prefix first, bytes without a sign, a zero counts. */
	static const struct {
		const char *name;
		u8 len;
	} names[] = {
		{ "\0", 1 }, { "\0\0", 2 }, { "\0\1", 2 }, { "A", 1 }, { "a", 1 },
		{ "a\0", 2 }, { "aa", 2 }, { "ab", 2 }, { "b", 1 }, { "\x7f", 1 },
		{ "\x80", 1 }, { "\xff", 1 }, { "\xff\xff", 2 },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (j = 0; j < ARRAY_SIZE(names); j++) {
			int order = el_order_compare(named(test, names[i].name, names[i].len),
						     named(test, names[j].name, names[j].len));

			KUNIT_EXPECT_EQ_MSG(test, (order > 0) - (order < 0), (i > j) - (i < j),
					    "%u and %u", i, j);
		}
	}
}

static void sorted_and_unique(struct kunit *test)
{
	struct el_entity *entities[16];
	struct el_hold *set[64];
	u32 i, unique;

	for (i = 0; i < 16; i++) {
		char name = 'a' + i;

		entities[i] = named(test, &name, 1);
	}
	/* Each entity four times, in disorder; the last asks for more. */
	for (i = 0; i < 64; i++)
		set[i] = hold_on(test, entities[i * 7 % 16], i < 48 ? ENTITYLOCK_SHARED :
							      ENTITYLOCK_EXCLUSIVE);
	el_order_sort(set, 64);
	for (i = 1; i < 64; i++)
		KUNIT_EXPECT_LE(test, el_order_compare(set[i - 1]->entity, set[i]->entity), 0);

	unique = el_order_unique(set, 64);
	KUNIT_ASSERT_EQ(test, unique, 16u);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_PTR_EQ(test, set[i]->entity, entities[i]);
		KUNIT_EXPECT_EQ(test, set[i]->want, ENTITYLOCK_EXCLUSIVE);
	}
}

static void unique_keeps_every_hold(struct kunit *test)
{
	struct el_entity *entity = named(test, "x", 1);
	struct el_hold *set[3], *all[3];
	u32 i, j, found;

	for (i = 0; i < 3; i++) {
		all[i] = hold_on(test, entity, ENTITYLOCK_SHARED);
		set[i] = all[i];
	}
	KUNIT_EXPECT_EQ(test, el_order_unique(set, 3), 1u);
	for (i = 0; i < 3; i++) {
		for (found = 0, j = 0; j < 3; j++)
			found += set[j] == all[i];
		KUNIT_EXPECT_EQ(test, found, 1u);
	}
}

static void merged(struct kunit *test)
{
	struct el_hold *old[3], *fresh[3], *out[6];
	struct el_entity *entities[5];
	u32 i;

	for (i = 0; i < 5; i++) {
		char name = 'a' + i;

		entities[i] = named(test, &name, 1);
	}
	/* b c e, and a c d: c is in both, and stays. */
	old[0] = hold_on(test, entities[1], ENTITYLOCK_SHARED);
	old[1] = hold_on(test, entities[2], ENTITYLOCK_SHARED);
	old[2] = hold_on(test, entities[4], ENTITYLOCK_SHARED);
	fresh[0] = hold_on(test, entities[0], ENTITYLOCK_EXCLUSIVE);
	fresh[1] = hold_on(test, entities[2], ENTITYLOCK_EXCLUSIVE);
	fresh[2] = hold_on(test, entities[3], ENTITYLOCK_EXCLUSIVE);

	KUNIT_EXPECT_EQ(test, el_order_union(NULL, old, 3, fresh, 3), 5u);
	KUNIT_ASSERT_EQ(test, el_order_union(out, old, 3, fresh, 3), 5u);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_PTR_EQ(test, out[i]->entity, entities[i]);
	KUNIT_EXPECT_PTR_EQ(test, out[2], old[1]);

	KUNIT_EXPECT_EQ(test, el_order_union(out, old, 3, fresh, 0), 3u);
	KUNIT_EXPECT_EQ(test, el_order_union(out, old, 0, fresh, 3), 3u);
}

static void found(struct kunit *test)
{
	struct el_hold *set[31];
	struct el_entity *other;
	u32 i;

	for (i = 0; i < 31; i++) {
		char name = 2 * i + 1;

		set[i] = hold_on(test, named(test, &name, 1), ENTITYLOCK_SHARED);
	}
	for (i = 0; i < 31; i++) {
		KUNIT_EXPECT_PTR_EQ(test, el_order_find(set, 31, set[i]->entity), set[i]);
		other = named(test, (char []){ 2 * i }, 1);
		KUNIT_EXPECT_NULL(test, el_order_find(set, 31, other));
	}
	KUNIT_EXPECT_NULL(test, el_order_find(set, 0, set[0]->entity));
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE(names_in_order),
	KUNIT_CASE(sorted_and_unique),
	KUNIT_CASE(unique_keeps_every_hold),
	KUNIT_CASE(merged),
	KUNIT_CASE(found),
	{}
};

static struct kunit_suite order_suite = {
	.name = "entitylock_order",
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
