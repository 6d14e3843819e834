/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program: a sequence of steps, each a call of one verb, on descriptors that are
 * in numbered slots.  As text it is a line for the order, and one for each step:
 *
 *	ordered
 *	0 open to=0
 *	0 acquire fd=0 to=1 name=2 count=3 mode=2 flags=0x1
 *	1 unlock fd=1
 *
 * The number in front is the lane, a thread, that makes the step.  "ordered": a step
 * begins when those before it have ended, or seem to wait; "together": each lane goes
 * on by itself.  What is not mentioned is 0.  An empty line ends it.
 */
#ifndef SELFTESTS_FUZZ_PROGRAM_H
#define SELFTESTS_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

#define STEPS_MAX	24
#define LANES		3
#define SLOTS		12
#define TEXT_MAX	4096	/* bytes of a program as text */

enum field {
	FD,		/* the slot that is used */
	TO,		/* the slot that is filled, or another that is used */
	NAME,		/* the first of a set, see names.c; of a domain */
	COUNT,		/* entities of a set */
	MODE,		/* of them, or of a domain */
	FLAGS,
	DEADLINE,	/* see enum deadline */
	LEASE,		/* see enum lease */
	NUMBER,		/* a fence, a version, see enum number */
	LABEL,		/* bytes of it */
	SIZE,		/* of the struct, see enum size */
	STRIDE,		/* of an array, likewise */
	AT,		/* where the struct is, see enum place */
	IN,		/* where what it points to is; PLACES more: the last name */
	RING,		/* by io_uring */
	HOW,		/* whatever else there is to choose */
	FIELDS
};

enum deadline { AT_ONCE, IN_VAIN, NEAR, FAR, NEVER, TOO_FAR, DEADLINES };
enum lease { NO_LEASE, INSTANT, SHORT, LONGER, LONGEST, TOO_LONG, LEASES };
enum number { NONE, LAST_FENCE, LAST_VERSION, FENCE_BEFORE, HUGE_NUMBER, NUMBERS };
enum size { EXACT, LONGER_ZERO, MUCH_LONGER, LONGER_DIRTY, SHORTER, ODD_SIZE, EMPTY, SIZES };
enum place { GOOD, FITS, ODD, READ_ONLY, CUT, HOLE, NULL_ADDRESS, KERNEL, PLACES };

enum verb {
	OPEN, DOMAIN, ACQUIRE, CLAIM, BREAK, VERSION,
	LOCK, UNLOCK, CONVERT, EXTEND, RENEW, MARK, PARK, INFO, WILD,
	CLOSE, DUP, REPLACE, POLL, EPOLL, READ, SEEK, FDINFO, SEND, RECEIVE,
	FORK, SIGNAL, PAUSE, CHECK,
	VERBS
};

/* What a slot has in it. */
enum kind { NOTHING, A_DOMAIN, A_TOKEN, ANYTHING };

/**
 * struct verb_type - what there is to know of a verb
 * @name: as text
 * @weight: how often it is chosen
 * @fields: bits of those that it looks at
 * @takes: what it wants in the slot FD
 * @gives: what it leaves in the slot TO; ANYTHING: a copy of what is in FD
 * @flags: those that it knows
 */
struct verb_type {
	const char *name;
	unsigned int weight;
	unsigned int fields;
	enum kind takes;
	enum kind gives;
	__u32 flags;
};

extern const struct verb_type verb_types[VERBS];

struct step {
	__u8 verb;
	__u8 lane;
	__u32 field[FIELDS];
};

struct program {
	__u32 ordered;
	__u32 count;
	struct step steps[STEPS_MAX];
};

/* program.c */
int program_text(const struct program *program, char *text, size_t size);
/* The next one: 1, 0 at the end; -1, and it is said what is wrong. */
int program_read(FILE *file, const char *path, unsigned int *line, struct program *program);
void program_remove(struct program *program, unsigned int step);

/* mutate.c */
struct dice {
	__u64 state;
};

struct dice dice_from(__u64 seed, unsigned int number);
__u32 below(struct dice *dice, __u32 n);
void program_invent(struct program *program, struct dice *dice);
/* Change @program in some places, or put a piece of @other into it. */
void program_mutate(struct program *program, const struct program *other, struct dice *dice);

#endif
