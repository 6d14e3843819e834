// SPDX-License-Identifier: GPL-2.0
/* What a domain fd's fdinfo tells of its domain: how many, how often, how long. */
#include "harness.h"
#include "domains.h"
#include "owners.h"

/* A domain that nobody else counts in. */
FIXTURE(stats) {
	struct ground ground;
	int domain;
};

FIXTURE_SETUP(stats)
{
	ground_check(_metadata, &self->ground);
	self->domain = domain_open(O_RDWR);
	ASSERT_EQ(0, domain_move(self->domain, NULL, ENTITYLOCK_PRIVATE, 0));
}

FIXTURE_TEARDOWN(stats)
{
	close(self->domain);
	ground_recheck(_metadata, &self->ground);
}

static unsigned long number(int domain, const char *key)
{
	const char *value = fdinfo_value(domain, key);

	return *value ? strtoul(value, NULL, 10) : ~0UL;
}

/* The sum of a histogram, or of that part from number @from on. */
static unsigned long sum_from(int domain, const char *key, unsigned int from)
{
	char text[4096], *save, *word;
	unsigned long sum = 0;
	unsigned int i = 0;

	strcpy(text, fdinfo_value(domain, key));
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		sum += i++ < from ? 0 : strtoul(word, NULL, 10);
	return sum;
}

TEST_F(stats, STATS_grants_and_tokens)
{
	int token, other;

	EXPECT_EQ(0, number(self->domain, "tokens"));
	EXPECT_EQ(0, number(self->domain, "grants"));
	token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"));
	ASSERT_LE(0, token);
	EXPECT_EQ(1, number(self->domain, "tokens"));
	EXPECT_EQ(1, number(self->domain, "grants"));
	EXPECT_EQ(1, number(self->domain, "in-flight"));
	other = idle(self->domain, "c");
	ASSERT_LE(0, other);
	EXPECT_EQ(2, number(self->domain, "tokens"));
	EXPECT_EQ(1, number(self->domain, "grants"));
	EXPECT_EQ(1, number(self->domain, "in-flight"));
	EXPECT_EQ(0, token_lock(other, 0, NOWAIT));
	EXPECT_EQ(0, extend_these(other, 0, NOWAIT, X("d")));
	EXPECT_EQ(3, number(self->domain, "grants"));
	EXPECT_EQ(-EAGAIN, acquire(self->domain, "a", SHARED, 0, NOWAIT));
	EXPECT_EQ(3, number(self->domain, "grants"));
	EXPECT_EQ(0, number(self->domain, "contended"));
	EXPECT_STREQ("", fdinfo_value(self->domain, "waits"));
	close(token);
	close(other);
	EXPECT_EQ(0, number(self->domain, "tokens"));
	EXPECT_EQ(0, number(self->domain, "in-flight"));
}

TEST_F(stats, STATS_waits)
{
	int token = hold(self->domain, "a"), waiter;

	ASSERT_LE(0, token);
	waiter = await(self->domain, "a");
	ASSERT_LE(0, waiter);
	EXPECT_EQ(1, number(self->domain, "waiters"));
	usleep(20000);
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, number(self->domain, "waiters"));
	EXPECT_EQ(1, number(self->domain, "contended"));
	/* 2^14 microseconds are 16 ms. */
	EXPECT_EQ(1, sum_from(self->domain, "waits", 15));
	EXPECT_EQ(1, sum_from(self->domain, "waits", 0));

	/* One that is given up is no grant, one of a set counts once. */
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(1, number(self->domain, "waiters"));
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, number(self->domain, "waiters"));
	EXPECT_EQ(1, number(self->domain, "contended"));
	close(waiter);
	close(token);
	EXPECT_EQ(1, sum_from(self->domain, "waits", 0));
}

TEST_F(stats, STATS_a_set_waits_once)
{
	int a = hold(self->domain, "a"), b = hold(self->domain, "b");
	struct entitylock_entity set[] = { X("a"), X("b") };
	struct call call;

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	call_acquire_set(&call, self->domain, set, 2, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(a) == 1));
	EXPECT_EQ(1, number(self->domain, "waiters"));
	close(a);
	ASSERT_TRUE(eventually(token_waiters(b) == 1));
	EXPECT_EQ(1, number(self->domain, "waiters"));
	close(b);
	close(call_result(&call));
	EXPECT_EQ(0, number(self->domain, "waiters"));
	EXPECT_EQ(1, number(self->domain, "contended"));
}

/* Those who wait at the gate, and one that is lost while it waits for more. */
TEST_F(stats, STATS_gate_and_loss)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int other = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int gate = await_gate(self->domain);
	int behind = await(self->domain, "b");

	ASSERT_LE(0, token);
	ASSERT_LE(0, other);
	ASSERT_LE(0, gate);
	ASSERT_LE(0, behind);
	EXPECT_EQ(2, number(self->domain, "waiters"));
	EXPECT_EQ(2, number(self->domain, "in-flight"));
	EXPECT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(3, number(self->domain, "waiters"));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(ENTITYLOCK_LOST, token_state(token));
	ASSERT_TRUE(eventually(token_state(gate) == ENTITYLOCK_HELD));
	EXPECT_EQ(1, number(self->domain, "waiters"));
	close(gate);
	ASSERT_TRUE(eventually(token_state(behind) == ENTITYLOCK_HELD));
	EXPECT_EQ(0, number(self->domain, "waiters"));
	EXPECT_EQ(2, number(self->domain, "contended"));
	close(behind);
	close(token);
	close(other);
}

/* How long things are held is counted only while it is asked for. */
TEST_F(stats, STATS_hold_times)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(~0UL, number(self->domain, "holds"));
	EXPECT_TRUE(file_says(PARAMETERS "hold_times", "N"));
	ASSERT_EQ(0, write_file(PARAMETERS "hold_times", "1"));
	EXPECT_TRUE(file_says(PARAMETERS "hold_times", "Y"));
	EXPECT_STREQ("", fdinfo_value(self->domain, "holds"));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	usleep(50000);
	EXPECT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_lock(token, 0, NOWAIT));
	close(token);
	EXPECT_EQ(2, sum_from(self->domain, "holds", 0));
	EXPECT_LE(1, sum_from(self->domain, "holds", 15));
	EXPECT_EQ(-EINVAL, write_file(PARAMETERS "hold_times", "maybe"));
	EXPECT_EQ(0, write_file(PARAMETERS "hold_times", "0"));
	EXPECT_EQ(~0UL, number(self->domain, "holds"));
}

SELFTEST_MAIN
