// SPDX-License-Identifier: GPL-2.0
/* What is said of violations: what, seed and round, and what both sides did last. */
#include <stdarg.h>

#include "torture.h"

const char *const check_names[CHECKS] = {
	[ALONE] = "L3_exclusive_is_alone",
	[GATE_ALONE] = "L5_the_gate_excludes_all",
	[FENCES] = "L10_fences_rise",
	[ORDER] = "L3_L5_nobody_overtakes",
	[WOKEN] = "L4_no_wake_up_is_lost",
	[VERBS_RIGHT] = "L6_L7_verbs_do_what_they_say",
	[NOTHING_LEFT] = "L9_nothing_is_left",
	[ALL_DONE] = "everything_was_tried",
	[FAIR] = "L3_nobody_starves",
};

const char *const verb_names[VERBS] = {
	[ACQUIRE] = "ACQUIRE", [TAKE_GATE] = "ACQUIRE GATE", [LOCK] = "LOCK", [EXTEND] = "EXTEND",
	[UPGRADE] = "CONVERT up", [DOWNGRADE] = "CONVERT down", [UNLOCK] = "UNLOCK",
	[CANCEL] = "CANCEL", [CLOSE] = "close", [DUP] = "dup", [INFO] = "INFO", [POLL] = "poll",
	[LABEL] = "LABEL", [SEND] = "send", [RECEIVE] = "receive", [RENEW] = "RENEW",
	[PARK] = "PARK", [CLAIM] = "CLAIM", [BREAK] = "BREAK",
};

const char *const kind_names[KINDS] = {
	[SINGLE] = "single", [MULTI] = "threaded", [FINISHER] = "finisher",
};

/**
 * violation - something is not as it must be
 * @check: what was checked
 * @one: whose it is, or NULL
 * @other: the other side of it, or NULL
 *
 * The run goes on for a while, to see what else there is.
 */
void violation(enum check check, const struct seat *one, const struct seat *other,
	       const char *format, ...)
{
	struct finding *finding = &shared->findings[check];
	struct report *report = &shared->report;
	const struct seat *sides[] = { one, other };
	unsigned long long none = 0;
	va_list args;

	if (!atomic_fetch_add(&finding->count, 1)) {
		va_start(args, format);
		vsnprintf(finding->text, sizeof(finding->text), format, args);
		va_end(args);
	}
	if (!atomic_compare_exchange_strong(&report->since, &none, now()))
		return;
	report->round = shared->round;
	for (int i = 0; i < 2 && sides[i]; i++) {
		report->numbers[i] = seat_number(sides[i]);
		memcpy(&report->seats[i], sides[i], sizeof(*sides[i]));
		report->count = i + 1;
	}
}

static const char *state_text(enum state state)
{
	switch (state) {
	case IDLE:	return "IDLE";
	case PENDING:	return "PENDING";
	case HELD:	return "HELD";
	default:	return "no token";
	}
}

static void print_timing(const struct timing *timing)
{
	if (timing->flags & ENTITYLOCK_ASYNC)
		printf(" async");
	if (timing->deadline == FOREVER)
		printf(" forever");
	else if (timing->deadline == NOWAIT)
		printf(" at once");
	else
		printf(" until %llu of clock %d", timing->deadline, timing->clock);
}

static void print_event(const struct event *event)
{
	printf("#   %12.6f s  %s", (event->time - shared->begin) / 1e9, verb_names[event->verb]);
	if (event->verb <= UPGRADE)
		print_timing(&event->timing);
	printf(", %u from %s: ", event->count, name_of(event->what));
	if (event->ret < 0)
		printf("%s", event->ret == -EINPROGRESS ? "waits" : strerrorname_np(-event->ret));
	else
		printf("ok");
	printf(", grant %llu\n", event->fence);
}

static void print_set(const char *what, const struct set *set)
{
	printf("#   %s", what);
	for (unsigned int i = 0; i < set->count && i < 12; i++)
		printf(" %s:%c", name_of(set->items[i].what),
		       set->items[i].mode == EXCLUSIVE ? 'x' : 's');
	printf(set->count > 12 ? " and %u more\n" : "\n", set->count - 12);
}

static void print_seat(unsigned int number, const struct seat *seat)
{
	const struct worker *worker = seat_worker(number);
	unsigned int last = seat->nr_events;

	printf("# seat %u: worker %u (%s, incarnation %u), thread %u, %s, grant %llu\n", number,
	       shared->actors[number / PLACES].worker, kind_names[worker->kind],
	       worker->incarnation, number / PLACES - worker->first, state_text(seat->state),
	       seat->fence);
	print_set("its set:", &seat->set);
	print_set("its last wish:", &seat->want);
	for (unsigned int i = last > EVENTS ? last - EVENTS : 0; i < last; i++)
		print_event(&seat->events[i % EVENTS]);
}

static void print_file(pid_t tid, const char *name)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		printf("#     %s", line);
	if (file)
		fclose(file);
}

static void print_waiter(unsigned int number)
{
	const struct seat *seat = &shared->seats[number];
	pid_t tid = shared->actors[number / PLACES].tid;
	char fdinfo[32];

	printf("# seat %u (pid %d, thread %d) waits since %.6f s for %s", number,
	       seat_worker(number)->pid, tid, (seat->since - shared->begin) / 1e9,
	       verb_names[seat->verb]);
	print_timing(&seat->timing);
	printf("\n");
	print_set("its set:", &seat->set);
	print_set("its wish:", &seat->want);
	snprintf(fdinfo, sizeof(fdinfo), "fdinfo/%d", seat->fd);
	print_file(tid, fdinfo);
	print_file(tid, "stack");
}

/* Who waits just now, and where, and what the module says of it. */
void report_waits(void)
{
	int domain = domain_open(O_RDONLY);
	char *text = listing_read(domain, 65536);

	for (unsigned int i = 0; i < SEATS; i++)
		if (shared->seats[i].since)
			print_waiter(i);
	printf("# the listing:\n%.4000s\n", text ? text : "unreadable");
	free(text);
	close(domain);
}

void report_print(void)
{
	const struct report *report = &shared->report;

	for (unsigned int i = 0; i < CHECKS; i++)
		if (shared->findings[i].count)
			printf("# %s: %u times, first: %s\n", check_names[i],
			       shared->findings[i].count, shared->findings[i].text);
	if (report->count)
		printf("# the first violation was in round %u with --seed %llu, of:\n",
		       report->round, shared->seed);
	for (unsigned int i = 0; i < report->count; i++)
		print_seat(report->numbers[i], &report->seats[i]);
}
