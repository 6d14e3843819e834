/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where arguments are: on a desk of a lane, in memory that is good, or not.
 *
 * A desk is some pages with a hole behind them, and the same pages once more where they
 * can only be read.  They are shared with forked children: a cookie that one of them was
 * given is not lost when it is killed.
 */
#ifndef SELFTESTS_FUZZ_MEMORY_H
#define SELFTESTS_FUZZ_MEMORY_H

#include <stddef.h>

#include "program.h"

enum desk { STRUCT, ARRAY, TEXT, DESKS };

#define DESK_BYTES	(64 * 1024)

struct desks {
	char *mine;
	char *read_only;
};

/**
 * struct placed - a place on a desk
 * @user: its address, for the verb
 * @mine: where it can be written and read, if @room is not 0
 * @room: bytes of it
 */
struct placed {
	__u64 user;
	char *mine;
	size_t room;
};

void desks_make(struct desks *desks);
struct placed place(const struct desks *desks, enum desk desk, enum place kind, size_t size);
/* As much of it as there is room for. */
void put(const struct placed *placed, const void *data, size_t size);
void get(const struct placed *placed, void *data, size_t size);

#endif
