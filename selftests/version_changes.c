// SPDX-License-Identifier: GPL-2.0
/* V3: versions: has another changed what a token saw? */
#include "owners.h"

#define IF_UNCHANGED	ENTITYLOCK_IF_UNCHANGED
#define UNCHANGED	ENTITYLOCK_UNCHANGED
#define CHANGED		ENTITYLOCK_CHANGED

static int lock_if_unchanged(int token)
{
	return token_lock(token, IF_UNCHANGED, NOWAIT);
}

/* Somebody else holds @name, and ends it with these flags. */
static int other_holds(int domain, const char *name, __u32 mode, __u32 unlock_flags)
{
	int token = acquire(domain, name, mode, 0, NOWAIT);
	int ret = token < 0 ? token : token_unlock(token, unlock_flags, 0);

	close(token);
	return ret;
}

static int other_changes(int domain, const char *name)
{
	return other_holds(domain, name, EXCLUSIVE, 0);
}

static __u64 version_of(int token)
{
	return entity_info(token).version;
}

static int see(int token)
{
	struct entitylock_info info = { .flags = ENTITYLOCK_SEEN };

	return el_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
}

/* V3: one's own change is no conflict. */
TEST_F(owners, V3_own_change_is_no_conflict)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (int i = 0; i < 10; i++) {
		__u64 before = version_of(token);

		ASSERT_EQ(0, lock_if_unchanged(token));
		ASSERT_EQ(0, unlock(token));
		EXPECT_LT(before, version_of(token));
	}
	close(token);
}

/* V3: another's is, and stays one until it has been seen. */
TEST_F(owners, V3_another_ones_change_is_a_conflict)
{
	struct entitylock_lock arg = { .flags = IF_UNCHANGED, .result = ~0U };
	int token = idle(self->domain, "a");
	__u64 version;

	ASSERT_LE(0, token);
	ASSERT_EQ(0, other_changes(self->domain, "a"));
	version = version_of(token);
	EXPECT_EQ(-ESTALE, el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg));
	EXPECT_EQ(CHANGED, arg.result);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(version, version_of(token));
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	/* The failed LOCK has not moved what was seen. */
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	EXPECT_EQ(-ESTALE, token_lock(token, IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	/* To have held it is to have seen it. */
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, token_unlock(token, UNCHANGED, 0));
	EXPECT_EQ(version, version_of(token));
	EXPECT_EQ(0, lock_if_unchanged(token));
	close(token);
}

/* V3: what ends a hold, and whether it is a change. */
TEST_F(owners, V3_what_changes_a_version)
{
	static const struct {
		__u32 mode;
		__u32 flags;
		bool changes;
	} ends[] = {
		{ EXCLUSIVE, 0, true },
		{ EXCLUSIVE, ENTITYLOCK_CONSISTENT, true },
		{ EXCLUSIVE, UNCHANGED, false },
		{ EXCLUSIVE, UNCHANGED | ENTITYLOCK_CONSISTENT, false },
		{ SHARED, 0, false },
		{ SHARED, UNCHANGED, false },
	};
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		__u64 before = version_of(token);

		ASSERT_EQ(0, see(token));
		ASSERT_EQ(0, other_holds(self->domain, "a", ends[i].mode, ends[i].flags));
		EXPECT_EQ(ends[i].changes, version_of(token) != before);
		EXPECT_EQ(ends[i].changes ? -ESTALE : 0, lock_if_unchanged(token));
		token_unlock(token, UNCHANGED, 0);
	}
	close(token);
}

/* V3: the last close, the end of a lease and BREAK are changes: nobody said otherwise. */
TEST_F(owners, V3_a_vanished_holder_has_changed_it)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	for (int way = 0; way < 3; way++) {
		int holder = hold_for(self->domain, "a", ms(20));
		__u64 fence = token_fence(holder);

		ASSERT_LE(0, holder);
		ASSERT_EQ(0, see(token));
		if (way == 0) {
			close(holder);
		} else if (way == 1) {
			ASSERT_TRUE(runs_out(holder));
			EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
		} else {
			EXPECT_EQ(0, break_entity(self->domain, "a", fence));
		}
		EXPECT_EQ(fence, version_of(token));
		EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
		if (way)
			close(holder);
	}
	close(token);
}

/* V3: a downgrade is the end of an exclusive hold; an upgrade the begin of one. */
TEST_F(owners, V3_a_downgrade_changes_the_version)
{
	int token = idle(self->domain, "a");
	int holder = hold(self->domain, "a");
	__u64 fence = token_fence(holder);

	ASSERT_LE(0, token);
	ASSERT_LE(0, holder);
	ASSERT_EQ(0, see(token));
	ASSERT_EQ(0, token_convert(holder, SHARED, 0, NOWAIT));
	EXPECT_EQ(fence, version_of(token));
	EXPECT_TRUE(token_poll(token) & POLLPRI);
	ASSERT_EQ(0, see(token));
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(fence, version_of(token));
	/* Shared, upgraded, unlocked: the number of the upgrade. */
	ASSERT_EQ(0, token_lock(holder, 0, NOWAIT));
	ASSERT_EQ(0, token_convert(holder, EXCLUSIVE, 0, NOWAIT));
	fence = token_fence(holder);
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(fence, version_of(token));
	close(holder);
	close(token);
}

/* V3: the holder of a downgraded lock has made the change itself. */
TEST_F(owners, V3_own_downgrade_is_no_conflict)
{
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_convert(token, SHARED, 0, NOWAIT));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(0, lock_if_unchanged(token));
	close(token);
}

/* V3: an exclusive hold leaves its own fence: each entity of the set, the last fence. */
TEST_F(owners, V3_the_fence_is_the_version)
{
	int a = idle(self->domain, "a"), b = idle(self->domain, "b"), c = idle(self->domain, "c");
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), S("b"));
	__u64 shared = version_of(b), fence;

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_LE(0, c);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, extend_these(token, 0, NOWAIT, X("c")));
	fence = token_fence(token);
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(fence, version_of(a));
	EXPECT_EQ(shared, version_of(b));
	EXPECT_EQ(fence, version_of(c));
	close(token);
	close(a);
	close(b);
	close(c);
}

/* V3: a set tells which has changed. */
TEST_F(owners, V3_results_tell_which)
{
	struct entitylock_entity set[] = { X("a"), S("b"), X("c") }, told[3] = { 0 };
	struct entitylock_info info = {
		.entities = ptr(told),
		.entity_size = sizeof(told[0]),
		.capacity = 3,
	};
	int token = acquire_set(self->domain, set, 3, ENTITYLOCK_OPEN, NOWAIT);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, other_changes(self->domain, "b"));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(0, told[0].result);
	EXPECT_EQ(CHANGED, told[1].result);
	EXPECT_EQ(0, told[2].result);
	EXPECT_EQ(set[0].version, told[0].version);
	EXPECT_LT(set[1].version, told[1].version);
	/* Nothing of it is held. */
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	EXPECT_EQ(0, try_lock(self->domain, "c", SHARED));
	close(token);
}

/* V3: plain INFO does not hide a change, INFO with SEEN does. */
TEST_F(owners, V3_only_SEEN_hides_a_change)
{
	int token = idle(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_EQ(0, other_changes(self->domain, "a"));
	for (int i = 0; i < 3; i++) {
		version_of(token);
		token_info(token);
		token_names(token);
	}
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	ASSERT_EQ(0, see(token));
	EXPECT_EQ(0, lock_if_unchanged(token));
	close(token);
}

/* V3: INFO that fails has seen nothing, whatever cannot be written. */
TEST_F(owners, V3_INFO_that_fails_has_not_seen)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	struct entitylock_entity entities[2] = { 0 };
	struct entitylock_info info = { .flags = ENTITYLOCK_SEEN };

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_label(token, "edit"));
	ASSERT_EQ(0, other_changes(self->domain, "b"));
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_INFO,
				    read_only_copy(&info, sizeof(info))));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	info.label = 1;
	info.label_len = ENTITYLOCK_LABEL_MAX;
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	info.label_len = 0;
	info.entities = ptr(read_only_copy(entities, sizeof(entities)));
	info.entity_size = sizeof(entities[0]);
	info.capacity = 2;
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	/* With room for one: all is seen. */
	info.entities = ptr(entities);
	info.capacity = 1;
	EXPECT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(2, info.count);
	EXPECT_EQ(0, entities[1].version);
	EXPECT_EQ(0, lock_if_unchanged(token));
	close(token);
}

/* V3: 0 is no version: it is not compared, whether the caller blocks or not. */
TEST_F(owners, V3_a_version_of_0_is_not_compared)
{
	int made = idle(self->domain, "a");
	__u64 version = version_of(made);

	ASSERT_LE(0, made);
	for (unsigned int async = 0; async < 2; async++) {
		struct entitylock_entity set[] = { X("a"), X("b") };
		int holder = hold(self->domain, "b"), token;

		ASSERT_LE(0, holder);
		set[0].version = version;
		token = acquire_set(self->domain, set, 2, IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER);
		ASSERT_LE(0, token);
		if (async) {
			close(holder);
			EXPECT_TRUE(becomes(token, ENTITYLOCK_HELD));
			EXPECT_EQ(0, token_unlock(token, UNCHANGED, 0));
		} else {
			/* But that of "a" is: another changes it meanwhile, once it is free. */
			ASSERT_EQ(0, unlock(token));
			ASSERT_EQ(0, other_changes(self->domain, "a"));
			set[0].version = version;
			EXPECT_EQ(-ESTALE, acquire_set(self->domain, set, 2,
						       IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER));
			version = version_of(made);
			close(holder);
		}
		close(token);
	}
	close(made);
}

/* V3: EXTEND compares names that it holds already, too. */
TEST_F(owners, V3_EXTEND_compares_what_is_held)
{
	struct entitylock_entity more = S("a");
	int token = hold(self->domain, "a");

	ASSERT_LE(0, token);
	more.version = version_of(token) + 1;
	EXPECT_EQ(-ESTALE, token_extend(token, &more, 1, IF_UNCHANGED, NOWAIT));
	more.version = version_of(token);
	EXPECT_EQ(0, token_extend(token, &more, 1, IF_UNCHANGED, NOWAIT));
	close(token);
}

/* V3: UNLOCK that ends a wait for more says of what is held whether it was changed. */
TEST_F(owners, V3_UNCHANGED_ends_a_wait)
{
	int seen = idle(self->domain, "a"), busy = hold(self->domain, "b");
	int token = hold(self->domain, "a");

	ASSERT_LE(0, seen);
	ASSERT_LE(0, busy);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, extend_these(token, ENTITYLOCK_ASYNC, FOREVER, X("b")));
	ASSERT_EQ(ENTITYLOCK_PENDING, token_state(token));
	ASSERT_EQ(0, token_unlock(token, UNCHANGED, 0));
	EXPECT_EQ(0, lock_if_unchanged(seen));
	close(token);
	close(busy);
	close(seen);
}

/* V3: who has seen it while another held it has not seen what that one does until its end. */
TEST_F(owners, V3_seen_too_early)
{
	int token = idle(self->domain, "a");
	int holder = hold(self->domain, "a");

	ASSERT_LE(0, token);
	ASSERT_LE(0, holder);
	ASSERT_EQ(0, see(token));
	close(holder);
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	close(token);
}

/* V3, L2: a request that fails, is cancelled or given back is no change, and sees nothing. */
TEST_F(owners, V3_what_fails_changes_nothing)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
	int watcher = idle(self->domain, "a");
	int busy = hold(self->domain, "b");
	__u64 version = version_of(watcher);
	struct entitylock_lock arg = { .deadline = NOWAIT };
	void *unwritable = read_only_copy(&arg, sizeof(arg));

	ASSERT_LE(0, token);
	ASSERT_LE(0, watcher);
	ASSERT_LE(0, busy);
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, PASSED));
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, in_ms(10)));
	ASSERT_EQ(0, token_lock(token, ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_EQ(0, token_unlock(token, ENTITYLOCK_CANCEL, 0));
	ASSERT_EQ(0, token_unlock(busy, UNCHANGED, 0));
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_LOCK, unwritable));
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(version, version_of(watcher));
	EXPECT_EQ(0, lock_if_unchanged(watcher));
	ASSERT_EQ(0, unlock(watcher));
	/* That was a change that none of these has shown to it. */
	ASSERT_EQ(0, token_lock(busy, 0, NOWAIT));
	EXPECT_EQ(-EAGAIN, token_lock(token, 0, NOWAIT));
	EXPECT_EQ(-ETIMEDOUT, token_lock(token, 0, PASSED));
	ASSERT_EQ(0, token_unlock(busy, UNCHANGED, 0));
	EXPECT_EQ(-EFAULT, el_ioctl(token, ENTITYLOCK_IOC_LOCK, unwritable));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	close(token);
	close(watcher);
	close(busy);
	munmap(unwritable, sizeof(arg));
}

/* V3: the end of a gate hold is a change of every name, unless it says UNCHANGED. */
TEST_F(owners, V3_a_gate_changes_every_name)
{
	int a = idle(self->domain, "a"), b = idle(self->domain, "b");
	struct entitylock_entity unborn = X("unborn");
	int gate = hold_gate_for(self->domain, 0, 0);
	__u64 fence = token_fence(gate);

	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	ASSERT_LE(0, gate);
	ASSERT_EQ(0, token_unlock(gate, UNCHANGED, 0));
	ASSERT_TRUE(eventually(lock_if_unchanged(a) == 0));
	ASSERT_EQ(0, token_unlock(a, UNCHANGED, 0));
	close(acquire_set(self->domain, &unborn, 1, ENTITYLOCK_OPEN, NOWAIT));

	ASSERT_EQ(0, token_lock(gate, 0, soon()));
	fence = token_fence(gate);
	ASSERT_EQ(0, unlock(gate));
	EXPECT_EQ(fence, version_of(a));
	EXPECT_EQ(fence, version_of(b));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(a));
	EXPECT_EQ(-ESTALE, lock_if_unchanged(b));
	EXPECT_EQ(-ESTALE, acquire_set(self->domain, &unborn, 1, IF_UNCHANGED, soon()));
	EXPECT_EQ(CHANGED, unborn.result);
	EXPECT_EQ(fence, unborn.version);
	/* Its own last change is not above the gate's: seen is seen. */
	ASSERT_EQ(0, see(a));
	EXPECT_EQ(0, lock_if_unchanged(a));
	close(gate);
	close(a);
	close(b);
}

/* V3: a gate's token that vanishes changes every name too. */
TEST_F(owners, V3_a_vanished_gate_changes_every_name)
{
	int token = idle(self->domain, "a");
	int gate = hold_gate_for(self->domain, 0, 0);

	ASSERT_LE(0, token);
	ASSERT_LE(0, gate);
	close(gate);
	EXPECT_EQ(-ESTALE, lock_if_unchanged(token));
	close(token);
}

/* V3: checked again at the grant, by a verb that blocks: behind a change, behind none. */
TEST_F(owners, V3_checked_again_at_the_grant)
{
	static const __u32 flags[] = { 0, UNCHANGED };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), X("b"));
		int holder = hold(self->domain, "b");
		__u64 fence = token_fence(token);
		struct call call;
		int behind;

		ASSERT_LE(0, token);
		ASSERT_LE(0, holder);
		call.lock = (struct entitylock_lock){ .flags = IF_UNCHANGED, .deadline = FOREVER };
		call_start(&call, token, ENTITYLOCK_IOC_LOCK, &call.lock);
		ASSERT_TRUE(eventually(token_waiters(holder) == 1));
		behind = await(self->domain, "b");
		ASSERT_LE(0, behind);
		ASSERT_EQ(0, token_unlock(holder, flags[i], 0));
		if (flags[i] & UNCHANGED) {
			EXPECT_EQ(0, call_result(&call));
			EXPECT_EQ(0, call.lock.result);
			EXPECT_LT(fence, token_fence(token));
			EXPECT_EQ(ENTITYLOCK_PENDING, token_state(behind));
			ASSERT_EQ(0, unlock(token));
		} else {
			EXPECT_EQ(-ESTALE, call_result(&call));
			EXPECT_EQ(CHANGED, call.lock.result);
			EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
			EXPECT_EQ(fence, token_fence(token));
			EXPECT_EQ(0, try_lock(self->domain, "a", EXCLUSIVE));
		}
		/* Refused or not, who stands behind is next. */
		EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
		close(behind);
		close(holder);
		close(token);
	}
}

/* V3, L6: the same in the background: INFO.error, and who stands behind is next. */
TEST_F(owners, V3_checked_again_at_the_grant_in_the_background)
{
	int token = idle(self->domain, "a");
	int holder = hold(self->domain, "a");
	int behind;

	ASSERT_LE(0, token);
	ASSERT_LE(0, holder);
	ASSERT_EQ(0, token_lock(token, IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER));
	behind = await(self->domain, "a");
	ASSERT_LE(0, behind);
	close(holder);
	EXPECT_EQ(POLLERR, token_poll_wait(token, POLLIN) & (POLLERR | POLLIN | POLLHUP));
	EXPECT_EQ(-ESTALE, token_info(token).error);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(CHANGED, entity_info(token).result);
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	close(behind);
	ASSERT_EQ(0, see(token));
	EXPECT_EQ(0, lock_if_unchanged(token));
	EXPECT_EQ(0, token_info(token).error);
	close(token);
}

/* V3: and after a wait behind a gate, which changes every name. */
TEST_F(owners, V3_checked_again_behind_a_gate)
{
	int token = idle(self->domain, "a");
	int gate = hold_gate_for(self->domain, 0, 0);

	ASSERT_LE(0, token);
	ASSERT_LE(0, gate);
	ASSERT_EQ(0, token_lock(token, IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER));
	EXPECT_EQ(ENTITYLOCK_PENDING, token_state(token));
	ASSERT_EQ(0, unlock(gate));
	EXPECT_TRUE(token_poll_wait(token, POLLIN) & POLLERR);
	EXPECT_EQ(-ESTALE, token_info(token).error);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	close(gate);
	close(token);
}

/* V3: stateless: who keeps no token gives the version that it was told. */
TEST_F(owners, V3_stateless_by_version)
{
	/* Kept, so that the name is not reclaimed. */
	int anchor = idle(self->domain, "a");
	struct entitylock_entity entity = X("a");
	__u64 version;
	int token;

	ASSERT_LE(0, anchor);
	token = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
	ASSERT_LE(0, token);
	version = entity.version;
	EXPECT_EQ(version, version_of(anchor));
	ASSERT_EQ(0, token_unlock(token, UNCHANGED, 0));
	close(token);

	/* Unchanged: locked, and the same is written back. */
	token = acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(version, entity.version);
	EXPECT_EQ(0, entity.result);
	version = token_fence(token);
	close(token);

	/* Changed: refused, and the new one is written back. */
	EXPECT_EQ(-ESTALE, acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT));
	EXPECT_EQ(version, entity.version);
	EXPECT_EQ(CHANGED, entity.result);
	EXPECT_EQ(0, try_lock(self->domain, "a", SHARED));
	token = acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, entity.result);
	close(token);

	/* Without the flag a version is output, and 0 is none. */
	entity.version = 1;
	token = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, entity.result);
	EXPECT_LT(1, entity.version);
	close(token);
	entity.version = 0;
	token = acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, entity.result);
	close(token);
	close(anchor);
}

/* V3: of a set, in the order in which the caller gave it. */
TEST_F(owners, V3_stateless_of_a_set)
{
	struct entitylock_entity set[] = { X("c"), S("a"), X("b"), X("d"), S("c") };
	struct entitylock_acquire arg = {
		.flags = IF_UNCHANGED,
		.count = 5,
		.entities = ptr(set),
		.entity_size = sizeof(set[0]),
	};
	int anchor = acquire_set(self->domain, set, 5, ENTITYLOCK_OPEN, NOWAIT);
	__u64 b = set[2].version;
	int token;

	ASSERT_LE(0, anchor);
	EXPECT_EQ(set[0].version, set[4].version);
	ASSERT_EQ(0, other_changes(self->domain, "b"));
	/* 0 = none: this one may have changed. */
	ASSERT_EQ(0, other_changes(self->domain, "d"));
	set[3].version = 0;
	EXPECT_EQ(-ESTALE, el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg));
	EXPECT_EQ(CHANGED, arg.result);
	EXPECT_EQ(0, set[0].result);
	EXPECT_EQ(0, set[1].result);
	EXPECT_EQ(CHANGED, set[2].result);
	EXPECT_LT(b, set[2].version);
	EXPECT_EQ(0, set[3].result);
	EXPECT_LT(0, set[3].version);
	EXPECT_EQ(0, set[4].result);
	EXPECT_EQ(4, live_entities(self->domain));
	/* With what it was told it succeeds. */
	token = el_ioctl(self->domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, arg.result);
	EXPECT_EQ(0, set[2].result);
	close(token);
	close(anchor);
}

/* V3: a duplicate that is given an old version has changed, wherever it stands. */
TEST_F(owners, V3_stateless_with_a_duplicate)
{
	int anchor = idle(self->domain, "a");

	ASSERT_LE(0, anchor);
	ASSERT_EQ(0, other_changes(self->domain, "a"));
	for (int at = 0; at < 2; at++) {
		struct entitylock_entity set[] = { X("a"), S("a") };

		set[at].version = version_of(anchor) - 1;
		EXPECT_EQ(-ESTALE, acquire_set(self->domain, set, 2, IF_UNCHANGED, NOWAIT));
		EXPECT_EQ(CHANGED, set[at].result);
		EXPECT_EQ(version_of(anchor), set[!at].version);
	}
	close(anchor);
}

/* V3: ACQUIRE by version is checked again at the grant, and there is no token then. */
TEST_F(owners, V3_stateless_checked_again_at_the_grant)
{
	struct entitylock_entity entity = X("a");
	int holder = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
	struct call call;
	int behind;

	ASSERT_LE(0, holder);
	call.acquire = (struct entitylock_acquire){
		.flags = IF_UNCHANGED,
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.deadline = FOREVER,
	};
	call_start(&call, self->domain, ENTITYLOCK_IOC_ACQUIRE, &call.acquire);
	ASSERT_TRUE(eventually(token_waiters(holder) == 1));
	behind = await(self->domain, "a");
	ASSERT_LE(0, behind);
	ASSERT_EQ(0, unlock(holder));
	EXPECT_EQ(-ESTALE, call_result(&call));
	EXPECT_EQ(CHANGED, call.acquire.result);
	EXPECT_EQ(CHANGED, entity.result);
	EXPECT_EQ(token_fence(holder), entity.version);
	EXPECT_TRUE(becomes(behind, ENTITYLOCK_HELD));
	close(behind);
	close(holder);
}

/* V3: EXTEND takes versions as ACQUIRE does; refused, the token is as it was. */
TEST_F(owners, V3_EXTEND_if_unchanged)
{
	int anchor = idle(self->domain, "b");
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);
	struct entitylock_entity entity = X("b");

	ASSERT_LE(0, anchor);
	ASSERT_LE(0, token);
	entity.version = version_of(anchor);
	ASSERT_EQ(0, other_changes(self->domain, "b"));
	EXPECT_EQ(-ESTALE, token_extend(token, &entity, 1, IF_UNCHANGED, NOWAIT));
	EXPECT_EQ(CHANGED, entity.result);
	EXPECT_EQ(version_of(anchor), entity.version);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", SHARED));
	EXPECT_EQ(0, token_extend(token, &entity, 1, IF_UNCHANGED, NOWAIT));
	EXPECT_EQ(0, entity.result);
	EXPECT_STREQ("a b", token_names(token));
	close(token);
	close(anchor);
}

/* V3: a waiting EXTEND is checked again at its grant. */
TEST_F(owners, V3_EXTEND_checked_again_at_the_grant)
{
	struct entitylock_entity entity = X("b");
	int holder = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_extend(token, &entity, 1, IF_UNCHANGED | ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_EQ(0, unlock(holder));
	EXPECT_TRUE(token_poll_wait(token, POLLIN) & POLLERR);
	EXPECT_EQ(-ESTALE, token_info(token).error);
	EXPECT_EQ(ENTITYLOCK_HELD, token_state(token));
	EXPECT_EQ(fence, token_fence(token));
	EXPECT_STREQ("a", token_names(token));
	EXPECT_EQ(0, try_lock(self->domain, "b", EXCLUSIVE));
	close(token);
	close(holder);
}

/* V3: a reclaimed name has not changed, if no other was reclaimed meanwhile. */
TEST_F(owners, V3_a_reclaimed_name_is_unchanged)
{
	for (int i = 0; i < 20; i++) {
		struct entitylock_entity entity = X("a");
		int token = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
		__u64 fence = token_fence(token);

		ASSERT_LE(0, token);
		if (i % 2)
			ASSERT_EQ(0, token_unlock(token, UNCHANGED, 0));
		close(token);
		EXPECT_EQ(0, live_entities(self->domain));
		if (i % 2 == 0)
			entity.version = fence;
		token = acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT);
		EXPECT_LE(0, token);
		ASSERT_EQ(0, token_unlock(token, UNCHANGED, 0));
		close(token);
	}
}

/* V3: a reclaimed name that has changed never looks as if it had not; numbers rise. */
TEST_F(owners, V3_a_change_survives_the_reclaim_of_many_names)
{
	enum { COUNT = 10000 };
	static __u64 versions[COUNT];
	unsigned int count = scaled(COUNT, 500), hidden = 0, falling = 0, seed = 1;
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		struct entitylock_entity entity;

		snprintf(name, sizeof(name), "%u", i);
		entity = (struct entitylock_entity)X(name);
		close(acquire_set(self->domain, &entity, 1, ENTITYLOCK_OPEN, NOWAIT));
		versions[i] = entity.version;
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int which = rand_r(&seed) % count;
		struct entitylock_entity entity;
		int token;

		snprintf(name, sizeof(name), "%u", which);
		ASSERT_EQ(0, other_changes(self->domain, name));
		entity = (struct entitylock_entity)X(name);
		entity.version = versions[which];
		token = acquire_set(self->domain, &entity, 1, IF_UNCHANGED, NOWAIT);
		if (token != -ESTALE)
			hidden++;
		if (entity.version <= versions[which])
			falling++;
		versions[which] = entity.version;
		close(token);
	}
	EXPECT_EQ(0, hidden);
	EXPECT_EQ(0, falling);
}

/* V3: the reclaim of a domain counts as a change. */
TEST_F(owners, V3_domain_reclaim_is_a_change)
{
	pid_t pid = spawn();

	if (!pid) {
		struct entitylock_entity entity = X("a");
		int domain, token;
		__u64 before;

		if (enter_user_namespace())
			_exit(1);
		domain = domain_open(O_RDWR);
		token = acquire_set(domain, &entity, 1, 0, NOWAIT);
		before = entity.version;
		if (token_unlock(token, UNCHANGED, 0))
			_exit(4);
		close(token);
		close(domain);
		/* Also where nothing was granted between two of them. */
		for (int i = 0; i < 3; i++) {
			domain = domain_open(O_RDWR);
			if (acquire_set(domain, &entity, 1, IF_UNCHANGED, NOWAIT) != -ESTALE)
				_exit(2);
			if (!before || entity.version <= before || entity.result != CHANGED)
				_exit(3);
			before = entity.version;
			close(domain);
		}
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
}

/* L6: POLLPRI on an IDLE token: an entity has changed since it last saw it. */
TEST_F(owners, L6_POLLPRI_when_an_entity_has_changed)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("a"), S("b"), X("c"));
	static const char *const names[] = { "a", "b", "c" };

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_poll(token));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, other_holds(self->domain, names[i], SHARED, 0));
		ASSERT_EQ(0, other_holds(self->domain, names[i], EXCLUSIVE, UNCHANGED));
		EXPECT_EQ(0, token_poll(token));
		ASSERT_EQ(0, other_changes(self->domain, names[i]));
		EXPECT_EQ(POLLPRI, token_poll(token));
		token_info(token);
		EXPECT_EQ(POLLPRI, token_poll(token));
		ASSERT_EQ(0, see(token));
		EXPECT_EQ(0, token_poll(token));
	}
	/* Its own change is none. */
	ASSERT_EQ(0, token_lock(token, 0, NOWAIT));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_poll(token));
	/* A gate's is. */
	close(hold_gate_for(self->domain, 0, 0));
	EXPECT_EQ(POLLPRI, token_poll(token));
	close(token);
}

static void *wait_for_pri(void *data)
{
	struct pollfd pfd = { .fd = *(int *)data, .events = POLLPRI };

	if (poll(&pfd, 1, limit_seconds() * 1000) != 1)
		return NULL;
	return (void *)(intptr_t)pfd.revents;
}

/* L6: who polls for it is woken: by a holder's change, by a downgrade, by a gate's. */
TEST_F(owners, L6_a_change_wakes)
{
	int token = idle(self->domain, "a");
	int holder = idle(self->domain, "a");
	int gate = acquire_gate(self->domain, ENTITYLOCK_OPEN, NOWAIT);

	ASSERT_LE(0, token);
	ASSERT_LE(0, holder);
	ASSERT_LE(0, gate);
	for (unsigned int i = 0; i < scaled(300, 30); i++) {
		int changer = i % 3 == 2 ? gate : holder;
		pthread_t thread;
		void *events;

		ASSERT_EQ(0, token_lock(changer, 0, soon()));
		ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_pri, &token));
		if (i % 2)
			spin_ns(i * 1000);
		ASSERT_EQ(0, i % 3 == 1 ? token_convert(changer, SHARED, 0, NOWAIT) :
					  unlock(changer));
		pthread_join(thread, &events);
		ASSERT_EQ(POLLPRI, (intptr_t)events);
		if (i % 3 == 1) {
			ASSERT_EQ(0, token_convert(changer, EXCLUSIVE, 0, NOWAIT));
			ASSERT_EQ(0, unlock(changer));
		}
		ASSERT_EQ(0, see(token));
		ASSERT_EQ(0, token_poll(token));
	}
	close(gate);
	close(holder);
	close(token);
}

struct changer {
	int token;
	unsigned int changes;
	atomic_ullong last;
	pthread_t thread;
};

static void *change(void *data)
{
	struct changer *changer = data;

	for (unsigned int i = 0; i < changer->changes; i++) {
		if (token_lock(changer->token, 0, FOREVER))
			abort();
		/* Known before it can be seen. */
		if (i + 1 == changer->changes)
			changer->last = token_fence(changer->token);
		if (unlock(changer->token))
			abort();
	}
	return NULL;
}

/* L6: changes may coalesce; the last one is told. */
TEST_F(owners, L6_100000_changes_and_the_last_one_is_told)
{
	struct changer changer = {
		.token = idle(self->domain, "a"),
		.changes = scaled(100000, 2000),
	};
	int token = idle(self->domain, "a");
	unsigned int told = 0;

	ASSERT_LE(0, changer.token);
	ASSERT_LE(0, token);
	ASSERT_EQ(0, pthread_create(&changer.thread, NULL, change, &changer));
	/* While another change than the last one is the newest, one more is to be told of. */
	do {
		struct pollfd pfd = { .fd = token, .events = POLLPRI };

		ASSERT_EQ(1, poll(&pfd, 1, limit_seconds() * 1000));
		ASSERT_EQ(POLLPRI, pfd.revents);
		told++;
		ASSERT_EQ(0, see(token));
	} while (version_of(token) != changer.last);
	pthread_join(changer.thread, NULL);
	EXPECT_GE(changer.changes, told);
	EXPECT_EQ(token_fence(changer.token), version_of(token));
	ASSERT_EQ(0, see(token));
	EXPECT_EQ(0, token_poll(token));
	TH_LOG("told %u times of %u changes", told, changer.changes);
	close(token);
	close(changer.token);
}

/*
 * Nanoseconds of the quickest of many UNLOCKs that are changes, or @best; the pollers
 * watch.  It is the thread's own time: a worker may take its CPU from it.
 */
static __u64 quickest_change(int holder, const int *pollers, unsigned int count, __u64 best)
{
	for (unsigned int round = 0; round < 20; round++) {
		__u64 begin;

		/* Each is woken once, and watches again when it polls again. */
		for (unsigned int i = 0; i < count; i++) {
			see(pollers[i]);
			token_poll(pollers[i]);
		}
		token_lock(holder, 0, FOREVER);
		begin = now_on(CLOCK_THREAD_CPUTIME_ID);
		unlock(holder);
		begin = now_on(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (begin < best)
			best = begin;
	}
	return best;
}

/* L6: 10,000 watchers cost the unlocker no more than ten; those who do not poll, nothing. */
TEST_F(owners, L6_many_watchers_cost_the_unlocker_nothing)
{
	enum { COUNT = 10000, FEW = 10 };
	static int tokens[2 * COUNT + FEW];
	unsigned int count = scaled(COUNT, 500), all = 2 * count + FEW;
	__u64 alone = ~0ULL, idlers = ~0ULL, few = ~0ULL, many = ~0ULL;
	int holder = idle(self->domain, "a");

	ASSERT_LE(0, holder);
	raise_fd_limit(2 * COUNT + 100);
	alone = quickest_change(holder, NULL, 0, alone);
	/* Those of "b" fill the caches as those of "a" do, and watch what does not change. */
	for (unsigned int i = 0; i < all; i++) {
		tokens[i] = idle(self->domain, i < count ? "b" : "a");
		ASSERT_LE(0, tokens[i]);
	}
	/* An emulated CPU that is stopped meanwhile takes time, too: the least of all counts. */
	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		idlers = quickest_change(holder, NULL, 0, idlers);
		few = quickest_change(holder, tokens, count + FEW, few);
		many = quickest_change(holder, tokens + count + FEW, count, many);
		if (idlers < 3 * alone + 1000 && many < 3 * few + 1000)
			break;
	}
	TH_LOG("%llu ns alone, %llu beside %u that do not poll; %llu with %u who do, %llu with %u",
	       alone, idlers, count + FEW, few, FEW, many, count);
	EXPECT_GT(3 * alone + 1000, idlers);
	EXPECT_GT(3 * few + 1000, many);
	for (unsigned int i = 0; i < all; i++)
		close(tokens[i]);
	close(holder);
}

SELFTEST_MAIN
