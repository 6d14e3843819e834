// SPDX-License-Identifier: GPL-2.0
/* The library's reader of a domain's statistics. */
#include <fcntl.h>

#include "harness.h"
#include "../userspace/lib/include/entitylock.h"

static uint64_t sum(const uint64_t *buckets)
{
	uint64_t total = 0;
	int i;

	for (i = 0; i < ENTITYLOCK_STATS_BUCKETS; i++)
		total += buckets[i];
	return total;
}

TEST_F(entitylock, STATS_count)
{
	struct entitylock_stats before, now;
	struct call call;
	int holder, token;

	ASSERT_EQ(0, entitylock_stats(self->domain, &before));
	EXPECT_EQ(0, before.entities);
	EXPECT_EQ(0, before.tokens);
	EXPECT_EQ(0, before.reserved);
	holder = hold(self->domain, "x");
	call_acquire(&call, self->domain, "x", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	ASSERT_EQ(0, entitylock_stats(self->domain, &now));
	EXPECT_EQ(1, now.entities);
	EXPECT_EQ(2, now.tokens);
	EXPECT_EQ(1, now.waiters);
	EXPECT_EQ(2, now.in_flight);
	EXPECT_EQ(1, now.grants - before.grants);
	usleep(20000);
	close(holder);
	token = call_result(&call);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, entitylock_stats(self->domain, &now));
	EXPECT_EQ(0, now.waiters);
	EXPECT_EQ(2, now.grants - before.grants);
	EXPECT_EQ(1, now.contended - before.contended);
	EXPECT_EQ(now.contended, sum(now.waits));
	EXPECT_EQ(0, now.counts_holds);
	close(token);
}

/* Whoever opened it may list the domain; no reading is needed. */
TEST_F(entitylock, STATS_of_any_domain_fd)
{
	int domain = domain_open(O_ACCMODE), token = hold(self->domain, "x");
	struct entitylock_stats stats;

	EXPECT_EQ(0, entitylock_stats(domain, &stats));
	EXPECT_EQ(1, stats.entities);
	EXPECT_EQ(-ENOTTY, entitylock_stats(token, &stats));
	close(token);
	close(domain);
}

static void *ask_when_cancelled(void *arg)
{
	static struct entitylock_stats stats;

	pthread_cancel(pthread_self());
	return entitylock_stats(*(int *)arg, &stats) ? arg : NULL;
}

/* Cancelled while it reads, a thread would leave the file open. */
TEST_F(entitylock, STATS_no_cancellation_point)
{
	pthread_t thread;
	void *result;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ask_when_cancelled, &self->domain));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(NULL, result);
}

TEST(STATS_errors)
{
	struct entitylock_stats stats = { .grants = 7 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	EXPECT_EQ(-EBADF, entitylock_stats(-1, &stats));
	EXPECT_EQ(-EBADF, entitylock_stats(1000, &stats));
	EXPECT_EQ(-ENOTTY, entitylock_stats(null, &stats));
	EXPECT_EQ(7, stats.grants);
	EXPECT_NE(NULL, strstr(entitylock_explain(ENTITYLOCK_VERB_STATS, -ENOENT), "mount"));
	EXPECT_NE(NULL, strstr(entitylock_explain(ENTITYLOCK_VERB_STATS, -EACCES), "owner"));
	close(null);
}

SELFTEST_MAIN
