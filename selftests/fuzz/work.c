// SPDX-License-Identifier: GPL-2.0
/* What an executor does: choose programs, run them, keep those that reach something new. */
#include <sched.h>
#include <stdarg.h>

#include "work.h"

static struct executor *self;
static unsigned int number;

void violation(const char *format, ...)
{
	va_list args;

	if (!atomic_fetch_add(&shared->found, 1)) {
		va_start(args, format);
		vsnprintf(shared->text, sizeof(shared->text), format, args);
		va_end(args);
		if (run.program)
			shared->culprit = *run.program;
	}
	_exit(FAILED);
}

__u64 calls_made(void)
{
	__u64 calls = 0;

	for (unsigned int i = 0; i < EXECUTORS; i++)
		calls += shared->executors[i].calls;
	return calls;
}

/* The last programs of each executor are in a file that outlives the machine. */
static void log_program(const struct program *program)
{
	static unsigned int place;
	char text[TEXT_MAX];
	int len;

	if (shared->log < 0)
		return;
	len = snprintf(text, sizeof(text), "# executor %u, program %llu\n", number,
		       (unsigned long long)self->programs);
	len += program_text(program, text + len, sizeof(text) - len);
	memset(text + len, '\n', sizeof(text) - len);
	/* A program is as long as it is; what is behind it is older. */
	if (pwrite(shared->log, text, sizeof(text),
		   (place++ % 4 * EXECUTORS + number) * sizeof(text)) < 0)
		violation("the log: %d", -errno);
}

static void try(const struct program *program)
{
	self->program = *program;
	log_program(program);
	self->since = now();
	self->calls += run_program(&self->program);
	self->since = 0;
	self->programs++;
}

/* Run it until it is clear what it reaches that is new: how many edges, in @these? */
static __u32 try_for_new(const struct program *program, __u32 *these)
{
	__u32 count;

	try(program);
	count = run.edges.count < FRESH_MAX ? run.edges.count : FRESH_MAX;
	if (!count)
		return 0;
	memcpy(these, run.edges.fresh, count * sizeof(*these));
	try(program);
	return edges_keep_reached(&run.edges, these, count);
}

/* --- Fuzzing --- */

static void keep(const struct program *program)
{
	unsigned int place = atomic_fetch_add(&shared->count, 1);

	if (place >= CORPUS_MAX) {
		shared->count = CORPUS_MAX;
		return;
	}
	shared->corpus[place].program = *program;
	shared->corpus[place].ready = true;
}

static const struct program *draw(struct dice *dice)
{
	unsigned int count = shared->count < CORPUS_MAX ? shared->count : CORPUS_MAX;
	const struct entry *entry = count ? &shared->corpus[below(dice, count)] : NULL;

	return entry && entry->ready ? &entry->program : NULL;
}

/* Each of the corpus once, then what comes of them, or of nothing. */
static void choose(struct program *program, struct dice *dice)
{
	unsigned int next = shared->next < shared->given ? shared->next++ : shared->given;
	const struct program *one = draw(dice), *other = draw(dice);

	if (next < shared->given) {
		*program = shared->corpus[next].program;
	} else if (one && other && below(dice, 8)) {
		*program = *one;
		program_mutate(program, other, dice);
	} else {
		program_invent(program, dice);
	}
}

static void fuzz(void)
{
	struct dice dice = dice_from(shared->seed, number);
	__u32 these[FRESH_MAX], fresh, count;
	struct program program;

	/* One that was born again does other things. */
	dice.state += self->programs;
	while (!shared->quit && calls_made() < shared->wanted) {
		bool given = shared->next < shared->given;

		choose(&program, &dice);
		count = try_for_new(&program, these);
		fresh = run.edges.count < FRESH_MAX ? run.edges.count : FRESH_MAX;
		edges_learn(&run.edges, these, count);
		edges_learn(&run.edges, run.edges.fresh, fresh);
		if (count && !given)
			keep(&program);
	}
}

/* --- The same again, with what comes of it --- */

static void print_results(const struct program *program)
{
	char text[TEXT_MAX], *line = text;

	program_text(program, text, sizeof(text));
	for (int i = -1; i < (int)program->count; i++) {
		char *end = strchr(line, '\n');

		printf("%.*s", (int)(end - line), line);
		line = end + 1;
		if (i < 0)
			printf("\n");
		else if (run.results[i] == NOT_MADE)
			printf("\t# not made\n");
		else if (run.results[i] < 0)
			printf("\t# %s\n", strerrorname_np(-run.results[i]));
		else
			printf("\t# %d\n", run.results[i]);
	}
	printf("\n");
	fflush(stdout);
}

static void replay(void)
{
	for (unsigned int i = 0; i < shared->given; i++) {
		for (unsigned int j = 0; j < shared->times; j++)
			try(&shared->corpus[i].program);
		print_results(&shared->corpus[i].program);
	}
}

/* --- As few and as short as reach the same --- */

/* Leave out each step without which it still reaches all of @these. */
static void shorten(struct program *program, const __u32 *these, __u32 count)
{
	for (unsigned int i = program->count; i-- > 0 && program->count > 1;) {
		struct program shorter = *program;
		bool reached = false;

		program_remove(&shorter, i);
		for (unsigned int j = 0; j < 2 && !reached; j++) {
			try(&shorter);
			reached = edges_reached(&run.edges, these, count);
		}
		if (reached)
			*program = shorter;
	}
}

static int by_length(const void *one, const void *other)
{
	const struct entry *a = one, *b = other;

	return (int)a->program.count - (int)b->program.count;
}

static void merge(void)
{
	__u32 these[FRESH_MAX], count;
	char text[TEXT_MAX];

	qsort(shared->corpus, shared->given, sizeof(shared->corpus[0]), by_length);
	for (unsigned int i = 0; i < shared->given; i++) {
		struct program program = shared->corpus[i].program;

		count = try_for_new(&program, these);
		if (!count)
			continue;
		shorten(&program, these, count);
		edges_learn(&run.edges, these, count);
		program_text(&program, text, sizeof(text));
		printf("%s\n", text);
		fflush(stdout);
	}
}

/* A namespace of one's own has domains of its own. */
static void enter_namespace(void)
{
	if (unshare(CLONE_NEWUSER) || write_file("/proc/self/uid_map", "0 0 1"))
		violation("a user namespace: %d", -errno);
}

void executor_main(unsigned int i)
{
	number = i;
	self = &shared->executors[i];
	enter_namespace();
	run_init(shared->known);
	switch (shared->task) {
	case FUZZ:
		fuzz();
		break;
	case REPLAY:
		replay();
		break;
	case MERGE:
		merge();
		break;
	}
	_exit(0);
}
