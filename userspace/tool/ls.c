// SPDX-License-Identifier: GPL-2.0
/* entitylock ls: list what is locked, by whom, and who waits */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

static const struct subcommand subcommand = {
	.name = "ls",
	.bit = LS,
	.help =
"Usage: entitylock ls [OPTION...]\n"
"\n"
"Lists the entities of the domain: state, number of the last grant (fence), who\n"
"holds each, and who waits, the first in the queue first.  A holder or waiter is\n"
"shown as mode (s shared, x exclusive), process id, command and label.  The id\n"
"is ? for a process that cannot be seen from here.  Abandoned is what a robust\n"
"holder has left behind that vanished.\n",
	.statuses =
"The exit status is 0, or\n"
STATUSES_OF_FAILURE,
};

enum column { NAME, STATE, FENCE, HOLDERS, WAITERS, COLUMNS };

/* Rows are aligned in batches, so that a long listing is printed as it comes. */
#define BATCH 256

struct table {
	char *cells[BATCH][COLUMNS];
	unsigned int rows;
	int width[COLUMNS];
};

static char *name_cell(const struct entitylock_list_entry *entry)
{
	char *cell;
	size_t size;
	FILE *to = open_memstream(&cell, &size);

	if (!to)
		return NULL;
	put_escaped(to, entry->name, entry->name_len, " #");
	return fclose(to) ? NULL : cell;
}

static char *text_cell(const char *text)
{
	return strdup(*text ? text : "-");
}

/* The state of one that is marked and free says so already. */
static char *state_cell(const struct entitylock_list_entry *entry)
{
	char *cell;

	if (!entry->abandoned || !entry->holders)
		return text_cell(entry->state);
	return asprintf(&cell, "%s, abandoned", entry->state) < 0 ? NULL : cell;
}

static char *number_cell(uint64_t number)
{
	char *cell;

	return asprintf(&cell, "%llu", (unsigned long long)number) < 0 ? NULL
								       : cell;
}

static void put_party(FILE *to, const struct entitylock_list_party *party)
{
	fputs(party->mode == ENTITYLOCK_SHARED ? "s " : "x ", to);
	if (party->pid)
		fprintf(to, "%d ", (int)party->pid);
	else
		fputs("? ", to);
	put_escaped(to, party->comm, party->comm_len, " ");
	if (party->label_len) {
		fputs(" \"", to);
		put_escaped(to, party->label, party->label_len, "\"");
		fputc('"', to);
	}
}

static char *parties_cell(const struct entitylock_list_party *parties, size_t nr,
			  uint64_t total)
{
	char *cell;
	size_t size, i;
	FILE *to = open_memstream(&cell, &size);

	if (!to)
		return NULL;
	if (!total)
		fputc('-', to);
	for (i = 0; i < nr; i++) {
		if (i)
			fputs(", ", to);
		put_party(to, &parties[i]);
	}
	if (total > nr)
		fprintf(to, "%s%llu more", nr ? ", and " : "",
			(unsigned long long)(total - nr));
	return fclose(to) ? NULL : cell;
}

static void free_cells(char **cells)
{
	int column;

	for (column = 0; column < COLUMNS; column++)
		free(cells[column]);
}

/* Counts the next row, whose cells are there unless memory was short. */
static bool finish_row(struct table *table)
{
	char **cells = table->cells[table->rows];
	int column, width;

	for (column = 0; column < COLUMNS; column++) {
		if (!cells[column]) {
			free_cells(cells);
			return false;
		}
		width = (int)strlen(cells[column]);
		if (width > table->width[column])
			table->width[column] = width;
	}
	table->rows++;
	return true;
}

static bool add_titles(struct table *table)
{
	static const char *const titles[COLUMNS] = {
		"NAME", "STATE", "FENCE", "HOLDERS", "WAITERS",
	};
	int column;

	for (column = 0; column < COLUMNS; column++)
		table->cells[table->rows][column] = text_cell(titles[column]);
	return finish_row(table);
}

static bool add_row(struct table *table, const struct entitylock_list_entry *entry)
{
	char **cells = table->cells[table->rows];

	cells[NAME] = name_cell(entry);
	cells[STATE] = state_cell(entry);
	cells[FENCE] = number_cell(entry->fence);
	cells[HOLDERS] = parties_cell(entry->holder, entry->nr_holder,
				      entry->holders);
	cells[WAITERS] = parties_cell(entry->waiter, entry->nr_waiter,
				      entry->waiters);
	return finish_row(table);
}

static void flush_rows(struct table *table)
{
	unsigned int row;
	char **cells;
	int column;

	for (row = 0; row < table->rows; row++) {
		cells = table->cells[row];
		for (column = 0; column < COLUMNS - 1; column++)
			printf("%-*s  ", table->width[column], cells[column]);
		puts(cells[column]);
		free_cells(cells);
	}
	table->rows = 0;
}

static int print_table(int domain)
{
	static struct table table;
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	int ret;

	ret = entitylock_list_open(domain, &list);
	if (ret)
		return ret;

	if (!add_titles(&table))
		ret = -ENOMEM;
	while (!ret) {
		ret = entitylock_list_next(list, &entry);
		if (ret <= 0)
			break;
		ret = add_row(&table, entry) ? 0 : -ENOMEM;
		if (table.rows == BATCH)
			flush_rows(&table);
	}
	flush_rows(&table);
	entitylock_list_close(list);
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

/*
 * Bytes as a JSON string of ASCII alone: what is not printable, and the backslash,
 * is \xHH as in the kernel's listing, so that nothing is lost.
 */
static void put_json_string(const char *bytes, size_t len)
{
	unsigned char c;
	size_t i;

	putchar('"');
	for (i = 0; i < len; i++) {
		c = (unsigned char)bytes[i];
		if (c < ' ' || c > '~' || c == '\\')
			printf("\\\\x%02x", c);
		else if (c == '"')
			fputs("\\\"", stdout);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_json_parties(const char *key, const struct entitylock_list_party *parties,
			     size_t nr)
{
	const struct entitylock_list_party *party;

	printf(", \"%s\": [", key);
	for (party = parties; party < parties + nr; party++) {
		printf("%s{\"token\": \"%llu\", \"mode\": \"%s\", \"pid\": ",
		       party == parties ? "" : ", ", (unsigned long long)party->id,
		       party->mode == ENTITYLOCK_SHARED ? "shared" : "exclusive");
		if (party->pid)
			printf("%d", (int)party->pid);
		else
			fputs("null", stdout);
		fputs(", \"command\": ", stdout);
		put_json_string(party->comm, party->comm_len);
		fputs(", \"label\": ", stdout);
		put_json_string(party->label, party->label_len);
		putchar('}');
	}
	putchar(']');
}

static void put_json_entry(const struct entitylock_list_entry *entry)
{
	fputs("{\"name\": ", stdout);
	put_json_string(entry->name, entry->name_len);
	fputs(", \"state\": ", stdout);
	put_json_string(entry->state, strlen(entry->state));
	printf(", \"abandoned\": %s, \"fence\": \"%llu\", \"holders\": %llu, \"waiters\": %llu",
	       entry->abandoned ? "true" : "false", (unsigned long long)entry->fence,
	       (unsigned long long)entry->holders, (unsigned long long)entry->waiters);
	put_json_parties("holder", entry->holder, entry->nr_holder);
	put_json_parties("waiter", entry->waiter, entry->nr_waiter);
	putchar('}');
}

/* One object; an entity a line. */
static int print_json(int domain)
{
	const struct entitylock_list_entry *entry;
	const char *separator = "\n";
	struct entitylock_list *list;
	int ret;

	ret = entitylock_list_open(domain, &list);
	if (ret)
		return ret;
	fputs("{\"schema\": 1, \"entities\": [", stdout);
	while ((ret = entitylock_list_next(list, &entry)) > 0) {
		fputs(separator, stdout);
		put_json_entry(entry);
		separator = ",\n";
	}
	entitylock_list_close(list);
	puts("\n]}");
	return ret;
}

static int print(const struct request *request, int domain)
{
	if (request->raw)
		return print_raw(domain);
	return request->json ? print_json(domain) : print_table(domain);
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
