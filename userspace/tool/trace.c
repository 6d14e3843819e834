// SPDX-License-Identifier: GPL-2.0
/* entitylock trace: the threads that lock calls have blocked */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "entitylock.h"
#include "entry.h"
#include "event.h"
#include "json.h"
#include "queued.h"
#include "request.h"
#include "rounds.h"
#include "scan.h"
#include "sums.h"
#include "table.h"
#include "tracefs.h"

static const struct subcommand subcommand = {
	.name = "trace",
	.bit = TRACE,
	.help =
"Usage: entitylock trace [OPTION...]\n"
"\n"
"Lists, as it happens, each thread that a call of the module has blocked: when it\n"
"went on, for how long it was blocked, on what, and who was in the way first.\n"
"Ends by --for, or Ctrl-C.  Programs that wait by poll(2), as those do that use\n"
"the library, are not blocked in a call: --waits lists all waits as they end,\n"
"and whose release ended them.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
};

/* How often it is looked whether there is something: the kernel tells late. */
#define GLANCE	(NSEC_PER_SEC / 10)

/* What is listed. */
struct row {
	uint64_t at;		/* of CLOCK_MONOTONIC */
	pid_t tid;
	const char *comm;
	const char *cause;
	const char *domain;
	const char *entity;	/* "" = the gate */
	uint64_t duration;
	int error;
	uint64_t holder;	/* its token, 0 = it is not known */
	pid_t holder_pid;
};

static uint64_t realtime_of(uint64_t monotonic)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec -
	       (entitylock_deadline_in(0) - monotonic);
}

static void put_time(uint64_t monotonic)
{
	uint64_t ns = realtime_of(monotonic);
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm tm;
	char text[16];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%06llu  ", text, (unsigned long long)(ns % NSEC_PER_SEC / 1000));
}

/* The domain is told where it is not the default one. */
static void put_entity(FILE *to, const struct row *row)
{
	if (strcmp(row->domain, "default"))
		fprintf(to, "%s: ", row->domain);
	fputs(*row->entity ? row->entity : GATE_NAME, to);
}

static void print_titles(void)
{
	printf("%-15s  %8s  %9s  %-8s %s\n", "TIME", "THREAD", "DURATION", "CAUSE",
	       "COMMAND, ENTITY, IN THE WAY");
}

static void print_row(const struct row *row)
{
	char text[DURATION_TEXT], comm[COMM_SIZE];

	put_time(row->at);
	printf("%8d  %9s  %-8s ", (int)row->tid, duration(row->duration, text), row->cause);
	put_escaped(stdout, row->comm, strlen(row->comm), " ,");
	fputs(", ", stdout);
	put_entity(stdout, row);
	if (row->holder_pid) {
		process_look(row->holder_pid, comm, NULL);
		printf(", %d ", (int)row->holder_pid);
		put_escaped(stdout, *comm ? comm : "?", *comm ? strlen(comm) : 1, " ,");
	}
	if (row->holder)
		printf(" (token %llu)", (unsigned long long)row->holder);
	if (row->error)
		printf(", %s", strerror(-row->error));
	putchar('\n');
}

static void print_json(const struct row *row)
{
	json_begin();
	json_seconds("time", realtime_of(row->at));
	json_signed("thread", row->tid);
	json_string("command", row->comm);
	json_string("cause", row->cause);
	json_escaped("domain", row->domain);
	if (*row->entity)
		json_escaped("name", row->entity);
	else
		json_null("name");
	json_seconds("duration", row->duration);
	json_string_or_null("error", row->error ? strerrorname_np(-row->error) : NULL);
	if (row->holder)
		json_digits("holder", row->holder);
	else
		json_null("holder");
	if (row->holder_pid)
		json_signed("holder_pid", row->holder_pid);
	else
		json_null("holder_pid");
	json_close('}');
}

/* The process of a thread, as long as it lives. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	int pid = tid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return tid;
	while (fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &pid) != 1)
		;
	fclose(file);
	return pid;
}

static void add_row(const struct row *row, enum grouping by)
{
	char *key = NULL;
	size_t size;
	FILE *to = need(open_memstream(&key, &size));

	if (by == BY_ENTITY) {
		put_entity(to, row);
	} else {
		fprintf(to, "%d ", (int)process_of(row->tid));
		put_escaped(to, row->comm, strlen(row->comm), "");
	}
	fclose(to);
	sums_add(need(key), row->duration);
	free(key);
}

static void tell(const struct request *request, const struct row *row)
{
	if (request->by)
		add_row(row, request->by);
	else if (request->json)
		print_json(row);
	else
		print_row(row);
}

static void tell_blocked(const struct request *request, const struct event *event)
{
	struct row row = {
		.at = event->at, .tid = event->tid, .comm = event->comm,
		.cause = event->cause, .domain = event->domain, .entity = event->entity,
		.duration = event->duration, .error = event->error < 0 ? event->error : 0,
		.holder = event->holder, .holder_pid = event->holder_pid,
	};

	tell(request, &row);
}

/* The kernel does not remember the commands of all threads. */
static void name_task(struct event *event)
{
	char comm[COMM_SIZE];

	if (!strcmp(event->task_comm, "<...>") && process_look(event->task, comm, NULL))
		snprintf(event->task_comm, sizeof(event->task_comm), "%.*s", EVENT_COMM - 1, comm);
}

/* What has waited was queued by its own thread, and is granted by who was in the way. */
static void tell_wait(const struct request *request, const struct event *event)
{
	struct event queued;
	struct row row;

	if (!strcmp(event->name, "queue")) {
		queued = *event;
		name_task(&queued);
		queued_add(&queued);
		return;
	}
	if (!queued_take(event, &queued))
		return;
	row = (struct row) {
		.at = event->at, .tid = queued.task, .comm = queued.task_comm,
		.cause = *queued.entity ? "entity" : "gate",
		.domain = queued.domain, .entity = queued.entity,
		.duration = event->at - queued.at, .error = event->error,
		.holder_pid = event->error ? 0 : event->task,
	};
	if (row.duration > request->longer_than)
		tell(request, &row);
}

/* All that there is now. */
static void tell_lines(const struct request *request)
{
	struct event event;
	const char *line;
	uint64_t lost;

	while ((line = tracefs_line())) {
		if (event_lost(line, &lost))
			fail("trace",
			     "%llu events are lost, too many at a time; give --longer-than more",
			     (unsigned long long)lost);
		else if (!event_parse(&event, line))
			continue;
		else if (request->waits)
			tell_wait(request, &event);
		else
			tell_blocked(request, &event);
	}
}

static int enable(const struct request *request)
{
	static const char *const waits[] = {
		"entitylock_queue", "entitylock_grant", "entitylock_gate_grant",
		"entitylock_cancel",
	};
	char filter[64];
	int status = EXIT_SUCCESS;
	size_t i;

	if (!request->waits) {
		snprintf(filter, sizeof(filter), "duration > %llu",
			 (unsigned long long)request->longer_than);
		return tracefs_enable("trace", "entitylock_blocked", filter);
	}
	/* Grants that were not waited for are many, and not asked for. */
	for (i = 0; i < ARRAY_SIZE(waits) && !status; i++)
		status = tracefs_enable("trace", waits[i],
					strstr(waits[i], "grant") ? "waited > 0" : NULL);
	return status;
}

static int follow(const struct request *request)
{
	uint64_t end = ENTITYLOCK_FOREVER, next, now;
	int status;

	status = enable(request);
	if (status)
		return status;
	if (request->timed)
		end = entitylock_deadline_in(request->timeout);
	if (!request->json && !request->by)
		print_titles();
	while (!status && !rounds_ended() && entitylock_deadline_in(0) < end) {
		status = finish_output("trace");
		now = entitylock_deadline_in(0);
		next = now + GLANCE < end ? now + GLANCE : end;
		rounds_sleep(next, -1);
		tell_lines(request);
	}
	return status;
}

static const struct request *summed;
static struct table table;

static void put_sum(const struct sum *sum)
{
	char **cells;

	if (summed->json) {
		json_begin();
		json_escaped(summed->by == BY_ENTITY ? "entity" : "process", sum->key);
		json_number("count", sum->count);
		json_seconds("total", sum->total);
		json_seconds("longest", sum->longest);
		json_close('}');
		return;
	}
	cells = table_row(&table);
	cells[0] = number_cell(sum->count);
	cells[1] = duration_cell(sum->total);
	cells[2] = duration_cell(sum->longest);
	cells[3] = text_cell(sum->key);
	table_end_row(&table);
}

static void print_sums(const struct request *request)
{
	const char *const titles[] = {
		"COUNT", "TOTAL", "LONGEST", request->by == BY_ENTITY ? "ENTITY" : "PROCESS", NULL,
	};

	summed = request;
	if (!request->json)
		table_begin(&table, titles);
	sums_each(put_sum);
	if (!request->json)
		table_flush(&table);
}

int trace_main(int argc, char **argv)
{
	static struct request request;
	int status;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	rounds_begin();
	status = tracefs_begin("trace");
	if (status)
		return status;
	atexit(tracefs_end);
	status = follow(&request);
	tracefs_end();
	if (!status && request.by)
		print_sums(&request);
	return status ? status : finish_output("trace");
}
