// SPDX-License-Identifier: GPL-2.0
/* Entities come and go in great numbers, and leave nothing behind. */
#include "harness.h"

/* Nouns: gone with the last token: hundreds of thousands of names, one after another. */
TEST_F(entitylock, NOUN_names_come_and_go)
{
	unsigned int count = scaled(200000, 5000);

	for (unsigned int i = 0; i < count; i++) {
		char name[16];
		int token;

		snprintf(name, sizeof(name), "churn%u", i);
		token = hold(self->domain, name);
		ASSERT_LE(0, token);
		ASSERT_EQ(0, close(token));
	}
	EXPECT_EQ(0, live_entities(self->domain));
}

/* Nouns: many at once, in sets, counted, and none left. */
TEST_F(entitylock, NOUN_many_live_at_once)
{
	static struct numbered many;
	enum { SETS = 100 };
	unsigned int sets = scaled(SETS, 10);
	int tokens[SETS];

	for (unsigned int i = 0; i < sets; i++) {
		numbered_set(&many, i * 1024, 1024, EXCLUSIVE);
		tokens[i] = acquire_set(self->domain, many.set, 1024, 0, NOWAIT);
		ASSERT_LE(0, tokens[i]);
	}
	EXPECT_EQ(sets * 1024, live_entities(self->domain));
	/* A busy name among them is found, a new one is free. */
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, "00000000", EXCLUSIVE));
	EXPECT_EQ(-EAGAIN, try_lock(self->domain, many.names[1023], EXCLUSIVE));
	EXPECT_EQ(0, try_lock(self->domain, "99999999", EXCLUSIVE));
	for (unsigned int i = 0; i < sets; i++)
		close(tokens[i]);
	EXPECT_EQ(0, live_entities(self->domain));
}

/* Threads on few names, each entity made and reclaimed all the time. */
struct churner {
	struct start_line *line;
	int domain;
	unsigned int seed;
	unsigned int rounds;
	atomic_int *inside;
	unsigned int intruders;
	unsigned int failed;
	pthread_t thread;
};

#define FEW	4

static void *churn(void *data)
{
	struct churner *churner = data;

	start_together(churner->line, 4);
	for (unsigned int i = 0; i < churner->rounds; i++) {
		unsigned int which = rand_r(&churner->seed) % FEW;
		char name[] = { 'a' + which, '\0' };
		int token = acquire(churner->domain, name, EXCLUSIVE, 0, FOREVER);

		if (token < 0) {
			churner->failed++;
			continue;
		}
		if (atomic_fetch_add(&churner->inside[which], 1))
			churner->intruders++;
		atomic_fetch_sub(&churner->inside[which], 1);
		close(token);
	}
	return NULL;
}

/* Nouns: an entity that is reclaimed while it is looked up: never two locks of one name. */
TEST_F(entitylock, NOUN_one_name_one_lock_while_reclaimed)
{
	struct start_line line = { 0 };
	atomic_int inside[FEW] = { 0 };
	struct churner churners[4];

	for (int i = 0; i < 4; i++) {
		churners[i] = (struct churner){
			.line = &line,
			.domain = self->domain,
			.seed = i + 1,
			.rounds = scaled(5000, 500),
			.inside = inside,
		};
		ASSERT_EQ(0, pthread_create(&churners[i].thread, NULL, churn, &churners[i]));
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(churners[i].thread, NULL);
		EXPECT_EQ(0, churners[i].failed);
		EXPECT_EQ(0, churners[i].intruders);
	}
	EXPECT_EQ(0, live_entities(self->domain));
}

/* D1: domain fds come and go; a domain without tokens leaves nothing either. */
TEST_F(entitylock, D1_domain_fds_come_and_go)
{
	for (unsigned int i = 0; i < scaled(5000, 500); i++) {
		int domain = domain_open(O_RDWR);
		int token = hold(domain, "a");

		ASSERT_LE(0, token);
		ASSERT_EQ(0, close(domain));
		ASSERT_EQ(0, close(token));
	}
}

SELFTEST_MAIN
