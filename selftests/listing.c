// SPDX-License-Identifier: GPL-2.0
/* D5: read(2) on a domain fd lists entities, holders, waiters. */
#include "domains.h"
#include "harness.h"
#include "owners.h"

#define HEADER	"#name\tstate\tfence\tholders\twaiters\tholder\twaiter"

static char *listing(size_t chunk)
{
	int fd = domain_open(O_RDONLY);
	char *text = listing_read(fd, chunk);

	close(fd);
	return text;
}

static unsigned int count_lines(const char *text)
{
	unsigned int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Put a 0 for each age, in the columns after the mark: time goes on while one reads. */
static void hide_ages(char *text)
{
	unsigned int column = 0;
	char *to = text;

	for (; *text; text++) {
		if (*text == '\n')
			column = 0;
		else if (*text == '\t')
			column++;
		if (column < 8 || *text < '0' || *text > '9')
			*to++ = *text;
		else if (to[-1] != '0')
			*to++ = '0';
	}
	*to = '\0';
}

/* Undo \xHH; returns the number of bytes, -1 for an escape that is none. */
static int unescape(const char *text, unsigned char *bytes)
{
	int len = 0;

	for (; *text; len++) {
		unsigned int byte;

		if (*text != '\\') {
			bytes[len] = *text++;
			continue;
		}
		if (sscanf(text, "\\x%2x", &byte) != 1)
			return -1;
		bytes[len] = byte;
		text += 4;
	}
	return len;
}

/* D5: a header line that begins with # names the columns. */
TEST_F(entitylock, D5_empty_domain_lists_its_header)
{
	char *text = listing(4096);

	ASSERT_NE(NULL, text);
	/* New columns only at the end. */
	EXPECT_EQ(0, strncmp(HEADER, text, strlen(HEADER)));
	EXPECT_EQ(1, count_lines(text));
	EXPECT_EQ('\n', text[strlen(text) - 1]);
	free(text);
}

/* D5: one line an entity: state, fence, holders, waiters. */
TEST_F(entitylock, D5_one_line_an_entity)
{
	int held = hold(self->domain, "held");
	int free_one = idle(self->domain, "free");
	struct entitylock_info info = token_info(held);
	char expect[128];
	struct call call;
	struct row row;
	char *text;
	int token;

	ASSERT_LE(0, held);
	ASSERT_LE(0, free_one);
	ASSERT_EQ(0, token_label(held, "import"));
	ASSERT_TRUE(listing_find("held", &row));
	EXPECT_STREQ("held-exclusive", row.state);
	EXPECT_EQ(info.fence, row.fence);
	EXPECT_EQ(1, row.holders);
	EXPECT_EQ(0, row.waiters);
	snprintf(expect, sizeof(expect), "%llu:x:%d:listing:import", info.id, getpid());
	EXPECT_STREQ(expect, row.holder);
	EXPECT_STREQ("-", row.waiter);

	ASSERT_TRUE(listing_find("free", &row));
	EXPECT_STREQ("free", row.state);
	EXPECT_EQ(0, row.holders);
	EXPECT_EQ(0, row.waiters);
	EXPECT_STREQ("-", row.holder);
	EXPECT_STREQ("-", row.waiter);

	call_acquire(&call, self->domain, "held", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(token_waiters(held) == 1));
	ASSERT_TRUE(listing_find("held", &row));
	EXPECT_EQ(1, row.holders);
	EXPECT_EQ(1, row.waiters);
	EXPECT_NE(NULL, strstr(row.waiter, ":x:"));

	text = listing(4096);
	EXPECT_EQ(3, count_lines(text));
	free(text);
	close(held);
	close(free_one);
	token = call_result(&call);
	EXPECT_LE(0, token);
	close(token);
	EXPECT_FALSE(listing_find("held", &row));
}

/* D5: shared holders. */
TEST_F(entitylock, D5_shared_holders)
{
	int first = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int second = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	char expect[64];
	struct row row;

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_STREQ("held-shared", row.state);
	EXPECT_EQ(2, row.holders);
	for (int i = 0; i < 2; i++) {
		snprintf(expect, sizeof(expect), "%llu:s:%d:",
			 token_info(i ? first : second).id, getpid());
		EXPECT_NE(NULL, strstr(row.holder, expect));
	}
	close(first);
	close(second);
}

/* D5: one that waits to be exclusive where it shares is the first who waits. */
TEST_F(entitylock, D5_upgrader_before_the_queue)
{
	int other = share(self->domain, "a"), token = share(self->domain, "a");
	int behind = await(self->domain, "a");
	char expect[64];
	struct row row;

	ASSERT_LE(0, other);
	ASSERT_LE(0, token);
	ASSERT_LE(0, behind);
	ASSERT_EQ(0, token_convert(token, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER));
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_EQ(2, row.holders);
	EXPECT_EQ(2, row.waiters);
	snprintf(expect, sizeof(expect), "%llu:x:%d:", token_info(token).id, getpid());
	EXPECT_TRUE(strstr(row.waiter, expect) == row.waiter);
	snprintf(expect, sizeof(expect), ",%llu:x:%d:", token_info(behind).id, getpid());
	EXPECT_NE(NULL, strstr(row.waiter, expect));
	close(other);
	EXPECT_TRUE(becomes(token, ENTITYLOCK_HELD));
	close(token);
	close(behind);
}

/* D5: bytes outside printable ASCII, space, # and backslash as \xHH. */
TEST_F(entitylock, D5_every_byte_of_a_name_is_escaped)
{
	struct entitylock_entity set[256];
	unsigned char names[256][2];
	bool seen[256] = { false };
	char *text, *line;
	int token;

	for (int i = 0; i < 256; i++) {
		names[i][0] = i;
		names[i][1] = '.';
		set[i] = (struct entitylock_entity){
			.name = ptr(names[i]),
			.name_len = 2,
			.mode = EXCLUSIVE,
		};
	}
	token = acquire_set(self->domain, set, 256, 0, NOWAIT);
	ASSERT_LE(0, token);
	text = listing(65536);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(257, count_lines(text));
	for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		unsigned char bytes[ENTITYLOCK_NAME_MAX + 1];
		unsigned char byte;
		struct row row;

		ASSERT_TRUE(row_parse(line, &row));
		ASSERT_EQ(2, unescape(row.name, bytes));
		byte = bytes[0];
		EXPECT_EQ('.', bytes[1]);
		EXPECT_FALSE(seen[byte]);
		seen[byte] = true;
		/* Escaped where it must be, and nowhere else. */
		EXPECT_EQ(byte <= ' ' || byte >= 0x7f || byte == '#' || byte == '\\',
			  row.name[0] == '\\' && strlen(row.name) == 5);
	}
	for (int i = 0; i < 256; i++)
		EXPECT_TRUE(seen[i]);
	free(text);
	close(token);
}

/* D5: a name of 255 bytes, each of which is escaped. */
TEST_F(entitylock, D5_longest_name)
{
	unsigned char name[ENTITYLOCK_NAME_MAX], bytes[4 * ENTITYLOCK_NAME_MAX + 1];
	struct entitylock_entity entity = {
		.name = ptr(name),
		.name_len = sizeof(name),
		.mode = EXCLUSIVE,
	};
	struct row row;
	char *text;
	int token;

	memset(name, '\n', sizeof(name));
	token = acquire_set(self->domain, &entity, 1, 0, NOWAIT);
	ASSERT_LE(0, token);
	text = listing(65536);
	ASSERT_EQ(2, count_lines(text));
	ASSERT_TRUE(row_parse(strchr(text, '\n') + 1, &row));
	ASSERT_EQ((int)sizeof(name), unescape(row.name, bytes));
	EXPECT_EQ(0, memcmp(name, bytes, sizeof(name)));
	free(text);
	close(token);
}

/* D5: a label and a command cannot break the line or its columns. */
TEST_F(entitylock, D5_label_and_command_are_escaped)
{
	static const char label[] = "a\nb\tc #\\\x01\x7f\xc3\xa9\xff";
	unsigned char bytes[4096];
	char comm[16] = "", *field;
	int token = hold(self->domain, "a");
	struct row row;
	char *text;
	FILE *file;

	ASSERT_LE(0, token);
	file = fopen("/proc/self/comm", "re+");
	ASSERT_NE(NULL, file);
	fputs("x\ty\nz #\\", file);
	fclose(file);
	ASSERT_EQ(0, token_label(token, label));
	file = fopen("/proc/self/comm", "re");
	ASSERT_NE(NULL, file);
	/* All but the line end that /proc adds. */
	ASSERT_LT(0, fread(comm, 1, sizeof(comm) - 1, file));
	fclose(file);
	comm[strlen(comm) - 1] = '\0';

	text = listing(4096);
	EXPECT_EQ(2, count_lines(text));
	free(text);
	ASSERT_TRUE(listing_find("a", &row));
	field = row.holder;
	for (int i = 0; i < 3; i++) {
		field = strchr(field, ':');
		ASSERT_NE(NULL, field);
		field++;
	}
	ASSERT_LT(0, unescape(field, bytes));
	EXPECT_EQ(0, memcmp(comm, bytes, strlen(comm)));
	EXPECT_EQ(':', bytes[strlen(comm)]);
	EXPECT_EQ(0, memcmp(label, bytes + strlen(comm) + 1, strlen(label)));
	close(token);
}

/* Whether @list has the first 16 of @tokens in this order and then ",+N". */
static bool lists_first_16(const char *list, const int *tokens, unsigned int count)
{
	char more[16];

	for (int i = 0; i < 16; i++) {
		char id[32];
		size_t len;

		len = snprintf(id, sizeof(id), "%llu:", token_info(tokens[i]).id);
		if (strncmp(list, id, len))
			return false;
		list = strchr(list, ',');
		if (!list)
			return false;
		list++;
	}
	snprintf(more, sizeof(more), "+%u", count - 16);
	return !strcmp(list, more);
}

/* D5: at most the first 16 waiters, in the order of the queue, the rest counted. */
TEST_F(entitylock, D5_first_16_waiters_in_order)
{
	enum { COUNT = 20 };
	int holder = hold(self->domain, "a");
	int tokens[COUNT];
	struct call calls[COUNT];
	struct row row;

	ASSERT_LE(0, holder);
	for (int i = 0; i < COUNT; i++) {
		tokens[i] = idle(self->domain, "a");
		call_lock(&calls[i], tokens[i], FOREVER);
		ASSERT_TRUE(eventually(token_waiters(holder) == (__u32)i + 1));
	}
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_EQ(COUNT, row.waiters);
	EXPECT_TRUE(lists_first_16(row.waiter, tokens, COUNT));
	close(holder);
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(0, call_result(&calls[i]));
		close(tokens[i]);
	}
}

/* D5: at most the first 16 holders, the rest counted. */
TEST_F(entitylock, D5_first_16_holders)
{
	enum { COUNT = 20 };
	int tokens[COUNT];
	struct row row;

	for (int i = 0; i < COUNT; i++) {
		tokens[i] = acquire(self->domain, "a", SHARED, 0, NOWAIT);
		ASSERT_LE(0, tokens[i]);
	}
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_EQ(COUNT, row.holders);
	EXPECT_NE(NULL, strstr(row.holder, ",+4"));
	for (int i = 0; i < COUNT; i++)
		close(tokens[i]);
}

/* D5: what is read in small pieces is the same text. */
TEST_F(entitylock, D5_partial_reads_make_the_same_text)
{
	static const size_t chunks[] = { 1, 2, 7, 100, 4095, 4096, 4097, 1 << 20 };
	static struct numbered many;
	char *whole, *pieces;
	int token;

	numbered_set(&many, 0, 200, EXCLUSIVE);
	token = acquire_set(self->domain, many.set, 200, 0, NOWAIT);
	ASSERT_LE(0, token);
	whole = listing(1 << 20);
	ASSERT_NE(NULL, whole);
	EXPECT_EQ(201, count_lines(whole));
	hide_ages(whole);
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		pieces = listing(chunks[i]);
		ASSERT_NE(NULL, pieces);
		hide_ages(pieces);
		EXPECT_STREQ(whole, pieces);
		free(pieces);
	}
	free(whole);
	close(token);
}

/* How often a listing tells of each entity of numbered sets. */
static unsigned int count_numbered(struct __test_metadata *_metadata, const char *text,
				   unsigned char *seen, size_t count)
{
	unsigned int lines = 0;

	memset(seen, 0, count);
	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		unsigned int number = strtoul(line, NULL, 10);

		ASSERT_GT(count, number);
		seen[number]++;
		lines++;
	}
	return lines;
}

/* D5: every one of many entities has its line, once. */
TEST_F(entitylock, D5_10000_entities)
{
	enum { TOKENS = 10 };
	static struct numbered many;
	static unsigned char seen[TOKENS * 1000];
	int tokens[TOKENS];
	char *text;

	for (int i = 0; i < TOKENS; i++) {
		numbered_set(&many, i * 1000, 1000, EXCLUSIVE);
		tokens[i] = acquire_set(self->domain, many.set, 1000, 0, NOWAIT);
		ASSERT_LE(0, tokens[i]);
	}
	text = listing(65536);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(sizeof(seen), count_numbered(_metadata, text, seen, sizeof(seen)));
	for (size_t i = 0; i < sizeof(seen); i++)
		EXPECT_EQ(1, seen[i]);
	free(text);
	for (int i = 0; i < TOKENS; i++)
		close(tokens[i]);
}

/* D5: the same while there is more to be done to the table than to the set. */
TEST_F(entitylock, D5_once_where_many_have_just_come)
{
	static struct numbered many;
	unsigned char seen[ENTITYLOCK_SET_MAX];

	numbered_set(&many, 0, ENTITYLOCK_SET_MAX, EXCLUSIVE);
	for (int i = 0; i < 20; i++) {
		int domain = domain_enter(NULL, PRIVATE, 0, O_RDWR);
		int token = acquire_set(domain, many.set, ENTITYLOCK_SET_MAX, 0, NOWAIT);
		char *text = listing_read(domain, 65536);

		ASSERT_LE(0, token);
		ASSERT_NE(NULL, text);
		ASSERT_EQ(ENTITYLOCK_SET_MAX,
			  count_numbered(_metadata, text, seen, ENTITYLOCK_SET_MAX));
		for (size_t j = 0; j < ENTITYLOCK_SET_MAX; j++)
			ASSERT_EQ(1, seen[j]);
		free(text);
		close(token);
		close(domain);
	}
}

static void *come_and_go(void *data)
{
	atomic_bool *stop = data;
	int domain = domain_open(O_RDWR);

	for (unsigned int i = 0; !*stop; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name%u", i % 1000);
		close(hold(domain, name));
	}
	close(domain);
	return NULL;
}

/* D5: while entities come and go, each line is whole, and who stays is listed. */
TEST_F(entitylock, D5_lines_are_whole_while_entities_come_and_go)
{
	atomic_bool stop = false;
	int token = hold(self->domain, "stays");
	pthread_t threads[2];

	ASSERT_LE(0, token);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, come_and_go, &stop));
	for (unsigned int i = 0; i < scaled(200, 20); i++) {
		char *text = listing(i % 2 ? 512 : 65536);
		char *line;

		ASSERT_NE(NULL, text);
		for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
			struct row row;

			ASSERT_TRUE(row_parse(line, &row));
			ASSERT_TRUE(!strncmp(row.name, "name", 4) || !strcmp(row.name, "stays"));
		}
		free(text);
	}
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close(token);
}

struct worker {
	atomic_bool stop;
	int token;
	atomic_uint rounds;
	__u64 worst;
};

/* Lock and unlock, and note the longest that took. */
static void *lock_and_unlock(void *data)
{
	struct worker *worker = data;

	while (!worker->stop) {
		__u64 begin = now(), took;

		if (token_lock(worker->token, 0, NOWAIT) || unlock(worker->token))
			break;
		took = now() - begin;
		if (took > worker->worst)
			worker->worst = took;
		worker->rounds++;
	}
	return NULL;
}

/* Worst time of a pair while nothing else happens for a moment. */
static __u64 worst_alone(struct worker *worker)
{
	const struct timespec moment = { .tv_nsec = 300 * NSEC_PER_MSEC };
	__u64 worst;

	nanosleep(&moment, NULL);
	worst = worker->worst;
	worker->worst = 0;
	return worst;
}

/* Read a listing from its start.  Return: its lines, or -1. */
static int lines_of(int fd)
{
	static char text[65536];
	int lines = 0;
	ssize_t len;

	if (lseek(fd, 0, SEEK_SET))
		return -1;
	while ((len = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < len; i++)
			lines += text[i] == '\n';
	return len ? -1 : lines;
}

/* Is the worker seen to go on while a listing of @lines is read? */
static bool goes_on(struct worker *worker, int fd, int lines)
{
	unsigned int before = worker->rounds;

	return lines_of(fd) == lines && worker->rounds != before;
}

/*
 * D5: while very many are listed others go on, because the lister holds one
 * entity's lock for one line at a time.  ENTITYLOCK_MANY=1000000 for more.
 */
TEST_F(entitylock, D5_very_many_while_others_go_on)
{
	const char *given = getenv("ENTITYLOCK_MANY");
	unsigned int sets = (given ? strtoul(given, NULL, 10) : scaled(200000, 10240)) / 1024;
	struct worker worker = { .token = idle(self->domain, "worker") };
	int fd = domain_open(O_RDONLY), *tokens = calloc(sets, sizeof(*tokens));
	static struct numbered many;
	pthread_t thread;
	__u64 alone;

	ASSERT_LE(0, worker.token);
	ASSERT_NE(NULL, tokens);
	raise_fd_limit(sets + 100);
	for (unsigned int i = 0; i < sets; i++) {
		numbered_set(&many, i * 1024, 1024, EXCLUSIVE);
		tokens[i] = acquire_set(self->domain, many.set, 1024, ENTITYLOCK_OPEN, NOWAIT);
		ASSERT_LE(0, tokens[i]);
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, lock_and_unlock, &worker));
	ASSERT_TRUE(eventually(worker.rounds));
	alone = worst_alone(&worker);
	/* The table may be growing still. */
	EXPECT_TRUE(eventually(goes_on(&worker, fd, sets * 1024 + 2)));
	worker.stop = true;
	pthread_join(thread, NULL);
	TH_LOG("%u entities: a pair took at most %llu us meanwhile, %llu us before",
	       sets * 1024, worker.worst / 1000, alone / 1000);
	for (unsigned int i = 0; i < sets; i++)
		close(tokens[i]);
	close(worker.token);
	close(fd);
	free(tokens);
}

/* Errors: EFAULT for a buffer that cannot be written, and nothing is lost by it. */
TEST_F(entitylock, D5_EFAULT_from_read)
{
	char *volatile nowhere = (char *)8;
	int fd = domain_open(O_RDONLY);
	char *text;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, nowhere, 4096));
	EXPECT_EQ(EFAULT, errno);
	text = listing_read(fd, 4096);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(0, strncmp(HEADER, text, strlen(HEADER)));
	free(text);
	close(fd);
}

/* D5: how long holders hold, and waiters wait, and what is left of a lease. */
TEST_F(entitylock, D5_ages_and_leases)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int leased = share_for(self->domain, "a", HOUR);
	struct call call;
	struct row row;
	__u64 lease;
	char *end;

	ASSERT_LE(0, token);
	ASSERT_LE(0, leased);
	call_acquire(&call, self->domain, "a", EXCLUSIVE, FOREVER);
	ASSERT_TRUE(eventually(queued("a") == 1));
	usleep(100000);
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_LE(100 * NSEC_PER_MSEC / 2, strtoull(row.held, &end, 10));
	ASSERT_EQ(',', *end);
	EXPECT_LE(100 * NSEC_PER_MSEC / 2, strtoull(end + 1, &end, 10));
	EXPECT_EQ('\0', *end);
	EXPECT_LE(100 * NSEC_PER_MSEC / 2, strtoull(row.waited, &end, 10));
	EXPECT_EQ('\0', *end);
	ASSERT_EQ(0, strncmp(row.lease, "-,", 2));
	lease = strtoull(row.lease + 2, &end, 10);
	EXPECT_EQ('\0', *end);
	EXPECT_GT(HOUR, lease);
	EXPECT_LT(HOUR / 2, lease);
	close(token);
	close(leased);
	close(call_result(&call));
}

/* D5: which of the holders are parked. */
TEST_F(entitylock, D5_who_is_parked)
{
	int token = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	int parked = acquire(self->domain, "a", SHARED, 0, NOWAIT);
	struct cookie cookie;
	int gate, claimed;
	struct row row;

	ASSERT_LE(0, token);
	ASSERT_LE(0, parked);
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_STREQ("-,-", row.parked);
	ASSERT_EQ(0, token_park(parked, HOUR, &cookie));
	close(parked);
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_STREQ("-,p", row.parked);
	claimed = claim(self->domain, &cookie);
	ASSERT_LE(0, claimed);
	ASSERT_TRUE(listing_find("a", &row));
	EXPECT_STREQ("-,-", row.parked);
	close(claimed);
	close(token);
	ASSERT_TRUE(eventually(!listing_find("a", &row)));

	gate = hold_gate_for(self->domain, 0, 0);
	ASSERT_LE(0, gate);
	ASSERT_EQ(0, token_park(gate, HOUR, &cookie));
	ASSERT_TRUE(listing_find("#gate", &row));
	EXPECT_STREQ("p", row.parked);
	close(gate);
	gate = claim(self->domain, &cookie);
	ASSERT_LE(0, gate);
	ASSERT_TRUE(listing_find("#gate", &row));
	EXPECT_STREQ("-", row.parked);
	close(gate);
}

/* D5: the gate has a line of its own while there is something to tell of it. */
TEST_F(entitylock, D5_the_gate)
{
	int token = hold(self->domain, "a"), behind, gate;
	struct row row;

	ASSERT_LE(0, token);
	EXPECT_FALSE(listing_find("#gate", &row));
	gate = await_gate(self->domain);
	ASSERT_LE(0, gate);
	behind = await(self->domain, "b");
	ASSERT_LE(0, behind);
	ASSERT_TRUE(listing_find("#gate", &row));
	EXPECT_STREQ("awaited", row.state);
	EXPECT_EQ(0, row.holders);
	EXPECT_EQ(2, row.waiters);
	EXPECT_STREQ("-", row.holder);
	EXPECT_STREQ("-", row.held);
	EXPECT_NE(NULL, strchr(row.waiter, ','));

	close(token);
	ASSERT_TRUE(eventually(token_state(gate) == ENTITYLOCK_HELD));
	ASSERT_TRUE(listing_find("#gate", &row));
	EXPECT_STREQ("held-exclusive", row.state);
	EXPECT_EQ(1, row.holders);
	EXPECT_EQ(1, row.waiters);
	EXPECT_EQ(token_info(gate).id, strtoull(row.holder, NULL, 10));
	EXPECT_EQ(token_info(behind).id, strtoull(row.waiter, NULL, 10));

	close(gate);
	ASSERT_TRUE(eventually(token_state(behind) == ENTITYLOCK_HELD));
	EXPECT_TRUE(eventually(!listing_find("#gate", &row)));
	close(behind);
}

/* V1: the gate's mark shows, and goes with whoever says that all is well. */
TEST_F(entitylock, V1_the_gates_mark_is_listed)
{
	int gate = acquire_gate(self->domain, ROBUST, NOWAIT);
	struct row row;

	ASSERT_LE(0, gate);
	close(gate);
	ASSERT_TRUE(listing_find("#gate", &row));
	EXPECT_STREQ("abandoned", row.state);
	EXPECT_STREQ("abandoned", row.mark);
	gate = acquire_gate(self->domain, 0, NOWAIT);
	ASSERT_LE(0, gate);
	EXPECT_EQ(0, token_unlock(gate, ENTITYLOCK_CONSISTENT, 0));
	EXPECT_FALSE(listing_find("#gate", &row));
	close(gate);
}

SELFTEST_MAIN
