/* SPDX-License-Identifier: GPL-2.0 */
/* An event of the module, as a line of the trace tells it. */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENT_COMM	16	/* bytes of a command there, with a zero */
#define EVENT_TEXT	1040	/* bytes of a name there, escaped, with a zero */

/**
 * struct event - what is told of it
 * @name: without "entitylock_".
 * @at: of CLOCK_MONOTONIC, in nanoseconds.
 * @task: the thread in which it happened, 0 = unknown; @task_comm: its command.
 * @token, @domain, @entity: what it is about; @entity is "" for the gate.
 * @duration: what was waited, in nanoseconds.
 * @error: a negative errno, or 0.
 * @cause, @tid, @comm, @holder, @holder_pid: of a thread that was blocked.
 */
struct event {
	char name[32];
	uint64_t at;
	pid_t task;
	char task_comm[EVENT_COMM];
	uint64_t token;
	char domain[EVENT_TEXT];
	char entity[EVENT_TEXT];
	uint64_t duration;
	int error;
	char cause[16];
	pid_t tid;
	char comm[EVENT_COMM];
	uint64_t holder;
	pid_t holder_pid;
};

/* Whether the line tells an event of the module. */
bool event_parse(struct event *event, const char *line);

/* Whether it tells that events were lost, and how many. */
bool event_lost(const char *line, uint64_t *lost);

#endif /* EVENT_H */
