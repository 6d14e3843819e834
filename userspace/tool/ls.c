// SPDX-License-Identifier: GPL-2.0
/* entitylock ls: list what is locked, by whom, and who waits */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "entry.h"
#include "json.h"
#include "request.h"
#include "table.h"

static const struct subcommand subcommand = {
	.name = "ls",
	.bit = LS,
	.help =
"Usage: entitylock ls [OPTION...]\n"
"\n"
"Lists the entities of the domain: state, number of the last grant (fence), who\n"
"holds each, and who waits, the first in the queue first.  A holder or waiter is\n"
"shown as mode (s shared, x exclusive), process id, command and label, and how\n"
"long it holds, or waits, and how long its lease is.  The id is ? for a process\n"
"that cannot be seen from here.  Abandoned is what a robust holder has left\n"
"behind that vanished.  The gate comes first, as #gate, when it is used.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
};

static const char *const titles[] = {
	"NAME", "STATE", "FENCE", "HOLDERS", "WAITERS", NULL,
};

static void add_row(struct table *table, const struct entitylock_list_entry *entry)
{
	char **cells = table_row(table);

	*cells++ = name_cell(entry);
	*cells++ = state_cell(entry);
	*cells++ = number_cell(entry->fence);
	*cells++ = parties_cell(entry->holder, entry->nr_holder, entry->holders);
	*cells++ = parties_cell(entry->waiter, entry->nr_waiter, entry->waiters);
	table_end_row(table);
}

static int print_table(struct entitylock_list *list)
{
	const struct entitylock_list_entry *entry;
	static struct table table;
	int ret;

	table_begin(&table, titles);
	while ((ret = entitylock_list_next(list, &entry)) > 0)
		add_row(&table, entry);
	table_flush(&table);
	return ret;
}

static void put_entry(const char *key, const struct entitylock_list_entry *entry)
{
	json_new_line();
	json_open(key, '{');
	json_entry(entry);
	json_parties("holder", entry->holder, entry->nr_holder);
	json_parties("waiter", entry->waiter, entry->nr_waiter);
	json_close('}');
}

/* One object; an entity a line. */
static int print_json(struct entitylock_list *list)
{
	const struct entitylock_list_entry *entry;
	int ret = entitylock_list_next(list, &entry);

	json_begin();
	if (ret > 0 && entry->gate) {
		put_entry("gate", entry);
		ret = entitylock_list_next(list, &entry);
	} else {
		json_null("gate");
	}
	json_open("entities", '[');
	for (; ret > 0; ret = entitylock_list_next(list, &entry))
		put_entry(NULL, entry);
	json_new_line();
	json_close(']');
	json_close('}');
	return ret;
}

static int print_raw(int domain)
{
	char text[65536];
	ssize_t len;

	/* An inherited descriptor may have been read before. */
	if (lseek(domain, 0, SEEK_SET) < 0)
		return -errno;
	while ((len = read(domain, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)len, stdout);
	return len < 0 ? -errno : 0;
}

static int print(const struct request *request, int domain)
{
	struct entitylock_list *list;
	int ret;

	if (request->raw)
		return print_raw(domain);
	ret = entitylock_list_open(domain, &list);
	if (ret)
		return ret;
	ret = request->json ? print_json(list) : print_table(list);
	entitylock_list_close(list);
	return ret;
}

int ls_main(int argc, char **argv)
{
	static struct request request;
	int domain, status, err;

	status = request_parse(&request, &subcommand, argc, argv);
	if (status != PARSED)
		return status;
	domain = domain_open(&request, O_RDONLY);
	if (domain < 0)
		return EXIT_OWN_FAILURE;
	err = print(&request, domain);
	close(domain);
	if (err)
		return domain_refused(&request, "list", ENTITYLOCK_VERB_LIST, err);
	return finish_output("ls");
}
