// SPDX-License-Identifier: GPL-2.0
/*
 * Slab bytes of an entity with a name of 16 bytes and one token, without what
 * the kernel itself has for any fd.
 */
#include "bench.h"
#include "slabs.h"

#define TOKENS	20000

static void memory(struct bench_row *row)
{
	static struct slabs before, after;
	int domain = must(domain_open(O_RDWR));
	char name[17];

	raise_fd_limit(2 * TOKENS);
	slabs_settle(&before);
	for (unsigned int i = 0; i < TOKENS; i++) {
		snprintf(name, sizeof(name), "entity-%09u", i);
		must(hold(domain, name));
	}
	slabs_read(&after);
	record(row, slabs_growth(&before, &after, TOKENS, false, row->name));
	close_range(domain, ~0U, 0);
}

static struct bench_row rows[] = {
	{ "memory", .unit = "bytes", .sample = memory },
};

const struct group memory_group = {
	.name = "memory",
	.rounds = 1,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
