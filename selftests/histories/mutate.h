/* SPDX-License-Identifier: GPL-2.0 */
/* Histories that are broken on purpose. */
#ifndef SELFTESTS_MUTATE_H
#define SELFTESTS_MUTATE_H

#include "rules.h"

/*
 * Change @history so that it violates @rule in one place: the @nth of those that there
 * are, counted round and round.  Says on stderr which lines violate it.  False where
 * there is no place.
 */
bool mutate(struct history *history, const struct grants *grants, enum rule rule, u32 nth);

#endif
