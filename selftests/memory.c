// SPDX-License-Identifier: GPL-2.0
/*
 * D4: what a user piles up is charged to its memory cgroup, which stops it, by
 * ENOMEM or by the end of the process; nobody else notices, and nothing stays.
 */
#include "cgroup.h"
#include "domains.h"

#define LIMIT	(6 << 20)

enum pile { ENTITIES, WAITERS, SHARERS, EXTENDED, DOMAINS };

FIXTURE(memory) {
	struct ground ground;
};

FIXTURE_VARIANT(memory) {
	enum pile pile;
};

FIXTURE_SETUP(memory)
{
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	ground_check(_metadata, &self->ground);
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, chmod(DEVICE, 0660));
	ground_recheck(_metadata, &self->ground);
}

#define PILE(_pile)							\
	FIXTURE_VARIANT_ADD(memory, _pile) {				\
		.pile = _pile,						\
	}

PILE(ENTITIES);
PILE(WAITERS);
PILE(SHARERS);
PILE(EXTENDED);
PILE(DOMAINS);

/* Most that may be there when it is stopped: each takes some bytes at least. */
static unsigned int most(enum pile pile)
{
	switch (pile) {
	case ENTITIES:
	case EXTENDED:
		return LIMIT / 64;
	case DOMAINS:
		return LIMIT / 1024;
	default:
		return LIMIT / 256;
	}
}

/* Pile up until something refuses; how many were there, or -errno for another reason. */
static int pile_up(int domain, enum pile pile)
{
	static struct numbered many;
	unsigned int count;
	int token = -1, ret;

	for (count = 0; count <= most(pile); count++) {
		switch (pile) {
		case ENTITIES:
			numbered_set(&many, count, ENTITYLOCK_SET_MAX, EXCLUSIVE);
			ret = acquire_set(domain, many.set, ENTITYLOCK_SET_MAX,
					  ENTITYLOCK_OPEN, NOWAIT);
			count += ENTITYLOCK_SET_MAX - 1;
			break;
		case WAITERS:
			ret = await(domain, "busy");
			break;
		case SHARERS:
			ret = share(domain, "shared");
			break;
		case EXTENDED:
			if (count % 64 == 0)
				token = -1;
			numbered_set(&many, count, 1, EXCLUSIVE);
			ret = token < 0 ? token = acquire_set(domain, many.set, 1, 0, NOWAIT) :
			      token_extend(token, many.set, 1, 0, NOWAIT);
			break;
		case DOMAINS:
			ret = domain_enter(NULL, PRIVATE, 0, O_RDWR);
			break;
		}
		if (ret < 0)
			return ret == -ENOMEM ? (int)count : ret;
	}
	return count;
}

/* D4: a limit of memory stops its user, and nobody else. */
TEST_F(memory, D4_a_memory_limit)
{
	int domain = self->ground.domain, busy = hold(domain, "busy"), status;
	struct cgroup group;
	char text[16];
	pid_t pid;

	ASSERT_LE(0, busy);
	group_make(_metadata, &group);
	ASSERT_EQ(0, group_write(&group, "../cgroup.subtree_control", "+memory"));
	snprintf(text, sizeof(text), "%d", LIMIT);
	ASSERT_EQ(0, group_write(&group, "memory.max", text));
	pid = spawn();
	if (!pid) {
		int ret;

		raise_fd_limit(1 << 20);
		if (group_write(&group, "cgroup.procs", "0"))
			_exit(1);
		if (become(ALICE, ALICE))
			_exit(2);
		ret = pile_up(domain_open(O_RDWR), variant->pile);
		_exit(ret < 0 ? 3 : ret > (int)most(variant->pile) ? 4 : 0);
	}
	/* Others go on meanwhile. */
	status = -1;
	ASSERT_TRUE(eventually(({
		int token = hold(domain, "mine");

		EXPECT_LE(0, token);
		close(token);
		waitpid(pid, &status, WNOHANG) == pid;
	})));
	EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status)) {
		TH_LOG("wait status 0x%x", status);
	}
	EXPECT_TRUE(eventually(live_entities(domain) == 1));
	close(busy);
	group_end(_metadata, &group);
}

SELFTEST_MAIN
