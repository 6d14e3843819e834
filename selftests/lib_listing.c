// SPDX-License-Identifier: GPL-2.0
/* The library's reader of listings (D5): of texts made up here, and of the module's. */
#include <sys/mman.h>

#include "harness.h"
#include "../userspace/lib/include/entitylock.h"

/* A descriptor that reads @text. */
static int text_fd(const char *text)
{
	int fd = memfd_create("listing", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -1;
	return fd;
}

#define HEADER "#name\tstate\tfence\tholders\twaiters\tholder\twaiter\n"

/* What opening a listing of @text returns, or its first line. */
static int read_first(const char *text)
{
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	int fd = text_fd(text), ret;

	ret = entitylock_list_open(fd, &list);
	if (!ret) {
		ret = entitylock_list_next(list, &entry);
		entitylock_list_close(list);
	}
	close(fd);
	return ret;
}

TEST(D5_columns)
{
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int fd = text_fd(HEADER
			 "a\\x20b\\x00\\xff\theld-shared\t18446744073709551615\t18\t1\t"
			 "1:s:10:sh:,2:s:0:a\\x3ab\\x2c:two words\\x0a,+16\t3:x:11:vi:\n"
			 "b\tfree\t0\t0\t0\t-\t-\n");

	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_EQ(5, entry->name_len);
	EXPECT_EQ(0, memcmp(entry->name, "a b\0\xff", 6));
	EXPECT_STREQ("held-shared", entry->state);
	EXPECT_EQ(UINT64_MAX, entry->fence);
	EXPECT_EQ(18, entry->holders);
	EXPECT_EQ(1, entry->waiters);
	ASSERT_EQ(2, entry->nr_holder);
	EXPECT_EQ(1, entry->holder[0].id);
	EXPECT_EQ(SHARED, entry->holder[0].mode);
	EXPECT_EQ(10, entry->holder[0].pid);
	EXPECT_STREQ("sh", entry->holder[0].comm);
	EXPECT_EQ(0, entry->holder[0].label_len);
	EXPECT_EQ(0, entry->holder[1].pid);
	EXPECT_STREQ("a:b,", entry->holder[1].comm);
	EXPECT_EQ(4, entry->holder[1].comm_len);
	EXPECT_STREQ("two words\n", entry->holder[1].label);
	EXPECT_EQ(10, entry->holder[1].label_len);
	ASSERT_EQ(1, entry->nr_waiter);
	EXPECT_EQ(EXCLUSIVE, entry->waiter[0].mode);

	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_STREQ("b", entry->name);
	EXPECT_EQ(0, entry->nr_holder);
	EXPECT_EQ(0, entry->nr_waiter);
	EXPECT_EQ(0, entitylock_list_next(list, &entry));
	EXPECT_EQ(0, entitylock_list_next(list, &entry));
	entitylock_list_close(list);
	close(fd);
}

/* New columns come at the end, but a reader that looks for names does not care. */
TEST(D5_columns_by_name)
{
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int fd = text_fd("#colour\tfence\tname\tsize\n12 s\t7\ta\t\\broken\n");

	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_STREQ("a", entry->name);
	EXPECT_EQ(7, entry->fence);
	EXPECT_STREQ("", entry->state);
	EXPECT_EQ(0, entry->nr_holder);
	entitylock_list_close(list);
	close(fd);
}

/* Times belong to the party of the same place, whichever column comes first. */
TEST(D5_times)
{
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int fd = text_fd("#name\theld\tholder\tlease\twaiter\twaited\tparked\n"
			 "a\t5,18446744073709551614\t1:s:1:c:,2:s:2:c:,+7\t-,0\t3:x:3:c:\t9\t-,p\n"
			 "b\t1\t1:s:1:c:\t-\t-\t-\t-\n"
			 "c\t-\t-\t-\t-\t-\t-\n");

	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	ASSERT_EQ(2, entry->nr_holder);
	EXPECT_EQ(5, entry->holder[0].age);
	EXPECT_EQ(UINT64_MAX - 1, entry->holder[1].age);
	EXPECT_EQ(ENTITYLOCK_UNTOLD, entry->holder[0].lease);
	EXPECT_EQ(0, entry->holder[1].lease);
	EXPECT_FALSE(entry->holder[0].parked);
	EXPECT_TRUE(entry->holder[1].parked);
	ASSERT_EQ(1, entry->nr_waiter);
	EXPECT_EQ(9, entry->waiter[0].age);
	EXPECT_EQ(ENTITYLOCK_UNTOLD, entry->waiter[0].lease);
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_FALSE(entry->holder[0].parked);
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_EQ(0, entry->nr_holder);
	entitylock_list_close(list);
	close(fd);
}

/* An entity may be called like the gate: it comes escaped. */
TEST(D5_gate)
{
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int fd = text_fd(HEADER "#gate\tawaited\t7\t0\t1\t-\t1:x:10:sh:\n"
			 "\\x23gate\tfree\t0\t0\t0\t-\t-\n");

	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_EQ(1, entry->gate);
	EXPECT_EQ(0, entry->name_len);
	EXPECT_STREQ("", entry->name);
	EXPECT_STREQ("awaited", entry->state);
	EXPECT_EQ(1, entry->nr_waiter);
	EXPECT_EQ(ENTITYLOCK_UNTOLD, entry->waiter[0].age);
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_EQ(0, entry->gate);
	EXPECT_STREQ("#gate", entry->name);
	entitylock_list_close(list);
	close(fd);
}

TEST(D5_not_a_listing)
{
	static const char *const texts[] = {
		"", "\n", "name\n", "#state\n", "#name", HEADER "a",
		HEADER "a\tfree\t0\t0\t0\t-\n",
		HEADER "a\\x\tfree\t0\t0\t0\t-\t-\n",
		HEADER "a\\x2\tfree\t0\t0\t0\t-\t-\n",
		HEADER "a\\y20\tfree\t0\t0\t0\t-\t-\n",
		HEADER "a\tfree\t\t0\t0\t-\t-\n",
		HEADER "a\tfree\t-1\t0\t0\t-\t-\n",
		HEADER "a\tfree\t18446744073709551616\t0\t0\t-\t-\n",
		HEADER "a\tfree\t0\t0\t0\t\t-\n",
		HEADER "a\tfree\t0\t1\t0\t1:s:2:c\t-\n",
		HEADER "a\tfree\t0\t1\t0\t1:y:2:c:l\t-\n",
		HEADER "a\tfree\t0\t1\t0\t1::2:c:l\t-\n",
		HEADER "a\tfree\t0\t1\t0\t1:s:2147483648:c:l\t-\n",
		HEADER "a\tfree\t0\t1\t0\t1:s:2:c:\\xg0\t-\n",
		"#name\theld\na\tx\n",
		"#name\tlease\na\t1,-1\n",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		EXPECT_EQ(-EPROTO, read_first(texts[i])) {
			TH_LOG("text %zu", i);
		}
	EXPECT_EQ(0, read_first(HEADER));
}

/* Lines longer than what is read at a time, and many of them. */
TEST(D5_long_lines)
{
	enum { SIZE = 200000, LINES = 5 };
	const struct entitylock_list_entry *entry;
	char *text = malloc(LINES * (SIZE + 1) + 100);
	struct entitylock_list *list;
	unsigned int lines = 0;
	size_t len = 0;
	int fd;

	ASSERT_NE(NULL, text);
	len += sprintf(text, "#name\n");
	for (int i = 0; i < LINES; i++) {
		memset(text + len, 'a' + i, SIZE);
		len += SIZE;
		text[len++] = '\n';
	}
	text[len] = '\0';
	fd = text_fd(text);
	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	while (entitylock_list_next(list, &entry) == 1) {
		EXPECT_EQ(SIZE, entry->name_len);
		EXPECT_EQ('a' + lines, entry->name[SIZE - 1]);
		lines++;
	}
	EXPECT_EQ(LINES, lines);
	entitylock_list_close(list);
	close(fd);
	free(text);
}

TEST(D5_descriptor)
{
	struct entitylock_list *list = (void *)1;
	int fd;

	EXPECT_EQ(-EBADF, entitylock_list_open(-1, &list));
	fd = domain_open(O_WRONLY);
	EXPECT_EQ(-EBADF, entitylock_list_open(fd, &list));
	close(fd);
	EXPECT_EQ((void *)1, list);
	entitylock_list_close(NULL);
}

/* Copies what the listing through @domain says of @name; its texts are gone. */
static bool find(int domain, const char *name, size_t len,
		 struct entitylock_list_entry *found)
{
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	bool there = false;

	if (entitylock_list_open(domain, &list))
		return false;
	while (entitylock_list_next(list, &entry) == 1) {
		if (entry->name_len == len && !memcmp(entry->name, name, len)) {
			*found = *entry;
			there = true;
		}
	}
	entitylock_list_close(list);
	return there;
}

TEST_F(entitylock, D5_of_the_module)
{
	static const char name[] = "a b\t\n\\#\0\xff";
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_list_entry entry = {};
	struct entitylock_grant grant;
	struct call call;
	int token;

	token = entitylock_acquire(self->domain, name, sizeof(name), EXCLUSIVE,
				   &options, &grant);
	ASSERT_LE(0, token);
	ASSERT_TRUE(find(self->domain, name, sizeof(name), &entry));
	EXPECT_EQ(1, entry.holders);
	EXPECT_EQ(0, entry.waiters);
	EXPECT_EQ(grant.fence, entry.fence);
	entitylock_unlock(token, 0, 0);
	close(token);
	EXPECT_FALSE(find(self->domain, name, sizeof(name), &entry));

	token = hold(self->domain, "plain");
	call_acquire(&call, self->domain, "plain", EXCLUSIVE, FOREVER);
	EXPECT_TRUE(eventually(find(self->domain, "plain", 5, &entry) &&
			       entry.waiters == 1 && entry.nr_waiter == 1));
	close(token);
	token = call_result(&call);
	EXPECT_LE(0, token);
	close(token);
}

/* Holder and waiter are told with owner, command and label. */
TEST_F(entitylock, D5_parties)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int token;

	options.label = "a, label: \\\n";
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, entitylock_list_open(self->domain, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_STREQ("held-exclusive", entry->state);
	ASSERT_EQ(1, entry->nr_holder);
	EXPECT_EQ(getpid(), entry->holder[0].pid);
	EXPECT_STREQ("lib_listing", entry->holder[0].comm);
	EXPECT_STREQ(options.label, entry->holder[0].label);
	EXPECT_EQ(EXCLUSIVE, entry->holder[0].mode);
	EXPECT_EQ(token_info(token).id, entry->holder[0].id);
	entitylock_list_close(list);
	close(token);
}

/* Ages and leases are told, and the gate is. */
TEST_F(entitylock, D5_times_of_the_module)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	const struct entitylock_list_entry *entry = NULL;
	struct entitylock_list *list;
	int token, gate;

	options.lease = 600 * NSEC_PER_SEC;
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL);
	ASSERT_LE(0, token);
	options = (struct entitylock_options) ENTITYLOCK_OPTIONS_INIT;
	options.flags = ENTITYLOCK_ASYNC;
	gate = entitylock_gate(self->domain, &options, NULL);
	ASSERT_LE(0, gate);
	usleep(50000);
	ASSERT_EQ(0, entitylock_list_open(self->domain, &list));
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_EQ(1, entry->gate);
	EXPECT_STREQ("awaited", entry->state);
	ASSERT_EQ(1, entry->nr_waiter);
	EXPECT_LE(40 * NSEC_PER_MSEC, entry->waiter[0].age);
	EXPECT_GT(60 * NSEC_PER_SEC, entry->waiter[0].age);
	ASSERT_EQ(1, entitylock_list_next(list, &entry));
	EXPECT_STREQ("x", entry->name);
	ASSERT_EQ(1, entry->nr_holder);
	EXPECT_LE(40 * NSEC_PER_MSEC, entry->holder[0].age);
	EXPECT_GT(600 * NSEC_PER_SEC, entry->holder[0].lease);
	EXPECT_LT(500 * NSEC_PER_SEC, entry->holder[0].lease);
	EXPECT_EQ(0, entitylock_list_next(list, &entry));
	entitylock_list_close(list);
	close(gate);
	close(token);
}

SELFTEST_MAIN
