// SPDX-License-Identifier: GPL-2.0
/*
 * entitylock blockers: who stands before whom
 *
 * Whoever waits for an entity waits for those who hold it and for those who wait
 * before.  A holder may wait itself, with the same token or, as far as one can see
 * from outside, with another of its process: so the tree goes on, and may come back to
 * where it began.  The first at the gate waits for all that is in flight.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "entry.h"
#include "json.h"
#include "request.h"
#include "scan.h"

static const struct subcommand subcommand = {
	.name = "blockers",
	.bit = BLOCKERS,
	.help =
"Usage: entitylock blockers [OPTION...] PID | NAME\n"
"       entitylock blockers [OPTION...] --gate\n"
"\n"
"Prints a tree of those who stand before the process, in each queue that it waits\n"
"in, or before whoever asks for the name now.  Where the tree comes back to a\n"
"process that waits further up, that is said: it is a deadlock if one thread does\n"
"both.  A number is a process id; a name that is a number needs --name.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
	.arguments = "process id or name",
};

/* Most in flight that are shown before who waits for the gate. */
#define IN_FLIGHT_SHOWN	16

/*
 * Most steps of the tree, which anybody can make as deep as memory allows: it is walked
 * on the stack, and what reads JSON does not nest without end either.
 */
#define DEEPEST	100

/* How somebody is in the way. */
enum relation { HOLDS, WAITS_BEFORE, IN_FLIGHT };

static const struct {
	const char *word;	/* in JSON */
	const char *text;
} relations[] = {
	[HOLDS] = { "holds", "held by" },
	[WAITS_BEFORE] = { "waits", "before it waits" },
	[IN_FLIGHT] = { "in-flight", "in flight" },
};

/* Somebody who waits. */
struct wait {
	const struct entitylock_list_party *party;
	const struct entitylock_list_entry *entry;
	size_t index;		/* in its queue, or that of the first who are not listed */
};

/* Where the tree has come to: from the root down. */
struct path {
	const struct path *up;
	const struct wait *wait;
};

static struct snapshot all;
static struct wait *waits;
static size_t nr_waits;
static uint64_t *shown;		/* tokens whose waits are in the tree */
static size_t nr_shown;
static unsigned int cycles;
static bool json;

static void put_waits_of(const struct entitylock_list_party *party,
			 const struct entitylock_list_entry *but, const struct path *path,
			 int depth);

static void add_wait(const struct entitylock_list_party *party,
		     const struct entitylock_list_entry *entry, size_t index)
{
	waits = need(reallocarray(waits, nr_waits + 1, sizeof(*waits)));
	waits[nr_waits++] = (struct wait) { party, entry, index };
}

static void find_waits(void)
{
	const struct entitylock_list_entry *entry;
	size_t i;

	for (entry = all.entries; entry < all.entries + all.nr; entry++)
		for (i = 0; i < entry->nr_waiter; i++)
			add_wait(&entry->waiter[i], entry, i);
}

static bool is_holder(uint64_t token, const struct entitylock_list_entry *entry)
{
	size_t i;

	for (i = 0; i < entry->nr_holder; i++)
		if (entry->holder[i].id == token)
			return true;
	return false;
}

/* Those queues of the name that are longer than what is listed of them. */
static void add_hidden_waits(const struct entitylock_list_party *party, const char *name)
{
	const struct entitylock_list_entry *entry;
	char *cell;

	for (entry = all.entries; entry < all.entries + all.nr; entry++) {
		if (entry->waiters == entry->nr_waiter || is_holder(party->id, entry))
			continue;
		cell = name_cell(entry);
		if (!strcmp(cell, name))
			add_wait(party, entry, entry->nr_waiter);
		free(cell);
	}
}

static bool is_known(uint64_t token)
{
	size_t i;

	for (i = 0; i < nr_waits; i++)
		if (waits[i].party->id == token)
			return true;
	return false;
}

/*
 * Who waits behind those that a listing shows is found by what its descriptor tells:
 * its state, and below that the names of its set, "x name"; or it is at the gate.
 */
static void find_hidden_wait(const struct scan_fd *fd)
{
	struct entitylock_list_party *party = need(calloc(1, sizeof(*party)));
	char path[64], line[2048];
	bool pending = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)fd->pid, fd->fd);
	file = fopen(path, "re");
	*party = (struct entitylock_list_party) {
		.id = fd->token, .pid = fd->pid, .mode = ENTITYLOCK_EXCLUSIVE,
		.comm = fd->comm, .comm_len = strlen(fd->comm), .label = "",
		.lease = ENTITYLOCK_UNTOLD,
	};
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "state:\tpending")) {
			pending = true;
			add_hidden_waits(party, GATE_NAME);
		} else if (!strncmp(line, "age:\t", 5)) {
			party->age = strtoull(line + 5, NULL, 10);
		} else if (pending && !strncmp(line, "entity:\t", 8)) {
			party->mode = line[8] == 's' ? ENTITYLOCK_SHARED : ENTITYLOCK_EXCLUSIVE;
			add_hidden_waits(party, line + 10);
		}
	}
	if (file)
		fclose(file);
}

static bool same_process(const struct entitylock_list_party *a,
			 const struct entitylock_list_party *b)
{
	return a->id == b->id || (a->pid && a->pid == b->pid);
}

static bool is_on_path(const struct entitylock_list_party *party, const struct path *path)
{
	for (; path; path = path->up)
		if (same_process(party, path->wait->party))
			return true;
	return false;
}

static bool is_shown(uint64_t token)
{
	size_t i;

	for (i = 0; i < nr_shown; i++)
		if (shown[i] == token)
			return true;
	return false;
}

static void note_shown(uint64_t token)
{
	shown = need(reallocarray(shown, nr_shown + 1, sizeof(*shown)));
	shown[nr_shown++] = token;
}

static void indent(int depth)
{
	printf("%*s", 2 * depth, "");
}

static bool waits_at_all(const struct entitylock_list_party *party,
			 const struct entitylock_list_entry *but)
{
	size_t i;

	for (i = 0; i < nr_waits; i++)
		if (waits[i].entry != but && same_process(party, waits[i].party))
			return true;
	return false;
}

/* Somebody who is in the way, and what that one waits for. */
static void put_blocker(enum relation relation, const struct entitylock_list_party *party,
			const struct entitylock_list_entry *entry, const struct path *path,
			int depth)
{
	/* Who waits before has nothing yet that another of the process could wait for. */
	bool cycle = relation != WAITS_BEFORE && is_on_path(party, path);
	const struct entitylock_list_entry *but = relation == WAITS_BEFORE ? entry : NULL;
	bool cut = !cycle && depth >= DEEPEST && waits_at_all(party, but);

	cycles += cycle;
	if (json) {
		json_open(NULL, '{');
		json_string("relation", relations[relation].word);
		json_party(party);
		json_bool("cycle", cycle);
		json_bool("cut", cut);
		json_open("waits", '[');
	} else {
		indent(depth);
		printf("%s ", relations[relation].text);
		put_party(stdout, party);
		printf(", token %llu, ", (unsigned long long)party->id);
		put_times(stdout, party);
		puts(cycle ? ": a CYCLE, the process waits above" : cut ? ": and so on" : "");
	}
	if (!cycle && !cut)
		put_waits_of(party, but, path, depth + 1);
	if (json) {
		json_close(']');
		json_close('}');
	}
}

static void put_more(uint64_t more, const char *what, int depth)
{
	if (!more || json)
		return;
	indent(depth);
	printf("and %llu %s more\n", (unsigned long long)more, what);
}

/* All that hold something, each once: the gate is after them. */
static void put_in_flight(const struct path *path, int depth)
{
	const struct entitylock_list_entry *entry;
	uint64_t told[IN_FLIGHT_SHOWN];
	size_t nr = 0, i, k;

	for (entry = all.entries; entry < all.entries + all.nr; entry++) {
		for (i = 0; !entry->gate && i < entry->nr_holder; i++) {
			for (k = 0; k < nr && told[k] != entry->holder[i].id; k++)
				;
			if (k < nr)
				continue;
			if (nr == IN_FLIGHT_SHOWN) {
				if (!json) {
					indent(depth);
					puts("and more; see entitylock ls");
				}
				return;
			}
			told[nr++] = entry->holder[i].id;
			put_blocker(IN_FLIGHT, &entry->holder[i], entry, path, depth);
		}
	}
}

/* Those in front of number @index of a queue; the wait of the path's end is there. */
static void put_before(const struct entitylock_list_entry *entry, size_t index,
		       const struct path *path, int depth)
{
	const struct entitylock_list_party *party;
	uint64_t self = path ? path->wait->party->id : 0;
	bool drained = entry->gate && !strcmp(entry->state, "awaited");
	size_t i;

	for (i = 0; i < entry->nr_holder; i++) {
		party = &entry->holder[i];
		if (party->id != self)
			put_blocker(HOLDS, party, entry, path, depth);
	}
	put_more(entry->holders - entry->nr_holder, "holders", depth);
	for (i = 0; i < index && i < entry->nr_waiter; i++)
		put_blocker(WAITS_BEFORE, &entry->waiter[i], entry, path, depth);
	if (index > entry->nr_waiter)
		put_more(entry->waiters - entry->nr_waiter, "waiters", depth);
	if (drained)
		put_in_flight(path, depth);
}

static void put_wait(const struct wait *wait, const struct path *up, int depth)
{
	struct path path = { .up = up, .wait = wait };
	char text[DURATION_TEXT];

	if (json) {
		json_open(NULL, '{');
		json_digits("token", wait->party->id);
		json_entry(wait->entry);
		json_number("position", wait->index + 1);
		json_open("before", '[');
	} else {
		indent(depth);
		printf("waits %s for ", duration(wait->party->age, text));
		put_name(stdout, wait->entry);
		printf(", %s, token %llu, number %zu%s of %llu in the queue\n",
		       wait->party->mode == ENTITYLOCK_SHARED ? "shared" : "exclusive",
		       (unsigned long long)wait->party->id, wait->index + 1,
		       wait->index == wait->entry->nr_waiter ? " or later" : "",
		       (unsigned long long)wait->entry->waiters);
	}
	put_before(wait->entry, wait->index, &path, depth + 1);
	if (json) {
		json_close(']');
		json_close('}');
	}
}

/* What a process waits for, in queues other than that of @but. */
static void put_waits_of(const struct entitylock_list_party *party,
			 const struct entitylock_list_entry *but, const struct path *path,
			 int depth)
{
	size_t i;

	for (i = 0; i < nr_waits; i++) {
		if (waits[i].entry == but || !same_process(party, waits[i].party))
			continue;
		if (is_shown(waits[i].party->id)) {
			if (!json) {
				indent(depth);
				printf("waits, token %llu: see above\n",
				       (unsigned long long)waits[i].party->id);
			}
			continue;
		}
		note_shown(waits[i].party->id);
		put_wait(&waits[i], path, depth);
	}
}

static int put_process(pid_t pid)
{
	struct scan scan = {};
	char comm[COMM_SIZE];
	bool any = false;
	size_t i;

	if (!process_look(pid, comm, NULL))
		return fail("blockers",
			    "there is no process %d; for a name that is a number say --name %d",
			    (int)pid, (int)pid);
	if (scan_process(&scan, pid) == -EACCES)
		fail("blockers",
		     "only what process %d has asked for is seen; become root to see what it was given",
		     (int)pid);
	for (i = 0; i < scan.nr_fds; i++)
		if (!is_known(scan.fds[i].token))
			find_hidden_wait(&scan.fds[i]);
	if (json) {
		json_begin();
		json_null("name");
		json_signed("pid", pid);
		json_string("command", comm);
		json_open("waits", '[');
	} else {
		printf("process %d ", (int)pid);
		put_escaped(stdout, comm, strlen(comm), " ");
		putchar('\n');
	}
	for (i = 0; i < nr_waits; i++) {
		if (waits[i].party->pid != pid && !scan_has(&scan, pid, waits[i].party->id))
			continue;
		any = true;
		note_shown(waits[i].party->id);
		put_wait(&waits[i], NULL, 1);
	}
	if (!any && !json)
		puts("  waits for nothing");
	if (json) {
		json_close(']');
		json_open("before", '[');
		json_close(']');
	}
	scan_free(&scan);
	return EXIT_SUCCESS;
}

/* Whether whoever asks for anything now would wait at the gate. */
static bool stops_newcomers(const struct entitylock_list_entry *entry)
{
	return entry->gate && (entry->holders || entry->waiters);
}

/* Before whoever asks for it now; who cannot pass the gate is stopped there. */
static int put_name_asked(const struct request *request)
{
	const struct entitylock_list_entry *entry;
	bool any = false;

	if (json) {
		json_begin();
		if (request->gate)
			json_null("name");
		else
			json_text("name", (const char *)(uintptr_t)request->set[0].name,
				  request->set[0].name_len);
		json_null("pid");
		json_null("command");
		json_open("waits", '[');
		json_close(']');
		json_open("before", '[');
	}
	for (entry = all.entries; entry < all.entries + all.nr; entry++) {
		if (!request_asks_for(request, entry) && !stops_newcomers(entry))
			continue;
		any = true;
		if (!json) {
			put_name(stdout, entry);
			printf("  %s\n", entry->state);
		}
		put_before(entry, entry->waiters, NULL, 1);
	}
	if (json)
		json_close(']');
	else if (!any)
		puts("free: nobody holds it, and nobody waits");
	return EXIT_SUCCESS;
}

int blockers_main(int argc, char **argv)
{
	static struct request request;
	int domain, status, err;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	if (request.count + !!request.pid > 1)
		return fail("blockers", "more than one process or name; ask for one at a time");
	domain = domain_open(&request, O_RDONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	err = snapshot_take(&all, domain, NULL, NULL);
	close(domain);
	if (err)
		return domain_refused(&request, "list", ENTITYLOCK_VERB_LIST, err);
	json = request.json;
	find_waits();
	status = request.pid ? put_process(request.pid) : put_name_asked(&request);
	if (status)
		return status;
	if (json) {
		json_number("cycles", cycles);
		json_close('}');
	} else if (cycles) {
		printf("%u %s: each is a deadlock, if one thread waits and holds\n", cycles,
		       cycles == 1 ? "cycle" : "cycles");
	}
	snapshot_free(&all);
	free(waits);
	free(shown);
	return finish_output("blockers");
}
