/* SPDX-License-Identifier: GPL-2.0 */
/* Entities, their holders and waiters, as listings have them: shown, and kept. */
#ifndef ENTRY_H
#define ENTRY_H

#include <stdbool.h>
#include <stdio.h>

#include "entitylock.h"

/* What the name of the gate is in text: escaped, as no entity's is. */
#define GATE_NAME	"#gate"

/* Prints the name as texts have it. */
void put_name(FILE *to, const struct entitylock_list_entry *entry);

/* Prints mode, process, command and label. */
void put_party(FILE *to, const struct entitylock_list_party *party);

/* Prints how long it holds or waits, and how long its lease is. */
void put_times(FILE *to, const struct entitylock_list_party *party);

/* Cells of malloc(), see table.h. */
char *name_cell(const struct entitylock_list_entry *entry);
char *state_cell(const struct entitylock_list_entry *entry);
char *parties_cell(const struct entitylock_list_party *parties, size_t nr, uint64_t total);

/* The members of JSON objects, or the array of them under @key. */
void json_party(const struct entitylock_list_party *party);
void json_parties(const char *key, const struct entitylock_list_party *parties, size_t nr);
void json_entry(const struct entitylock_list_entry *entry);

/**
 * struct snapshot - copies of some entries of a listing
 * @entries: of the gate, if that is among them, first.
 * @nr: how many.
 * @size: how many there is memory for.
 */
struct snapshot {
	struct entitylock_list_entry *entries;
	size_t nr;
	size_t size;
};

/* Copies those of the domain that are @wanted, NULL = all; 0 or a negative errno. */
int snapshot_take(struct snapshot *snapshot, int domain,
		  bool (*wanted)(const struct entitylock_list_entry *entry, const void *arg),
		  const void *arg);
void snapshot_add(struct snapshot *snapshot, const struct entitylock_list_entry *entry);
void snapshot_drop_last(struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

#endif /* ENTRY_H */
