// SPDX-License-Identifier: LGPL-2.1-or-later
/* The verbs of a domain fd that make no token to be locked. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "internal.h"

int entitylock_open(const char *path, int oflags)
{
	int fd = open(path ? path : ENTITYLOCK_DEVICE, oflags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* What open(2) says of the device, where DOMAIN says the same of a domain. */
static int of_device(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
		return -ENODEV;
	case -EACCES:
		return -EPERM;
	default:
		return err;
	}
}

int entitylock_open_domain(const char *path, int oflags, const void *name, size_t len,
			   uint32_t flags, uint32_t *mode, uint32_t *owner)
{
	int fd = entitylock_open(path, oflags), err;

	if (fd < 0)
		return of_device(fd);
	err = entitylock_domain(fd, name, len, flags, mode, owner);
	if (!err)
		return fd;
	__entitylock_close(fd);
	return err;
}

int entitylock_version(int domain, struct entitylock_version *version)
{
	struct entitylock_version arg = {};
	int err;

	err = __entitylock_ioctl(domain, ENTITYLOCK_IOC_VERSION, &arg);
	if (!err)
		*version = arg;
	return err;
}

int entitylock_domain(int domain, const void *name, size_t len, uint32_t flags,
		      uint32_t *mode, uint32_t *owner)
{
	struct entitylock_domain arg = {
		.name = __entitylock_address(name),
		.name_len = __entitylock_length(len, ENTITYLOCK_NAME_MAX),
		.flags = flags,
		.mode = mode ? *mode : 0,
	};
	int err;

	err = __entitylock_ioctl(domain, ENTITYLOCK_IOC_DOMAIN, &arg);
	if (err)
		return err;
	if (mode)
		*mode = arg.mode;
	if (owner)
		*owner = arg.owner;
	return 0;
}

int entitylock_claim(int domain,
		     const unsigned char cookie[ENTITYLOCK_COOKIE_SIZE])
{
	struct entitylock_claim arg = {};

	memcpy(arg.cookie, cookie, sizeof(arg.cookie));
	return __entitylock_ioctl(domain, ENTITYLOCK_IOC_CLAIM, &arg);
}

int entitylock_break(int domain, const void *name, size_t len, uint32_t flags,
		     uint64_t fence)
{
	struct entitylock_break arg = {
		.name = __entitylock_address(name),
		.name_len = __entitylock_length(len, ENTITYLOCK_NAME_MAX),
		.flags = flags,
		.fence = fence,
	};

	return __entitylock_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
}
