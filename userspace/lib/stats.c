// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A domain's statistics, which its descriptor tells in /proc: a line each, a key,
 * a colon and what is told, in any order and among others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const struct {
	const char *key;
	size_t offset;
} counts[] = {
	{ "entities", offsetof(struct entitylock_stats, entities) },
	{ "tokens", offsetof(struct entitylock_stats, tokens) },
	{ "waiters", offsetof(struct entitylock_stats, waiters) },
	{ "in-flight", offsetof(struct entitylock_stats, in_flight) },
	{ "grants", offsetof(struct entitylock_stats, grants) },
	{ "contended", offsetof(struct entitylock_stats, contended) },
};

/* Numbers separated by spaces; the zeros behind the last are left out. */
static int parse_histogram(char *text, uint64_t *buckets)
{
	char *rest = NULL, *item = strtok_r(text, " ", &rest);
	size_t i;

	for (i = 0; item; i++, item = strtok_r(NULL, " ", &rest))
		if (i == ENTITYLOCK_STATS_BUCKETS ||
		    __entitylock_number(item, UINT64_MAX, &buckets[i]))
			return -EPROTO;
	return 0;
}

/* Takes a line if it is of the statistics; 1 if it was one of the counts. */
static int take_line(struct entitylock_stats *stats, const char *key, char *value)
{
	size_t i;

	if (!strcmp(key, "waits"))
		return parse_histogram(value, stats->waits);
	if (!strcmp(key, "holds")) {
		stats->counts_holds = 1;
		return parse_histogram(value, stats->holds);
	}
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		if (!strcmp(key, counts[i].key))
			return __entitylock_number(value, UINT64_MAX,
						   (uint64_t *)((char *)stats + counts[i].offset))
			       ?: 1;
	return 0;
}

static int read_lines(FILE *file, struct entitylock_stats *stats)
{
	char *line = NULL, *value;
	bool is_domain = false;
	unsigned int found = 0;
	size_t size = 0;
	int ret = 0;

	while (ret >= 0 && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		value = strstr(line, ":\t");
		if (!value)
			continue;
		*value = '\0';
		is_domain |= !strcmp(line, "entities");
		ret = take_line(stats, line, value + 2);
		found += ret == 1;
	}
	if (ret >= 0 && ferror(file))
		ret = -errno;
	free(line);
	if (ret < 0)
		return ret;
	if (found == ARRAY_SIZE(counts))
		return 0;
	/* How many entities there are is told of any domain fd. */
	return is_domain ? -EACCES : -ENOTTY;
}

int entitylock_stats(int domain, struct entitylock_stats *stats)
{
	struct entitylock_stats read = {};
	char path[64];
	FILE *file;
	int err;

	if (fcntl(domain, F_GETFD) < 0)
		return -errno;
	/* Of the thread: the group's leader may be gone, and its table with it. */
	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", domain);
	/* c: no cancellation point, of those that have the file open. */
	file = fopen(path, "rce");
	if (!file)
		return -errno;
	err = read_lines(file, &read);
	fclose(file);
	if (!err)
		*stats = read;
	return err;
}
