// SPDX-License-Identifier: GPL-2.0
/* INFO: every field. */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "harness.h"

/* Verbs: INFO reports a token that holds. */
TEST_F(entitylock, INFO_of_a_HELD_token)
{
	int token = hold(self->domain, "a");
	struct entitylock_info info;

	ASSERT_LE(0, token);
	/* Output fields are ignored on entry. */
	memset(&info, 0xff, sizeof(info));
	info.flags = 0;
	info.entities = 0;
	info.entity_size = 0;
	info.capacity = 0;
	info.label = 0;
	info.label_len = 0;
	info.reserved = 0;
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(ENTITYLOCK_HELD, info.state);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.error);
	EXPECT_EQ(getpid(), (pid_t)info.owner_pid);
	EXPECT_NE(0, info.id);
	EXPECT_NE(0, info.fence);
	EXPECT_EQ(FOREVER, info.lease_left);
	EXPECT_GT(limit_seconds() * NSEC_PER_SEC, info.age);
	EXPECT_EQ(0, info.waiters);
	EXPECT_EQ(1, info.count);
	EXPECT_EQ(0, info.label_len);
	close(token);
}

/* Verbs: INFO of a token that never held anything. */
TEST_F(entitylock, INFO_of_an_IDLE_token)
{
	int token = acquire_these(self->domain, ENTITYLOCK_OPEN, NOWAIT, X("b"), X("a"));
	struct entitylock_info info = token_info(token);

	ASSERT_LE(0, token);
	EXPECT_EQ(ENTITYLOCK_IDLE, info.state);
	EXPECT_EQ(0, info.fence);
	EXPECT_EQ(2, info.count);
	EXPECT_EQ(0, info.error);
	EXPECT_EQ(FOREVER, info.lease_left);
	close(token);
}

/* Header: the fence is that of the last grant, also after UNLOCK. */
TEST_F(entitylock, INFO_keeps_the_last_fence)
{
	int token = hold(self->domain, "a");
	__u64 fence = token_fence(token);

	ASSERT_LE(0, token);
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(fence, token_fence(token));
	close(token);
}

/* Header: id is unique while the module is loaded. */
TEST_F(entitylock, INFO_id_is_unique)
{
	__u64 ids[100];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		int token = hold(self->domain, "a");

		ids[i] = token_info(token).id;
		ASSERT_EQ(0, unlock(token));
		EXPECT_EQ(ids[i], token_info(token).id);
		for (size_t j = 0; j < i; j++)
			EXPECT_NE(ids[j], ids[i]);
		close(token);
	}
}

/* Header: age: since the state last changed. */
TEST_F(entitylock, INFO_age_begins_anew_with_each_state)
{
	int token = hold(self->domain, "a");
	__u64 begin = now();

	ASSERT_LE(0, token);
	ASSERT_TRUE(eventually(token_info(token).age > 100 * NSEC_PER_MSEC));
	/* To a timer tick: 10 ms at most. */
	EXPECT_GE(now() - begin + 20 * NSEC_PER_MSEC, token_info(token).age);
	begin = now();
	ASSERT_EQ(0, unlock(token));
	EXPECT_GE(now() - begin + 20 * NSEC_PER_MSEC, token_info(token).age);
	close(token);
}

/* Header: waiters: requests that wait for what the token holds. */
TEST_F(entitylock, INFO_waiters)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"));
	struct entitylock_entity both[] = { X("a"), X("b") };
	struct call calls[3];

	ASSERT_LE(0, token);
	EXPECT_EQ(0, token_waiters(token));
	call_acquire(&calls[0], self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 1));
	call_acquire(&calls[1], self->domain, "b", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 2));
	/* A set waits for one entity at a time. */
	call_acquire_set(&calls[2], self->domain, both, 2, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(token) == 3));
	ASSERT_EQ(0, unlock(token));
	EXPECT_EQ(0, token_waiters(token));
	for (int i = 0; i < 3; i++) {
		int got = call_result(&calls[i]);

		EXPECT_LE(0, got);
		close(got);
	}
	close(token);
}

/* Header: an array that is too small is filled, count tells the whole number. */
TEST_F(entitylock, INFO_array_smaller_than_the_set)
{
	int token = acquire_these(self->domain, 0, NOWAIT, X("a"), X("b"), X("c"));
	char names[3][4] = { "", "", "" };
	struct entitylock_entity got[3] = {
		{ .name = ptr(names[0]), .name_len = 4 },
		{ .name = ptr(names[1]), .name_len = 4 },
		{ .name = ptr(names[2]), .name_len = 4 },
	};
	struct entitylock_info info = {
		.entities = ptr(got),
		.entity_size = sizeof(got[0]),
		.capacity = 2,
	};

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(3, info.count);
	EXPECT_EQ('a', names[0][0]);
	EXPECT_EQ('b', names[1][0]);
	EXPECT_EQ('\0', names[2][0]);
	EXPECT_EQ(4, got[2].name_len);
	EXPECT_EQ(0, got[2].mode);

	/* A larger one is filled as far as there is something. */
	info.capacity = ~0U;
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(3, info.count);
	EXPECT_EQ('c', names[2][0]);
	EXPECT_EQ(EXCLUSIVE, got[2].mode);
	close(token);
}

/* Header: a name's buffer that is too small gets what fits, name_len the whole length. */
TEST_F(entitylock, INFO_name_buffer_smaller_than_the_name)
{
	int token = hold(self->domain, "abcdef");
	char name[8] = "zzzzzzz";
	struct entitylock_entity got = { .name = ptr(name), .name_len = 3 };
	struct entitylock_info info = {
		.entities = ptr(&got),
		.entity_size = sizeof(got),
		.capacity = 1,
	};

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(6, got.name_len);
	EXPECT_STREQ("abczzzz", name);
	close(token);
}

/* D5: an entity whose name pointer is 0 is reported without its name. */
TEST_F(entitylock, D5_INFO_without_the_name)
{
	int token = hold(self->domain, "abcdef");
	struct entitylock_entity got = { .result = ~0U, .mode = ~0U };
	struct entitylock_info info = {
		.entities = ptr(&got),
		.entity_size = sizeof(got),
		.capacity = 1,
	};

	ASSERT_LE(0, token);
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(0, got.name);
	EXPECT_EQ(6, got.name_len);
	EXPECT_EQ(EXCLUSIVE, got.mode);
	EXPECT_EQ(0, got.flags);
	EXPECT_EQ(0, got.result);
	close(token);
}

/* Header: the label likewise. */
TEST_F(entitylock, INFO_label_buffer_smaller_than_the_label)
{
	int token = hold(self->domain, "a");
	char label[8] = "zzzzzzz";
	struct entitylock_info info = { .label = ptr(label), .label_len = 2 };

	ASSERT_LE(0, token);
	ASSERT_EQ(0, token_label(token, "import"));
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(6, info.label_len);
	EXPECT_STREQ("imzzzzz", label);

	info = (struct entitylock_info){ 0 };
	ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
	EXPECT_EQ(6, info.label_len);
	close(token);
}

static void *pid_of_token(void *data)
{
	int token = hold(*(int *)data, "a");
	pid_t owner = token_info(token).owner_pid;

	close(token);
	return (void *)(intptr_t)owner;
}

/* Labels: the recorded owner is the thread-group leader. */
TEST_F(entitylock, INFO_owner_is_the_thread_group)
{
	pthread_t thread;
	void *owner;

	ASSERT_EQ(0, pthread_create(&thread, NULL, pid_of_token, &self->domain));
	ASSERT_EQ(0, pthread_join(thread, &owner));
	EXPECT_EQ(getpid(), (intptr_t)owner);
}

/* Labels: the owner stays who made the token, until LABEL. */
TEST_F(entitylock, INFO_owner_is_recorded_by_LABEL)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		if ((pid_t)token_info(token).owner_pid != getppid())
			_exit(1);
		if (token_label(token, "child"))
			_exit(2);
		_exit((pid_t)token_info(token).owner_pid == getpid() ? 0 : 3);
	}
	EXPECT_EQ(0, reap(pid));
	close(token);
}

/* Header: owner_pid is of the caller's pid namespace, 0 = not in it. */
TEST_F(entitylock, INFO_owner_in_another_pid_namespace)
{
	int token = hold(self->domain, "a");
	pid_t pid;

	ASSERT_LE(0, token);
	pid = spawn();
	if (!pid) {
		pid_t inner;

		if (unshare(CLONE_NEWPID))
			_exit(1);
		inner = fork();
		if (!inner) {
			/* The owner is outside. */
			if (token_info(token).owner_pid != 0)
				_exit(2);
			if (token_label(token, "init of its own"))
				_exit(3);
			_exit(token_info(token).owner_pid == 1 ? 0 : 4);
		}
		if (reap(inner))
			_exit(5);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	close(token);
}

/* Verbs: INFO of a token that waits. */
TEST_F(entitylock, INFO_of_a_PENDING_token)
{
	int holder = hold(self->domain, "a");
	int token = idle(self->domain, "a");
	struct entitylock_info info;
	struct call call;

	ASSERT_LE(0, holder);
	ASSERT_LE(0, token);
	call_lock(&call, token, FOREVER);
	ASSERT_TRUE(eventually(token_state(token) == ENTITYLOCK_PENDING));
	info = token_info(token);
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(0, info.error);
	EXPECT_EQ(0, info.fence);
	close(holder);
	EXPECT_EQ(0, call_result(&call));
	EXPECT_NE(0, token_fence(token));
	close(token);
}

static void *release_soon(void *data)
{
	usleep(rand() % 2000);
	unlock(*(int *)data);
	return NULL;
}

/*
 * V3: once it says that the token holds something, it tells the version that was
 * found then, however the two come together; see also EL_BREAK=dawdle.
 */
TEST_F(entitylock, V3_INFO_of_a_grant_tells_what_was_found)
{
	for (unsigned int i = 0; i < scaled(500, 20); i++) {
		int holder = hold(self->domain, "a");
		int token = acquire(self->domain, "a", EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
		__u64 left = token_info(holder).fence;
		struct entitylock_entity told = { 0 };
		struct entitylock_info info;
		pthread_t thread;

		ASSERT_LE(0, token);
		ASSERT_EQ(0, pthread_create(&thread, NULL, release_soon, &holder));
		do {
			info = (struct entitylock_info){
				.entities = ptr(&told),
				.entity_size = sizeof(told),
				.capacity = 1,
			};
			ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
		} while (info.state == ENTITYLOCK_PENDING);
		pthread_join(thread, NULL);
		ASSERT_EQ(ENTITYLOCK_HELD, info.state);
		ASSERT_EQ(left, told.version);
		close(token);
		close(holder);
	}
}

struct breaker {
	int domain;
	__u64 fence;
};

/* Take "a" from who has it, and change it. */
static void *break_soon(void *data)
{
	struct breaker *breaker = data;
	struct entitylock_break arg = { .name = ptr("a"), .name_len = 1 };

	usleep(rand() % 2000);
	el_ioctl(breaker->domain, ENTITYLOCK_IOC_BREAK, &arg);
	close(hold(breaker->domain, "a"));
	return NULL;
}

/* V3: as long as it says so, what it tells is not another's. */
TEST_F(entitylock, V3_INFO_of_a_holder_tells_nothing_of_those_after_it)
{
	for (unsigned int i = 0; i < scaled(500, 20); i++) {
		struct breaker breaker = { .domain = self->domain };
		int token = hold(self->domain, "a");
		struct entitylock_entity told, found = { 0 };
		struct entitylock_info info;
		pthread_t thread;

		ASSERT_LE(0, token);
		ASSERT_EQ(0, pthread_create(&thread, NULL, break_soon, &breaker));
		do {
			told = (struct entitylock_entity){ 0 };
			info = (struct entitylock_info){
				.entities = ptr(&told),
				.entity_size = sizeof(told),
				.capacity = 1,
			};
			ASSERT_EQ(0, el_ioctl(token, ENTITYLOCK_IOC_INFO, &info));
			if (info.state != ENTITYLOCK_HELD)
				break;
			if (found.version)
				ASSERT_EQ(found.version, told.version);
			found = told;
		} while (true);
		pthread_join(thread, NULL);
		close(token);
		ASSERT_TRUE(eventually(live_entities(self->domain) == 0));
	}
}

SELFTEST_MAIN
