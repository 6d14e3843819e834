// SPDX-License-Identifier: GPL-2.0
/* L8: waits are freezable: by suspend, where they keep their place, and by a cgroup. */
#include <poll.h>

#include "cgroup.h"

/* L8: frozen and thawed, blocking and asynchronous waits keep their place. */
TEST_F(entitylock, L8_suspend_keeps_the_order)
{
	enum { COUNT = 6 };
	int holder = hold(self->domain, "a");
	__u64 begin = now_on(CLOCK_BOOTTIME);
	int tokens[COUNT];
	struct call calls[COUNT];

	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++) {
		tokens[i] = idle(self->domain, "a");
		ASSERT_LE(0, tokens[i]);
		if (i % 2) {
			ASSERT_EQ(0, token_lock(tokens[i], ENTITYLOCK_ASYNC, FOREVER));
		} else {
			call_lock(&calls[i], tokens[i], FOREVER);
			ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1 &&
					       call_blocked(&calls[i])));
		}
	}
	ASSERT_EQ(0, freeze_and_thaw());
	/* The kernel's test keeps them frozen for five seconds. */
	EXPECT_LT(3 * NSEC_PER_SEC, now_on(CLOCK_BOOTTIME) - begin);
	EXPECT_EQ(COUNT, token_waiters(holder));
	close(holder);
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(POLLIN, token_poll_wait(tokens[i], POLLIN) & POLLIN);
		for (int j = i + 1; j < COUNT; j++)
			EXPECT_EQ(ENTITYLOCK_PENDING, token_state(tokens[j]));
		if (i % 2 == 0)
			EXPECT_EQ(0, call_result(&calls[i]));
		close(tokens[i]);
	}
}

/* L8: a deadline that comes while all is frozen is met after it. */
TEST_F(entitylock, L8_deadline_in_suspend)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	int pending = idle(self->domain, "a");
	__u64 deadline = now() + 2 * NSEC_PER_SEC;
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_LE(0, pending);
	call_lock(&call, token, deadline);
	ASSERT_EQ(0, token_lock(pending, ENTITYLOCK_ASYNC, deadline));
	ASSERT_EQ(0, freeze_and_thaw());
	EXPECT_EQ(-ETIMEDOUT, call_result(&call));
	EXPECT_EQ(POLLERR, token_poll_wait(pending, POLLIN));
	EXPECT_LE(deadline, now());
	EXPECT_EQ(0, token_waiters(holder));
	close(holder);
	close(token);
	close(pending);
}

static bool group_frozen(const struct cgroup *group)
{
	char path[128], line[64];
	bool frozen = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.events", group->path);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		frozen |= !strcmp(line, "frozen 1\n");
	if (file)
		fclose(file);
	return frozen;
}

static void group_freeze(struct __test_metadata *_metadata, struct cgroup *group, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	ASSERT_EQ(0, group_write(group, "cgroup.procs", number));
	ASSERT_EQ(0, group_write(group, "cgroup.freeze", "1"));
	ASSERT_TRUE(eventually(group_frozen(group)));
}

/* L8: a waiter in a frozen cgroup is in nobody's way, and waits again when thawed. */
TEST_F(entitylock, L8_cgroup_freezes_a_waiter)
{
	int holder = hold(self->domain, "a");
	struct cgroup group;
	pid_t pid;

	ASSERT_LE(0, holder);
	group_make(_metadata, &group);
	pid = spawn();
	if (!pid) {
		close(holder);
		_exit(acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER) >= 0 ? 0 : 1);
	}
	ASSERT_TRUE(eventually(token_waiters(holder) == 1 && task_blocked(pid)));
	group_freeze(_metadata, &group, pid);
	EXPECT_EQ(0, unlock(holder));
	EXPECT_EQ(0, token_lock(holder, 0, NOWAIT));
	ASSERT_EQ(0, group_write(&group, "cgroup.freeze", "0"));
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	EXPECT_EQ(0, unlock(holder));
	EXPECT_EQ(0, reap(pid));
	close(holder);
	group_end(_metadata, &group);
}

/* L9: a holder in a frozen cgroup holds; killed there, it does not. */
TEST_F(entitylock, L9_cgroup_freezes_a_holder)
{
	struct cgroup group;
	pid_t pid;

	group_make(_metadata, &group);
	pid = spawn();
	if (!pid) {
		/* The parent, looking, may have it for a moment. */
		if (acquire(self->domain, "a", EXCLUSIVE, 0, FOREVER) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_TRUE(eventually(try_lock(self->domain, "a", EXCLUSIVE) == -EAGAIN));
	group_freeze(_metadata, &group, pid);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", EXCLUSIVE));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
	group_end(_metadata, &group);
}

SELFTEST_MAIN
