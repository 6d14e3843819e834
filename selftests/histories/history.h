/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histories: what many processes did to the same names, and when, so that it can
 * be said afterwards whether locks were what they promise to be.
 *
 *   record.c   makes one, on the loaded module, of the calls in calls.c and parcels.c
 *   history.c  the format: read, print
 *   grants.c   what can be said for certain of each grant
 *   rules.c    what must be true of them
 *   mutate.c   breaks one rule in a history
 *   check.c    the checker's main program
 *
 * A line is a call, made by a process, which was killed in it where there is no
 * END and no RESULT.  Times are nanoseconds of CLOCK_MONOTONIC, before and after:
 *
 *   BEGIN END PROCESS TOKEN VERB [WHAT] [lease=N] [fence=N] -> RESULT [fence=N] [NAME=VERSION]
 *
 *   100 250 3 7 acquire gate:s a:x b:s lease=5000 -> granted fence=17 a=12 b=0
 *   260 270 3 7 unlock -> ok
 *   280 290 3 8 acquire gate:x -> waits
 *   300   - 3 8 close
 *   310 320 4 0 break a fence=17 -> lost
 *   330 340 0 0 kill 3 -> ok
 *   350 360 4 9 park lease=5000 -> ok
 *   370 380 5 9 claim -> ok
 *
 * WHAT is all that the token has if the call succeeds; whoever is not at the gate
 * holds it shared.  Names are letters.  Those in capitals come and go: a reclaimed
 * name may look changed.
 */
#ifndef SELFTESTS_HISTORY_H
#define SELFTESTS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t u64;
typedef uint32_t u32;

#define GATE		0
#define THINGS		(1 + 'z' - 'A' + 1)
#define ITEMS		6
#define NEVER		UINT64_MAX
#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

enum verb {
	ACQUIRE, LOCK, EXTEND, UPGRADE, DOWNGRADE, LOOK, RENEW, UNLOCK, UNLOCK_UNCHANGED, CLOSE,
	PARK, CLAIM, PASS, TAKE, BREAK, KILL, VERBS
};

/* WAITS: still.  FAILED: nothing has changed.  LOST: the token has lost all. */
enum result { NONE, OK, GRANTED, WAITS, FAILED, LOST, RESULTS };

struct item {
	unsigned char thing;
	bool exclusive;
	bool told;		/* @version is there */
	u64 version;
};

/**
 * struct event - a call
 * @begin: before it
 * @end: after it, NEVER if its process was killed in it
 * @number: KILL: the process; BREAK: the fence that is asked for
 * @lease: duration that is asked for, 0 = none
 * @fence: number of the grant of which it tells
 */
struct event {
	u64 begin;
	u64 end;
	u32 process;
	u32 token;
	enum verb verb;
	enum result result;
	u64 number;
	u64 lease;
	u64 fence;
	u32 count;
	struct item items[ITEMS];
	u32 line;
};

struct history {
	struct event *events;	/* in the order of @begin */
	u32 count;
};

static inline unsigned char thing_of(char letter)
{
	return 1 + letter - 'A';
}

static inline bool is_kept(unsigned char thing)
{
	return thing >= thing_of('a');
}

const char *thing_name(unsigned char thing);
void event_print(FILE *file, const struct event *event);
/* False, and a word on stderr, where a line cannot be read. */
bool history_read(struct history *history, FILE *file);

#endif
