// SPDX-License-Identifier: GPL-2.0
/* D2, D3: r lists, w locks entities, x takes the gate; of whoever opened the fd. */
#include "domains.h"

/* What an fd of a domain can do, a letter each: list, lock, gate; - where it is EACCES. */
static const char *can(int fd)
{
	static char text[4];
	const int ret[] = { try_read(fd), try_lock(fd, "z", EXCLUSIVE), try_gate(fd) };

	for (int i = 0; i < 3; i++)
		text[i] = !ret[i] ? "rwx"[i] : ret[i] == -EACCES ? '-' : '?';
	return text;
}

/* In a process of its own, as that user: what @oflags may do there; "" if it may not enter. */
static void can_as(uid_t uid, gid_t gid, const char *name, int oflags, char *text)
{
	int out[2];
	pid_t pid;

	text[0] = '\0';
	if (pipe(out))
		return;
	pid = spawn();
	if (!pid) {
		int fd;

		if (become(uid, gid))
			_exit(1);
		fd = domain_enter(name, 0, 0, oflags);
		if (fd < 0)
			_exit(fd == -EACCES ? 0 : 2);
		_exit(write(out[1], can(fd), 3) == 3 ? 0 : 3);
	}
	close(out[1]);
	if (read(out[0], text, 3) == 3)
		text[3] = '\0';
	else
		text[0] = '\0';
	close(out[0]);
	if (reap(pid))
		strcpy(text, "!");
}

/* D2: each bit alone and all together, for the owner, the group, and others. */
TEST_F(users, D2_each_bit)
{
	static const char *const bits[] = {
		"---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx",
	};
	char text[4];

	for (unsigned int mode = 0; mode <= 7; mode++) {
		/* Who has none of these rights gets all by the other two: only one class counts. */
		const unsigned int modes[] = { mode << 6 | 0077, mode << 3 | 0707, mode | 0770 };
		static const struct {
			uid_t uid;
			gid_t gid;
		} who[] = { { ALICE, ALICE }, { BOB, STAFF }, { BOB, BOB } };

		for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
			/* An fd must ask for something that its owner has. */
			int domain = domain_as(ALICE, STAFF, "shop", CREATE | EXCL, modes[i],
					       i == 0 && !(mode & 3) ? O_RDONLY : O_WRONLY);
			int root;

			/* An owner without any right cannot even make it. */
			if (i == 0 && !mode) {
				EXPECT_EQ(-EACCES, domain);
				continue;
			}
			ASSERT_LE(0, domain);
			can_as(who[i].uid, who[i].gid, "shop", O_RDWR, text);
			EXPECT_STREQ((mode & 4) && (mode & 3) ? bits[mode] : "", text) {
				TH_LOG("mode 0%o, user %u of group %u", modes[i], who[i].uid,
				       who[i].gid);
			}
			can_as(who[i].uid, who[i].gid, "shop", O_RDONLY, text);
			/* EBADF for the rest. */
			EXPECT_STREQ(mode & 4 ? "r??" : "", text);
			can_as(who[i].uid, who[i].gid, "shop", O_WRONLY, text);
			if (mode & 3) {
				EXPECT_EQ('?', text[0]);
				EXPECT_EQ(bits[mode][1], text[1]);
				EXPECT_EQ(bits[mode][2], text[2]);
			} else {
				EXPECT_STREQ("", text);
			}
			/* Who may break all locks may do the rest, too. */
			root = domain_find("shop");
			EXPECT_LE(0, root);
			EXPECT_STREQ("rwx", can(root));
			close(root);
			close(domain);
		}
	}
}

/* D2: supplementary groups count. */
TEST_F(users, D2_supplementary_groups)
{
	int domain = domain_as(ALICE, STAFF, "shop", CREATE, 0770, O_RDWR);
	pid_t pid;

	ASSERT_LE(0, domain);
	pid = spawn();
	if (!pid) {
		const gid_t groups[] = { 7, STAFF };

		if (setgroups(2, groups) || setresgid(BOB, BOB, BOB) || setresuid(BOB, BOB, BOB))
			_exit(1);
		_exit(domain_find("shop") < 0 ? 2 : 0);
	}
	EXPECT_EQ(0, reap(pid));
	pid = spawn();
	if (!pid)
		_exit(become(BOB, BOB) || domain_find("shop") != -EACCES ? 1 : 0);
	EXPECT_EQ(0, reap(pid));
	close(domain);
}

/* D2: rights are those of whoever opened the fd, for better and for worse. */
TEST_F(users, D2_of_the_opener)
{
	int domain, passed, token;
	struct cookie cookie;
	pid_t pid;

	/* Others may lock, and neither look nor take the gate. */
	domain = domain_make("shop", 0702);
	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	pid = spawn();
	if (!pid) {
		if (become(ALICE, ALICE))
			_exit(1);
		if (domain_find("shop") != -EACCES)
			_exit(2);
		/* An fd that root opened gives root's rights; the gate is not free. */
		_exit(strcmp(can(domain), "rw?") ? 3 : 0);
	}
	EXPECT_EQ(0, reap(pid));
	passed = domain_as(ALICE, ALICE, "shop", 0, 0, O_WRONLY);
	ASSERT_LE(0, passed);
	/* One that Alice opened gives hers, to root as well. */
	EXPECT_EQ(0, try_lock(passed, "b", EXCLUSIVE));
	EXPECT_EQ(-EACCES, try_gate(passed));
	EXPECT_EQ(-EACCES, acquire_gate(passed, ENTITYLOCK_OPEN, NOWAIT));
	EXPECT_EQ(-EPERM, break_entity(passed, "a", 0));
	EXPECT_EQ(-EPERM, break_entity(passed, "unborn", 0));
	close(token);
	token = claim(passed, &cookie);
	EXPECT_LE(0, token);
	close(token);
	close(passed);
	close(domain);
}

/* D2: CLAIM needs w; without it the cookie is not used up. */
TEST_F(users, D2_CLAIM_needs_w)
{
	int domain, passed, token;
	struct cookie cookie;

	domain = domain_make("shop", 0701);
	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	ASSERT_EQ(0, token_park(token, HOUR, &cookie));
	close(token);
	passed = domain_as(ALICE, ALICE, "shop", 0, 0, O_WRONLY);
	ASSERT_LE(0, passed);
	EXPECT_EQ(-EACCES, claim(passed, &cookie));
	EXPECT_EQ(-EACCES, hold(passed, "b"));
	token = claim(domain, &cookie);
	EXPECT_LE(0, token);
	close(token);
	close(passed);
	close(domain);
}

/* D2: authority over a token is its fd: no right in its domain is asked for. */
TEST_F(users, D2_tokens_need_no_rights)
{
	int domain = domain_make("shop", 0700), token, gate;
	pid_t pid;

	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	gate = acquire_gate(domain, ENTITYLOCK_OPEN, NOWAIT);
	ASSERT_LE(0, token);
	ASSERT_LE(0, gate);
	pid = spawn();
	if (!pid) {
		if (become(ALICE, ALICE))
			_exit(1);
		if (extend_these(token, 0, NOWAIT, X("b")) || unlock(token))
			_exit(2);
		if (token_lock(gate, 0, soon()) || unlock(gate))
			_exit(3);
		_exit(token_lock(token, 0, NOWAIT) ? 4 : 0);
	}
	EXPECT_EQ(0, reap(pid));
	close(gate);
	close(token);
	close(domain);
}

/* D3: BREAK by the owner of a named domain, without any capability; not by others. */
TEST_F(users, D3_the_owner_of_a_named_domain)
{
	pid_t pid = spawn();

	if (!pid) {
		int domain, token;

		if (become(ALICE, ALICE))
			_exit(1);
		domain = domain_make("shop", 0777);
		token = hold(domain, "a");
		if (token < 0)
			_exit(2);
		if (break_entity(domain, "a", token_fence(token)) || !is_lost(token))
			_exit(3);
		/* The default domain is root's. */
		_exit(break_entity(domain_open(O_RDWR), "a", 0) == -EPERM ? 0 : 4);
	}
	EXPECT_EQ(0, reap(pid));
}

TEST_F(users, D3_not_the_other_users)
{
	int domain = domain_make("shop", 0777), token;
	pid_t pid;

	ASSERT_LE(0, domain);
	token = hold(domain, "a");
	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		int fd;

		if (become(BOB, BOB))
			_exit(1);
		fd = domain_find("shop");
		if (strcmp(can(fd), "rw?"))
			_exit(2);
		/* Whether there is such an entity is not told either. */
		if (break_entity(fd, "a", 0) != -EPERM || break_entity(fd, "b", 0) != -EPERM)
			_exit(3);
		_exit(break_gate(fd, 0) == -EPERM ? 0 : 4);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(0, break_entity(domain, "a", 0));
	close(token);
	close(domain);
}

/* D2: the default domain's mode is a parameter of the module; for fds not used yet. */
TEST_F(users, D2_mode_of_the_default_domain)
{
	static const struct {
		const char *mode;
		const char *others;
	} rows[] = {
		{ "0774", "r--" }, { "0772", "-w-" }, { "0771", "--x" }, { "0770", "---" },
	};
	int used = domain_open(O_RDWR);

	EXPECT_EQ(-EINVAL, write_file(PARAMETERS "default_mode", "01777"));
	EXPECT_EQ(-EINVAL, write_file(PARAMETERS "default_mode", "rwx"));
	EXPECT_EQ(-EINVAL, write_file(PARAMETERS "default_mode", "-1"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid;

		ASSERT_EQ(0, write_file(PARAMETERS "default_mode", rows[i].mode));
		EXPECT_TRUE(file_says(PARAMETERS "default_mode", rows[i].mode));
		pid = spawn();
		if (!pid) {
			int fd;

			if (become(ALICE, ALICE))
				_exit(1);
			/* It opens: it may be meant for another domain. */
			fd = domain_open(O_RDWR);
			_exit(fd < 0 || strcmp(can(fd), rows[i].others) ? 2 : 0);
		}
		EXPECT_EQ(0, reap(pid)) {
			TH_LOG("default_mode %s", rows[i].mode);
		}
		EXPECT_STREQ("rwx", can(used));
	}
	EXPECT_EQ(0, write_file(PARAMETERS "default_mode", "0777"));
	close(used);
}

/* D2: ACQUIRE, CLAIM and BREAK need an fd open for writing, read(2) for reading. */
TEST_F(users, D2_EBADF_by_open_mode)
{
	int r = domain_open(O_RDONLY), w = domain_open(O_WRONLY);
	struct cookie cookie = { { 0 } };

	ASSERT_LE(0, r);
	ASSERT_LE(0, w);
	EXPECT_EQ(-EBADF, hold(r, "a"));
	EXPECT_EQ(-EBADF, try_gate(r));
	EXPECT_EQ(-EBADF, claim(r, &cookie));
	EXPECT_EQ(-EBADF, break_entity(r, "a", 0));
	EXPECT_EQ(-EBADF, try_read(w));
	EXPECT_EQ(-1, lseek(w, 1, SEEK_SET));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(0, try_read(r));
	EXPECT_EQ(0, try_lock(w, "a", EXCLUSIVE));
	close(r);
	close(w);
}

/* D2: who may not list is told no more than how many entities there are. */
TEST_F(users, D2_statistics_are_for_who_may_list)
{
	int locker = domain_as(ALICE, ALICE, "locks", CREATE | EXCL, 0300, O_WRONLY);
	int lister = domain_as(ALICE, ALICE, "lists", CREATE | EXCL, 0400, O_RDONLY);

	ASSERT_LE(0, locker);
	ASSERT_LE(0, lister);
	EXPECT_STREQ("0", fdinfo_value(lister, "grants"));
	EXPECT_STREQ("0", fdinfo_value(locker, "entities"));
	EXPECT_STREQ("", fdinfo_value(locker, "grants"));
	EXPECT_STREQ("", fdinfo_value(locker, "waiters"));
	close(locker);
	close(lister);
}

SELFTEST_MAIN
