// SPDX-License-Identifier: GPL-2.0
/* D1: domains: by user namespace, by name, private. */
#include "domains.h"

/* To look is to refer to it, for a moment. */
static bool is_gone(const char *name)
{
	int fd = domain_find(name);

	if (fd >= 0)
		close(fd);
	return fd == -ENOENT;
}

/* D1: a name means something within its domain, and so does the gate. */
TEST_F(users, D1_domains_do_not_meet)
{
	int one = domain_make("one", 0700), two = domain_make("two", 0700);
	int here, gate;

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	here = hold(one, "a");
	ASSERT_LE(0, here);
	EXPECT_EQ(0, try_lock(two, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	EXPECT_EQ(1, live_entities(one));
	EXPECT_EQ(0, live_entities(two));
	EXPECT_EQ(0, live_entities(self->domain));
	EXPECT_EQ(-EAGAIN, try_gate(one));
	gate = acquire_gate(two, 0, soon());
	EXPECT_LE(0, gate);
	EXPECT_EQ(-EAGAIN, try_lock(two, "b", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(one, "b", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(gate);
	close(here);
	close(one);
	close(two);
}

/* D1: who gives the same name comes to the same place, another process, too. */
TEST_F(users, D1_the_same_name_is_the_same_domain)
{
	int domain = domain_make("shop", 0700), token;
	pid_t pid;

	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		int found = domain_find("shop");

		if (found < 0)
			_exit(1);
		if (try_lock(found, "a", EXCLUSIVE) != -EAGAIN)
			_exit(2);
		close(found);
		found = domain_enter("shop", CREATE, 0777, O_RDWR);
		_exit(try_lock(found, "a", EXCLUSIVE) == -EAGAIN ? 0 : 3);
	}
	EXPECT_EQ(0, reap(pid));
	close(token);
	close(domain);
}

/* D1: CREATE, EXCL; the real mode and owner are returned. */
TEST_F(users, D1_create_and_find)
{
	struct entitylock_domain arg = {
		.name = ptr("shop"),
		.name_len = 4,
		.mode = 0640,
		.owner = 12345,
	};
	int fd = domain_open(O_RDWR), again = domain_open(O_RDWR);

	ASSERT_LE(0, fd);
	ASSERT_LE(0, again);
	EXPECT_EQ(-ENOENT, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	arg.flags = CREATE | EXCL;
	ASSERT_EQ(0, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(0640, arg.mode);
	EXPECT_EQ(0, arg.owner);
	EXPECT_EQ(-EEXIST, el_ioctl(again, ENTITYLOCK_IOC_DOMAIN, &arg));
	arg.flags = CREATE;
	arg.mode = 0777;
	arg.owner = 12345;
	ASSERT_EQ(0, el_ioctl(again, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(0640, arg.mode);
	EXPECT_EQ(0, arg.owner);
	close(again);
	again = domain_open(O_RDWR);
	/* Without CREATE the mode is an output, and anything before. */
	arg.flags = 0;
	arg.mode = ~0U;
	ASSERT_EQ(0, el_ioctl(again, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(0640, arg.mode);
	close(again);
	close(fd);
}

/* D1: a name that somebody else has taken first: who has is told. */
TEST_F(users, D1_a_squatted_name)
{
	struct entitylock_domain arg = { .name = ptr("shop"), .name_len = 4, .flags = CREATE };
	int squatter = domain_as(ALICE, ALICE, "shop", CREATE, 0777, O_RDWR), fd;

	ASSERT_LE(0, squatter);
	EXPECT_EQ(-EEXIST, domain_make("shop", 0700));
	fd = domain_open(O_RDWR);
	arg.mode = 0700;
	ASSERT_EQ(0, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(ALICE, arg.owner);
	EXPECT_EQ(0777, arg.mode);
	close(fd);
	close(squatter);
}

/* D1: the first use of a fresh fd only: any other use has settled its domain. */
TEST_F(users, D1_EBUSY_after_a_use)
{
	struct entitylock_version version;
	struct cookie cookie = { { 0 } };
	int kept = domain_make("shop", 0700);

	ASSERT_LE(0, kept);
	for (int use = 0; use < 7; use++) {
		int fd = domain_open(O_RDWR);

		ASSERT_LE(0, fd);
		/* None of these is one. */
		EXPECT_EQ(0, el_ioctl(fd, ENTITYLOCK_IOC_VERSION, &version));
		EXPECT_EQ(-ENOENT, domain_move(fd, "nowhere", 0, 0));
		EXPECT_EQ(-EEXIST, domain_move(fd, "shop", CREATE | EXCL, 0700));
		EXPECT_EQ(-EINVAL, domain_move(fd, "", 0, 0));
		EXPECT_EQ(0, live_entities(fd));
		switch (use) {
		case 0:
			close(hold(fd, "a"));
			break;
		case 1:	/* one that fails */
			EXPECT_EQ(-EINVAL, hold(fd, ""));
			break;
		case 2:
			EXPECT_EQ(-ENOENT, claim(fd, &cookie));
			break;
		case 3:
			EXPECT_EQ(-ENOENT, break_entity(fd, "a", 0));
			break;
		case 4:
			EXPECT_EQ(0, try_read(fd));
			break;
		case 5:
			EXPECT_EQ(0, lseek(fd, 0, SEEK_SET));
			break;
		case 6:
			EXPECT_EQ(0, domain_move(fd, "shop", 0, 0));
			break;
		}
		EXPECT_EQ(-EBUSY, domain_move(fd, "shop", 0, 0));
		EXPECT_EQ(-EBUSY, domain_move(fd, NULL, PRIVATE, 0));
		close(fd);
	}
	close(kept);
}

/* D1: a private domain: only fds that are passed on lead there. */
TEST_F(users, D1_private)
{
	struct entitylock_domain arg = { .flags = PRIVATE, .mode = ~0U };
	int one = domain_open(O_RDWR), two = domain_enter(NULL, PRIVATE, 0, O_RDWR);
	int pair[2], token, passed;
	pid_t pid;

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	ASSERT_EQ(0, el_ioctl(one, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(0700, arg.mode);
	EXPECT_EQ(0, arg.owner);
	EXPECT_STREQ("private", fdinfo_value(one, "domain"));
	token = hold(one, "a");
	ASSERT_LE(0, token);
	EXPECT_EQ(0, try_lock(two, "a", EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	/* No name leads there, the empty one neither. */
	EXPECT_EQ(-EINVAL, domain_find(""));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = spawn();
	if (!pid) {
		if (become(ALICE, ALICE))
			_exit(1);
		passed = receive_fd(pair[1]);
		if (try_lock(passed, "a", EXCLUSIVE) != -EAGAIN)
			_exit(2);
		_exit(try_lock(passed, "b", EXCLUSIVE) ? 3 : 0);
	}
	ASSERT_EQ(0, send_fd(pair[0], one));
	EXPECT_EQ(0, reap(pid));
	close(token);
	close(one);
	close(two);
	close(pair[0]);
	close(pair[1]);
}

/* D1: each user namespace has names of its own, and a default domain. */
TEST_F(users, D1_user_namespaces)
{
	int domain = domain_make("shop", 0777), token, here;
	pid_t pid;

	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	here = hold(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_LE(0, here);
	pid = spawn();
	if (!pid) {
		int fd;

		if (enter_user_namespace())
			_exit(1);
		fd = domain_open(O_RDWR);
		if (live_entities(fd) || try_lock(fd, "a", EXCLUSIVE) ||
		    break_entity(fd, "a", 0) != -ENOENT)
			_exit(2);
		if (domain_find("shop") != -ENOENT)
			_exit(3);
		fd = domain_make("shop", 0700);
		if (live_entities(fd) || try_lock(fd, "a", EXCLUSIVE))
			_exit(4);
		/* An fd from outside is what it was. */
		_exit(try_lock(domain, "a", EXCLUSIVE) == -EAGAIN ? 0 : 5);
	}
	EXPECT_EQ(0, reap(pid));
	close(here);
	close(token);
	close(domain);
}

/* D1: the owner is told as the caller's namespace knows it, the overflow user otherwise. */
TEST_F(users, D1_the_owner_in_another_namespace)
{
	struct entitylock_domain arg = { .name = ptr("shop"), .name_len = 4, .flags = CREATE };
	pid_t pid = spawn();

	if (!pid) {
		int fd;

		if (become(ALICE, ALICE) || unshare(CLONE_NEWUSER))
			_exit(1);
		/* Nothing is mapped here. */
		fd = domain_open(O_RDWR);
		arg.mode = 0700;
		if (el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg))
			_exit(2);
		_exit(arg.owner == 65534 ? 0 : 3);
	}
	EXPECT_EQ(0, reap(pid));
}

/* D1: it lives while an fd, a token, or a parked token refers to it; then it is gone. */
TEST_F(users, D1_gone_with_its_last_reference)
{
	int fd = domain_make("shop", 0700), token;
	struct cookie cookie;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EEXIST, domain_make("shop", 0700));
	close(fd);
	EXPECT_EQ(-ENOENT, domain_find("shop"));

	fd = domain_make("shop", 0700);
	token = hold(fd, "a");
	ASSERT_LE(0, token);
	close(fd);
	fd = domain_find("shop");
	EXPECT_EQ(-EAGAIN, try_lock(fd, "a", EXCLUSIVE));
	close(fd);
	close(token);
	EXPECT_TRUE(eventually(is_gone("shop")));

	fd = domain_make("shop", 0700);
	token = hold(fd, "a");
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	close(token);
	close(fd);
	fd = domain_find("shop");
	token = claim(fd, &cookie);
	EXPECT_LE(0, token);
	close(token);
	close(fd);
	EXPECT_TRUE(eventually(is_gone("shop")));
}

/* V1, D1: marks keep a named domain for a while, its owner and mode with it; not a private one. */
TEST_F(users, V1_marks_keep_a_domain)
{
	struct entitylock_domain arg = { .name = ptr("shop"), .name_len = 4 };
	int fd = domain_make("shop", 0750);

	ASSERT_LE(0, fd);
	close(acquire(fd, "a", EXCLUSIVE, ROBUST, NOWAIT));
	close(fd);
	EXPECT_EQ(-EEXIST, domain_make("shop", 0700));
	fd = domain_open(O_RDWR);
	ASSERT_EQ(0, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(0750, arg.mode);
	EXPECT_EQ(0, break_entity(fd, "a", 0));
	close(fd);
	EXPECT_TRUE(eventually(is_gone("shop")));

	fd = domain_make("shop", 0700);
	close(acquire(fd, "a", EXCLUSIVE, ROBUST, NOWAIT));
	close(fd);
	ASSERT_EQ(0, set_parameter("mark_seconds", 0));
	EXPECT_TRUE(eventually(is_gone("shop")));

	/* The quota is given back with a private domain: nothing is left. */
	ASSERT_EQ(0, set_parameter("marks_max", 1));
	for (int i = 0; i < 5; i++) {
		int token;

		fd = domain_enter(NULL, PRIVATE, 0, O_RDWR);
		ASSERT_LE(0, fd);
		token = acquire(fd, "a", EXCLUSIVE, ROBUST, NOWAIT);
		EXPECT_LE(0, token);
		close(token);
		close(fd);
	}
}

/* D1, V4: a cookie opens nothing in another domain. */
TEST_F(users, D1_cookies_are_of_a_domain)
{
	int one = domain_make("one", 0700), two = domain_make("two", 0700), token;
	struct cookie cookie;

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	token = hold(one, "a");
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	close(token);
	EXPECT_EQ(-ENOENT, claim(two, &cookie));
	EXPECT_EQ(-ENOENT, claim(self->domain, &cookie));
	token = claim(one, &cookie);
	EXPECT_LE(0, token);
	close(token);
	close(one);
	close(two);
}

/* D1: names of any bytes, 1 to 255; one that begins like another is another. */
TEST_F(users, D1_any_name)
{
	unsigned char name[ENTITYLOCK_NAME_MAX];
	struct entitylock_domain arg = { .name = ptr(name), .flags = CREATE | EXCL, .mode = 0700 };
	int fds[ENTITYLOCK_NAME_MAX];

	memset(name, 0, sizeof(name));
	name[0] = '\n';
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = domain_open(O_RDWR);
		arg.name_len = i + 1;
		ASSERT_EQ(0, el_ioctl(fds[i], ENTITYLOCK_IOC_DOMAIN, &arg));
	}
	EXPECT_STREQ("named", fdinfo_value(fds[1], "domain"));
	EXPECT_STREQ("\\x0a\\x00", fdinfo_value(fds[1], "name"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Bad input: EINVAL, EFAULT; the fd stays fresh, and where it was. */
TEST_F(users, D1_bad_input)
{
	static const char name[256] = "shop";
	static const struct entitylock_domain bad[] = {
		{ .name_len = 0 },
		{ .name_len = 0, .flags = CREATE },
		{ .name_len = 256, .flags = CREATE },
		{ .name_len = ~0U },
		{ .name_len = 4, .flags = EXCL },
		{ .name_len = 4, .flags = PRIVATE },
		{ .name_len = 0, .flags = PRIVATE | CREATE },
		{ .name_len = 0, .flags = PRIVATE | EXCL },
		{ .name_len = 4, .flags = CREATE | 1U << 31 },
		{ .name_len = 4, .flags = CREATE | ENTITYLOCK_GATE },
		{ .name_len = 4, .flags = CREATE, .mode = 01000 },
		{ .name_len = 4, .flags = CREATE, .mode = ~0U },
	};
	struct entitylock_domain arg = { .name_len = 4, .flags = CREATE, .mode = 0700 };
	int fd = domain_open(O_RDWR);

	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct entitylock_domain given = bad[i];

		given.name = ptr(name);
		EXPECT_EQ(-EINVAL, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &given));
	}
	EXPECT_EQ(-EFAULT, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	EXPECT_EQ(-EFAULT, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, NULL));
	/* What cannot be told is not done. */
	arg.name = ptr(name);
	EXPECT_EQ(-EFAULT, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, read_only_copy(&arg, sizeof(arg))));
	EXPECT_EQ(-ENOENT, domain_find("shop"));
	EXPECT_STREQ("default", fdinfo_value(fd, "domain"));
	EXPECT_EQ(0, el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg));
	close(fd);
}

struct opener {
	atomic_bool stop;
	atomic_int inside;
	atomic_uint entered;
	atomic_uint wrong;
};

static void *open_and_close(void *data)
{
	struct opener *opener = data;

	while (!opener->stop) {
		int fd = domain_enter("shop", CREATE, 0700, O_RDWR);
		int token = fd < 0 ? fd : hold(fd, "a");

		if (fd < 0 || (token < 0 && token != -EAGAIN)) {
			opener->wrong++;
			break;
		}
		if (token >= 0) {
			if (atomic_fetch_add(&opener->inside, 1))
				opener->wrong++;
			opener->entered++;
			/* Here the domain lives by the token alone. */
			close(fd);
			fd = -1;
			atomic_fetch_sub(&opener->inside, 1);
			close(token);
		}
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* D1: opens race the last close: there is never a second domain of that name. */
TEST_F(users, D1_open_against_the_last_close)
{
	struct opener opener = { 0 };
	pthread_t threads[3];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, open_and_close, &opener));
	EXPECT_TRUE(eventually(opener.wrong || opener.entered >= scaled(2000, 100)));
	opener.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, opener.wrong);
	EXPECT_TRUE(eventually(is_gone("shop")));
}

struct mover {
	struct start_line line;
	int fd;
	int moved;
	int token;
};

static void *move_it(void *data)
{
	struct mover *mover = data;

	start_together(&mover->line, 2);
	mover->moved = domain_move(mover->fd, "shop", 0, 0);
	return NULL;
}

/* D1: DOMAIN races the first use of the same fd: one of them is first. */
TEST_F(users, D1_move_against_the_first_use)
{
	int shop = domain_make("shop", 0700);
	unsigned int moved = 0;

	ASSERT_LE(0, shop);
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		struct mover mover = { .fd = domain_open(O_RDWR) };
		pthread_t thread;
		bool there;

		ASSERT_LE(0, mover.fd);
		ASSERT_EQ(0, pthread_create(&thread, NULL, move_it, &mover));
		start_together(&mover.line, 2);
		mover.token = hold(mover.fd, "a");
		pthread_join(thread, NULL);
		ASSERT_LE(0, mover.token);
		there = try_lock(shop, "a", EXCLUSIVE) == -EAGAIN;
		ASSERT_EQ(there ? 0 : -EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
		ASSERT_EQ(there ? 0 : -EBUSY, mover.moved);
		moved += there;
		close(mover.token);
		close(mover.fd);
	}
	TH_LOG("DOMAIN was first %u times", moved);
	close(shop);
}

/* D1: two moves of the same fd: one is first, and there it is. */
TEST_F(users, D1_move_against_another_move)
{
	int shop = domain_make("shop", 0700), other = domain_make("other", 0700);

	ASSERT_LE(0, shop);
	ASSERT_LE(0, other);
	for (unsigned int i = 0; i < scaled(500, 50); i++) {
		struct mover mover = { .fd = domain_open(O_RDWR) };
		int moved, token;
		pthread_t thread;

		ASSERT_LE(0, mover.fd);
		ASSERT_EQ(0, pthread_create(&thread, NULL, move_it, &mover));
		start_together(&mover.line, 2);
		moved = domain_move(mover.fd, "other", 0, 0);
		pthread_join(thread, NULL);
		ASSERT_EQ(-EBUSY, moved + mover.moved);
		token = hold(mover.fd, "a");
		ASSERT_LE(0, token);
		ASSERT_EQ(-EAGAIN, try_lock(moved ? shop : other, "a", EXCLUSIVE));
		close(token);
		close(mover.fd);
	}
	close(shop);
	close(other);
}

SELFTEST_MAIN
