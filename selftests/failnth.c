// SPDX-License-Identifier: GPL-2.0
/*
 * L2 A failed verb changes nothing: every allocation and every copy from or to
 * userspace that a verb makes fails once, one after the other, until nothing
 * more is there to fail.
 *
 * The kernel fails the Nth of them in this thread (fail-nth, see the kernel's
 * Documentation/fault-injection).  After each: the right errno, nothing held, no
 * fd or number of one, no entity, no reference to the module, the token and its
 * neighbours as they were.  A verb may do without what it was denied.
 *
 * A new verb is a line in the table at the end.
 */
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <kselftest.h>

#include "common.h"

#define FAULTS		"/sys/kernel/debug/"
#define TOO_MANY	1000
#define LATER		(1000 * NSEC_PER_SEC)

/**
 * struct stage - what a verb is tried on
 * @domain: a domain fd
 * @token: a token fd that the verb may act on, or -1
 * @other: another token fd, that is in the way, or -1
 * @file: a file that the verb reads, or -1; of the module while it is @unloaded
 * @cookie: of @token, if it is @parked
 * @parked: it is parked
 * @marked: a robust holder of "m" has vanished
 * @unloaded: the module is
 * @below: the kernel's function in which alone something is denied, or NULL
 */
struct stage {
	int domain;
	int token;
	int other;
	int file;
	__u8 cookie[ENTITYLOCK_COOKIE_SIZE];
	bool parked;
	bool marked;
	bool unloaded;
	const char *below;
};

/**
 * struct verb - one line of the table
 * @name: for people
 * @allocates: a sweep in which no allocation of it failed has tested nothing
 * @setup: makes the stage ready, once
 * @call: the verb; what it returns, or -errno
 * @undo: what it did when it was successful
 */
struct verb {
	const char *name;
	bool allocates;
	void (*setup)(struct stage *stage);
	int (*call)(struct stage *stage);
	void (*undo)(struct stage *stage, int ret);
};

static int must(int ret)
{
	if (ret < 0) {
		errno = -ret;
		ksft_exit_fail_msg("setting up: %m\n");
	}
	return ret;
}

/* What is denied: memory, or access to the caller's memory. */
struct denial {
	const char *name;
	int error;
	const char *faults[2];
};

static const struct denial denials[] = {
	{ "memory", -ENOMEM, { "failslab", "fail_page_alloc" } },
	{ "user memory", -EFAULT, { "fail_usercopy" } },
};

static void configure(const char *fault, const char *option, const char *value)
{
	char path[128];
	int ret;

	snprintf(path, sizeof(path), FAULTS "%s/%s", fault, option);
	ret = write_file(path, value);
	if (ret)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(-ret));
}

/* Where the code of one of the kernel's functions begins and ends. */
static void find_function(const char *function, char start[32], char end[32])
{
	unsigned long long from = 0, to = ULLONG_MAX, address;
	FILE *file = fopen("/proc/kallsyms", "re");
	char name[256];

	while (file && fscanf(file, "%llx %*c %255s%*[^\n]", &address, name) == 2) {
		if (!strcmp(name, function))
			from = address;
		else if (from && address > from && address < to)
			to = address;
	}
	if (!from)
		ksft_exit_fail_msg("%s is not in /proc/kallsyms\n", function);
	fclose(file);
	snprintf(start, 32, "0x%llx", from);
	snprintf(end, 32, "0x%llx", to);
}

/*
 * A fault without a stack to look for is on, one that looks for one of no depth is off,
 * and one that looks for a function is on below it.
 */
static void switch_on(const struct denial *denial, bool on, const char *below)
{
	char start[32] = "0", end[32] = "0xffffffffffffffff";

	if (!on)
		strcpy(start, "1");
	else if (below)
		find_function(below, start, end);
	for (size_t i = 0; i < ARRAY_SIZE(denial->faults) && denial->faults[i]; i++) {
		configure(denial->faults[i], "stacktrace-depth", on && below ? "32" : "0");
		configure(denial->faults[i], "require-end", end);
		configure(denial->faults[i], "require-start", start);
	}
}

static void configure_all(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(denials); i++) {
		/* It would look like a complaint in the kernel's log. */
		for (size_t j = 0; j < 2 && denials[i].faults[j]; j++)
			configure(denials[i].faults[j], "verbose", "0");
		switch_on(&denials[i], false, NULL);
	}
	configure("failslab", "ignore-gfp-wait", "N");
	configure("fail_page_alloc", "ignore-gfp-wait", "N");
	configure("fail_page_alloc", "ignore-gfp-highmem", "N");
	configure("fail_page_alloc", "min-order", "0");
}

static int fail_nth;

static void arm(unsigned int nth)
{
	char text[16];

	must(pwrite(fail_nth, text, snprintf(text, sizeof(text), "%u", nth), 0));
}

/* Was something denied since arm()?  To look, and to disarm, may be what is denied. */
static bool disarm(void)
{
	char text[16] = "";
	bool denied = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && text[0] == '0';

	while (pwrite(fail_nth, "0", 1, 0) < 0)
		;
	return denied;
}

/* All that a verb might change and must not. */
struct snapshot {
	char *listing;
	unsigned int fds;
	int next_fd;
	unsigned int references;
	struct entitylock_info token;
	char names[512];
	char modes[32];
};

static unsigned int module_references(const struct stage *stage)
{
	FILE *file = fopen("/sys/module/entitylock/refcnt", "re");
	unsigned int count = 0;

	if (!file && stage->unloaded)
		return 0;
	if (!file || fscanf(file, "%u", &count) != 1)
		ksft_exit_fail_msg("the module's references cannot be read\n");
	fclose(file);
	return count;
}

/* One that is reserved and leads nowhere is not in /proc/self/fd. */
static int next_fd(void)
{
	int fd = must(dup(STDOUT_FILENO));

	close(fd);
	return fd;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of lines is that of the table, which may have grown meanwhile. */
static char *sort_lines(char *text)
{
	char *lines[64], *sorted = calloc(1, strlen(text) + 1), *save;
	size_t count = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (count == ARRAY_SIZE(lines))
			ksft_exit_fail_msg("more lines than expected\n");
		lines[count++] = line;
	}
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++)
		strcat(strcat(sorted, lines[i]), "\n");
	free(text);
	return sorted;
}

/*
 * Without the fence, as the number of a grant that was given back stays used, and
 * without what time changes: all that comes after the mark.
 */
static char *listing_that_stays(int domain)
{
	char *text, *in, *out;
	int column = 0;

	if (lseek(domain, 0, SEEK_SET))
		ksft_exit_fail_msg("lseek: %m\n");
	text = listing_read(domain, 65536);
	for (in = out = text; *in; in++) {
		if (*in == '\n')
			column = 0;
		else if (*in == '\t')
			column++;
		if (column != 2 && (column < 8 || *in == '\n'))
			*out++ = *in;
	}
	*out = '\0';
	return sort_lines(text);
}

static struct snapshot look(const struct stage *stage)
{
	struct snapshot now = {
		.fds = open_fds(),
		.next_fd = next_fd(),
		.references = module_references(stage),
	};

	if (stage->domain >= 0)
		now.listing = listing_that_stays(stage->domain);
	if (stage->token >= 0) {
		now.token = token_info(stage->token);
		now.token.age = 0;
		if (now.token.lease_left < FOREVER)
			now.token.lease_left = 0;
		strcpy(now.names, token_names(stage->token));
		strcpy(now.modes, token_modes(stage->token));
	}
	return now;
}

/* Return: what is not as it was, or NULL. */
static const char *difference(const struct snapshot *a, const struct snapshot *b)
{
	if (a->fds != b->fds)
		return "fds";
	if (a->next_fd != b->next_fd)
		return "reserved fds";
	if (a->references != b->references)
		return "references to the module";
	if (memcmp(&a->token, &b->token, sizeof(a->token)))
		return "the token";
	if (strcmp(a->names, b->names))
		return "the token's names";
	if (strcmp(a->modes, b->modes))
		return "the token's modes";
	if (a->listing && strcmp(a->listing, b->listing))
		return "the listing";
	return NULL;
}

/* A worker may hold on to an entity, or to the module, for a moment; not to an fd. */
static const char *changed(const struct stage *stage, const struct snapshot *before)
{
	const char *what = NULL;

	(void)eventually(({
		struct snapshot after = look(stage);

		what = difference(before, &after);
		free(after.listing);
		!what || strstr(what, "fds");
	}));
	return what;
}

struct sweep {
	unsigned int denied;
	unsigned int failed;
};

/* Return: false if the verb did wrong, and has said so. */
static bool sweep(const struct verb *verb, struct stage *stage, const struct denial *denial,
		  struct sweep *result)
{
	struct snapshot before = look(stage);

	for (unsigned int nth = 1; nth < TOO_MANY; nth++) {
		const char *what = NULL;
		bool denied;
		int ret;

		arm(nth);
		ret = verb->call(stage);
		denied = disarm();
		result->denied += denied;
		if (ret >= 0) {
			if (verb->undo)
				verb->undo(stage, ret);
			free(before.listing);
			before = look(stage);
		} else {
			result->failed++;
			what = changed(stage, &before);
		}
		if (ret < 0 && (!denied || ret != denial->error)) {
			ksft_print_msg("%s, %s %u: %s\n", verb->name, denial->name, nth,
				       strerror(-ret));
			return false;
		}
		if (what) {
			ksft_print_msg("%s, %s %u: changed %s\n", verb->name, denial->name, nth,
				       what);
			if (before.listing)
				ksft_print_msg("before:\n%s# after:\n%s", before.listing,
					       listing_that_stays(stage->domain));
			return false;
		}
		if (!denied) {
			free(before.listing);
			return true;
		}
	}
	ksft_print_msg("%s, %s: no end\n", verb->name, denial->name);
	return false;
}

static int break_name(struct stage *stage, const char *name)
{
	struct entitylock_break args = { .name = ptr(name), .name_len = strlen(name) };

	return el_ioctl(stage->domain, ENTITYLOCK_IOC_BREAK, &args);
}

static int do_claim(struct stage *stage);
static int do_load(struct stage *stage);

static void leave(struct stage *stage)
{
	int *fds[] = { &stage->token, &stage->other, &stage->file, &stage->domain };

	if (stage->parked)
		close(must(do_claim(stage)));
	if (stage->marked)
		must(break_name(stage, "m"));
	stage->marked = false;
	if (stage->unloaded)
		must(do_load(stage));
	stage->unloaded = false;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static void open_domain(struct stage *stage)
{
	stage->domain = must(domain_open(O_RDWR));
}

static void try(const struct verb *verb)
{
	struct stage stage = { .domain = -1, .token = -1, .other = -1, .file = -1 };
	struct sweep memory = { 0 }, user = { 0 };
	struct sweep *results[] = { &memory, &user };
	bool good = true;

	verb->setup(&stage);
	for (size_t i = 0; i < ARRAY_SIZE(denials) && good; i++) {
		switch_on(&denials[i], true, stage.below);
		good = sweep(verb, &stage, &denials[i], results[i]);
		switch_on(&denials[i], false, NULL);
	}
	if (good && verb->allocates && !memory.failed) {
		ksft_print_msg("%s: no allocation failed\n", verb->name);
		good = false;
	}
	leave(&stage);

	/* The neighbours' too, now that all is closed. */
	open_domain(&stage);
	if (!eventually(live_entities(stage.domain) == 0)) {
		ksft_print_msg("%s: %u entities left\n", verb->name,
			       live_entities(stage.domain));
		good = false;
	}
	leave(&stage);
	ksft_test_result(good, "L2 %s: memory denied %u times, failed %u; user memory %u, %u\n",
			 verb->name, memory.denied, memory.failed, user.denied, user.failed);
}

/* Stages. */

static void nothing(struct stage *stage)
{
	(void)stage;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "entitylock", O_NONBLOCK) ? -errno : 0;
}

static void unload_it(struct stage *stage, int ret)
{
	(void)stage;
	(void)ret;
	/* Whoever watches for new devices may have it open for a moment. */
	if (!eventually(unload() == 0))
		ksft_exit_fail_msg("the module cannot be unloaded\n");
}

static void unloaded(struct stage *stage)
{
	const char *path = getenv("ENTITYLOCK_KO");

	stage->file = open(path ? path : "", O_RDONLY | O_CLOEXEC);
	must(stage->file < 0 ? -errno : 0);
	unload_it(stage, 0);
	stage->unloaded = true;
	/* What is denied before the module has begun is not denied to the module. */
	stage->below = "do_one_initcall";
}

static void neighbours(struct stage *stage)
{
	open_domain(stage);
	stage->other = must(acquire_these(stage->domain, 0, NOWAIT, S("b"), X("d")));
}

static void idle_token(struct stage *stage)
{
	neighbours(stage);
	stage->token = must(acquire_these(stage->domain, ENTITYLOCK_OPEN, NOWAIT,
					  X("a"), S("b"), X("c")));
}

static void held_token(struct stage *stage)
{
	idle_token(stage);
	must(token_lock(stage->token, 0, NOWAIT));
}

static void held_shared(struct stage *stage)
{
	open_domain(stage);
	stage->token = must(acquire_these(stage->domain, 0, NOWAIT, S("a"), S("b")));
}

/* Another holder of b, so that an upgrade must wait. */
static void held_with_another(struct stage *stage)
{
	neighbours(stage);
	stage->token = must(acquire_these(stage->domain, 0, NOWAIT, S("a"), S("b")));
}

static void labelled_token(struct stage *stage)
{
	held_token(stage);
	must(token_label(stage->token, "before"));
}

static void idle_but_taken(struct stage *stage)
{
	neighbours(stage);
	stage->token = must(acquire(stage->domain, "d", EXCLUSIVE, ENTITYLOCK_OPEN, NOWAIT));
}

static void pending_token(struct stage *stage)
{
	idle_but_taken(stage);
	must(token_lock(stage->token, ENTITYLOCK_ASYNC, FOREVER));
}

static void leased_token(struct stage *stage)
{
	struct entitylock_lock args = { .lease = LATER };

	idle_token(stage);
	must(el_ioctl(stage->token, ENTITYLOCK_IOC_LOCK, &args));
}

static int do_park(struct stage *stage);

static void parked_token(struct stage *stage)
{
	held_token(stage);
	must(do_park(stage));
}

static void mark(struct stage *stage)
{
	close(must(acquire(stage->domain, "m", EXCLUSIVE, ENTITYLOCK_ROBUST, NOWAIT)));
	stage->marked = true;
}

static void abandoned(struct stage *stage)
{
	neighbours(stage);
	mark(stage);
}

static void listing(struct stage *stage)
{
	held_token(stage);
	stage->file = must(domain_open(O_RDONLY));
}

static void fdinfo_of(struct stage *stage, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	stage->file = must(open(path, O_RDONLY | O_CLOEXEC));
}

static void domain_fdinfo(struct stage *stage)
{
	open_domain(stage);
	fdinfo_of(stage, stage->domain);
}

static void token_fdinfo(struct stage *stage)
{
	held_token(stage);
	fdinfo_of(stage, stage->token);
}

/* Verbs. */

static int do_open(struct stage *stage)
{
	(void)stage;
	return domain_open(O_RDWR);
}

static int do_read(struct stage *stage)
{
	char text[4096];
	ssize_t len;

	len = lseek(stage->file, 0, SEEK_SET) < 0 ? -1 : read(stage->file, text, sizeof(text));
	return len < 0 ? -errno : len;
}

/* The fd must be fresh: it is opened first. */
static int open_and_move(struct entitylock_domain *arg)
{
	int fd = domain_open(O_RDWR);
	int ret = fd < 0 ? fd : el_ioctl(fd, ENTITYLOCK_IOC_DOMAIN, arg);

	if (ret && fd >= 0)
		close(fd);
	return ret ?: fd;
}

static int do_domain_create(struct stage *stage)
{
	struct entitylock_domain arg = {
		.name = ptr("shop"),
		.name_len = 4,
		.flags = ENTITYLOCK_CREATE | ENTITYLOCK_EXCL,
		.mode = 0700,
	};

	(void)stage;
	return open_and_move(&arg);
}

static int do_domain_private(struct stage *stage)
{
	struct entitylock_domain arg = { .flags = ENTITYLOCK_PRIVATE };

	(void)stage;
	return open_and_move(&arg);
}

static int do_version(struct stage *stage)
{
	struct entitylock_version version = { 0 };

	return el_ioctl(stage->domain, ENTITYLOCK_IOC_VERSION, &version);
}

static int do_acquire(struct stage *stage)
{
	return acquire(stage->domain, "new", EXCLUSIVE, 0, NOWAIT);
}

static int do_acquire_known(struct stage *stage)
{
	return acquire(stage->domain, "b", SHARED, 0, NOWAIT);
}

static int do_acquire_set(struct stage *stage)
{
	return acquire_these(stage->domain, 0, NOWAIT, X("z"), S("b"), X("new"), S("z"));
}

static int do_acquire_labelled(struct stage *stage)
{
	struct entitylock_entity entity = X("new");
	struct entitylock_acquire args = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.label = ptr("what it does"),
		.label_len = strlen("what it does"),
	};

	return el_ioctl(stage->domain, ENTITYLOCK_IOC_ACQUIRE, &args);
}

static int do_acquire_idle(struct stage *stage)
{
	return acquire_these(stage->domain, ENTITYLOCK_OPEN, NOWAIT, X("b"), X("new"));
}

static int do_acquire_async(struct stage *stage)
{
	return acquire_these(stage->domain, ENTITYLOCK_ASYNC, now() + LATER,
			     X("b"), X("new"));
}

static int do_acquire_robust(struct stage *stage)
{
	return acquire_these(stage->domain, ENTITYLOCK_ROBUST, NOWAIT, X("b2"), X("new"));
}

static int do_acquire_abandoned(struct stage *stage)
{
	return acquire(stage->domain, "m", EXCLUSIVE, 0, NOWAIT);
}

static int do_acquire_leased(struct stage *stage)
{
	struct entitylock_entity entity = X("new");
	struct entitylock_acquire args = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.lease = LATER,
	};

	return el_ioctl(stage->domain, ENTITYLOCK_IOC_ACQUIRE, &args);
}

static int do_acquire_gate(struct stage *stage)
{
	return acquire_gate(stage->domain, 0, NOWAIT);
}

static int do_acquire_gate_async(struct stage *stage)
{
	return acquire_gate(stage->domain, ENTITYLOCK_ASYNC, now() + LATER);
}

static int do_lock(struct stage *stage)
{
	return token_lock(stage->token, 0, NOWAIT);
}

static int do_lock_async(struct stage *stage)
{
	return token_lock(stage->token, ENTITYLOCK_ASYNC, now() + LATER);
}

static int do_lock_with_all(struct stage *stage)
{
	struct entitylock_lock args = {
		.flags = ENTITYLOCK_ROBUST | ENTITYLOCK_IF_UNCHANGED,
		.lease = LATER,
	};

	return el_ioctl(stage->token, ENTITYLOCK_IOC_LOCK, &args);
}

static int do_unlock(struct stage *stage)
{
	return unlock(stage->token);
}

static int do_cancel(struct stage *stage)
{
	return token_unlock(stage->token, ENTITYLOCK_CANCEL, 0);
}

static int do_upgrade(struct stage *stage)
{
	return token_convert(stage->token, EXCLUSIVE, 0, NOWAIT);
}

static int do_upgrade_async(struct stage *stage)
{
	return token_convert(stage->token, EXCLUSIVE, ENTITYLOCK_ASYNC,
			     now() + LATER);
}

static int do_downgrade(struct stage *stage)
{
	return token_convert(stage->token, SHARED, 0, NOWAIT);
}

/* One before, one that it has, one that it has weaker, one that another has, one after. */
static int do_extend(struct stage *stage)
{
	return extend_these(stage->token, 0, NOWAIT, X("0"), X("a"), S("b"), S("new"), X("z"));
}

static int do_extend_async(struct stage *stage)
{
	return extend_these(stage->token, ENTITYLOCK_ASYNC, now() + LATER,
			    X("d"), X("z"));
}

static int do_label(struct stage *stage)
{
	return token_label(stage->token, "after");
}

static int do_renew(struct stage *stage)
{
	struct entitylock_renew args = { .lease = LATER };

	return el_ioctl(stage->token, ENTITYLOCK_IOC_RENEW, &args);
}

static int do_park(struct stage *stage)
{
	struct entitylock_park args = { .lease = LATER };
	int ret = el_ioctl(stage->token, ENTITYLOCK_IOC_PARK, &args);

	if (!ret) {
		memcpy(stage->cookie, args.cookie, sizeof(args.cookie));
		stage->parked = true;
	}
	return ret;
}

static int do_claim(struct stage *stage)
{
	struct entitylock_claim args = { 0 };
	int ret;

	memcpy(args.cookie, stage->cookie, sizeof(args.cookie));
	ret = el_ioctl(stage->domain, ENTITYLOCK_IOC_CLAIM, &args);
	if (ret >= 0)
		stage->parked = false;
	return ret;
}

static int do_break(struct stage *stage)
{
	return break_name(stage, "d");
}

static int do_break_mark(struct stage *stage)
{
	int ret = break_name(stage, "m");

	stage->marked = ret < 0;
	return ret;
}

static int do_info(struct stage *stage)
{
	struct entitylock_entity entities[3] = { 0 };
	char names[3][16], label[16];
	struct entitylock_info info = {
		.entities = ptr(entities),
		.entity_size = sizeof(*entities),
		.capacity = ARRAY_SIZE(entities),
		.label = ptr(label),
		.label_len = sizeof(label),
	};

	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		entities[i].name = ptr(names[i]);
		entities[i].name_len = sizeof(names[i]);
	}
	return el_ioctl(stage->token, ENTITYLOCK_IOC_INFO, &info);
}

static int do_poll(struct stage *stage)
{
	struct pollfd pfd = { .fd = stage->token, .events = POLLIN | POLLPRI };
	int ret = poll(&pfd, 1, 0);

	return ret < 0 ? -errno : ret;
}

static int do_load(struct stage *stage)
{
	return syscall(SYS_finit_module, stage->file, "", 0) ? -errno : 0;
}

/* What brings the stage back after a success. */

static void close_it(struct stage *stage, int ret)
{
	(void)stage;
	close(ret);
}

static void unlock_and_close_it(struct stage *stage, int ret)
{
	(void)stage;
	must(unlock(ret));
	close(ret);
}

static void unpark_it(struct stage *stage, int ret)
{
	(void)ret;
	close(must(do_claim(stage)));
}

static void park_it(struct stage *stage, int ret)
{
	close(ret);
	must(do_park(stage));
}

static void hold_another(struct stage *stage, int ret)
{
	(void)ret;
	leave(stage);
	neighbours(stage);
}

static void mark_it(struct stage *stage, int ret)
{
	(void)ret;
	mark(stage);
}

static void unlock_it(struct stage *stage, int ret)
{
	(void)ret;
	must(unlock(stage->token));
}

static void lock_it(struct stage *stage, int ret)
{
	(void)ret;
	must(token_lock(stage->token, 0, NOWAIT));
}

static void wait_again(struct stage *stage, int ret)
{
	(void)ret;
	must(token_lock(stage->token, ENTITYLOCK_ASYNC, FOREVER));
}

static void cancel_it(struct stage *stage, int ret)
{
	(void)ret;
	must(token_unlock(stage->token, ENTITYLOCK_CANCEL, 0));
}

static void downgrade_it(struct stage *stage, int ret)
{
	(void)ret;
	must(token_convert(stage->token, SHARED, 0, NOWAIT));
}

/* The set has grown, or its modes are lower: begin with a new token. */
static void hold_anew(struct stage *stage, int ret)
{
	(void)ret;
	leave(stage);
	held_token(stage);
}

static void label_it(struct stage *stage, int ret)
{
	(void)ret;
	must(token_label(stage->token, "before"));
}

/* name, allocates, stage, verb, what undoes it */
static const struct verb verbs[] = {
	{ "load the module", true, unloaded, do_load, unload_it },
	{ "open, the first", true, nothing, do_open, close_it },
	{ "open, another", true, held_token, do_open, close_it },
	{ "DOMAIN, CREATE", true, nothing, do_domain_create, close_it },
	{ "DOMAIN, PRIVATE", true, nothing, do_domain_private, close_it },
	{ "VERSION", false, open_domain, do_version, NULL },
	{ "read", false, listing, do_read, NULL },
	{ "fdinfo of a domain fd", false, domain_fdinfo, do_read, NULL },
	{ "fdinfo of a token fd", false, token_fdinfo, do_read, NULL },
	{ "ACQUIRE a new name", true, open_domain, do_acquire, close_it },
	{ "ACQUIRE a known name", true, neighbours, do_acquire_known, close_it },
	{ "ACQUIRE a set", true, neighbours, do_acquire_set, close_it },
	{ "ACQUIRE with a label", true, neighbours, do_acquire_labelled, close_it },
	{ "ACQUIRE, OPEN", true, neighbours, do_acquire_idle, close_it },
	{ "ACQUIRE, ASYNC", true, neighbours, do_acquire_async, close_it },
	{ "ACQUIRE, ROBUST", true, neighbours, do_acquire_robust, unlock_and_close_it },
	{ "ACQUIRE an abandoned name", true, abandoned, do_acquire_abandoned,
	  unlock_and_close_it },
	{ "ACQUIRE with a lease", true, neighbours, do_acquire_leased, close_it },
	{ "ACQUIRE the gate", true, open_domain, do_acquire_gate, close_it },
	{ "ACQUIRE the gate, ASYNC", true, neighbours, do_acquire_gate_async, close_it },
	{ "LOCK", false, idle_token, do_lock, unlock_it },
	{ "LOCK, ASYNC", true, idle_but_taken, do_lock_async, unlock_it },
	{ "LOCK, ROBUST, IF_UNCHANGED, with a lease", false, idle_token, do_lock_with_all,
	  unlock_it },
	{ "UNLOCK", false, held_token, do_unlock, lock_it },
	{ "UNLOCK, CANCEL", false, pending_token, do_cancel, wait_again },
	{ "CONVERT up", false, held_shared, do_upgrade, downgrade_it },
	{ "CONVERT up, ASYNC", true, held_with_another, do_upgrade_async, cancel_it },
	{ "CONVERT down", false, held_token, do_downgrade, hold_anew },
	{ "EXTEND", true, held_token, do_extend, hold_anew },
	{ "EXTEND, ASYNC", true, held_token, do_extend_async, cancel_it },
	{ "RENEW", false, leased_token, do_renew, NULL },
	{ "PARK", true, held_token, do_park, unpark_it },
	{ "CLAIM", false, parked_token, do_claim, park_it },
	{ "BREAK", false, neighbours, do_break, hold_another },
	{ "BREAK a mark", false, abandoned, do_break_mark, mark_it },
	{ "LABEL", true, labelled_token, do_label, label_it },
	{ "INFO", true, labelled_token, do_info, NULL },
	{ "poll", false, held_token, do_poll, NULL },
};

int main(void)
{
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0) {
		fprintf(stderr, "failnth: this kernel injects no faults (fail-nth: %m)\n");
		return 1;
	}
	/* No page fault of this program shall be what is denied. */
	must(mlockall(MCL_CURRENT | MCL_FUTURE) ? -errno : 0);
	configure_all();
	ksft_print_header();
	ksft_set_plan(ARRAY_SIZE(verbs));
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		try(&verbs[i]);
	ksft_finished();
}
