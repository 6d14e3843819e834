/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests of domains, rights and quotas. */
#ifndef SELFTESTS_DOMAINS_H
#define SELFTESTS_DOMAINS_H

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "owners.h"

#define CREATE		ENTITYLOCK_CREATE
#define EXCL		ENTITYLOCK_EXCL
#define PRIVATE		ENTITYLOCK_PRIVATE

/* Users who are nobody in particular. */
enum { ALICE = 1001, BOB = 1002, STAFF = 2001 };

/* DOMAIN on @fd. */
static inline int domain_move(int fd, const char *name, __u32 flags, __u32 mode)
{
	struct entitylock_domain arg = {
		.name = ptr(name),
		.name_len = name ? strlen(name) : 0,
		.flags = flags,
		.mode = mode,
	};

	return el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, &arg);
}

/* A fresh fd that is moved, or -errno. */
static inline int domain_enter(const char *name, __u32 flags, __u32 mode, int oflags)
{
	int fd = domain_open(oflags);
	int ret = fd < 0 ? fd : domain_move(fd, name, flags, mode);

	if (ret && fd >= 0)
		close(fd);
	return ret ?: fd;
}

static inline int domain_make(const char *name, __u32 mode)
{
	return domain_enter(name, CREATE | EXCL, mode, O_RDWR);
}

static inline int domain_find(const char *name)
{
	return domain_enter(name, 0, 0, O_RDWR);
}

/* Be a user without any right, of that group alone. */
static inline int become(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

/* An fd of a domain, opened by such a user: DOMAIN with @flags and @mode. */
static inline int domain_as(uid_t uid, gid_t gid, const char *name, __u32 flags, __u32 mode,
			    int oflags)
{
	int pair[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = spawn();
	if (!pid) {
		if (become(uid, gid))
			_exit(1);
		fd = domain_enter(name, flags, mode, oflags);
		_exit(fd < 0 ? -fd : !!send_fd(pair[1], fd));
	}
	close(pair[1]);
	fd = receive_fd(pair[0]);
	close(pair[0]);
	pid = reap(pid);
	return pid ? -pid : fd;
}

/* Can @fd be listed?  0 or -errno. */
static inline int try_read(int fd)
{
	char byte;

	return pread(fd, &byte, 1, 0) < 0 ? -errno : 0;
}

/*
 * The fixture of those who are several users: all may open the device, so that it
 * is the domain that lets them in.
 */
FIXTURE(users) {
	union {
		struct ground ground;
		int domain;
	};
	struct quotas quotas;
};

FIXTURE_SETUP(users)
{
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	ground_check(_metadata, &self->ground);
	self->quotas = quotas_read();
}

FIXTURE_TEARDOWN(users)
{
	EXPECT_EQ(0, chmod(DEVICE, 0660));
	EXPECT_EQ(0, write_file(PARAMETERS "default_mode", "0777"));
	quotas_restore(_metadata, self->quotas);
	ground_recheck(_metadata, &self->ground);
}

#endif
