// SPDX-License-Identifier: GPL-2.0
/* The library's calls that do not wait: what they return, and what they leave alone. */
#include <sys/stat.h>

#include "harness.h"
#include "../userspace/lib/include/entitylock.h"

TEST(open_and_version)
{
	struct entitylock_version version = { .abi = 77 };
	int fd;

	fd = entitylock_open(NULL, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, entitylock_version(fd, &version));
	EXPECT_EQ(ENTITYLOCK_ABI, version.abi);
	EXPECT_EQ(ENTITYLOCK_SET_MAX, version.set_max);
	EXPECT_EQ(features(fd), version.features);
	close(fd);

	version.abi = 77;
	EXPECT_EQ(-EBADF, entitylock_version(-1, &version));
	fd = entitylock_open("/dev/null", O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, entitylock_version(fd, &version));
	close(fd);
	EXPECT_EQ(77, version.abi);
	EXPECT_EQ(-ENOENT, entitylock_open("/nonexistent", O_RDWR));
}

TEST_F(entitylock, call_acquire)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_grant grant = { .fence = 77, .reserved = 77 };
	char name[ENTITYLOCK_NAME_MAX + 1] = "";
	int token, readonly;

	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "", 0, EXCLUSIVE, NULL, &grant));
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, name, sizeof(name), EXCLUSIVE, NULL,
					      &grant));
	/* Would be 1 if it were cut to 32 bits. */
	if (sizeof(size_t) > 4)
		EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", (size_t)UINT32_MAX + 2,
						      EXCLUSIVE, NULL, &grant));
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, 0, NULL, &grant));
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, 3, NULL, &grant));
	EXPECT_EQ(-EFAULT, entitylock_acquire(self->domain, (void *)8, 1, EXCLUSIVE, NULL, &grant));
	EXPECT_EQ(-ENOTTY, entitylock_acquire(open("/dev/null", O_RDWR), "x", 1, EXCLUSIVE, NULL,
					      &grant));
	close(self->domain + 1);
	EXPECT_EQ(-EBADF, entitylock_acquire(-1, "x", 1, EXCLUSIVE, NULL, &grant));
	readonly = domain_open(O_RDONLY);
	EXPECT_EQ(-EBADF, entitylock_acquire(readonly, "x", 1, EXCLUSIVE, NULL, &grant));
	close(readonly);
	options.flags = ENTITYLOCK_IF_UNCHANGED;
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, &grant));
	EXPECT_EQ(77, grant.fence);

	token = entitylock_acquire(self->domain, name, ENTITYLOCK_NAME_MAX, SHARED, NULL, &grant);
	ASSERT_LE(0, token);
	EXPECT_EQ(FD_CLOEXEC, fcntl(token, F_GETFD));
	EXPECT_EQ(token_fence(token), grant.fence);
	EXPECT_EQ(0, grant.reserved);
	EXPECT_STREQ("s", token_modes(token));
	close(token);
}

TEST_F(entitylock, call_options)
{
	struct {
		struct entitylock_options options;
		unsigned char more[8];
	} newer = { ENTITYLOCK_OPTIONS_INIT, {} };
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	char label[ENTITYLOCK_LABEL_MAX + 2], told[ENTITYLOCK_LABEL_MAX + 1] = "";
	struct entitylock_info info = { .label = ptr(told), .label_len = sizeof(told) };
	int token;

	options.size--;
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL));
	options = (struct entitylock_options)ENTITYLOCK_OPTIONS_INIT;
	options.reserved = 1;
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL));
	options.reserved = 0;
	options.flags = 1U << 31;
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL));
	options.flags = 0;

	newer.options.size = sizeof(newer);
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &newer.options, NULL);
	EXPECT_LE(0, token);
	close(token);
	newer.more[7] = 1;
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &newer.options, NULL);
	EXPECT_EQ(-E2BIG, token);
	EXPECT_EQ(-E2BIG, entitylock_gate(self->domain, &newer.options, NULL));

	memset(label, 'l', sizeof(label));
	label[ENTITYLOCK_LABEL_MAX + 1] = '\0';
	options.label = label;
	EXPECT_EQ(-EINVAL, entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL));
	label[ENTITYLOCK_LABEL_MAX] = '\0';
	token = entitylock_acquire(self->domain, "x", 1, EXCLUSIVE, &options, NULL);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, entitylock_info(token, &info));
	EXPECT_EQ(ENTITYLOCK_LABEL_MAX, info.label_len);
	EXPECT_STREQ(label, told);
	EXPECT_EQ(0, entitylock_unlock(token, 0, 0));
	EXPECT_EQ(-EINVAL, entitylock_lock(token, &options, NULL));
	options.label = NULL;
	options.lease = 1;
	EXPECT_EQ(-EINVAL, entitylock_convert(token, SHARED, &options, NULL));
	close(token);
}

TEST_F(entitylock, call_acquire_set)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_grant grant = { .fence = 77 };
	static struct entitylock_entity many[ENTITYLOCK_SET_MAX + 1];
	struct entitylock_entity set[3];
	int token, i;

	entitylock_entity_init(&set[0], "b", 1, SHARED);
	entitylock_entity_init(&set[1], "a", 1, EXCLUSIVE);
	entitylock_entity_init(&set[2], "b", 1, EXCLUSIVE);
	token = entitylock_acquire_set(self->domain, set, 3, NULL, &grant);
	ASSERT_LE(0, token);
	EXPECT_EQ(token_fence(token), grant.fence);
	EXPECT_STREQ("a b", token_names(token));
	EXPECT_STREQ("xx", token_modes(token));
	close(token);

	for (i = 0; i < ENTITYLOCK_SET_MAX + 1; i++)
		entitylock_entity_init(&many[i], "b", 1, SHARED);
	EXPECT_EQ(-EINVAL, entitylock_acquire_set(self->domain, many, ENTITYLOCK_SET_MAX + 1, NULL,
						  NULL));
	EXPECT_EQ(-EINVAL, entitylock_acquire_set(self->domain, many, 0, NULL, NULL));
	EXPECT_EQ(-EFAULT, entitylock_acquire_set(self->domain, NULL, 1, NULL, NULL));
	token = entitylock_acquire_set(self->domain, many, ENTITYLOCK_SET_MAX, NULL, NULL);
	EXPECT_LE(0, token);
	close(token);

	options.flags = ENTITYLOCK_OPEN;
	grant.fence = 77;
	token = entitylock_acquire_set(self->domain, set, 3, &options, &grant);
	ASSERT_LE(0, token);
	EXPECT_EQ(0, grant.fence);
	EXPECT_EQ(ENTITYLOCK_IDLE, token_state(token));
	EXPECT_EQ(0, entitylock_lock(token, NULL, &grant));
	EXPECT_NE(0, grant.fence);
	EXPECT_EQ(-EBADFD, entitylock_lock(token, NULL, NULL));
	EXPECT_EQ(-ESTALE, entitylock_unlock(token, grant.fence + 1, 0));
	EXPECT_EQ(0, entitylock_unlock(token, grant.fence, 0));
	EXPECT_EQ(-EBADFD, entitylock_unlock(token, 0, 0));
	EXPECT_EQ(-EINVAL, entitylock_unlock(token, 0, 1));
	close(token);
}

TEST_F(entitylock, call_gate)
{
	struct entitylock_grant grant = {};
	int gate = entitylock_gate(self->domain, NULL, &grant);

	ASSERT_LE(0, gate);
	EXPECT_NE(0, grant.fence);
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "x", SHARED));
	close(gate);
	EXPECT_EQ(0, try_lock(self->domain, "x", SHARED));
}

TEST_F(entitylock, call_label)
{
	char long_label[ENTITYLOCK_LABEL_MAX + 2] = "", told[8] = "";
	int token = hold(self->domain, "x");
	struct entitylock_info info = { .label = ptr(told), .label_len = sizeof(told) };

	EXPECT_EQ(0, entitylock_label(token, "new"));
	EXPECT_EQ(0, entitylock_info(token, &info));
	EXPECT_EQ(3, info.label_len);
	EXPECT_EQ(0, memcmp("new", told, 3));
	EXPECT_EQ(getpid(), (pid_t)info.owner_pid);
	EXPECT_EQ(0, entitylock_label(token, NULL));
	memset(long_label, 'l', ENTITYLOCK_LABEL_MAX + 1);
	EXPECT_EQ(-EINVAL, entitylock_label(token, long_label));
	EXPECT_EQ(-ENOTTY, entitylock_label(self->domain, "new"));
	info.flags = 1;
	info.state = 77;
	EXPECT_EQ(-EINVAL, entitylock_info(token, &info));
	EXPECT_EQ(77, info.state);
	close(token);
}

/* There are words for all that can happen, and what to do is in them. */
TEST(explain)
{
	int verb, error;

	EXPECT_NE(NULL, strstr(entitylock_explain(ENTITYLOCK_VERB_OPEN, -ENOENT), "modprobe"));
	EXPECT_STREQ(entitylock_explain(ENTITYLOCK_VERB_OPEN, -ENOENT),
		     entitylock_explain(ENTITYLOCK_VERB_OPEN, ENOENT));
	EXPECT_STREQ("unknown error", entitylock_explain(ENTITYLOCK_VERB_OPEN, 100000));
	EXPECT_STREQ("unknown error", entitylock_explain(ENTITYLOCK_VERB_OPEN, INT32_MIN));
	for (verb = ENTITYLOCK_VERB_OPEN; verb <= ENTITYLOCK_VERB_STATS; verb++)
		for (error = 1; error < 134; error++)
			EXPECT_LT(1, strlen(entitylock_explain(verb, error)));
}

SELFTEST_MAIN
