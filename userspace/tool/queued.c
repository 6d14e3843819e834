// SPDX-License-Identifier: GPL-2.0
/* The tokens that a trace has seen queueing. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "queued.h"
#include "tool.h"

static void *tree;	/* of struct event, by token */

static int by_token(const void *a, const void *b)
{
	uint64_t first = ((const struct event *)a)->token;
	uint64_t second = ((const struct event *)b)->token;

	return (first > second) - (first < second);
}

void queued_add(const struct event *event)
{
	struct event *copy;

	if (tfind(event, &tree, by_token))
		return;
	copy = need(malloc(sizeof(*copy)));
	*copy = *event;
	need(tsearch(copy, &tree, by_token));
}

bool queued_take(const struct event *event, struct event *queued)
{
	struct event *const *found = tfind(event, &tree, by_token);
	struct event *copy;

	if (!found)
		return false;
	copy = *found;
	*queued = *copy;
	tdelete(copy, &tree, by_token);
	free(copy);
	return true;
}
