// SPDX-License-Identifier: GPL-2.0
/*
 * The library's part in domains (D1, D2): to open one by name or a private one, to
 * pass it on, what is said when a right is missing; and names and labels of any bytes
 * through the listing (D5).
 */
#include "domains.h"
#include "../userspace/lib/include/entitylock.h"

static int open_named(const char *name, int oflags, uint32_t flags, uint32_t mode)
{
	return entitylock_open_domain(NULL, oflags, name, strlen(name), flags, &mode, NULL);
}

/* What @call returns to a user without rights, in a process of its own. */
static int as_user(uid_t uid, int (*call)(void))
{
	pid_t pid = spawn();

	if (!pid) {
		int ret = become(uid, uid) ?: call();

		_exit(ret < 0 ? -ret : 0);
	}
	return -reap(pid);
}

/* D1: in one call; the real mode and owner are told, whatever was asked for. */
TEST_F(users, D1_by_name)
{
	uint32_t mode = 0640, owner = 77;
	int fd, again, token;

	EXPECT_EQ(-ENOENT, entitylock_open_domain(NULL, O_RDWR, "shop", 4, 0, &mode, &owner));
	EXPECT_EQ(0640, mode);
	EXPECT_EQ(77, owner);
	fd = entitylock_open_domain(NULL, O_RDWR, "shop", 4, CREATE | EXCL, &mode, &owner);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0640, mode);
	EXPECT_EQ(0, owner);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(-EEXIST, open_named("shop", O_RDWR, CREATE | EXCL, 0700));
	mode = 0777;
	again = entitylock_open_domain(NULL, O_RDWR, "shop", 4, CREATE, &mode, NULL);
	ASSERT_LE(0, again);
	EXPECT_EQ(0640, mode);
	token = entitylock_acquire(fd, "x", 1, EXCLUSIVE, NULL, NULL);
	EXPECT_LE(0, token);
	EXPECT_EQ(-EAGAIN, try_lock(again, "x", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "x", EXCLUSIVE));
	close(token);
	close(again);
	close(fd);
}

/* D1: by name in a fresh fd; none of the failures uses it. */
TEST_F(users, D1_a_fresh_fd)
{
	static const char name[ENTITYLOCK_NAME_MAX + 1] = "shop";
	int fd = entitylock_open(NULL, O_RDWR);
	uint32_t mode = 0700, bad = 01000;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, 0, CREATE, &mode, NULL));
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, sizeof(name), CREATE, &mode, NULL));
	/* Would be 1 if it were cut to 32 bits. */
	if (sizeof(size_t) > 4)
		EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, (size_t)UINT32_MAX + 2, CREATE,
						     &mode, NULL));
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, 4, CREATE, &bad, NULL));
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, 4, EXCL, &mode, NULL));
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, name, 4, PRIVATE, &mode, NULL));
	EXPECT_EQ(-EINVAL, entitylock_domain(fd, NULL, 0, PRIVATE | CREATE, &mode, NULL));
	EXPECT_EQ(-EFAULT, entitylock_domain(fd, (void *)8, 4, CREATE, &mode, NULL));
	EXPECT_EQ(-ENOENT, entitylock_domain(fd, name, 4, 0, NULL, NULL));
	EXPECT_EQ(0700, mode);
	EXPECT_EQ(-EBADF, entitylock_domain(-1, name, 4, CREATE, &mode, NULL));
	EXPECT_EQ(0, entitylock_domain(fd, name, ENTITYLOCK_NAME_MAX, CREATE, &mode, NULL));
	EXPECT_EQ(-EBUSY, entitylock_domain(fd, name, 4, CREATE, &mode, NULL));
	close(fd);
}

/* No mode is mode 0: not even its owner may use it, unless that is root. */
static int make_without_mode(void)
{
	return entitylock_open_domain(NULL, O_RDWR, "mine", 4, CREATE, NULL, NULL);
}

/* Bad input leaves no descriptor, and tells the device's faults from the domain's. */
TEST_F(users, D1_bad_input)
{
	int null = open("/dev/null", O_RDWR);

	EXPECT_EQ(-ENODEV, entitylock_open_domain("/nonexistent", O_RDWR, "shop", 4, CREATE, NULL,
						  NULL));
	EXPECT_EQ(-ENOTTY, entitylock_open_domain("/dev/null", O_RDWR, "shop", 4, CREATE, NULL,
						  NULL));
	EXPECT_EQ(-ENOTTY, entitylock_domain(null, "shop", 4, CREATE, NULL, NULL));
	EXPECT_EQ(-EINVAL, entitylock_open_domain(NULL, O_RDWR, "", 0, CREATE, NULL, NULL));
	EXPECT_EQ(-EINVAL, entitylock_open_domain(NULL, O_RDWR, "shop", 4, 1, NULL, NULL));
	EXPECT_EQ(-EINVAL, entitylock_open_domain(NULL, O_RDWR, "shop", 4, PRIVATE, NULL, NULL));
	EXPECT_EQ(-EFAULT, entitylock_open_domain(NULL, O_RDWR, NULL, 4, CREATE, NULL, NULL));
	EXPECT_EQ(-EACCES, as_user(ALICE, make_without_mode));
	EXPECT_EQ(-ENOENT, open_named("mine", O_RDWR, 0, 0));
	ASSERT_EQ(0, chmod(DEVICE, 0600));
	EXPECT_EQ(-EPERM, as_user(ALICE, make_without_mode));
	close(null);
}

/* D1: a name that another user has taken: told by EEXIST, and by the owner. */
TEST_F(users, D1_who_was_first)
{
	int taken = domain_as(ALICE, ALICE, "shop", CREATE, 0777, O_RDWR), fd;
	uint32_t mode = 0700, owner = 0;

	ASSERT_LE(0, taken);
	EXPECT_EQ(-EEXIST, entitylock_open_domain(NULL, O_RDWR, "shop", 4, CREATE | EXCL, &mode,
						  &owner));
	fd = entitylock_open_domain(NULL, O_RDWR, "shop", 4, CREATE, &mode, &owner);
	ASSERT_LE(0, fd);
	EXPECT_EQ(ALICE, owner);
	EXPECT_EQ(0777, mode);
	close(fd);
	close(taken);
}

static int to_read(void)
{
	return open_named("shop", O_RDONLY, 0, 0);
}

static int to_write(void)
{
	return open_named("shop", O_WRONLY, 0, 0);
}

static int to_lock(void)
{
	int fd = open_named("shop", O_WRONLY, 0, 0);

	return fd < 0 ? -EBADE : entitylock_acquire(fd, "x", 1, SHARED, NULL, NULL);
}

static int to_claim(void)
{
	static const unsigned char cookie[ENTITYLOCK_COOKIE_SIZE];
	int fd = open_named("shop", O_WRONLY, 0, 0);

	return fd < 0 ? -EBADE : entitylock_claim(fd, cookie);
}

static int to_take_the_gate(void)
{
	int fd = open_named("shop", O_WRONLY, 0, 0);

	return fd < 0 ? -EBADE : entitylock_gate(fd, NULL, NULL);
}

static int to_list(void)
{
	struct entitylock_list *list;
	int fd = entitylock_open(NULL, O_RDONLY);

	return fd < 0 ? -EBADE : entitylock_list_open(fd, &list);
}

/* D2: which right is missing where. */
TEST_F(users, D2_EACCES)
{
	static const struct {
		uint32_t mode;
		int (*call)(void);
		int ret;
	} rows[] = {
		{ 0774, to_read, 0 }, { 0773, to_read, -EACCES },
		{ 0774, to_write, -EACCES }, { 0772, to_write, 0 }, { 0771, to_write, 0 },
		{ 0772, to_lock, 0 }, { 0771, to_lock, -EACCES },
		{ 0772, to_claim, -ENOENT }, { 0771, to_claim, -EACCES },
		{ 0771, to_take_the_gate, 0 }, { 0772, to_take_the_gate, -EACCES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd;

		/* The one before may be about to go. */
		EXPECT_TRUE(eventually((fd = open_named("shop", O_RDWR, CREATE | EXCL,
							rows[i].mode)) != -EEXIST));
		ASSERT_LE(0, fd);
		EXPECT_EQ(rows[i].ret, as_user(BOB, rows[i].call)) {
			TH_LOG("row %zu", i);
		}
		close(fd);
	}
	/* The default domain is entered by all, and used by those who may. */
	EXPECT_EQ(0, as_user(BOB, to_list));
	ASSERT_EQ(0, write_file(PARAMETERS "default_mode", "0773"));
	EXPECT_EQ(-EACCES, as_user(BOB, to_list));
}

static int refer(void)
{
	uint32_t mode = 0, owner = 0;
	int fd = entitylock_open_domain(NULL, O_ACCMODE, "shop", 4, 0, &mode, &owner);
	struct entitylock_list *list;

	if (fd < 0)
		return fd;
	if (mode != 0700 || owner != 0)
		return -EBADE;
	if (entitylock_acquire(fd, "x", 1, SHARED, NULL, NULL) != -EBADF ||
	    entitylock_gate(fd, NULL, NULL) != -EBADF ||
	    entitylock_break(fd, "x", 1, 0, 0) != -EBADF ||
	    entitylock_list_open(fd, &list) != -EBADF)
		return -EBADE;
	return 0;
}

/* D1, D2: an fd open for neither reading nor writing refers to a domain, and that is all. */
TEST_F(users, D1_to_refer_takes_no_right)
{
	int fd = open_named("shop", O_RDWR, CREATE, 0700), kept;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, as_user(BOB, refer));
	kept = open_named("shop", O_ACCMODE, 0, 0);
	ASSERT_LE(0, kept);
	close(fd);
	fd = open_named("shop", O_RDWR, 0, 0);
	EXPECT_LE(0, fd);
	close(fd);
	close(kept);
	EXPECT_TRUE(eventually(open_named("shop", O_RDWR, 0, 0) == -ENOENT));
}

/* D1: a private domain goes to another process through a socket, and no other way. */
TEST_F(users, D1_private)
{
	uint32_t mode = 0, owner = 77;
	char data[8];
	size_t len = 5;
	int fd, token, sock[2];
	pid_t pid;

	fd = entitylock_open_domain(NULL, O_RDWR, NULL, 0, PRIVATE, &mode, &owner);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0700, mode);
	EXPECT_EQ(0, owner);
	EXPECT_STREQ("private", fdinfo_value(fd, "domain"));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	ASSERT_EQ(0, entitylock_send(sock[0], fd, "hello", 5));
	ASSERT_EQ(0, entitylock_send(sock[0], fd, NULL, 0));
	pid = spawn();
	if (!pid) {
		int received;

		if (become(BOB, BOB))
			_exit(1);
		close(fd);
		received = entitylock_recv_domain(sock[1], data, &len);
		if (received < 0 || len != 5 || memcmp(data, "hello", 5))
			_exit(2);
		if (fcntl(received, F_GETFD) != FD_CLOEXEC)
			_exit(3);
		token = entitylock_acquire(received, "x", 1, EXCLUSIVE, NULL, NULL);
		if (token < 0 || entitylock_send(sock[1], token, NULL, 0))
			_exit(4);
		close(entitylock_recv_domain(sock[1], NULL, NULL));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	close(sock[1]);
	/* Its token comes back: what is locked there is not locked elsewhere. */
	token = entitylock_recv(sock[0], NULL, NULL);
	ASSERT_LE(0, token);
	EXPECT_EQ(-EAGAIN, try_lock(fd, "x", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "x", EXCLUSIVE));
	close(token);
	close(sock[0]);
	close(fd);
}

/* What is received is of the kind that is waited for; to look at it is no use of it. */
TEST_F(users, D1_only_a_domain_fd)
{
	int token = hold(self->domain, "x"), fresh = domain_open(O_RDWR), sock[2], fd;
	size_t none = 0;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock));
	ASSERT_EQ(0, entitylock_send(sock[0], token, NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_recv_domain(sock[1], NULL, NULL));
	ASSERT_EQ(0, entitylock_send(sock[0], sock[0], NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_recv_domain(sock[1], NULL, NULL));
	ASSERT_EQ(0, entitylock_send(sock[0], fresh, NULL, 0));
	EXPECT_EQ(-ENOTTY, entitylock_recv(sock[1], NULL, NULL));
	ASSERT_EQ(0, entitylock_send(sock[0], fresh, NULL, 0));
	fd = entitylock_recv_domain(sock[1], NULL, NULL);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, entitylock_domain(fd, "shop", 4, CREATE, NULL, NULL));
	EXPECT_EQ(-EINVAL, entitylock_recv_domain(sock[1], &none, &none));
	close(sock[0]);
	EXPECT_EQ(-ENODATA, entitylock_recv_domain(sock[1], NULL, NULL));
	EXPECT_EQ(-EBADF, entitylock_recv_domain(-1, NULL, NULL));
	close(sock[1]);
	close(fd);
	close(fresh);
	close(token);
}

/* D1, D2: in words: which right, and what to do. */
TEST(D2_explain)
{
	static const struct {
		enum entitylock_verb verb;
		int error;
		const char *words;
	} rows[] = {
		{ ENTITYLOCK_VERB_DOMAIN, -EACCES, "list (r), or lock (w, x)" },
		{ ENTITYLOCK_VERB_DOMAIN, -ENOENT, "create it" },
		{ ENTITYLOCK_VERB_DOMAIN, -EEXIST, "another name" },
		{ ENTITYLOCK_VERB_DOMAIN, -EBUSY, "choose the domain first" },
		{ ENTITYLOCK_VERB_DOMAIN, -EINVAL, "1 to 255 bytes" },
		{ ENTITYLOCK_VERB_DOMAIN, -ENODEV, "modprobe" },
		{ ENTITYLOCK_VERB_DOMAIN, -EPERM, "group" },
		{ ENTITYLOCK_VERB_ACQUIRE, -EACCES, "lock (w), or take the gate (x); ask" },
		{ ENTITYLOCK_VERB_CLAIM, -EACCES, "lock (w); ask its owner" },
		{ ENTITYLOCK_VERB_CLAIM, -EBADF, "O_RDWR" },
		{ ENTITYLOCK_VERB_BREAK, -EBADF, "O_RDWR" },
		{ ENTITYLOCK_VERB_LIST, -EACCES, "list (r); ask its owner" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = entitylock_explain(rows[i].verb, rows[i].error);

		EXPECT_NE(NULL, strstr(text, rows[i].words)) {
			TH_LOG("row %zu: %s", i, text);
		}
	}
}

#define BYTES(text)	{ text, sizeof(text) - 1 }

/* Names, and labels, that a listing must not be taken apart by. */
static const struct {
	const char *bytes;
	size_t len;
} any_bytes[] = {
	BYTES("a\nb"),
	BYTES("a\0b\0"),
	BYTES("\0"),
	BYTES("\33[2J\33]0;x\7"),
	BYTES("Gr\303\274\303\237e \342\202\254"),
	BYTES("\\x41\\"),
	BYTES("# \t,:+\r\177\377"),
};

/* D5: each comes out of the listing as it went in; the longest, too. */
TEST_F(users, D5_any_bytes)
{
	static unsigned char longest[ENTITYLOCK_NAME_MAX];
	const struct entitylock_list_entry *entry;
	int tokens[ARRAY_SIZE(any_bytes) + 1], fd;
	struct entitylock_list *list;
	unsigned int found = 0;

	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i + 1;
	fd = entitylock_open_domain(NULL, O_RDWR, any_bytes[1].bytes, any_bytes[1].len, CREATE,
				    &(uint32_t) { 0700 }, NULL);
	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(any_bytes); i++)
		tokens[i] = entitylock_acquire(fd, any_bytes[i].bytes, any_bytes[i].len, EXCLUSIVE,
					       NULL, NULL);
	tokens[ARRAY_SIZE(any_bytes)] = entitylock_acquire(fd, longest, sizeof(longest), EXCLUSIVE,
							   NULL, NULL);
	ASSERT_EQ(0, entitylock_list_open(fd, &list));
	while (entitylock_list_next(list, &entry) == 1) {
		EXPECT_EQ(1, entry->holders);
		for (size_t i = 0; i < ARRAY_SIZE(any_bytes); i++)
			found += entry->name_len == any_bytes[i].len &&
				 !memcmp(entry->name, any_bytes[i].bytes, any_bytes[i].len);
		found += entry->name_len == sizeof(longest) &&
			 !memcmp(entry->name, longest, sizeof(longest));
	}
	EXPECT_EQ(ARRAY_SIZE(tokens), found);
	entitylock_list_close(list);
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		close(tokens[i]);
	close(fd);
}

/* D5: labels likewise, those with a zero by the verb itself: the library takes strings. */
TEST_F(users, D5_any_label)
{
	for (size_t i = 0; i < ARRAY_SIZE(any_bytes); i++) {
		struct entitylock_label arg = {
			.label = ptr(any_bytes[i].bytes), .label_len = any_bytes[i].len,
		};
		const struct entitylock_list_entry *entry = NULL;
		int token = hold(self->domain, "x");
		struct entitylock_list *list;

		ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_LABEL, &arg));
		ASSERT_EQ(0, entitylock_list_open(self->domain, &list));
		ASSERT_EQ(1, entitylock_list_next(list, &entry));
		ASSERT_EQ(1, entry->nr_holder);
		EXPECT_EQ(any_bytes[i].len, entry->holder[0].label_len);
		EXPECT_EQ(0, memcmp(entry->holder[0].label, any_bytes[i].bytes, any_bytes[i].len));
		entitylock_list_close(list);
		close(token);
	}
}

SELFTEST_MAIN
