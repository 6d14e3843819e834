/* SPDX-License-Identifier: GPL-2.0 */
/* vanish: what becomes of a row whose editor is killed, or paused; a line of CSV each */
#ifndef OFFLINE_VANISH_H
#define OFFLINE_VANISH_H

#include "way.h"

struct vanish {
	unsigned int repeats;
	uint64_t lease;
	uint64_t limit;		/* how long the next editor tries */
	uint64_t pause;		/* before it tries again */
};

/* False: an update was lost. */
bool vanish(const struct vanish *what);

#endif
