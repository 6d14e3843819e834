// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: numbers of grants.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "../fence.c"

static int fence_test_init(struct kunit *test)
{
	el_fence_init();
	return 0;
}

static void above_what_it_must_follow(struct kunit *test)
{
	u64 fence = el_fence_next(0), far = fence + 1000000;

	KUNIT_EXPECT_GT(test, el_fence_next(fence), fence);
	KUNIT_EXPECT_GT(test, el_fence_next(far), far);
	KUNIT_EXPECT_GT(test, el_fence_max(), far);
}

static void floors_of_what_was_reclaimed(struct kunit *test)
{
	const u32 hash = 12345, alike = hash + 1, other = hash + (1U << 31);
	u64 before = el_fence_reclaimed(other);

	el_fence_reclaim(hash, 200, 100);
	KUNIT_EXPECT_EQ(test, el_fence_reclaimed(hash), 200ull);
	KUNIT_EXPECT_EQ(test, el_version_reclaimed(hash), 100ull);
	/* A floor never sinks, and those that share it keep the greatest. */
	el_fence_reclaim(hash, 150, 50);
	KUNIT_EXPECT_EQ(test, el_fence_reclaimed(hash), 200ull);
	el_fence_reclaim(alike, 300, 250);
	KUNIT_EXPECT_EQ(test, el_fence_reclaimed(hash), 300ull);
	KUNIT_EXPECT_EQ(test, el_version_reclaimed(hash), 250ull);
	KUNIT_EXPECT_EQ(test, el_fence_reclaimed(other), before);
}

/*
 * One entity's holders on many CPUs: each takes the last one's number, as an
 * exclusive grant does, and must get a greater one.
 */
struct chain {
	spinlock_t lock;	/* as an entity has one */
	u64 last;
	unsigned int grants;
	unsigned int falls;
};

static int hold_in_turn(void *data)
{
	struct chain *chain = data;
	unsigned int i;
	u64 fence;

	for (i = 0; i < 10000; i++) {
		spin_lock(&chain->lock);
		fence = el_fence_next(chain->last);
		chain->falls += fence <= chain->last;
		chain->last = fence;
		chain->grants++;
		spin_unlock(&chain->lock);
		if (i % 64 == 0)
			schedule();
	}
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

static void rises_from_holder_to_holder(struct kunit *test)
{
	struct task_struct *threads[4];
	struct chain chain = {};
	int i;

	spin_lock_init(&chain.lock);
	for (i = 0; i < 4; i++) {
		threads[i] = kthread_run(hold_in_turn, &chain, "el_fence_test");
		KUNIT_ASSERT_FALSE(test, IS_ERR(threads[i]));
	}
	while (READ_ONCE(chain.grants) < 40000)
		schedule_timeout_idle(1);
	for (i = 0; i < 4; i++)
		kthread_stop(threads[i]);
	KUNIT_EXPECT_EQ(test, chain.falls, 0u);
	/* What a gate would read once all have ended. */
	KUNIT_EXPECT_GE(test, el_fence_max(), chain.last);
}

static struct kunit_case fence_cases[] = {
	KUNIT_CASE(above_what_it_must_follow),
	KUNIT_CASE(floors_of_what_was_reclaimed),
	KUNIT_CASE(rises_from_holder_to_holder),
	{}
};

static struct kunit_suite fence_suite = {
	.name = "entitylock_fence",
	.init = fence_test_init,
	.test_cases = fence_cases,
};

kunit_test_suite(fence_suite);
