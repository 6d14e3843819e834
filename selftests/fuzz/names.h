/* SPDX-License-Identifier: GPL-2.0 */
/* The names that programs use: some that are hard, and as many as a set can have. */
#ifndef SELFTESTS_FUZZ_NAMES_H
#define SELFTESTS_FUZZ_NAMES_H

#include <linux/types.h>

#define NAME_KINDS	14	/* of which a set may begin with each */
#define NAMES		2048

struct name {
	const char *bytes;
	__u32 len;
};

/* Past the hard ones they are numbered. */
struct name name_at(unsigned int number);

#endif
