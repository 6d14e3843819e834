// SPDX-License-Identifier: GPL-2.0
/* V1: robust holds: whoever comes after one that vanished is told. */
#include <signal.h>

#include "owners.h"

#define ABANDONED	ENTITYLOCK_ABANDONED
#define CONSISTENT	ENTITYLOCK_CONSISTENT

static int hold_robust(int domain, const char *name)
{
	return acquire(domain, name, EXCLUSIVE, ROBUST, NOWAIT);
}

/* Leave a mark: the last close of a robust holder. */
static void abandon(int domain, const char *name)
{
	close(hold_robust(domain, name));
}

/* What LOCK tells. */
static int lock_told(int token, __u32 *told)
{
	struct entitylock_lock arg = { .deadline = soon(), .result = ~0U };
	int ret = el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg);

	*told = arg.result;
	return ret;
}

/* What ACQUIRE of one entity tells: of the grant, and of the entity. */
static int acquire_told(int domain, const char *name, __u32 mode, __u32 *told, __u32 *which)
{
	struct entitylock_entity entity = ENTITY(name, mode);
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.deadline = NOWAIT,
		.result = ~0U,
	};
	int token;

	entity.result = ~0U;
	token = el_ioctl(domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
	*told = arg.result;
	*which = entity.result;
	return token;
}

/* Is @name marked, as its next holder is told?  The mark is dropped. */
static bool abandoned(int domain, const char *name)
{
	__u32 told, which;
	int token = acquire_told(domain, name, EXCLUSIVE, &told, &which);
	bool marked = told & which & ABANDONED;

	if (token < 0 || told != which)
		return false;
	token_unlock(token, CONSISTENT, 0);
	close(token);
	return marked;
}

/* Is nothing of it left? */
static bool unmarked(int domain, const char *name)
{
	__u32 told, which;
	int token = acquire_told(domain, name, EXCLUSIVE, &told, &which);

	close(token);
	return token >= 0 && !told && !which && break_entity(domain, name, 0) == -ENOENT;
}

/* V1: the end of the process, killed: the next holder is told, and which. */
TEST_F(owners, V1_killed)
{
	int waiter;
	__u32 told;
	pid_t pid = spawn();

	if (!pid) {
		/* The parent, looking, may have it for a moment. */
		if (acquire(self->domain, "a", EXCLUSIVE, ROBUST, soon()) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_TRUE(eventually(try_lock(self->domain, "a", SHARED) == -EAGAIN));
	waiter = await(self->domain, "a");
	ASSERT_LE(0, waiter);
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	EXPECT_EQ(POLLIN, token_poll_wait(waiter, POLLIN));
	/* Who waited in the background is told by INFO. */
	EXPECT_EQ(ABANDONED, entity_info(waiter).result);
	ASSERT_EQ(0, unlock(waiter));
	ASSERT_EQ(0, lock_told(waiter, &told));
	EXPECT_EQ(ABANDONED, told);
	ASSERT_EQ(0, token_unlock(waiter, CONSISTENT, 0));
	close(waiter);
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: the last close, also by a living process; a close that is not the last is none. */
TEST_F(owners, V1_closed)
{
	int token = hold_robust(self->domain, "a"), copy = dup(token);

	ASSERT_LE(0, token);
	ASSERT_LE(0, copy);
	EXPECT_EQ(ROBUST, token_info(token).flags);
	EXPECT_EQ(0, entity_info(token).result);
	close(token);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(0, entity_info(copy).result);
	close(copy);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: the end of the lease, when somebody comes. */
TEST_F(owners, V1_expired)
{
	int token = lease_entity(self->domain, "a", EXCLUSIVE, ROBUST, NOWAIT, ms(20));

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	EXPECT_EQ(0, entity_info(token).result);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(is_lost(token));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: the same for who waits for it. */
TEST_F(owners, V1_expired_under_a_waiter)
{
	int token = lease_entity(self->domain, "a", EXCLUSIVE, ROBUST, NOWAIT, ms(20));
	struct entitylock_entity entity = X("a");
	struct call call;
	int waiter;

	ASSERT_LE(0, token);
	call_acquire_set(&call, self->domain, &entity, 1, FOREVER);
	waiter = call_result(&call);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(ABANDONED, call.acquire.result);
	EXPECT_EQ(ABANDONED, entity.result);
	close(waiter);
	close(token);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
}

/* V1: BREAK. */
TEST_F(owners, V1_broken)
{
	int token = hold_robust(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(0, break_entity(self->domain, "a", token_fence(token)));
	EXPECT_TRUE(is_lost(token));
	EXPECT_TRUE(abandoned(self->domain, "a"));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: UNLOCK and a downgrade are no vanishing; nor is the end of what was not exclusive. */
TEST_F(owners, V1_what_leaves_no_mark)
{
	int token = hold_robust(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	EXPECT_TRUE(unmarked(self->domain, "a"));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));

	token = hold_robust(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));

	token = acquire(self->domain, "a", SHARED, ROBUST, NOWAIT);
	ASSERT_LE(0, token);
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));

	/* Upgraded, the same token leaves one. */
	token = acquire(self->domain, "a", SHARED, ROBUST, NOWAIT);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
}

/* V1: robust is the verb that locks, each time. */
TEST_F(owners, V1_each_LOCK_says_whether_it_is_robust)
{
	int token = hold_robust(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(0, token_info(token).flags);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));

	token = hold(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	ASSERT_EQ(0, token_lock(token, ROBUST, NOWAIT));
	EXPECT_EQ(ROBUST, token_info(token).flags);
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
}

/* V1: what was not granted leaves no mark: a wait that ends with its owner, or fails. */
TEST_F(owners, V1_no_mark_without_a_grant)
{
	int busy = hold(self->domain, "b");
	int waiter = acquire_these(self->domain, ROBUST | ENTITYLOCK_ASYNC, FOREVER, X("a"),
				   X("b"));
	int token;

	ASSERT_LE(0, busy);
	ASSERT_LE(0, waiter);
	EXPECT_EQ(-EAGAIN, acquire_these(self->domain, ROBUST, NOWAIT, X("0"), X("b")));
	EXPECT_EQ(-ETIMEDOUT, acquire_these(self->domain, ROBUST, in_ms(10), X("0"), X("b")));
	/* It held the first already. */
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "a", SHARED));
	close(waiter);
	EXPECT_TRUE(unmarked(self->domain, "0"));
	EXPECT_TRUE(unmarked(self->domain, "a"));

	/* An EXTEND that waits: only what it adds was not granted. */
	token = hold_robust(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("aa"), X("b")));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(unmarked(self->domain, "aa"));

	/* The same, broken. */
	token = hold_robust(self->domain, "a");
	ASSERT_LE(0, token);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("aa"), X("b")));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(is_lost(token));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(unmarked(self->domain, "aa"));

	/* An upgrade that waits was a shared hold. */
	waiter = share(self->domain, "c");
	token = acquire(self->domain, "c", SHARED, ROBUST, NOWAIT);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	close(token);
	close(waiter);
	EXPECT_TRUE(unmarked(self->domain, "c"));
	close(busy);
	EXPECT_TRUE(unmarked(self->domain, "b"));
}

/* V1, L2: results that cannot be written: as if never granted. */
TEST_F(owners, V1_no_mark_for_a_grant_that_is_given_back)
{
	struct entitylock_lock arg = { .flags = ROBUST };
	void *unwritable = read_only_copy(&arg, sizeof(arg));
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_LOCK, unwritable));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));
	munmap(unwritable, sizeof(arg));
}

/* V1: every holder is told, whatever its mode, until one says CONSISTENT. */
TEST_F(owners, V1_told_until_CONSISTENT)
{
	static const __u32 modes[] = { EXCLUSIVE, SHARED, EXCLUSIVE, SHARED };
	__u32 told, which;
	int token;

	abandon(self->domain, "a");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		token = acquire_told(self->domain, "a", modes[i], &told, &which);
		ASSERT_LE(0, token);
		EXPECT_EQ(ABANDONED, told);
		EXPECT_EQ(ABANDONED, which);
		EXPECT_EQ(ABANDONED, entity_info(token).result);
		ASSERT_EQ(0, token_unlock(token, i % 2 ? 0 : ENTITYLOCK_UNCHANGED, 0));
		ASSERT_EQ(0, lock_told(token, &told));
		EXPECT_EQ(ABANDONED, told);
		close(token);
	}
	/* A robust one that vanishes in its turn adds nothing. */
	abandon(self->domain, "a");
	token = acquire_told(self->domain, "a", SHARED, &told, &which);
	ASSERT_LE(0, token);
	EXPECT_EQ(ABANDONED, told & which);
	/* CANCEL of nothing, a wrong fence: no word that all is well. */
	EXPECT_EQ(-ESTALE, token_unlock(token, CONSISTENT, 1));
	EXPECT_EQ(ABANDONED, entity_info(token).result);
	ASSERT_EQ(0, token_unlock(token, CONSISTENT, token_fence(token)));
	EXPECT_EQ(0, entity_info(token).result);
	ASSERT_EQ(0, lock_told(token, &told));
	EXPECT_EQ(0, told);
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: which entity of a set, in the order in which the caller gave it. */
TEST_F(owners, V1_which_entity_of_a_set)
{
	struct entitylock_entity set[] = { X("d"), X("c"), S("b"), S("a") }, told[4] = { 0 };
	struct entitylock_acquire arg = {
		.count = 4,
		.entities = ptr(set),
		.entity_size = sizeof(set[0]),
	};
	struct entitylock_info info = {
		.entities = ptr(told),
		.entity_size = sizeof(told[0]),
		.capacity = 4,
	};
	int token = acquire_these(self->domain, ROBUST, NOWAIT, X("b"), S("c"), X("d"), X("e"));

	ASSERT_LE(0, token);
	close(token);
	token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
	ASSERT_LE(0, token);
	EXPECT_EQ(ABANDONED, arg.result);
	EXPECT_EQ(ABANDONED, set[0].result);
	EXPECT_EQ(0, set[1].result);
	EXPECT_EQ(ABANDONED, set[2].result);
	EXPECT_EQ(0, set[3].result);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(0, told[0].result);
	EXPECT_EQ(ABANDONED, told[1].result);
	EXPECT_EQ(0, told[2].result);
	EXPECT_EQ(ABANDONED, told[3].result);
	/* CONSISTENT is said of all that the token holds, and of nothing else. */
	ASSERT_EQ(0, token_unlock(token, CONSISTENT, 0));
	close(token);
	EXPECT_TRUE(unmarked(self->domain, "b"));
	EXPECT_TRUE(unmarked(self->domain, "d"));
	EXPECT_TRUE(abandoned(self->domain, "e"));
}

/* V1: EXTEND is told of what it adds, and keeps ROBUST. */
TEST_F(owners, V1_EXTEND_is_told_and_keeps_ROBUST)
{
	struct entitylock_entity entity = X("b");
	struct entitylock_acquire arg = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
	};
	int token = hold_robust(self->domain, "a");

	ASSERT_LE(0, token);
	abandon(self->domain, "b");
	EXPECT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_EXTEND, &arg));
	EXPECT_EQ(ABANDONED, arg.result);
	EXPECT_EQ(ABANDONED, entity.result);
	ASSERT_EQ(0, token_unlock(token, CONSISTENT, 0));
	ASSERT_EQ(0, token_lock(token, ROBUST, NOWAIT));
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("c"), S("d")));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(abandoned(self->domain, "b"));
	EXPECT_TRUE(abandoned(self->domain, "c"));
	EXPECT_TRUE(unmarked(self->domain, "d"));
}

/* V1: a LOST token marks all of its set, not only the entity that was wanted. */
TEST_F(owners, V1_a_lost_set_marks_each_of_its_entities)
{
	struct entitylock_entity set[] = { X("a"), X("b"), S("c"), X("d") };
	int token = lease_set(self->domain, set, 4, ROBUST, NOWAIT, ms(20));

	ASSERT_LE(0, token);
	ASSERT_TRUE(runs_out(token));
	EXPECT_TRUE(abandoned(self->domain, "b"));
	EXPECT_TRUE(abandoned(self->domain, "d"));
	EXPECT_TRUE(unmarked(self->domain, "c"));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
}

static bool listed_as_abandoned(const char *name, const char *state)
{
	struct row row;

	return listing_find(name, &row) && !strcmp(row.state, state) &&
	       !strcmp(row.mark, "abandoned");
}

/* V1, D5: a mark shows in listings, held or not. */
TEST_F(owners, V1_marks_show_in_listings)
{
	int token;

	abandon(self->domain, "a");
	EXPECT_TRUE(listed_as_abandoned("a", "abandoned"));
	token = hold(self->domain, "a");
	ASSERT_LE(0, token);
	EXPECT_TRUE(listed_as_abandoned("a", "held-exclusive"));
	ASSERT_EQ(0, token_unlock(token, CONSISTENT, 0));
	EXPECT_FALSE(listed_as_abandoned("a", "free"));
	close(token);
}

/* V1, D3: where nobody holds it BREAK drops the mark: once. */
TEST_F(owners, V1_dropped_by_BREAK)
{
	int token;

	abandon(self->domain, "a");
	/* With a fence it is a grant that is meant. */
	EXPECT_EQ(-ESTALE, break_entity(self->domain, "a", 1));
	EXPECT_EQ(1, live_entities(self->domain));
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "a", 0));
	EXPECT_EQ(0, live_entities(self->domain));

	/* Held, it takes the lock from the holder; the mark stays for whoever is next. */
	abandon(self->domain, "a");
	token = hold(self->domain, "a");
	ASSERT_LE(0, token);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_TRUE(is_lost(token));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));

	/* An IDLE token holds nothing. */
	abandon(self->domain, "a");
	token = idle(self->domain, "a");
	ASSERT_LE(0, token);
	EXPECT_EQ(0, break_entity(self->domain, "a", 0));
	EXPECT_EQ(-ENOENT, break_entity(self->domain, "a", 0));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(token);
}

/* V1: a mark survives all tokens; fences and versions go on behind it. */
TEST_F(owners, V1_survives_all_tokens)
{
	struct entitylock_entity entity = X("a");
	__u64 fence;
	int token = hold_robust(self->domain, "a");

	ASSERT_LE(0, token);
	fence = token_fence(token);
	close(token);
	EXPECT_EQ(1, live_entities(self->domain));
	entity.version = fence;
	token = acquire_set(self->domain, &entity, 1, ENTITYLOCK_IF_UNCHANGED, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(ABANDONED, entity.result);
	EXPECT_LT(fence, token_fence(token));
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
}

/* Run in a user namespace of its own, so in a domain that nobody else has open. */
static pid_t spawn_in_own_domain(void)
{
	pid_t pid = spawn();

	if (!pid && enter_user_namespace())
		_exit(100);
	return pid;
}

/* The fds of before have been closed, and the domain they were of has forgotten all. */
static int open_when_empty(void)
{
	int domain = -1;
	bool empty = eventually((domain = domain_open(O_RDWR),
				 live_entities(domain) == 0 || close(domain)));

	return empty ? domain : -1;
}

/* V1: and all fds: the domain is kept alive, and forgets in time. */
TEST_F(owners, V1_survives_all_fds_for_a_while)
{
	pid_t pid = spawn_in_own_domain();

	if (!pid) {
		int domain = domain_open(O_RDWR), gate;

		abandon(domain, "a");
		gate = hold_gate_for(domain, ROBUST, 0);
		close(domain);
		close(gate);
		domain = domain_open(O_RDWR);
		if (live_entities(domain) != 1 || !abandoned(domain, "a"))
			_exit(1);
		abandon(domain, "b");
		close(domain);
		domain = domain_open(O_RDWR);
		if (break_gate(domain, 0))
			_exit(2);
		close(domain);
		/* Its time is over: what is marked now is forgotten, and what was. */
		if (set_parameter("mark_seconds", 0))
			_exit(3);
		domain = domain_open(O_RDWR);
		abandon(domain, "c");
		close(domain);
		domain = open_when_empty();
		if (domain < 0)
			_exit(4);
		_exit(unmarked(domain, "a") && unmarked(domain, "b") && unmarked(domain, "c") ?
		      0 : 5);
	}
	EXPECT_EQ(0, reap(pid));
}

/* V1: while somebody has it open, a domain forgets nothing. */
TEST_F(owners, V1_an_open_domain_does_not_forget)
{
	ASSERT_EQ(0, set_parameter("mark_seconds", 0));
	abandon(self->domain, "a");
	EXPECT_EQ(1, live_entities(self->domain));
	EXPECT_TRUE(abandoned(self->domain, "a"));
}

/* V1: charged when the lock is taken, so that telling does not fail: EDQUOT. */
TEST_F(owners, V1_EDQUOT_when_the_lock_is_taken)
{
	int token, more;

	ASSERT_EQ(0, set_parameter("marks_max", 3));
	abandon(self->domain, "a");
	token = hold_robust(self->domain, "b");
	ASSERT_LE(0, token);
	EXPECT_EQ(-EDQUOT, acquire_these(self->domain, ROBUST, NOWAIT, X("c"), X("d")));
	EXPECT_EQ(0, try_lock(self->domain, "c", EXCLUSIVE));
	EXPECT_EQ(2, live_entities(self->domain));
	/* Shared holds, and those that are not robust, cost nothing. */
	more = acquire_these(self->domain, ROBUST, NOWAIT, S("c"), X("d"), S("e"));
	ASSERT_LE(0, more);
	EXPECT_EQ(-EDQUOT, hold_robust(self->domain, "f"));
	EXPECT_EQ(0, try_lock(self->domain, "f", EXCLUSIVE));
	/* LOCK, EXTEND and upgrades are refused too, and leave the token as it was. */
	EXPECT_EQ(-EDQUOT, extend_these(token, 0, NOWAIT, X("f")));
	EXPECT_STREQ("b", token_names(token));
	EXPECT_EQ(0, extend_these(token, 0, NOWAIT, S("f")));
	EXPECT_EQ(-EDQUOT, token_convert(more, EXCLUSIVE, 0, NOWAIT));
	EXPECT_EQ(-EDQUOT, extend_these(more, 0, NOWAIT, X("c")));
	EXPECT_STREQ("sxs", token_modes(more));
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(more));
	ASSERT_EQ(0, unlock(more));
	ASSERT_EQ(0, token_lock(more, 0, NOWAIT));
	ASSERT_EQ(0, unlock(more));
	/* What was told of is told still. */
	close(token);
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(abandoned(self->domain, "b"));
	/* And the quota is free again. */
	token = acquire_these(self->domain, ROBUST, NOWAIT, X("c"), X("d"), X("e"));
	EXPECT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	close(token);
	close(more);
}

/* V1: earlier marks are intact when the quota is reached, or lowered. */
TEST_F(owners, V1_EDQUOT_leaves_earlier_marks)
{
	enum { COUNT = 50 };
	char name[16];

	ASSERT_EQ(0, set_parameter("marks_max", COUNT));
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		abandon(self->domain, name);
	}
	EXPECT_EQ(-EDQUOT, hold_robust(self->domain, "more"));
	EXPECT_EQ(-EDQUOT, lease_set(self->domain, NULL, 0, ENTITYLOCK_GATE | ROBUST, NOWAIT, 0));
	ASSERT_EQ(0, set_parameter("marks_max", 1));
	EXPECT_EQ(COUNT, live_entities(self->domain));
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		EXPECT_TRUE(abandoned(self->domain, name));
	}
	EXPECT_EQ(0, try_lock(self->domain, "more", EXCLUSIVE));
	abandon(self->domain, "more");
	EXPECT_TRUE(abandoned(self->domain, "more"));
}

/* V1: nothing is charged for what fails, ends well, or was charged before. */
TEST_F(owners, V1_the_quota_does_not_leak)
{
	struct entitylock_lock arg = { .flags = ROBUST };
	void *unwritable = read_only_copy(&arg, sizeof(arg));
	int token, busy = hold(self->domain, "b");

	ASSERT_LE(0, busy);
	ASSERT_EQ(0, set_parameter("marks_max", 2));
	token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	ASSERT_LE(0, token);
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(-EAGAIN, token_lock(token, ROBUST, NOWAIT));
		ASSERT_EQ(0, token_lock(token, ROBUST | ENTITYLOCK_ASYNC, FOREVER));
		ASSERT_EQ(0, unlock(token));
	}
	close(busy);
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_LOCK, unwritable));
		ASSERT_EQ(0, token_lock(token, ROBUST, NOWAIT));
		ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
		ASSERT_EQ(0, token_convert(token, EXCLUSIVE, 0, NOWAIT));
		ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("a"), S("b")));
		ASSERT_EQ(-EDQUOT, extend_these(token, 0, NOWAIT, X("c")));
		ASSERT_EQ(0, unlock(token));
	}
	/* Marked over and over it is one mark. */
	close(token);
	for (int i = 0; i < 20; i++) {
		token = hold_robust(self->domain, "a");
		ASSERT_LE(0, token);
		close(token);
	}
	EXPECT_TRUE(abandoned(self->domain, "a"));
	munmap(unwritable, sizeof(arg));
}

/* D4: the quota is the user's. */
TEST_F(owners, D4_each_user_has_a_quota_of_marks)
{
	pid_t pid;

	ASSERT_EQ(0, set_parameter("marks_max", 1));
	abandon(self->domain, "a");
	EXPECT_EQ(-EDQUOT, hold_robust(self->domain, "b"));
	pid = spawn();
	if (!pid) {
		if (become_user(65534))
			_exit(1);
		abandon(self->domain, "b");
		_exit(hold_robust(self->domain, "c") == -EDQUOT ? 0 : 2);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(-EDQUOT, hold_robust(self->domain, "c"));
	/* Whoever says that all is well, the one who left it is charged no longer. */
	EXPECT_TRUE(abandoned(self->domain, "b"));
	EXPECT_EQ(-EDQUOT, hold_robust(self->domain, "c"));
	EXPECT_TRUE(abandoned(self->domain, "a"));
	EXPECT_TRUE(unmarked(self->domain, "a"));
}

/* V1: a robust gate marks the gate, told to the next gate holder, not to operations. */
TEST_F(owners, V1_the_gate_is_marked)
{
	__u32 told;
	int gate;

	for (int way = 0; way < 3; way++) {
		gate = hold_gate_for(self->domain, ROBUST, ms(20));
		ASSERT_LE(0, gate);
		EXPECT_EQ(ENTITYLOCK_GATE | ROBUST, token_info(gate).flags);
		if (way == 1)
			ASSERT_TRUE(runs_out(gate));
		if (way == 2)
			ASSERT_EQ(0, break_gate(self->domain, token_fence(gate)));
		if (way)
			EXPECT_TRUE(eventually(try_lock(self->domain, "b", EXCLUSIVE) == 0));
		if (way)
			EXPECT_TRUE(is_lost(gate));
		close(gate);
		EXPECT_TRUE(unmarked(self->domain, "a"));

		gate = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);
		for (int i = 0; i < 3; i++) {
			ASSERT_EQ(0, lock_told(gate, &told));
			EXPECT_EQ(ABANDONED, told);
			ASSERT_EQ(0, token_unlock(gate, i < 2 ? 0 : CONSISTENT, 0));
		}
		ASSERT_EQ(0, lock_told(gate, &told));
		EXPECT_EQ(0, told);
		close(gate);
		EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	}
}

/* V1: a gate that is given back well is not marked; a mark is dropped by BREAK. */
TEST_F(owners, V1_the_gates_mark_goes)
{
	int gate = hold_gate_for(self->domain, ROBUST, 0);

	ASSERT_LE(0, gate);
	ASSERT_EQ(0, unlock(gate));
	close(gate);
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	close(hold_gate_for(self->domain, 0, 0));
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	/* A request that was never granted. */
	gate = hold(self->domain, "a");
	close(lease_set(self->domain, NULL, 0, ENTITYLOCK_GATE | ROBUST | ENTITYLOCK_ASYNC, FOREVER,
			0));
	close(gate);
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	close(hold_gate_for(self->domain, ROBUST, 0));
	EXPECT_EQ(-ESTALE, break_gate(self->domain, 1));
	EXPECT_EQ(0, break_gate(self->domain, 0));
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
}

/* V1: killed with a robust gate: the gate that waited is told. */
TEST_F(owners, V1_a_killed_gate)
{
	struct call call;
	pid_t pid = spawn();
	int gate;

	if (!pid) {
		if (hold_gate_for(self->domain, ROBUST, 0) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_TRUE(eventually(try_lock(self->domain, "a", SHARED) == -EAGAIN));
	call_acquire_gate(&call, self->domain, FOREVER);
	ASSERT_TRUE(eventually(call_blocked(&call)));
	kill(pid, SIGKILL);
	EXPECT_EQ(256 + SIGKILL, reap(pid));
	gate = call_result(&call);
	ASSERT_LE(0, gate);
	EXPECT_EQ(ABANDONED, call.acquire.result);
	ASSERT_EQ(0, token_unlock(gate, CONSISTENT, 0));
	close(gate);
}

struct breaker {
	struct start_line line;
	int domain;
	int ret;
};

static void *break_last(void *data)
{
	struct breaker *breaker = data;

	start_together(&breaker->line, 2);
	breaker->ret = break_entity(breaker->domain, "00000063", 0);
	return NULL;
}

/* V1, L2: of UNLOCK with CONSISTENT and BREAK one comes first: a refused UNLOCK drops no mark. */
TEST_F(owners, V1_CONSISTENT_races_BREAK)
{
	static struct numbered many;
	unsigned int broken = 0;

	numbered_set(&many, 0, 64, EXCLUSIVE);
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		struct breaker breaker = { .domain = self->domain };
		pthread_t thread;
		int token, ret;

		close(acquire_set(self->domain, many.set, 64, ROBUST, NOWAIT));
		token = acquire_set(self->domain, many.set, 64, 0, soon());
		ASSERT_LE(0, token);
		ASSERT_EQ(0, pthread_create(&thread, NULL, break_last, &breaker));
		start_together(&breaker.line, 2);
		ret = token_unlock(token, CONSISTENT, 0);
		pthread_join(thread, NULL);
		if (ret) {
			ASSERT_EQ(-ESTALE, ret);
			ASSERT_EQ(0, breaker.ret);
			broken++;
			ASSERT_TRUE(eventually(live_entities(self->domain) == 64));
			for (unsigned int j = 0; j < 64; j++)
				ASSERT_EQ(0, break_entity(self->domain, many.names[j], 0));
		}
		close(token);
		ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	}
	TH_LOG("%u broken", broken);
}

/*
 * V1, L5: an operation that a gate let in, and that was granted and broken while the
 * worker still carried it on, takes nothing any more.  A build of the module in which
 * the worker takes his time (EL_BREAK=dawdle) does so each time.
 */
TEST_F(owners, V1_broken_while_it_is_carried_on)
{
	for (unsigned int i = 0; i < scaled(200, 10); i++) {
		int gate = acquire_gate(self->domain, 0, soon());
		int first = await(self->domain, "a"), token;

		token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC | ROBUST, FOREVER);
		ASSERT_EQ(0, unlock(gate));
		ASSERT_TRUE(token_poll_wait(first, POLLIN) & POLLIN);
		usleep(i * 25);
		ASSERT_EQ(0, unlock(first));
		ASSERT_TRUE(eventually(break_entity(self->domain, "a", 0) == 0));
		ASSERT_EQ(ENTITYLOCK_LOST, token_state(token));
		close(token);
		ASSERT_TRUE(abandoned(self->domain, "a"));
		close(first);
		close(gate);
	}
}

/* V1: thousands of marks, each told of once. */
TEST_F(owners, V1_many_marks)
{
	unsigned int count = scaled(10000, 500), wrong = 0;
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%u", i);
		abandon(self->domain, name);
	}
	EXPECT_EQ(count, live_entities(self->domain));
	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (i % 2 ? !abandoned(self->domain, name) : break_entity(self->domain, name, 0))
			wrong++;
	}
	EXPECT_EQ(0, wrong);
}

SELFTEST_MAIN
