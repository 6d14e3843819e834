// SPDX-License-Identifier: GPL-2.0
/*
 * killstorm [KILLS]: processes that do all that can be done to the same few
 * names, and to the gate, are killed wherever they are; nothing of them stays.
 *
 * Each process does one thing, over and over, and tells in shared memory how far
 * it is: that is how the storm hits each of them at each point, and what the
 * table at the end counts.  A process has one token at a time, or does not wait
 * without end, so that they cannot deadlock among themselves.
 */
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "cgroup.h"
#include "domains.h"

/* AWAY: parked, or in flight, and no fd is left. */
enum phase { BETWEEN, ASKING, HOLDING, AWAY, PHASES };

static const char *const names[] = { "a", "b", "c", "d" };

struct post {
	atomic_int phase;
};

struct role;

struct self {
	const struct role *role;
	int domain;
	int inbox[2];
	struct post *post;
	unsigned int seed;
};

static unsigned int below(struct self *self, unsigned int n)
{
	return rand_r(&self->seed) % n;
}

static void linger(struct self *self)
{
	if (below(self, 2))
		usleep(below(self, 1000));
}

static void leave(struct self *self, int token)
{
	self->post->phase = BETWEEN;
	if (token >= 0)
		close(token);
}

static int is_held(struct self *self, int token)
{
	self->post->phase = token < 0 ? BETWEEN : HOLDING;
	return token;
}

/* One to three of the names, one of them shared. */
static int ask(struct self *self, __u32 flags, __u64 lease)
{
	struct entitylock_entity set[3];
	__u32 count = 1 + below(self, ARRAY_SIZE(set));

	for (__u32 i = 0; i < count; i++)
		set[i] = (struct entitylock_entity)
			ENTITY(names[below(self, ARRAY_SIZE(names))], i ? EXCLUSIVE : SHARED);
	self->post->phase = ASKING;
	return is_held(self, lease_set(self->domain, set, count, flags, FOREVER, lease));
}

/* --- What they do --- */

static void hold_turn(struct self *self)
{
	int token = ask(self, below(self, 2) ? ROBUST : 0, 0);

	linger(self);
	if (below(self, 2))
		unlock(token);
	leave(self, token);
}

/* Several waits at once: given up before long, or they would wait for each other. */
static void async_turn(struct self *self)
{
	struct pollfd fds[3];

	self->post->phase = ASKING;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i].fd = await(self->domain, names[i]);
		fds[i].events = POLLIN;
	}
	poll(fds, ARRAY_SIZE(fds), 1 + below(self, 3));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (token_state(fds[i].fd) == ENTITYLOCK_HELD)
			self->post->phase = HOLDING;
	linger(self);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		leave(self, fds[i].fd);
}

/* In four: ASKING is the upgrade. */
static void convert_turn(struct self *self)
{
	int token = acquire(self->domain, names[below(self, 2)], SHARED, 0, FOREVER);

	self->post->phase = ASKING;
	token_convert(token, EXCLUSIVE, 0, FOREVER);
	is_held(self, token);
	linger(self);
	token_convert(token, SHARED, 0, NOWAIT);
	leave(self, token);
}

/* ASKING is the extension, with what was first still held. */
static void extend_turn(struct self *self)
{
	int token = acquire(self->domain, names[0], EXCLUSIVE, 0, FOREVER);

	self->post->phase = ASKING;
	extend_these(token, 0, FOREVER, X("b"), S("d"));
	is_held(self, token);
	linger(self);
	leave(self, token);
}

static void send_turn(struct self *self)
{
	int token = ask(self, 0, 0);

	send_fd(self->inbox[0], token);
	close(token);
	self->post->phase = AWAY;
	linger(self);
	leave(self, -1);
}

static void receive_turn(struct self *self)
{
	int token;

	self->post->phase = ASKING;
	token = is_held(self, receive_fd(self->inbox[1]));
	linger(self);
	leave(self, token);
}

/* A socket, and in it itself and a token: only the kernel's search frees them. */
static void cycle_turn(struct self *self)
{
	int token, pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		_exit(3);
	self->post->phase = ASKING;
	token = is_held(self, acquire(self->domain, "cycle", EXCLUSIVE, 0, FOREVER));
	send_fd(pair[0], token);
	send_fd(pair[0], pair[1]);
	close(token);
	close(pair[1]);
	close(pair[0]);
	self->post->phase = AWAY;
	linger(self);
	leave(self, -1);
}

static void park_turn(struct self *self)
{
	struct cookie cookie;
	int token;

	self->post->phase = ASKING;
	token = is_held(self, acquire(self->domain, "parked", EXCLUSIVE, 0, FOREVER));
	linger(self);
	token_park(token, ms(50), &cookie);
	close(token);
	self->post->phase = AWAY;
	linger(self);
	leave(self, claim(self->domain, &cookie));
}

static void gate_turn(struct self *self)
{
	__u32 flags = below(self, 2) ? ROBUST : 0;
	int token;

	self->post->phase = ASKING;
	if (below(self, 2)) {
		token = acquire_gate(self->domain, flags | ENTITYLOCK_ASYNC, FOREVER);
		token_poll_wait(token, POLLIN);
	} else {
		token = acquire_gate(self->domain, flags, FOREVER);
	}
	is_held(self, token);
	linger(self);
	leave(self, token);
}

/* Often for longer than the lease. */
static void lease_turn(struct self *self)
{
	int token = ask(self, below(self, 2) ? ROBUST : 0, ms(1));

	usleep(below(self, 3000));
	leave(self, token);
}

static void break_turn(struct self *self)
{
	self->post->phase = ASKING;
	if (below(self, 8))
		break_entity(self->domain, names[below(self, ARRAY_SIZE(names))], 0);
	else
		break_gate(self->domain, 0);
	self->post->phase = BETWEEN;
	usleep(below(self, 3000));
}

#define AT(phase)	(1U << (phase))

static const struct role {
	const char *name;
	void (*turn)(struct self *self);
	unsigned int threads;
	unsigned int phases;	/* in which it is to be hit */
} roles[] = {
	{ "hold",    hold_turn,    1, AT(ASKING) | AT(HOLDING) },
	{ "threads", hold_turn,    4, AT(ASKING) | AT(HOLDING) },
	{ "async",   async_turn,   1, AT(ASKING) | AT(HOLDING) },
	{ "convert", convert_turn, 1, AT(ASKING) | AT(HOLDING) },
	{ "extend",  extend_turn,  1, AT(ASKING) | AT(HOLDING) },
	{ "send",    send_turn,    1, AT(ASKING) | AT(HOLDING) | AT(AWAY) },
	{ "receive", receive_turn, 1, AT(ASKING) | AT(HOLDING) },
	{ "cycle",   cycle_turn,   1, AT(ASKING) | AT(HOLDING) | AT(AWAY) },
	{ "park",    park_turn,    1, AT(ASKING) | AT(HOLDING) | AT(AWAY) },
	{ "gate",    gate_turn,    1, AT(ASKING) | AT(HOLDING) },
	{ "lease",   lease_turn,   1, AT(ASKING) | AT(HOLDING) },
	{ "break",   break_turn,   1, AT(BETWEEN) },
};

#define ROLES		ARRAY_SIZE(roles)
#define EACH		2	/* processes of a role */
#define VICTIMS		(ROLES * EACH)
#define AT_ONCE		4	/* are killed, at most */

/* --- The storm --- */

static unsigned int kills_wanted;

FIXTURE(storm) {
	union {
		struct ground ground;
		int domain;
	};
	struct cgroup group;
	int inbox[2];
	struct post *posts;
	pid_t pids[VICTIMS];
	unsigned int kills;
	unsigned int hits[ROLES][PHASES];
	struct self dice;
};

FIXTURE_SETUP(storm)
{
	ground_check(_metadata, &self->ground);
	close(self->domain);
	self->domain = domain_enter(NULL, PRIVATE, 0, O_RDWR);
	ASSERT_LE(0, self->domain);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, self->inbox));
	self->posts = mmap(NULL, VICTIMS * sizeof(*self->posts), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->posts);
	group_make(_metadata, &self->group);
	ASSERT_EQ(0, group_write(&self->group, "../cgroup.subtree_control", "+memory"));
	self->dice.seed = 1;
}

FIXTURE_TEARDOWN(storm)
{
	group_end(_metadata, &self->group);
	close(self->inbox[0]);
	close(self->inbox[1]);
	ground_recheck(_metadata, &self->ground);
}

static const struct role *role_of(unsigned int victim)
{
	return &roles[victim % ROLES];
}

static void *turns(void *data)
{
	struct self *self = data;

	for (;;)
		self->role->turn(self);
	return NULL;
}

static void victim_main(const FIXTURE_DATA(storm) *storm, unsigned int victim)
{
	struct self selves[8];
	pthread_t thread;

	if (group_write(&storm->group, "cgroup.procs", "0"))
		_exit(1);
	for (unsigned int i = role_of(victim)->threads; i-- > 0;) {
		selves[i] = (struct self){
			.role = role_of(victim),
			.domain = storm->domain,
			.inbox = { storm->inbox[0], storm->inbox[1] },
			.post = &storm->posts[victim],
			.seed = storm->kills * VICTIMS + victim + (i << 24),
		};
		if (i && pthread_create(&thread, NULL, turns, &selves[i]))
			_exit(2);
	}
	turns(&selves[0]);
}

static void victim_start(FIXTURE_DATA(storm) *storm, unsigned int victim)
{
	storm->posts[victim].phase = BETWEEN;
	storm->pids[victim] = spawn();
	if (!storm->pids[victim])
		victim_main(storm, victim);
}

/*
 * The kernel looks for cycles when a socket is closed, unless it does so already: one
 * that it has missed would stay, and all who wait for what lies in it.
 */
static void search_cycles(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	close(pair[0]);
	close(pair[1]);
}

/* Did it live until it was killed? */
static bool victim_reap(FIXTURE_DATA(storm) *storm, unsigned int victim)
{
	int status = reap(storm->pids[victim]);

	storm->kills++;
	storm->hits[victim % ROLES][storm->posts[victim].phase]++;
	return status == 256 + SIGKILL;
}

/* The phase in which @victim is to be hit next. */
static enum phase aim_at(const FIXTURE_DATA(storm) *storm, unsigned int victim)
{
	enum phase best = PHASES;

	for (enum phase phase = 0; phase < PHASES; phase++)
		if (role_of(victim)->phases & AT(phase) &&
		    (best == PHASES || storm->hits[victim % ROLES][phase] <
				       storm->hits[victim % ROLES][best]))
			best = phase;
	return best;
}

/* Until its time has come, then kill it; at times some others with it, wherever they are. */
static bool strike(FIXTURE_DATA(storm) *storm, unsigned int victim)
{
	unsigned int count = below(&storm->dice, 4) ? 1 : 1 + below(&storm->dice, AT_ONCE);
	enum phase aim = aim_at(storm, victim);
	bool right = true;

	/* On a busy machine it may not come there in time: then it is hit where it is. */
	(void)eventually((search_cycles(), storm->posts[victim].phase == (int)aim));
	for (unsigned int i = 0; i < count; i++)
		kill(storm->pids[(victim + 5 * i) % VICTIMS], SIGKILL);
	for (unsigned int i = 0; i < count; i++)
		right &= victim_reap(storm, (victim + 5 * i) % VICTIMS);
	for (unsigned int i = 0; i < count; i++)
		victim_start(storm, (victim + 5 * i) % VICTIMS);
	return right;
}

/* At least @kills, the last of them all at once. */
static bool storm_rages(FIXTURE_DATA(storm) *storm, unsigned int kills)
{
	unsigned int end = storm->kills + kills, victim = 0;
	bool right = true;

	for (unsigned int i = 0; i < VICTIMS; i++)
		victim_start(storm, i);
	while (right && storm->kills + VICTIMS < end)
		right = strike(storm, victim++ % VICTIMS);
	for (unsigned int i = 0; i < VICTIMS; i++)
		kill(storm->pids[i], SIGKILL);
	for (unsigned int i = 0; i < VICTIMS; i++)
		right &= victim_reap(storm, i);
	return right;
}

/* --- What is left --- */

/* Tokens that were sent, and nobody is there to receive. */
static void drain(const FIXTURE_DATA(storm) *storm)
{
	while (recv(storm->inbox[1], NULL, 0, MSG_DONTWAIT) >= 0)
		;
}

static bool no_entities(const FIXTURE_DATA(storm) *storm)
{
	search_cycles();
	break_gate(storm->domain, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		break_entity(storm->domain, names[i], 0);
	return !live_entities(storm->domain);
}

static bool nothing_listed(int domain)
{
	char *text = listing_read(domain, 65536);
	bool nothing = text && text[0] == '#' && !strchr(text, '\n')[1];

	lseek(domain, 0, SEEK_SET);
	free(text);
	return nothing;
}

static long file_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = -1;

	if (file && fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

#define SLABS	"/sys/kernel/slab/"

/* Is it the module's alone? */
static bool cache_is_own(const char *cache)
{
	char path[64], link[8];

	snprintf(path, sizeof(path), SLABS "%s", cache);
	return readlink(path, link, sizeof(link)) < 0;
}

/* Objects in use, once each CPU has given back what it keeps for later. */
static long cache_objects(const char *cache)
{
	char path[64];

	snprintf(path, sizeof(path), SLABS "%s/shrink", cache);
	write_file(path, "1");
	snprintf(path, sizeof(path), SLABS "%s/objects", cache);
	return file_number(path);
}

#define DROP_CACHES	"/proc/sys/vm/drop_caches"

/* Up to some 60 objects of a size, which kfree_rcu() was called for, a CPU keeps charged. */
static void shrink_caches(void)
{
	glob_t caches;

	if (glob(SLABS "kmalloc-*/shrink", 0, NULL, &caches))
		return;
	for (size_t i = 0; i < caches.gl_pathc; i++)
		write_file(caches.gl_pathv[i], "1");
	globfree(&caches);
}

static bool is_memory(const char *what)
{
	static const char *const all[] = {
		"anon", "file", "kernel_stack", "pagetables", "percpu", "sock", "vmalloc", "slab",
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(what, all[i]))
			return true;
	return false;
}

/*
 * What is charged, without what may be reclaimed and what each CPU keeps for later: pages
 * that it has not put on their list yet, be their owner dead, and objects.  Not by
 * memory.current, which has also what is charged in advance: 64 KB were seen for nothing.
 */
static long charged(const struct cgroup *group)
{
	char path[96], what[64];
	long bytes, sum = 0;
	FILE *stat;

	shrink_caches();
	write_file(DROP_CACHES, "3");
	group_write(group, "memory.high", "0");
	snprintf(path, sizeof(path), "%s/memory.stat", group->path);
	stat = fopen(path, "re");
	if (!stat)
		return -1;
	while (fscanf(stat, "%63s %ld", what, &bytes) == 2)
		sum += is_memory(what) ? bytes : 0;
	fclose(stat);
	group_write(group, "memory.high", "max");
	return sum;
}

/* The least that is seen before long. */
static long charged_at_rest(const struct cgroup *group)
{
	long least = charged(group);

	for (unsigned int i = 0; i < 20; i++) {
		long bytes;

		usleep(10000);
		bytes = charged(group);
		least = bytes < least ? bytes : least;
	}
	return least;
}

static void print_hits(const FIXTURE_DATA(storm) *storm)
{
	printf("# %u killed %10s %10s %10s %10s\n", storm->kills, "between", "asking", "holding",
	       "away");
	for (size_t i = 0; i < ROLES; i++) {
		printf("# %-13s", roles[i].name);
		for (enum phase phase = 0; phase < PHASES; phase++)
			printf(" %10u", storm->hits[i][phase]);
		printf("\n");
	}
	fflush(stdout);
}

static unsigned int hits_of_role(const FIXTURE_DATA(storm) *storm, unsigned int role)
{
	unsigned int sum = 0;

	for (enum phase phase = 0; phase < PHASES; phase++)
		sum += storm->hits[role][phase];
	return sum;
}

static unsigned int hits_in_phase(const FIXTURE_DATA(storm) *storm, enum phase phase)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < ROLES; i++)
		sum += storm->hits[i][phase];
	return sum;
}

/* Has each role been killed, and in each phase but between two verbs? */
static bool all_hit(const FIXTURE_DATA(storm) *storm)
{
	for (size_t i = 0; i < ROLES; i++)
		if (!hits_of_role(storm, i))
			return false;
	for (enum phase phase = ASKING; phase < PHASES; phase++)
		if (!hits_in_phase(storm, phase))
			return false;
	return true;
}

/* L9, L4, V4, D4: whatever they were at: what they held is free, and nothing of them stays. */
TEST_F(storm, L9_a_storm_of_kills)
{
	static const char *const caches[] = { "el_token", "el_hold" };
	/* It is counted in batches by CPU, and the last ones may be yet to come. */
	long rest = cpus() * sysconf(_SC_PAGESIZE);
	long objects[ARRAY_SIZE(caches)], bytes, before;
	__u64 begin;

	for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
		objects[i] = cache_objects(caches[i]);
	ASSERT_LE(0, objects[0]);

	/* Without a line in the log each time. */
	ASSERT_EQ(0, write_file(DROP_CACHES, "4"));
	/* What the first of them need is made once. */
	ASSERT_TRUE(storm_rages(self, 2 * VICTIMS));
	drain(self);
	ASSERT_TRUE(eventually(no_entities(self)));
	before = charged_at_rest(&self->group);
	ASSERT_LE(0, before);

	ASSERT_TRUE(storm_rages(self, kills_wanted - self->kills));
	/* Where few are killed, chance may want some more. */
	for (unsigned int i = 0; i < 20 && !all_hit(self); i++)
		ASSERT_TRUE(storm_rages(self, 2 * VICTIMS));
	drain(self);
	begin = now();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT_EQ(0, try_lock(self->domain, names[i], EXCLUSIVE));
	printf("# all free, and told so in %.2f ms\n", (now() - begin) / 1e6);
	/* Those that were parked are inside until their leases end. */
	EXPECT_TRUE(eventually(no_entities(self)));
	EXPECT_TRUE(eventually(try_gate(self->domain) == 0));
	EXPECT_TRUE(eventually(nothing_listed(self->domain)));
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		EXPECT_TRUE(!cache_is_own(caches[i]) ||
			    eventually(cache_objects(caches[i]) == objects[i])) {
			TH_LOG("%s: %ld objects, %ld before", caches[i],
			       cache_objects(caches[i]), objects[i]);
		}
	}
	EXPECT_TRUE(eventually((bytes = charged(&self->group)) <= before + rest)) {
		TH_LOG("%ld bytes charged, %ld before", bytes, before);
	}
	printf("# %ld bytes charged before, %ld after\n", before, bytes);
	print_hits(self);
	EXPECT_TRUE(all_hit(self));
}

SELFTESTS_IN_ORDER

int main(int argc, char **argv)
{
	kills_wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : scaled(150, 80);
	if (kills_wanted < 3 * VICTIMS) {
		fprintf(stderr, "killstorm [KILLS]: at least %zu\n", 3 * VICTIMS);
		return 2;
	}
	return SELFTESTS_RUN(1, argv, test_seconds() +
			     kills_wanted * (0.5 + speed_scale() / 8));
}
