// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reading a domain's listing.  It is text: a header line that begins with '#'
 * and names the columns, then perhaps a line of the gate, then a line an entity;
 * columns are separated by tabs.
 * They are found by name, and unknown ones skipped, so that a later module may
 * add some.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define COLUMNS_MAX	64	/* more than these are not looked at */
#define PARTIES_MAX	16	/* that the module lists of an entity's */
#define CHUNK		65536	/* bytes read at a time */

struct column;

struct entitylock_list {
	int fd;
	char *text;		/* what was read, of which ... */
	size_t size;
	size_t begin, end;	/* ... this part was not used yet */
	const struct column *columns[COLUMNS_MAX];
	size_t nr_columns;
	struct entitylock_list_entry entry;
	struct entitylock_list_party holder[PARTIES_MAX];
	struct entitylock_list_party waiter[PARTIES_MAX];
};

/* Makes room for a chunk after the unused text. */
static int make_room(struct entitylock_list *list)
{
	size_t used = list->end - list->begin;
	char *text;

	if (list->begin) {
		memmove(list->text, list->text + list->begin, used);
		list->begin = 0;
		list->end = used;
	}
	if (list->size - used >= CHUNK)
		return 0;
	text = realloc(list->text, used + CHUNK);
	if (!text)
		return -ENOMEM;
	list->text = text;
	list->size = used + CHUNK;
	return 0;
}

/* Takes the next line, terminated by a zero; NULL at the end. */
static int next_line(struct entitylock_list *list, char **line)
{
	size_t searched = 0;
	char *newline;
	ssize_t got;
	int err;

	*line = NULL;
	for (;;) {
		newline = memchr(list->text + list->begin + searched, '\n',
				 list->end - list->begin - searched);
		if (newline)
			break;
		searched = list->end - list->begin;
		err = make_room(list);
		if (err)
			return err;
		got = read(list->fd, list->text + list->end,
			   list->size - list->end);
		if (got < 0)
			return -errno;
		if (!got)
			return searched ? -EPROTO : 0;
		list->end += got;
	}
	*line = list->text + list->begin;
	*newline = '\0';
	list->begin = newline + 1 - list->text;
	return 0;
}

/* Cuts off the text up to @separator; NULL if nothing is left. */
static char *cut(char **rest, char separator)
{
	char *text = *rest, *end;

	if (!text)
		return NULL;
	end = strchr(text, separator);
	if (end)
		*end++ = '\0';
	*rest = end;
	return text;
}

/* Replaces each \xHH by the byte it stands for, in place. */
static int unescape(char *text, size_t *len)
{
	char *from = text, *to = text;
	int high, low;

	while (*from) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		if (from[1] != 'x')
			return -EPROTO;
		high = __entitylock_hex_digit(from[2]);
		low = high < 0 ? -1 : __entitylock_hex_digit(from[3]);
		if (low < 0)
			return -EPROTO;
		*to++ = (char)(high << 4 | low);
		from += 4;
	}
	*to = '\0';
	*len = to - text;
	return 0;
}

/* id:mode:pid:comm:label, and what a later module may put behind. */
static int parse_party(char *text, struct entitylock_list_party *party)
{
	char *id = cut(&text, ':'), *mode = cut(&text, ':');
	char *pid = cut(&text, ':'), *comm = cut(&text, ':');
	char *label = cut(&text, ':');
	uint64_t number;

	if (!label || strlen(mode) != 1)
		return -EPROTO;
	if (__entitylock_number(id, UINT64_MAX, &party->id) ||
	    __entitylock_number(pid, INT32_MAX, &number) ||
	    unescape(comm, &party->comm_len) ||
	    unescape(label, &party->label_len))
		return -EPROTO;
	if (*mode != 's' && *mode != 'x')
		return -EPROTO;
	party->mode = *mode == 's' ? ENTITYLOCK_SHARED : ENTITYLOCK_EXCLUSIVE;
	party->pid = (pid_t)number;
	party->comm = comm;
	party->label = label;
	return 0;
}

/* What of a party a column tells. */
enum of_party { AGE, LEASE, PARKED };

static void untold(struct entitylock_list_party *parties)
{
	size_t i;

	for (i = 0; i < PARTIES_MAX; i++) {
		parties[i].age = ENTITYLOCK_UNTOLD;
		parties[i].lease = ENTITYLOCK_UNTOLD;
		parties[i].parked = 0;
	}
}

/* A time, or a letter, for each party, separated by commas; "-" where there is none. */
static int parse_items(char *text, struct entitylock_list_party *parties, enum of_party what)
{
	int err = 0;
	size_t i;
	char *item;

	for (i = 0; !err && i < PARTIES_MAX && (item = cut(&text, ',')); i++) {
		if (!strcmp(item, "-"))
			continue;
		if (what == AGE)
			err = __entitylock_number(item, UINT64_MAX, &parties[i].age);
		else if (what == LEASE)
			err = __entitylock_number(item, UINT64_MAX, &parties[i].lease);
		else
			parties[i].parked = !strcmp(item, "p");
	}
	return err ? -EPROTO : 0;
}

/* Parties separated by commas, "+N" for those not listed; "-" for none. */
static int parse_parties(char *text, struct entitylock_list_party *parties,
			 size_t *nr)
{
	char *item;
	int err;

	*nr = 0;
	if (!strcmp(text, "-"))
		return 0;
	while ((item = cut(&text, ','))) {
		if (*item == '+' || *nr == PARTIES_MAX)
			continue;
		err = parse_party(item, &parties[*nr]);
		if (err)
			return err;
		++*nr;
	}
	return 0;
}

/* What is special is escaped in the name of an entity, so this is none. */
static int parse_name(struct entitylock_list *list, char *text)
{
	if (!strcmp(text, "#gate")) {
		list->entry.gate = 1;
		text = strchr(text, '\0');
	}
	list->entry.name = text;
	return unescape(text, &list->entry.name_len);
}

static int parse_state(struct entitylock_list *list, char *text)
{
	list->entry.state = text;
	return 0;
}

static int parse_fence(struct entitylock_list *list, char *text)
{
	return __entitylock_number(text, UINT64_MAX, &list->entry.fence);
}

static int parse_holders(struct entitylock_list *list, char *text)
{
	return __entitylock_number(text, UINT64_MAX, &list->entry.holders);
}

static int parse_waiters(struct entitylock_list *list, char *text)
{
	return __entitylock_number(text, UINT64_MAX, &list->entry.waiters);
}

static int parse_holder(struct entitylock_list *list, char *text)
{
	return parse_parties(text, list->holder, &list->entry.nr_holder);
}

static int parse_waiter(struct entitylock_list *list, char *text)
{
	return parse_parties(text, list->waiter, &list->entry.nr_waiter);
}

static int parse_mark(struct entitylock_list *list, char *text)
{
	list->entry.abandoned = !strcmp(text, "abandoned");
	return 0;
}

static int parse_held(struct entitylock_list *list, char *text)
{
	return parse_items(text, list->holder, AGE);
}

static int parse_waited(struct entitylock_list *list, char *text)
{
	return parse_items(text, list->waiter, AGE);
}

static int parse_lease(struct entitylock_list *list, char *text)
{
	return parse_items(text, list->holder, LEASE);
}

static int parse_parked(struct entitylock_list *list, char *text)
{
	return parse_items(text, list->holder, PARKED);
}

static const struct column {
	const char *name;
	int (*parse)(struct entitylock_list *list, char *text);
} known_columns[] = {
	{ "name", parse_name },
	{ "state", parse_state },
	{ "fence", parse_fence },
	{ "holders", parse_holders },
	{ "waiters", parse_waiters },
	{ "holder", parse_holder },
	{ "waiter", parse_waiter },
	{ "mark", parse_mark },
	{ "held", parse_held },
	{ "waited", parse_waited },
	{ "lease", parse_lease },
	{ "parked", parse_parked },
};

static const struct column *find_column(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_columns); i++)
		if (!strcmp(known_columns[i].name, name))
			return &known_columns[i];
	return NULL;
}

static int read_header(struct entitylock_list *list)
{
	bool named = false;
	char *line, *name;
	int err;

	err = next_line(list, &line);
	if (err)
		return err;
	if (!line || *line != '#')
		return -EPROTO;
	line++;
	while (list->nr_columns < COLUMNS_MAX && (name = cut(&line, '\t'))) {
		list->columns[list->nr_columns++] = find_column(name);
		named |= !strcmp(name, "name");
	}
	return named ? 0 : -EPROTO;
}

int entitylock_list_open(int domain, struct entitylock_list **list)
{
	struct entitylock_list *new;
	int err;

	/* An earlier listing may have left the position at the end. */
	if (lseek(domain, 0, SEEK_SET) < 0 && errno != ESPIPE)
		return -errno;

	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = domain;
	err = make_room(new);
	if (!err)
		err = read_header(new);
	if (err) {
		entitylock_list_close(new);
		return err;
	}
	*list = new;
	return 0;
}

int entitylock_list_next(struct entitylock_list *list,
			 const struct entitylock_list_entry **entry)
{
	char *line, *text;
	size_t i;
	int err;

	err = next_line(list, &line);
	if (err || !line)
		return err;

	list->entry = (struct entitylock_list_entry) {
		.state = "",
		.holder = list->holder,
		.waiter = list->waiter,
	};
	untold(list->holder);
	untold(list->waiter);
	for (i = 0; i < list->nr_columns; i++) {
		text = cut(&line, '\t');
		if (!text)
			return -EPROTO;
		err = list->columns[i] ? list->columns[i]->parse(list, text) : 0;
		if (err)
			return err;
	}
	*entry = &list->entry;
	return 1;
}

void entitylock_list_close(struct entitylock_list *list)
{
	if (!list)
		return;
	free(list->text);
	free(list);
}
