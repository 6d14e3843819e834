// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the grant queue.
 */
#include <kunit/test.h>

#include <linux/entitylock.h>

#include "../queue.c"

#define S	ENTITYLOCK_SHARED
#define X	ENTITYLOCK_EXCLUSIVE

/* Holds in the order in which they were granted after a wait. */
static struct el_hold *order[3 * EL_BATCH];
static unsigned int nr_granted;

static void note_granted(struct el_hold *hold)
{
	order[nr_granted++] = hold;
}

static bool ask(struct el_queue *queue, struct el_hold *hold, u8 want)
{
	if (!hold->mode)
		INIT_LIST_HEAD(&hold->link);
	hold->want = want;
	if (el_queue_try(queue, hold))
		return true;
	if (el_queue_may_wait(queue, hold))
		el_queue_wait(queue, hold);
	return false;
}

static void grant_all(struct el_queue *queue)
{
	nr_granted = 0;
	while (el_queue_grant(queue, note_granted))
		;
}

static int queue_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct el_queue), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	el_queue_init(test->priv);
	nr_granted = 0;
	return 0;
}

/* What is held, what waits, what is asked, and whether it is granted at once. */
static void modes(struct kunit *test)
{
	static const struct {
		u8 held;
		u8 waits;
		u8 asked;
		bool granted;
	} cells[] = {
		{ 0, 0, S, true },
		{ 0, 0, X, true },
		{ S, 0, S, true },
		{ S, 0, X, false },
		{ X, 0, S, false },
		{ X, 0, X, false },
		{ S, X, S, false },
		{ S, X, X, false },
		{ X, S, S, false },
		{ X, X, X, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cells); i++) {
		struct el_hold holder = {}, waiter = {}, hold = {};
		struct el_queue queue;

		el_queue_init(&queue);
		if (cells[i].held)
			KUNIT_EXPECT_TRUE(test, ask(&queue, &holder, cells[i].held));
		if (cells[i].waits)
			KUNIT_EXPECT_FALSE(test, ask(&queue, &waiter, cells[i].waits));
		KUNIT_EXPECT_EQ_MSG(test, ask(&queue, &hold, cells[i].asked), cells[i].granted,
				    "cell %u", i);
		KUNIT_EXPECT_EQ(test, hold.mode, cells[i].granted ? cells[i].asked : 0);
		KUNIT_EXPECT_EQ(test, hold.waiting, !cells[i].granted);
	}
}

static void first_come_first_served(struct kunit *test)
{
	struct el_hold holder = {}, waiters[3] = {};
	struct el_queue *queue = test->priv;
	int i;

	ask(queue, &holder, X);
	for (i = 0; i < 3; i++)
		ask(queue, &waiters[i], X);
	KUNIT_EXPECT_EQ(test, queue->nr_waiters, 3u);

	el_queue_lower(queue, &holder, 0);
	for (i = 0; i < 3; i++) {
		grant_all(queue);
		KUNIT_ASSERT_EQ(test, nr_granted, 1u);
		KUNIT_EXPECT_PTR_EQ(test, order[0], &waiters[i]);
		el_queue_lower(queue, &waiters[i], 0);
	}
	KUNIT_EXPECT_EQ(test, queue->nr_holders, 0u);
	KUNIT_EXPECT_EQ(test, queue->nr_waiters, 0u);
}

/* S S X S behind an exclusive one: two together, one alone, one alone. */
static void neighbouring_shared_together(struct kunit *test)
{
	static const u8 wants[] = { S, S, X, S };
	struct el_hold holder = {}, waiters[4] = {};
	struct el_queue *queue = test->priv;
	int i;

	ask(queue, &holder, X);
	for (i = 0; i < 4; i++)
		ask(queue, &waiters[i], wants[i]);

	el_queue_lower(queue, &holder, 0);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 2u);
	KUNIT_EXPECT_PTR_EQ(test, order[0], &waiters[0]);
	KUNIT_EXPECT_PTR_EQ(test, order[1], &waiters[1]);

	el_queue_lower(queue, &waiters[0], 0);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 0u);
	el_queue_lower(queue, &waiters[1], 0);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 1u);
	KUNIT_EXPECT_PTR_EQ(test, order[0], &waiters[2]);
}

static void leaving_lets_others_in(struct kunit *test)
{
	struct el_hold holder = {}, writer = {}, reader = {};
	struct el_queue *queue = test->priv;

	ask(queue, &holder, S);
	ask(queue, &writer, X);
	ask(queue, &reader, S);
	el_queue_leave(queue, &writer);
	KUNIT_EXPECT_FALSE(test, writer.waiting);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 1u);
	KUNIT_EXPECT_PTR_EQ(test, order[0], &reader);
	KUNIT_EXPECT_EQ(test, queue->nr_holders, 2u);
}

static void upgrade_goes_first(struct kunit *test)
{
	struct el_hold upgrader = {}, other = {}, waiter = {};
	struct el_queue *queue = test->priv;

	ask(queue, &upgrader, S);
	ask(queue, &other, S);
	ask(queue, &waiter, X);
	KUNIT_EXPECT_FALSE(test, ask(queue, &upgrader, X));
	KUNIT_EXPECT_EQ(test, upgrader.mode, S);

	el_queue_lower(queue, &other, 0);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 1u);
	KUNIT_EXPECT_PTR_EQ(test, order[0], &upgrader);
	KUNIT_EXPECT_EQ(test, upgrader.mode, X);
	KUNIT_EXPECT_TRUE(test, queue->exclusive);
	KUNIT_EXPECT_EQ(test, queue->nr_holders, 1u);
}

static void second_upgrader_cannot_wait(struct kunit *test)
{
	struct el_hold first = {}, second = {};
	struct el_queue *queue = test->priv;

	ask(queue, &first, S);
	ask(queue, &second, S);
	ask(queue, &first, X);
	second.want = X;
	KUNIT_EXPECT_FALSE(test, el_queue_try(queue, &second));
	KUNIT_EXPECT_FALSE(test, el_queue_may_wait(queue, &second));

	el_queue_leave(queue, &first);
	KUNIT_EXPECT_TRUE(test, el_queue_may_wait(queue, &second));
	KUNIT_EXPECT_EQ(test, first.mode, S);
}

static void upgrade_alone_at_once(struct kunit *test)
{
	struct el_hold hold = {}, waiter = {};
	struct el_queue *queue = test->priv;

	ask(queue, &hold, S);
	ask(queue, &waiter, X);
	KUNIT_EXPECT_TRUE(test, ask(queue, &hold, X));
	KUNIT_EXPECT_EQ(test, queue->nr_waiters, 1u);
}

static void downgrade_lets_readers_in(struct kunit *test)
{
	struct el_hold holder = {}, reader = {}, writer = {};
	struct el_queue *queue = test->priv;

	ask(queue, &holder, X);
	ask(queue, &reader, S);
	ask(queue, &writer, X);
	el_queue_lower(queue, &holder, S);
	grant_all(queue);
	KUNIT_EXPECT_EQ(test, nr_granted, 1u);
	KUNIT_EXPECT_PTR_EQ(test, order[0], &reader);
	KUNIT_EXPECT_FALSE(test, queue->exclusive);
}

/*
 * The caller holds a spinlock: never for more than a batch of holds, and nobody
 * comes between two batches.
 */
static void granted_in_batches(struct kunit *test)
{
	struct el_hold holder = {}, late = {}, *waiters;
	struct el_queue *queue = test->priv;
	unsigned int i, before, calls = 0;
	bool more = true;

	KUNIT_EXPECT_LE(test, EL_BATCH, 64);
	waiters = kunit_kcalloc(test, 2 * EL_BATCH + 1, sizeof(*waiters), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, waiters);
	ask(queue, &holder, X);
	for (i = 0; i < 2 * EL_BATCH + 1; i++)
		ask(queue, &waiters[i], S);

	el_queue_lower(queue, &holder, 0);
	while (more) {
		before = nr_granted;
		more = el_queue_grant(queue, note_granted);
		KUNIT_EXPECT_LE(test, nr_granted - before, (unsigned int)EL_BATCH);
		if (more && !late.waiting)
			KUNIT_EXPECT_FALSE(test, ask(queue, &late, S));
		calls++;
	}
	KUNIT_EXPECT_EQ(test, calls, 3u);
	KUNIT_ASSERT_EQ(test, nr_granted, 2u * EL_BATCH + 2);
	for (i = 0; i < 2 * EL_BATCH + 1; i++)
		KUNIT_EXPECT_PTR_EQ(test, order[i], &waiters[i]);
	KUNIT_EXPECT_PTR_EQ(test, order[i], &late);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(modes),
	KUNIT_CASE(first_come_first_served),
	KUNIT_CASE(neighbouring_shared_together),
	KUNIT_CASE(leaving_lets_others_in),
	KUNIT_CASE(upgrade_goes_first),
	KUNIT_CASE(second_upgrader_cannot_wait),
	KUNIT_CASE(upgrade_alone_at_once),
	KUNIT_CASE(downgrade_lets_readers_in),
	KUNIT_CASE(granted_in_batches),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "entitylock_queue",
	.init = queue_test_init,
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);

MODULE_DESCRIPTION("KUnit suites of entitylock");
MODULE_LICENSE("GPL");
