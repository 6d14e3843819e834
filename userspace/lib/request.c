// SPDX-License-Identifier: LGPL-2.1-or-later
/* What every call needs to hand its arguments to the kernel. */
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

int __entitylock_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

void __entitylock_close(int fd)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	close(fd);
	pthread_setcancelstate(state, NULL);
}

__u32 __entitylock_length(size_t len, size_t max)
{
	return len > max ? max + 1 : len;
}

__u64 __entitylock_address(const void *p)
{
	return (uintptr_t)p;
}

void entitylock_entity_init(struct entitylock_entity *entity, const void *name,
			    size_t len, uint32_t mode)
{
	*entity = (struct entitylock_entity) {
		.name = __entitylock_address(name),
		.name_len = __entitylock_length(len, ENTITYLOCK_NAME_MAX),
		.mode = mode,
	};
}

/* Whether what a newer caller has beyond our struct is left at its default. */
static bool tail_is_zero(const struct entitylock_options *given)
{
	const unsigned char *bytes = (const unsigned char *)given;
	size_t i;

	for (i = sizeof(*given); i < given->size; i++)
		if (bytes[i])
			return false;
	return true;
}

int __entitylock_options(const struct entitylock_options *given,
			 struct entitylock_options *opts)
{
	static const struct entitylock_options init = ENTITYLOCK_OPTIONS_INIT;

	*opts = given ? *given : init;
	if (opts->size < sizeof(*opts) || opts->reserved)
		return -EINVAL;
	if (given && !tail_is_zero(given))
		return -E2BIG;
	return 0;
}

bool __entitylock_blocks(const struct entitylock_options *opts)
{
	return opts->deadline != ENTITYLOCK_NOWAIT &&
	       !(opts->flags & (ENTITYLOCK_ASYNC | ENTITYLOCK_OPEN));
}
