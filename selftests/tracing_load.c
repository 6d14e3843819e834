// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints under load: read, and emptied, while all that they tell of goes on, of
 * names and labels that are no text; what is told stays whole lines.
 *
 * They are switched while nothing goes on: QEMU 7.2 emulates two CPUs so that one may
 * go on for ever with the breakpoint by which the other has patched the code.
 */
#include <sys/stat.h>

#include "domains.h"

#define TRACEFS	"/sys/kernel/tracing"

struct load {
	int domain;
	unsigned int seed;
	atomic_bool *stop;
	atomic_uint turns;
	pthread_t thread;
};

/* Bytes that would end a line, a field, a string, or a format. */
static const char *const names[] = { "\n\t :=,", "%s%n", "\x80\xff\x01", "a b\\x0a#", "plain" };

static void *load_thread(void *data)
{
	struct load *load = data;

	for (; !*load->stop; load->turns++) {
		const char *name = names[rand_r(&load->seed) % ARRAY_SIZE(names)];
		int token = lease_entity(load->domain, name, rand_r(&load->seed) % 2 + 1,
					 rand_r(&load->seed) % 2 ? ROBUST : 0, in_ms(1), ms(1));
		struct cookie cookie;

		token_label(token, name);
		extend_these(token, 0, in_ms(1), X("plain"));
		token_convert(token, EXCLUSIVE, 0, in_ms(1));
		token_convert(token, SHARED, 0, NOWAIT);
		if (load->turns % 4 == 0)
			break_entity(load->domain, name, 0);
		if (load->turns % 8 == 0 && !token_park(token, ms(1), &cookie))
			close(claim(load->domain, &cookie));
		unlock(token);
		token_lock(token, ENTITYLOCK_ASYNC, in_ms(1));
		close(token);
		if (load->turns % 16 == 0)
			close(acquire_gate(load->domain, 0, in_ms(1)));
	}
	return NULL;
}

FIXTURE(tracing_load) {
	union {
		struct ground ground;
		int domain;
	};
	char instance[64];
};

static int trace_write(const char *instance, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	return write_file(path, value);
}

FIXTURE_SETUP(tracing_load)
{
	ground_check(_metadata, &self->ground);
	snprintf(self->instance, sizeof(self->instance), TRACEFS "/instances/entitylock-%d",
		 getpid());
	ASSERT_EQ(0, mkdir(self->instance, 0700));
	ASSERT_EQ(0, trace_write(self->instance, "buffer_size_kb", "64"));
}

FIXTURE_TEARDOWN(tracing_load)
{
	EXPECT_EQ(0, trace_write(self->instance, "events/entitylock/enable", "0"));
	EXPECT_TRUE(eventually(rmdir(self->instance) == 0));
	ground_recheck(_metadata, &self->ground);
}

/* Lines that tell of the module; those that are none of its are @bad. */
static unsigned int read_trace(const char *instance, unsigned int *bad)
{
	char path[128], line[8192];
	unsigned int good = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace", instance);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || strstr(line, " buffer started ###") ||
		    strstr(line, "[LOST "))
			continue;
		if (strstr(line, ": entitylock_") && strchr(line, '\n'))
			good++;
		else
			(*bad)++;
	}
	fclose(file);
	return good;
}

static bool drop_marks(int domain)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		break_entity(domain, names[i], 0);
	return live_entities(domain) == 0;
}

TEST_F(tracing_load, TRACE_read_under_load)
{
	struct load loads[4] = { 0 };
	atomic_bool stop = false;
	unsigned int bad = 0;

	ASSERT_EQ(0, trace_write(self->instance, "events/entitylock/enable", "1"));
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		loads[i].domain = self->domain;
		loads[i].seed = i + 1;
		loads[i].stop = &stop;
		ASSERT_EQ(0, pthread_create(&loads[i].thread, NULL, load_thread, &loads[i]));
	}
	for (unsigned int i = 0; i < scaled(6, 2); i++) {
		EXPECT_TRUE(eventually(read_trace(self->instance, &bad) > 0));
		if (i % 2)
			EXPECT_EQ(0, trace_write(self->instance, "trace", ""));
	}
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
		EXPECT_TRUE(eventually(loads[i].turns));
	stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
		pthread_join(loads[i].thread, NULL);
	EXPECT_EQ(0, bad);
	/* What was parked lives until its lease ends, and leaves a mark then. */
	EXPECT_TRUE(eventually(drop_marks(self->domain)));
}

SELFTEST_MAIN
