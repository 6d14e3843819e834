// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

#define STEP	(2 * DESK_BYTES)	/* from a desk to the next: the hole is between */

static char *map(int fd, int protection)
{
	char *base = mmap(NULL, DESKS * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned int i = 0; i < DESKS; i++)
		if (mmap(base + i * STEP, DESK_BYTES, protection, MAP_SHARED | MAP_FIXED, fd,
			 i * DESK_BYTES) == MAP_FAILED)
			abort();
	return base;
}

void desks_make(struct desks *desks)
{
	int fd = memfd_create("desks", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, DESKS * DESK_BYTES))
		abort();
	desks->mine = map(fd, PROT_READ | PROT_WRITE);
	desks->read_only = map(fd, PROT_READ);
	close(fd);
}

struct placed place(const struct desks *desks, enum desk desk, enum place kind, size_t size)
{
	char *mine = desks->mine + desk * STEP;
	struct placed placed = { .mine = mine, .room = DESK_BYTES };

	if (size > DESK_BYTES)
		size = DESK_BYTES;
	switch (kind) {
	case FITS:
		placed.room = size;
		break;
	case CUT:
		placed.room = size / 2;
		break;
	case ODD:
		placed.mine++;
		placed.room--;
		break;
	case READ_ONLY:
		placed.user = (unsigned long)(desks->read_only + desk * STEP);
		return placed;
	case HOLE:
		return (struct placed){ .user = (unsigned long)mine + DESK_BYTES };
	case NULL_ADDRESS:
		return (struct placed){ 0 };
	case KERNEL:
		return (struct placed){ .user = 0xffffffff81000000 };
	default:
		break;
	}
	if (kind == FITS || kind == CUT)
		placed.mine = mine + DESK_BYTES - placed.room;
	placed.user = (unsigned long)placed.mine;
	return placed;
}

static size_t least(const struct placed *placed, size_t size)
{
	return size < placed->room ? size : placed->room;
}

void put(const struct placed *placed, const void *data, size_t size)
{
	size = least(placed, size);
	if (size)
		memcpy(placed->mine, data, size);
}

void get(const struct placed *placed, void *data, size_t size)
{
	size = least(placed, size);
	if (size)
		memcpy(data, placed->mine, size);
}
