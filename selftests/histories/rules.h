/* SPDX-License-Identifier: GPL-2.0 */
/* What must be true of the grants of a history. */
#ifndef SELFTESTS_RULES_H
#define SELFTESTS_RULES_H

#include "grants.h"

enum rule { ALONE, GATE_ALONE, FENCES, ORDER, VERSIONS, RULES };

extern const char *const rule_names[RULES];

/* How often each was violated, and how much was looked at. */
struct verdict {
	u32 violations[RULES];
	u32 checked[RULES];
};

/* Says on stdout which calls violate what: @say of each rule at most. */
void rules_check(struct verdict *verdict, const struct grants *grants, u32 say);

/* Those of @grants that have @thing and are certain, in the order in which they were granted. */
struct holders {
	const struct grant **all;
	u32 count;
};

void holders_make(struct holders *holders, const struct grants *grants, unsigned char thing);
const struct item *grant_item(const struct grant *grant, unsigned char thing);
bool grants_conflict(const struct grant *one, const struct grant *other, unsigned char thing);
/* Is it known since when it waited in the queue of @thing? */
bool queues_for(const struct grant *grant, unsigned char thing);
bool reading_counts(const struct grants *grants, const struct reading *reading);
/* The version that @reading tells of @thing, NULL if it does not. */
const struct item *reading_item(const struct reading *reading, unsigned char thing);

#endif
