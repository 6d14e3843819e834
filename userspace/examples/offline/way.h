/* SPDX-License-Identifier: GPL-2.0 */
/*
 * way: how a business transaction of several statements, with time to think between
 * them, is kept from losing the changes of others
 *
 * An edit reads the row's value, thinks, and writes a value that it has made of it.
 * It begins in one process and ends in another, as the requests of one user are
 * served by whatever process is free.
 */
#ifndef OFFLINE_WAY_H
#define OFFLINE_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include <entitylock.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* All of it goes from process to process but the token, which each has its own fd of. */
struct edit {
	int64_t row;
	int64_t owner;		/* who edits, for the locked column */
	int64_t value;		/* as it was read */
	int64_t version;	/* optimistic.c */
	uint64_t fence;		/* token.c */
	uint64_t lease;		/* token.c; 0 = none */
	uint64_t deadline;	/* when waiting is given up */
	uint64_t until;		/* when thinking ends */
	int token;		/* -1: there is none */
	unsigned char cookie[ENTITYLOCK_COOKIE_SIZE];
};

enum outcome {
	DONE,
	BUSY,			/* another has it: try again */
	STALE,			/* another has changed it: all was in vain */
	OVER,			/* the deadline has come */
};

struct way {
	const char *name;
	const char *title;
	bool holds;		/* the row is held while somebody thinks */
	bool pauses;		/* after BUSY and STALE there is nothing to wait for */

	/* From the wish to edit to the value.  DONE, BUSY or OVER. */
	enum outcome (*begin)(struct edit *edit);

	/*
	 * To the process at the other end of a Unix socket, and from there; false: that
	 * end is closed.
	 */
	void (*send)(struct edit *edit, int sock);
	bool (*receive)(struct edit *edit, int sock);

	/* Think until then.  True if it is known that it was in vain. */
	bool (*think)(struct edit *edit, uint64_t until);

	/* Write the value that was thought of, and give back what is held.  DONE or STALE. */
	enum outcome (*save)(struct edit *edit, int64_t value);

	/* Give up in the midst. */
	void (*drop)(struct edit *edit);
};

extern const struct way version3_way, version2_way, none_way;	/* optimistic.c */
extern const struct way column4_way, column2_way;		/* pessimistic.c */
extern const struct way token_way, parked_way, unchanged_way;	/* token.c */

/* NULL: there is none of that name. */
const struct way *way_find(const char *name);

/* For those whose edit is data. */
void way_send(struct edit *edit, int sock);
bool way_receive(struct edit *edit, int sock);
bool way_think(struct edit *edit, uint64_t until);
void way_drop(struct edit *edit);

uint64_t now(void);
void sleep_until(uint64_t time);

void die(const char *what, enum entitylock_verb verb, int error) __attribute__((noreturn));
void die_errno(const char *what) __attribute__((noreturn));

#endif
