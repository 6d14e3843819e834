// SPDX-License-Identifier: GPL-2.0
/* Entities, their holders and waiters, in text and in JSON. */
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "entry.h"
#include "json.h"
#include "table.h"
#include "tool.h"

void put_name(FILE *to, const struct entitylock_list_entry *entry)
{
	if (entry->gate)
		fputs(GATE_NAME, to);
	else
		put_escaped(to, entry->name, entry->name_len, " #");
}

void put_party(FILE *to, const struct entitylock_list_party *party)
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

void put_times(FILE *to, const struct entitylock_list_party *party)
{
	char text[DURATION_TEXT];

	fputs(party->age == ENTITYLOCK_UNTOLD ? "?" : duration(party->age, text), to);
	if (party->parked)
		fputs(", parked", to);
	if (party->lease != ENTITYLOCK_UNTOLD)
		fprintf(to, ", lease %s", party->lease ? duration(party->lease, text) : "over");
}

char *name_cell(const struct entitylock_list_entry *entry)
{
	char *cell = NULL;
	size_t size;
	FILE *to = need(open_memstream(&cell, &size));

	put_name(to, entry);
	fclose(to);
	return need(cell);
}

/* The state of one that is marked and free says so already. */
char *state_cell(const struct entitylock_list_entry *entry)
{
	char *cell;

	if (!entry->abandoned || !strcmp(entry->state, "abandoned"))
		return text_cell(entry->state);
	return need(asprintf(&cell, "%s, abandoned", entry->state) < 0 ? NULL : cell);
}

char *parties_cell(const struct entitylock_list_party *parties, size_t nr, uint64_t total)
{
	char *cell = NULL;
	size_t size, i;
	FILE *to = need(open_memstream(&cell, &size));

	if (!total)
		fputc('-', to);
	for (i = 0; i < nr; i++) {
		if (i)
			fputs(", ", to);
		put_party(to, &parties[i]);
		fputs(" (", to);
		put_times(to, &parties[i]);
		fputc(')', to);
	}
	if (total > nr)
		fprintf(to, "%s%llu more", nr ? ", and " : "",
			(unsigned long long)(total - nr));
	fclose(to);
	return need(cell);
}

static void json_time_or_null(const char *key, uint64_t ns)
{
	if (ns == ENTITYLOCK_UNTOLD)
		json_null(key);
	else
		json_seconds(key, ns);
}

void json_party(const struct entitylock_list_party *party)
{
	json_digits("token", party->id);
	json_string("mode", party->mode == ENTITYLOCK_SHARED ? "shared" : "exclusive");
	if (party->pid)
		json_signed("pid", party->pid);
	else
		json_null("pid");
	json_text("command", party->comm, party->comm_len);
	json_text("label", party->label, party->label_len);
	json_time_or_null("age", party->age);
	json_time_or_null("lease", party->lease);
	json_bool("parked", party->parked);
}

void json_parties(const char *key, const struct entitylock_list_party *parties, size_t nr)
{
	size_t i;

	json_open(key, '[');
	for (i = 0; i < nr; i++) {
		json_open(NULL, '{');
		json_party(&parties[i]);
		json_close('}');
	}
	json_close(']');
}

void json_entry(const struct entitylock_list_entry *entry)
{
	if (entry->gate)
		json_null("name");
	else
		json_text("name", entry->name, entry->name_len);
	json_string("state", entry->state);
	json_bool("abandoned", entry->abandoned);
	json_digits("fence", entry->fence);
	json_number("holders", entry->holders);
	json_number("waiters", entry->waiters);
}
