// SPDX-License-Identifier: GPL-2.0
/*
 * fibers [OPTION...]: a server of many light threads on few OS threads
 *
 *   --fibers N       how many light threads (10000)
 *   --os-threads N   that run them (1)
 *   --entities N     (1000)
 *   --operations N   of each fiber (3)
 *   --seed N         for other random operations
 *   --blocking       wait in calls that block, to see what that does
 *   --stall MS       with --blocking: so long nothing happens in a stall (200)
 *   --unlocked       take no locks: the checks must find it
 *
 * Each fiber creates entities, deletes several at once, or resets all of them.  In
 * the midst of each operation it lets others run, as one that waits for a disk
 * would, so that it ends on whatever OS thread comes.  What an operation finds and
 * leaves is checked against what its locks promise; the exit status says whether
 * all of it was right.
 *
 * To begin with, one more fiber keeps the gate until all the others wait for it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <entitylock.h>

#include "fiber.h"

#define BULK	8U		/* entities that are deleted at once */

enum kind { CREATE, BULK_DELETE, RESET, KINDS };

/*
 * What the locks protect: plain data, which nobody may touch who has neither this
 * entity nor the gate.
 */
struct entity {
	char name[24];
	bool exists;
	/* Equal, but in the midst of an operation. */
	unsigned long begun, done;
	atomic_int inside;		/* operations that are at it: 1 at most */
};

/* What a fiber has done; nobody else's until the end. */
struct client {
	struct fiber *fiber;
	unsigned long random;
	unsigned long operations[KINDS];
	unsigned long changes, created, deleted;
	unsigned long moved;		/* begun on one OS thread, ended on another */
};

struct operation {
	struct client *client;
	enum kind kind;
	unsigned int first, step, count;	/* the entities */
	int token;
};

static struct {
	unsigned int fibers, os_threads, entities, operations, seed, stall_ms;
	bool blocking, unlocked;
} option = {
	.fibers = 10000, .os_threads = 1, .entities = 1000, .operations = 3, .seed = 1,
	.stall_ms = 200,
};

static int domain;
static struct entity *entities;
static struct scheduler *scheduler;
static atomic_int ordinary, resets;	/* operations at work */
static atomic_int violations;
static uint64_t start;
static unsigned int os_threads;

static void die(const char *what, enum entitylock_verb verb, int error)
{
	fprintf(stderr, "%s: %s\n", what, entitylock_explain(verb, error));
	exit(1);
}

static void die_errno(const char *what)
{
	perror(what);
	exit(1);
}

static void check(bool right, const char *rule, const char *what)
{
	/* Where one is broken many will be. */
	if (!right && atomic_fetch_add(&violations, 1) < 10)
		fprintf(stderr, "broken: %s: %s\n", rule, what);
}

static unsigned int random_below(struct client *client, unsigned int end)
{
	client->random ^= client->random << 13;
	client->random ^= client->random >> 7;
	client->random ^= client->random << 17;
	return client->random % end;
}

/* The step keeps them apart, and going round brings them out of order. */
static struct entity *entity_of(const struct operation *op, unsigned int i)
{
	return &entities[(op->first + i * op->step) % option.entities];
}

/* Asks for the entities, or for the gate if there are none. */
static int ask(const struct operation *op, const struct entitylock_options *options,
	       struct entitylock_grant *grant)
{
	struct entitylock_entity set[BULK];
	const struct entity *entity;
	unsigned int i;

	if (op->kind == RESET)
		return entitylock_gate(domain, options, grant);
	for (i = 0; i < op->count; i++) {
		entity = entity_of(op, i);
		entitylock_entity_init(&set[i], entity->name, strlen(entity->name),
				       ENTITYLOCK_EXCLUSIVE);
	}
	return entitylock_acquire_set(domain, set, op->count, options, grant);
}

/* The OS thread waits. */
static int acquire_blocking(struct operation *op)
{
	struct fiber *self = op->client->fiber;
	int token;

	fiber_pin(self);
	token = ask(op, NULL, NULL);
	fiber_unpin(self);
	return token;
}

/* Only the fiber waits. */
static int acquire(struct operation *op)
{
	struct entitylock_options options = ENTITYLOCK_OPTIONS_INIT;
	struct entitylock_grant grant;
	int token, err;

	options.flags = ENTITYLOCK_ASYNC;
	token = ask(op, &options, &grant);
	if (token < 0 || grant.fence)
		return token;
	do {
		fiber_wait(op->client->fiber, token);
		err = entitylock_outcome(token, &grant);
	} while (err == -EAGAIN);
	if (!err)
		return token;
	close(token);
	return err;
}

/* From now on what the locks promise holds. */
static void enter(const struct operation *op)
{
	unsigned int i;

	if (op->kind == RESET) {
		check(!atomic_fetch_add(&resets, 1), "the gate", "two have it");
		check(!ordinary, "the gate", "taken amid other operations");
		return;
	}
	atomic_fetch_add(&ordinary, 1);
	check(!resets, "the gate", "an operation amid a reset");
	for (i = 0; i < op->count; i++)
		check(!atomic_fetch_add(&entity_of(op, i)->inside, 1),
		      entity_of(op, i)->name, "two operations at once");
}

static void leave(const struct operation *op)
{
	unsigned int i;

	if (op->kind == RESET) {
		check(!ordinary, "the gate", "another operation came in");
		atomic_fetch_sub(&resets, 1);
		return;
	}
	for (i = 0; i < op->count; i++)
		atomic_fetch_sub(&entity_of(op, i)->inside, 1);
	atomic_fetch_sub(&ordinary, 1);
}

static void change_begin(const struct operation *op)
{
	struct entity *entity;
	unsigned int i;

	for (i = 0; i < op->count; i++) {
		entity = entity_of(op, i);
		check(entity->begun == entity->done, entity->name, "half changed");
		entity->begun++;
	}
}

static void change_end(const struct operation *op)
{
	struct client *client = op->client;
	bool exists = op->kind == CREATE;
	struct entity *entity;
	unsigned int i;

	for (i = 0; i < op->count; i++) {
		entity = entity_of(op, i);
		check(entity->begun == entity->done + 1, entity->name,
		      "changed by another meanwhile");
		entity->done = entity->begun;
		client->created += exists && !entity->exists;
		client->deleted += !exists && entity->exists;
		entity->exists = exists;
	}
	client->changes += op->count;
}

/* One operation, as if its fiber had a thread of its own. */
static void operate(struct operation *op)
{
	unsigned int begun_on;

	op->token = -1;
	if (!option.unlocked)
		op->token = option.blocking ? acquire_blocking(op) : acquire(op);
	if (op->token < 0 && !option.unlocked)
		die("lock", ENTITYLOCK_VERB_ACQUIRE, op->token);

	begun_on = fiber_os_thread(op->client->fiber);
	enter(op);
	change_begin(op);
	fiber_yield(op->client->fiber);
	change_end(op);
	leave(op);
	op->client->moved += fiber_os_thread(op->client->fiber) != begun_on;

	if (op->token >= 0)
		close(op->token);
	op->client->operations[op->kind]++;
}

static void choose(struct operation *op, struct client *client)
{
	unsigned int dice = random_below(client, 1000);

	op->client = client;
	op->first = random_below(client, option.entities);
	op->step = 1 + random_below(client, option.entities / BULK);
	if (dice < 2) {
		op->kind = RESET;
		op->step = 1;
		op->count = option.entities;
	} else if (dice < 50) {
		op->kind = BULK_DELETE;
		op->count = BULK;
	} else {
		op->kind = CREATE;
		op->count = 1;
	}
}

static void serve(struct fiber *self, void *arg)
{
	struct client *client = arg;
	struct operation op;
	unsigned int i;

	client->fiber = self;
	for (i = 0; i < option.operations; i++) {
		choose(&op, client);
		operate(&op);
	}
}

static unsigned int count_os_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int nr = 0;

	if (!tasks)
		die_errno("/proc/self/task");
	while (readdir(tasks))
		nr++;
	closedir(tasks);
	return nr - 2;		/* "." and ".." */
}

/* The end of the operation that main() began: when everybody else waits for it. */
static void open_gate(struct fiber *self, void *arg)
{
	const int *gate = arg;

	while (!option.unlocked && scheduler_waiting(scheduler) < option.fibers)
		fiber_yield(self);
	os_threads = count_os_threads();
	start = entitylock_deadline_in(0);
	if (!option.unlocked)
		close(*gate);
}

static void add(struct client *sum, const struct client *client)
{
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		sum->operations[kind] += client->operations[kind];
	sum->changes += client->changes;
	sum->created += client->created;
	sum->deleted += client->deleted;
	sum->moved += client->moved;
}

/* Nothing was lost, and the kernel remembers nothing. */
static void check_end(const struct client *sum)
{
	const struct entitylock_list_entry *entry;
	unsigned long changes = 0, exist = 0;
	struct entitylock_list *list;
	unsigned int i;
	int ret;

	for (i = 0; i < option.entities; i++) {
		check(entities[i].begun == entities[i].done, entities[i].name,
		      "half changed at the end");
		changes += entities[i].done;
		exist += entities[i].exists;
	}
	check(changes == sum->changes, "all entities", "changes were lost");
	check(exist == sum->created - sum->deleted, "all entities",
	      "created less deleted is not what exists");
	if (option.unlocked)
		return;

	ret = entitylock_list_open(domain, &list);
	if (ret)
		die("listing", ENTITYLOCK_VERB_LIST, ret);
	ret = entitylock_list_next(list, &entry);
	if (ret < 0)
		die("listing", ENTITYLOCK_VERB_LIST, ret);
	check(!ret, "the module", "entities are left");
	entitylock_list_close(list);
}

static void report(const struct client *sum, uint64_t ns)
{
	unsigned long operations = sum->operations[CREATE] + sum->operations[BULK_DELETE] +
				   sum->operations[RESET];
	unsigned int stalls = scheduler_stalls(scheduler);

	printf("fibers: %u, %u entities, %s\n", option.fibers, option.entities,
	       option.unlocked ? "without locks" :
	       option.blocking ? "waiting in calls that block" : "waiting asynchronously");
	printf("OS threads: %u\n", os_threads);
	if (option.blocking)
		printf("  one of them watches; stalls: %u\n", stalls);
	printf("most that waited at once: %u\n", scheduler_most_waiting(scheduler));
	printf("operations a second: %.0f\n", operations * 1e9 / ns);
	printf("  create %lu, bulk delete %lu, reset %lu\n", sum->operations[CREATE],
	       sum->operations[BULK_DELETE], sum->operations[RESET]);
	printf("  begun on one OS thread and ended on another: %lu\n", sum->moved);
	if (violations)
		printf("broken rules: %d\n", violations);
	else
		printf("consistent, and no entity is left\n");
}

/* A descriptor for each fiber; few systems allow so many unless asked. */
static void raise_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= option.fibers + 64)
		return;
	limit.rlim_cur = option.fibers + 64;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die_errno("more descriptors (ulimit -n)");
}

static unsigned int number(unsigned int least, unsigned int most)
{
	char *end;
	unsigned long value = strtoul(optarg, &end, 10);

	if (end == optarg || *end || value < least || value > most) {
		fprintf(stderr, "fibers: %s: not a number from %u to %u\n", optarg, least,
			most);
		exit(1);
	}
	return value;
}

static void read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "fibers", required_argument, NULL, 'f' },
		{ "os-threads", required_argument, NULL, 't' },
		{ "entities", required_argument, NULL, 'e' },
		{ "operations", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "blocking", no_argument, NULL, 'b' },
		{ "stall", required_argument, NULL, 'm' },
		{ "unlocked", no_argument, NULL, 'u' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'f':
			/* A stack is two mappings, of which a process has 65,530. */
			option.fibers = number(1, 30000);
			break;
		case 't':
			option.os_threads = number(1, 30000);
			break;
		case 'e':
			option.entities = number(BULK, 1000000);
			break;
		case 'o':
			option.operations = number(1, 1000000);
			break;
		case 's':
			option.seed = number(0, 1000000);
			break;
		case 'b':
			option.blocking = true;
			break;
		case 'm':
			option.stall_ms = number(1, 60000);
			break;
		case 'u':
			option.unlocked = true;
			break;
		default:
			exit(1);
		}
	}
}

/* Opens a domain and takes its gate. */
static int close_gate(void)
{
	int gate, err;

	domain = entitylock_open(NULL, O_RDWR);
	if (domain < 0)
		die(ENTITYLOCK_DEVICE, ENTITYLOCK_VERB_OPEN, domain);
	/* Its gate disturbs nobody else. */
	err = entitylock_domain(domain, NULL, 0, ENTITYLOCK_PRIVATE, NULL, NULL);
	if (err)
		die("domain", ENTITYLOCK_VERB_DOMAIN, err);
	gate = entitylock_gate(domain, NULL, NULL);
	if (gate < 0)
		die("gate", ENTITYLOCK_VERB_ACQUIRE, gate);
	return gate;
}

int main(int argc, char **argv)
{
	struct client sum = { };
	struct client *clients;
	unsigned int i;
	int gate = -1;
	uint64_t ns;

	setvbuf(stdout, NULL, _IOLBF, 0);
	read_options(argc, argv);
	raise_limit();
	if (!option.unlocked)
		gate = close_gate();
	entities = calloc(option.entities, sizeof(*entities));
	clients = calloc(option.fibers, sizeof(*clients));
	if (!entities || !clients)
		die_errno("memory");
	for (i = 0; i < option.entities; i++)
		snprintf(entities[i].name, sizeof(entities[i].name), "account:%u", i);

	scheduler = scheduler_new(option.fibers + 1);
	fiber_start(scheduler, open_gate, &gate);
	for (i = 0; i < option.fibers; i++) {
		clients[i].random = option.seed * 1000003UL + i + 1;
		fiber_start(scheduler, serve, &clients[i]);
	}
	scheduler_run(scheduler, option.os_threads, option.blocking ? option.stall_ms : 0);
	ns = entitylock_deadline_in(0) - start;

	for (i = 0; i < option.fibers; i++)
		add(&sum, &clients[i]);
	check_end(&sum);
	report(&sum, ns);
	scheduler_free(scheduler);
	free(clients);
	free(entities);
	return violations != 0;
}
