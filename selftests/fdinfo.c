// SPDX-License-Identifier: GPL-2.0
/* fdinfo of token and domain fds. */
#include "harness.h"
#include "owners.h"

/* Verbs: fdinfo of a token says what INFO says. */
TEST_F(entitylock, FDINFO_of_a_token)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	struct entitylock_info info;
	struct call call;
	int holder;

	ASSERT_LE(0, token);
	EXPECT_STREQ("idle", fdinfo_value(token, "state"));
	EXPECT_STREQ("0", fdinfo_value(token, "fence"));
	EXPECT_STREQ("", fdinfo_value(token, "label"));

	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, token_label(token, "import"));
	info = token_info(token);
	EXPECT_STREQ("held", fdinfo_value(token, "state"));
	EXPECT_EQ(info.id, strtoull(fdinfo_value(token, "id"), NULL, 10));
	EXPECT_EQ(info.fence, strtoull(fdinfo_value(token, "fence"), NULL, 10));
	EXPECT_STREQ("2", fdinfo_value(token, "count"));
	EXPECT_EQ(getpid(), strtol(fdinfo_value(token, "owner"), NULL, 10));
	EXPECT_STREQ("fdinfo", fdinfo_value(token, "comm"));
	EXPECT_STREQ("import", fdinfo_value(token, "label"));

	ASSERT_EQ(0, unlock(token));
	holder = hold(self->domain, "b");
	ASSERT_LE(0, holder);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_STREQ("pending", fdinfo_value(token, "state"));
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	close(token);
}

/* D5: text from a user cannot forge a line. */
TEST_F(entitylock, D5_fdinfo_label_is_escaped)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_label(token, "x\nforged:\t1"));
	EXPECT_STREQ("", fdinfo_value(token, "forged"));
	EXPECT_STREQ("x\\x0aforged:\\x091", fdinfo_value(token, "label"));
	close(token);
}

/* Verbs: fdinfo of a domain fd: its domain, and how many entities live in it. */
TEST_F(entitylock, FDINFO_of_a_domain)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"), X("c"));
	int second = domain_open(O_RDONLY);
	char domain[256];

	ASSERT_LE(0, token);
	ASSERT_LE(0, second);
	snprintf(domain, sizeof(domain), "%s", fdinfo_value(self->domain, "domain"));
	EXPECT_STRNE("", domain);
	EXPECT_STREQ(domain, fdinfo_value(second, "domain"));
	EXPECT_STREQ("3", fdinfo_value(self->domain, "entities"));
	EXPECT_STREQ("3", fdinfo_value(second, "entities"));
	close(second);
	close(token);
	EXPECT_STREQ("0", fdinfo_value(self->domain, "entities"));
}

/* What it holds, who waits for that, and until when it may. */
TEST_F(entitylock, FDINFO_tells_what_and_how_long)
{
	struct entitylock_entity set[] = { X("b c"), S("a") };
	int token = lease_set(self->domain, set, ARRAY_SIZE(set), 0, NOWAIT, HOUR);
	int waiter = await(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, waiter);
	EXPECT_STREQ("s a", fdinfo_value(token, "entity"));
	EXPECT_STREQ("1", fdinfo_value(token, "waiters"));
	EXPECT_STREQ("0", fdinfo_value(token, "error"));
	EXPECT_GT(HOUR, strtoull(fdinfo_value(token, "lease"), NULL, 10));
	EXPECT_LT(HOUR / 2, strtoull(fdinfo_value(token, "lease"), NULL, 10));
	usleep(50000);
	EXPECT_LT(0, strtoull(fdinfo_value(token, "age"), NULL, 10));
	EXPECT_STREQ("", fdinfo_value(waiter, "lease"));
	close(waiter);
	close(token);
}

SELFTEST_MAIN
