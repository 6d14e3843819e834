/* SPDX-License-Identifier: GPL-2.0 */
/* A cgroup of one's own, for the tests of freezing and of memory. */
#ifndef SELFTESTS_CGROUP_H
#define SELFTESTS_CGROUP_H

#include <sys/mount.h>
#include <sys/stat.h>

#include "harness.h"

struct cgroup {
	char mount[32];
	char path[64];
};

static inline int group_write(const struct cgroup *group, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	return write_file(path, text);
}

static inline void group_make(struct __test_metadata *_metadata, struct cgroup *group)
{
	strcpy(group->mount, "/tmp/entitylock.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(group->mount));
	ASSERT_EQ(0, mount("none", group->mount, "cgroup2", 0, NULL));
	/* What a test that failed has left is in nobody's way. */
	snprintf(group->path, sizeof(group->path), "%s/entitylock.%d", group->mount, getpid());
	ASSERT_EQ(0, mkdir(group->path, 0700));
}

static inline void group_end(struct __test_metadata *_metadata, struct cgroup *group)
{
	EXPECT_TRUE(eventually(rmdir(group->path) == 0));
	EXPECT_EQ(0, umount(group->mount));
	rmdir(group->mount);
}

#endif
