// SPDX-License-Identifier: GPL-2.0
/* fdinfo of token and domain fds. */
#include "harness.h"

/* Verbs: fdinfo of a token says what INFO says. */
TEST_F(entitylock, FDINFO_of_a_token)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	struct entitylock_info info;
	struct call call;
	int holder;

	ASSERT_LE(0, token);
	EXPECT_STREQ("idle", fdinfo(token, "state"));
	EXPECT_STREQ("0", fdinfo(token, "fence"));
	EXPECT_STREQ("", fdinfo(token, "label"));

	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, token_label(token, "import"));
	info = token_info(token);
	EXPECT_STREQ("held", fdinfo(token, "state"));
	EXPECT_EQ(info.id, strtoull(fdinfo(token, "id"), NULL, 10));
	EXPECT_EQ(info.fence, strtoull(fdinfo(token, "fence"), NULL, 10));
	EXPECT_STREQ("2", fdinfo(token, "count"));
	EXPECT_EQ(getpid(), strtol(fdinfo(token, "owner"), NULL, 10));
	EXPECT_STREQ("fdinfo", fdinfo(token, "comm"));
	EXPECT_STREQ("import", fdinfo(token, "label"));

	ASSERT_EQ(0, unlock(token));
	holder = hold(self->domain, "b");
	ASSERT_LE(0, holder);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_STREQ("pending", fdinfo(token, "state"));
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
	EXPECT_STREQ("", fdinfo(token, "forged"));
	EXPECT_STREQ("x\\x0aforged:\\x091", fdinfo(token, "label"));
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
	snprintf(domain, sizeof(domain), "%s", fdinfo(self->domain, "domain"));
	EXPECT_STRNE("", domain);
	EXPECT_STREQ(domain, fdinfo(second, "domain"));
	EXPECT_STREQ("3", fdinfo(self->domain, "entities"));
	EXPECT_STREQ("3", fdinfo(second, "entities"));
	close(second);
	close(token);
	EXPECT_STREQ("0", fdinfo(self->domain, "entities"));
}

SELFTEST_MAIN
