/* SPDX-License-Identifier: GPL-2.0 */
/* The tokens that a trace has seen queueing, until it sees the end of that. */
#ifndef QUEUED_H
#define QUEUED_H

#include <stdbool.h>

#include "event.h"

/* Keeps what a "queue" event tells; only the first since the last end counts. */
void queued_add(const struct event *event);

/* Takes out what is kept of the event's token; whether there was something. */
bool queued_take(const struct event *event, struct event *queued);

#endif /* QUEUED_H */
