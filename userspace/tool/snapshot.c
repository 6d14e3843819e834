// SPDX-License-Identifier: GPL-2.0
/* Copies of entries, which a listing keeps until its next one only. */
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "tool.h"

/* A copy, with a zero behind it. */
static const char *copy_text(const char *text, size_t len)
{
	char *copy = need(malloc(len + 1));

	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

static const struct entitylock_list_party *
copy_parties(const struct entitylock_list_party *parties, size_t nr)
{
	struct entitylock_list_party *copy = need(calloc(nr + 1, sizeof(*copy)));
	size_t i;

	for (i = 0; i < nr; i++) {
		copy[i] = parties[i];
		copy[i].comm = copy_text(parties[i].comm, parties[i].comm_len);
		copy[i].label = copy_text(parties[i].label, parties[i].label_len);
	}
	return copy;
}

static void free_parties(const struct entitylock_list_party *parties, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		free_text(parties[i].comm);
		free_text(parties[i].label);
	}
	free((void *)(uintptr_t)parties);
}

void snapshot_add(struct snapshot *snapshot, const struct entitylock_list_entry *entry)
{
	struct entitylock_list_entry *copy;

	if (snapshot->nr == snapshot->size) {
		snapshot->size = snapshot->size ? 2 * snapshot->size : 16;
		snapshot->entries = need(reallocarray(snapshot->entries, snapshot->size,
						      sizeof(*snapshot->entries)));
	}
	copy = &snapshot->entries[snapshot->nr++];
	*copy = *entry;
	copy->name = copy_text(entry->name, entry->name_len);
	copy->state = copy_text(entry->state, strlen(entry->state));
	copy->holder = copy_parties(entry->holder, entry->nr_holder);
	copy->waiter = copy_parties(entry->waiter, entry->nr_waiter);
}

int snapshot_take(struct snapshot *snapshot, int domain,
		  bool (*wanted)(const struct entitylock_list_entry *entry, const void *arg),
		  const void *arg)
{
	const struct entitylock_list_entry *entry;
	struct entitylock_list *list;
	int ret;

	*snapshot = (struct snapshot) {};
	ret = entitylock_list_open(domain, &list);
	if (ret)
		return ret;
	while ((ret = entitylock_list_next(list, &entry)) > 0)
		if (!wanted || wanted(entry, arg))
			snapshot_add(snapshot, entry);
	entitylock_list_close(list);
	return ret;
}

void snapshot_drop_last(struct snapshot *snapshot)
{
	struct entitylock_list_entry *entry = &snapshot->entries[--snapshot->nr];

	free_text(entry->name);
	free_text(entry->state);
	free_parties(entry->holder, entry->nr_holder);
	free_parties(entry->waiter, entry->nr_waiter);
}

void snapshot_free(struct snapshot *snapshot)
{
	while (snapshot->nr)
		snapshot_drop_last(snapshot);
	free(snapshot->entries);
	*snapshot = (struct snapshot) {};
}
