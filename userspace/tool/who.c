// SPDX-License-Identifier: GPL-2.0
/* entitylock who: who holds a name, and every process that has the lock */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "entry.h"
#include "json.h"
#include "request.h"
#include "scan.h"

static const struct subcommand subcommand = {
	.name = "who",
	.bit = WHO,
	.help =
"Usage: entitylock who [OPTION...] NAME\n"
"       entitylock who [OPTION...] --gate\n"
"\n"
"Tells who holds the name, and who waits: for each the recorded owner, which is who\n"
"asked for the lock or has labelled it since, and every process that has its\n"
"descriptor.  The lock is held as long as one of them keeps it, or as it is in\n"
"flight in a socket, or parked.\n",
	.statuses =
"The exit status is 0, also if nobody holds it, or\n"
STATUSES_OF_FAILURE,
	.arguments = "name to look for",
};

/* What there is to say of a recorded owner. */
enum owner { HAS_IT, HAS_IT_NOT, REUSED, GONE, UNSEEN, OWNERS };

static const struct {
	const char *word;	/* in JSON */
	const char *text;
} owners[OWNERS] = {
	[HAS_IT] = { "has-it", "has it" },
	[HAS_IT_NOT] = { "has-it-not", "runs, and does not have it" },
	[REUSED] = { "reused", "has ended; another process has its id" },
	[GONE] = { "gone", "has ended" },
	[UNSEEN] = { "unseen", "cannot be seen from here" },
};

/*
 * A process of that id that has begun since the grant, is called otherwise and
 * does not have the token is another one.
 */
static enum owner look_at_owner(const struct entitylock_list_party *party,
				const struct scan *scan)
{
	char comm[COMM_SIZE];
	uint64_t since = 0;

	if (!party->pid)
		return UNSEEN;
	if (scan_has(scan, party->pid, party->id))
		return HAS_IT;
	if (!process_look(party->pid, comm, &since))
		return GONE;
	if (party->age != ENTITYLOCK_UNTOLD && since > boottime_now() - party->age &&
	    strcmp(comm, party->comm))
		return REUSED;
	return HAS_IT_NOT;
}

static size_t processes_with(const struct scan *scan, uint64_t token)
{
	size_t i, nr = 0;

	for (i = 0; i < scan->nr_fds; i++)
		nr += scan->fds[i].token == token;
	return nr;
}

/* Where a token is that no process has. */
static const char *elsewhere(const struct entitylock_list_party *party, bool holds,
			     const struct scan *scan)
{
	if (scan->unseen)
		return "no process that may be looked at has it";
	if (scan->inside)
		return "no process that can be seen from here has it";
	if (!holds)
		return "no process has it yet: its owner waits in a call, or it is in flight";
	if (party->parked)
		return "no process has it: it is parked";
	return "no process has it: it is in flight in a socket, or kept by an io_uring";
}

static void print_party(const struct entitylock_list_party *party, bool holds,
			const struct scan *scan)
{
	const struct scan_fd *fd;

	printf("%s  token %llu, %s, ", holds ? "holder" : "waiter", (unsigned long long)party->id,
	       party->mode == ENTITYLOCK_SHARED ? "shared" : "exclusive");
	put_times(stdout, party);
	if (party->label_len) {
		fputs(", \"", stdout);
		put_escaped(stdout, party->label, party->label_len, "\"");
		putchar('"');
	}
	fputs("\n        owner ", stdout);
	if (party->pid)
		printf("%d ", (int)party->pid);
	put_escaped(stdout, party->comm, party->comm_len, " ");
	printf(": %s\n", owners[look_at_owner(party, scan)].text);

	for (fd = scan->fds; fd < scan->fds + scan->nr_fds; fd++) {
		if (fd->token != party->id)
			continue;
		printf("        has it: %d ", (int)fd->pid);
		put_escaped(stdout, fd->comm, strlen(fd->comm), " ");
		printf(", descriptor %d\n", fd->fd);
	}
	if (!processes_with(scan, party->id))
		printf("        %s\n", elsewhere(party, holds, scan));
}

static void print_carriers(const struct scan *scan)
{
	const struct scan_carrier *carrier;

	for (carrier = scan->carriers; carrier < scan->carriers + scan->nr_carriers; carrier++) {
		printf("perhaps in %s, descriptor %d of %d ",
		       carrier->socket ? "a socket" : "an io_uring", carrier->fd,
		       (int)carrier->pid);
		put_escaped(stdout, carrier->comm, strlen(carrier->comm), " ");
		printf(", with %llu in it\n", (unsigned long long)carrier->count);
	}
}

static bool any_elsewhere(const struct entitylock_list_entry *entry, const struct scan *scan)
{
	size_t i;

	for (i = 0; i < entry->nr_holder; i++)
		if (!processes_with(scan, entry->holder[i].id))
			return true;
	for (i = 0; i < entry->nr_waiter; i++)
		if (!processes_with(scan, entry->waiter[i].id))
			return true;
	return false;
}

static void print_text(const struct entitylock_list_entry *entry, const struct scan *scan)
{
	size_t i;

	put_name(stdout, entry);
	printf("  %s%s, fence %llu\n", entry->state,
	       entry->abandoned && strcmp(entry->state, "abandoned") ? ", abandoned" : "",
	       (unsigned long long)entry->fence);
	for (i = 0; i < entry->nr_holder; i++)
		print_party(&entry->holder[i], true, scan);
	if (entry->holders > entry->nr_holder)
		printf("and %llu holders more\n",
		       (unsigned long long)(entry->holders - entry->nr_holder));
	for (i = 0; i < entry->nr_waiter; i++)
		print_party(&entry->waiter[i], false, scan);
	if (entry->waiters > entry->nr_waiter)
		printf("and %llu waiters more\n",
		       (unsigned long long)(entry->waiters - entry->nr_waiter));
	if (any_elsewhere(entry, scan))
		print_carriers(scan);
}

static void put_parties(const char *key, const struct entitylock_list_party *parties, size_t nr,
			const struct scan *scan)
{
	const struct entitylock_list_party *party;
	const struct scan_fd *fd;

	json_open(key, '[');
	for (party = parties; party < parties + nr; party++) {
		json_open(NULL, '{');
		json_party(party);
		json_string("owner", owners[look_at_owner(party, scan)].word);
		json_open("descriptors", '[');
		for (fd = scan->fds; fd < scan->fds + scan->nr_fds; fd++) {
			if (fd->token != party->id)
				continue;
			json_open(NULL, '{');
			json_signed("pid", fd->pid);
			json_string("command", fd->comm);
			json_signed("fd", fd->fd);
			json_close('}');
		}
		json_close(']');
		json_close('}');
	}
	json_close(']');
}

static void put_carriers(const struct scan *scan)
{
	const struct scan_carrier *carrier;

	json_open("carriers", '[');
	for (carrier = scan->carriers; carrier < scan->carriers + scan->nr_carriers; carrier++) {
		json_open(NULL, '{');
		json_string("kind", carrier->socket ? "socket" : "io_uring");
		json_signed("pid", carrier->pid);
		json_string("command", carrier->comm);
		json_signed("fd", carrier->fd);
		json_number("count", carrier->count);
		json_close('}');
	}
	json_close(']');
}

static void print_json(const struct entitylock_list_entry *entry, const struct scan *scan)
{
	json_begin();
	json_entry(entry);
	put_parties("holder", entry->holder, entry->nr_holder, scan);
	put_parties("waiter", entry->waiter, entry->nr_waiter, scan);
	put_carriers(scan);
	json_number("unseen", scan->unseen);
	json_bool("inside", scan->inside);
	json_close('}');
}

static bool is_asked_for(const struct entitylock_list_entry *entry, const void *request)
{
	return request_asks_for(request, entry);
}

/* One that is not listed: nothing refers to it. */
static void add_free(struct snapshot *snapshot, const struct request *request)
{
	const struct entitylock_entity *entity = &request->set[0];
	struct entitylock_list_entry entry = {
		.name = request->gate ? "" : (const char *)(uintptr_t)entity->name,
		.name_len = request->gate ? 0 : entity->name_len,
		.gate = request->gate,
		.state = "free",
	};

	snapshot_add(snapshot, &entry);
}

/*
 * A token that was given back while processes were looked at is found nowhere; one
 * that is still so the second time is really elsewhere.
 */
static int look(const struct request *request, int domain, struct snapshot *snapshot,
		struct scan *scan)
{
	bool again = true;
	int err;

	for (;;) {
		err = snapshot_take(snapshot, domain, is_asked_for, request);
		if (err)
			return domain_refused(request, "list", ENTITYLOCK_VERB_LIST, err);
		if (!snapshot->nr)
			add_free(snapshot, request);
		err = scan_all(scan);
		if (err)
			return fail("who", "cannot look at processes: %s; mount /proc",
				    strerror(-err));
		if (!again || !any_elsewhere(snapshot->entries, scan))
			return 0;
		again = false;
		snapshot_free(snapshot);
		scan_free(scan);
	}
}

int who_main(int argc, char **argv)
{
	static struct request request;
	struct snapshot snapshot = {};
	struct scan scan = {};
	int domain, status;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	if (request.count > 1)
		return fail("who", "more than one name; ask for one at a time");
	domain = domain_open(&request, O_RDONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	status = look(&request, domain, &snapshot, &scan);
	close(domain);
	if (status)
		return status;
	if (request.json)
		print_json(snapshot.entries, &scan);
	else
		print_text(snapshot.entries, &scan);
	if (scan.unseen && !request.json)
		fail("who", "%u processes may not be looked at; become root to see all",
		     scan.unseen);
	snapshot_free(&snapshot);
	scan_free(&scan);
	return finish_output("who");
}
