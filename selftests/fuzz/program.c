// SPDX-License-Identifier: GPL-2.0
/* What the verbs are, and programs as text. */
#include <stdlib.h>
#include <string.h>
#include <linux/entitylock.h>

#include "program.h"

#define F(name)		(1U << (name))
/* What every ioctl with a struct has. */
#define ARG		(F(FD) | F(SIZE) | F(AT) | F(RING))
#define SET		(F(NAME) | F(COUNT) | F(MODE) | F(STRIDE) | F(IN))
#define CLOCKS		(ENTITYLOCK_CLOCK_REALTIME | ENTITYLOCK_CLOCK_BOOTTIME)
#define LOCKING		(ENTITYLOCK_ASYNC | ENTITYLOCK_ROBUST | ENTITYLOCK_IF_UNCHANGED | CLOCKS)

const struct verb_type verb_types[VERBS] = {
	[OPEN] = { "open", 2, F(TO) | F(HOW), NOTHING, A_DOMAIN, 0 },
	[DOMAIN] = { "domain", 3, ARG | F(NAME) | F(MODE) | F(FLAGS) | F(IN), A_DOMAIN, NOTHING,
		     ENTITYLOCK_CREATE | ENTITYLOCK_EXCL | ENTITYLOCK_PRIVATE },
	[ACQUIRE] = { "acquire", 24, ARG | SET | F(TO) | F(FLAGS) | F(DEADLINE) | F(LEASE) |
		      F(NUMBER) | F(LABEL), A_DOMAIN, A_TOKEN,
		      LOCKING | ENTITYLOCK_GATE | ENTITYLOCK_OPEN | ENTITYLOCK_SEALED },
	[CLAIM] = { "claim", 3, ARG | F(TO) | F(HOW) | F(FLAGS), A_DOMAIN, A_TOKEN, 0 },
	[BREAK] = { "break", 4, ARG | F(NAME) | F(FLAGS) | F(NUMBER) | F(IN), A_DOMAIN, NOTHING,
		    ENTITYLOCK_GATE },
	[VERSION] = { "version", 1, ARG, A_DOMAIN, NOTHING, 0 },
	[LOCK] = { "lock", 10, ARG | F(FLAGS) | F(DEADLINE) | F(LEASE), A_TOKEN, NOTHING, LOCKING },
	[UNLOCK] = { "unlock", 10, ARG | F(FLAGS) | F(NUMBER), A_TOKEN, NOTHING,
		     ENTITYLOCK_CANCEL | ENTITYLOCK_UNCHANGED | ENTITYLOCK_CONSISTENT },
	[CONVERT] = { "convert", 7, ARG | F(MODE) | F(FLAGS) | F(DEADLINE), A_TOKEN, NOTHING,
		      ENTITYLOCK_ASYNC | CLOCKS },
	[EXTEND] = { "extend", 7, ARG | SET | F(FLAGS) | F(DEADLINE) | F(LEASE) | F(NUMBER) |
		     F(LABEL), A_TOKEN, NOTHING,
		     ENTITYLOCK_ASYNC | ENTITYLOCK_IF_UNCHANGED | CLOCKS },
	[RENEW] = { "renew", 4, ARG | F(LEASE) | F(FLAGS), A_TOKEN, NOTHING, 0 },
	[MARK] = { "label", 2, ARG | F(LABEL) | F(IN), A_TOKEN, NOTHING, 0 },
	[PARK] = { "park", 4, ARG | F(LEASE) | F(FLAGS), A_TOKEN, NOTHING, 0 },
	[INFO] = { "info", 4, ARG | F(COUNT) | F(STRIDE) | F(LABEL) | F(FLAGS) | F(IN), A_TOKEN,
		   NOTHING, ENTITYLOCK_SEEN },
	[WILD] = { "wild", 2, ARG | F(FLAGS) | F(HOW), ANYTHING, NOTHING, 0 },
	[CLOSE] = { "close", 7, F(FD), ANYTHING, NOTHING, 0 },
	[DUP] = { "dup", 2, F(FD) | F(TO), ANYTHING, ANYTHING, 0 },
	[REPLACE] = { "replace", 2, F(FD) | F(TO), ANYTHING, ANYTHING, 0 },
	[POLL] = { "poll", 3, F(FD) | F(HOW), A_TOKEN, NOTHING, 0 },
	[EPOLL] = { "epoll", 2, F(FD) | F(HOW), A_TOKEN, NOTHING, 0 },
	[READ] = { "read", 2, F(FD) | F(SIZE) | F(COUNT) | F(AT), A_DOMAIN, NOTHING, 0 },
	[SEEK] = { "seek", 1, F(FD) | F(HOW), A_DOMAIN, NOTHING, 0 },
	[FDINFO] = { "fdinfo", 1, F(FD), ANYTHING, NOTHING, 0 },
	[SEND] = { "send", 2, F(FD), ANYTHING, NOTHING, 0 },
	[RECEIVE] = { "receive", 2, F(TO) | F(HOW), NOTHING, A_TOKEN, 0 },
	[FORK] = { "fork", 1, F(HOW), NOTHING, NOTHING, 0 },
	[SIGNAL] = { "signal", 1, F(HOW), NOTHING, NOTHING, 0 },
	[PAUSE] = { "pause", 2, F(HOW), NOTHING, NOTHING, 0 },
	[CHECK] = { "check", 2, 0, NOTHING, NOTHING, 0 },
};

static const char *const field_names[FIELDS] = {
	[FD] = "fd", [TO] = "to", [NAME] = "name", [COUNT] = "count", [MODE] = "mode",
	[FLAGS] = "flags", [DEADLINE] = "deadline", [LEASE] = "lease", [NUMBER] = "number",
	[LABEL] = "label", [SIZE] = "size", [STRIDE] = "stride", [AT] = "at", [IN] = "in",
	[RING] = "ring", [HOW] = "how",
};

static int step_text(const struct step *step, char *text, size_t size)
{
	int len = snprintf(text, size, "%u %s", step->lane, verb_types[step->verb].name);

	for (enum field field = 0; field < FIELDS; field++)
		if (verb_types[step->verb].fields & F(field) && step->field[field])
			len += snprintf(text + len, size - len,
					field == FLAGS ? " %s=0x%x" : " %s=%u",
					field_names[field], step->field[field]);
	return len + snprintf(text + len, size - len, "\n");
}

/* @size: TEXT_MAX is enough. */
int program_text(const struct program *program, char *text, size_t size)
{
	int len = snprintf(text, size, "%s\n", program->ordered ? "ordered" : "together");

	for (unsigned int i = 0; i < program->count; i++)
		len += step_text(&program->steps[i], text + len, size - len);
	return len;
}

/* --- From text --- */

#define BLANK		"\n\t "

static int find(const char *word, size_t len, const char *(*name)(unsigned int i),
		unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (strlen(name(i)) == len && !strncmp(name(i), word, len))
			return i;
	return -1;
}

static const char *verb_name(unsigned int i)
{
	return verb_types[i].name;
}

static const char *field_name(unsigned int i)
{
	return field_names[i];
}

/* "name=number": what is wrong with it, or NULL. */
static const char *read_field(const char *word, struct step *step)
{
	size_t len = strcspn(word, "=");
	int field = find(word, len, field_name, FIELDS);
	char *end;

	if (field < 0 || word[len] != '=')
		return "no such field";
	if (!(verb_types[step->verb].fields & F(field)))
		return "not a field of this verb";
	step->field[field] = strtoul(word + len + 1, &end, 0);
	if (end == word + len + 1 || *end)
		return "not a number";
	if ((field == FD || field == TO) && step->field[field] >= SLOTS)
		return "no such slot";
	return NULL;
}

/* "lane verb field=number ... # comment": what is wrong with it, or NULL. */
static const char *read_step(char *line, struct step *step)
{
	char *save, *end, *word;
	const char *wrong = NULL;
	int verb;

	memset(step, 0, sizeof(*step));
	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, BLANK, &save);
	if (!word)
		return "no step";
	step->lane = strtoul(word, &end, 10);
	if (*end || step->lane >= LANES)
		return "no such lane";
	word = strtok_r(NULL, BLANK, &save);
	verb = word ? find(word, strlen(word), verb_name, VERBS) : -1;
	if (verb < 0)
		return "no such verb";
	step->verb = verb;
	while (!wrong && (word = strtok_r(NULL, BLANK, &save)))
		wrong = read_field(word, step);
	return wrong;
}

/* An empty line ends a program. */
int program_read(FILE *file, const char *path, unsigned int *line, struct program *program)
{
	const char *wrong = NULL;
	char text[256];
	bool begun = false;

	memset(program, 0, sizeof(*program));
	while (!wrong && fgets(text, sizeof(text), file)) {
		bool ordered = !strcmp(text, "ordered\n");

		++*line;
		if (text[0] == '#')
			continue;
		if (text[0] == '\n' && begun)
			return 1;
		if (text[0] == '\n')
			continue;
		if (!begun && !ordered && strcmp(text, "together\n"))
			wrong = "a program begins with 'ordered' or 'together'";
		else if (!begun)
			program->ordered = ordered;
		else if (program->count == STEPS_MAX)
			wrong = "too many steps";
		else
			wrong = read_step(text, &program->steps[program->count++]);
		begun = true;
	}
	if (!wrong)
		return begun;
	fprintf(stderr, "%s:%u: %s\n", path, *line, wrong);
	return -1;
}

void program_remove(struct program *program, unsigned int step)
{
	program->count--;
	memmove(&program->steps[step], &program->steps[step + 1],
		(program->count - step) * sizeof(struct step));
}
