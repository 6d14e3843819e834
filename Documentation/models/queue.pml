/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The grant queue: tokens that take sets of entities, while cancel, deadline,
 * kill, close, BREAK and the end of a lease race the grant.
 *
 * The locks are those of module/attempt.c: a token's mutex, then an entity's
 * lock, then a token's lock.  One step is what runs under one spinlock; where a
 * second lock is taken inside, or somebody may look without the lock, there are
 * more.  Each inline and proctype names the C functions that it stands for.
 *
 * Left out: the gate (see gate.pml), memory order (all of this is under locks),
 * marks, versions, parking, pollers' wait queues.
 *
 * Proved, for all interleavings of the plan that is compiled in:
 *  - holders of an entity are one exclusive one or shared ones  (queue_grant)
 *  - nobody overtakes, but an upgrade                           (queue_grant)
 *  - nobody waits whose turn has come, or the worker knows      (entity_unlock)
 *  - a grant has the whole set, in the modes that it wants      (token_grant)
 *  - an attempt is granted or ended, once, and its verb returns just that
 *                                                      (token_grant, owner)
 *  - a grant that is taken back leaves what was before it       (owner)
 *  - who waits behind a lease is granted when it has run out, an EXTEND is not;
 *    and the worker rests meanwhile      (end states, token_grant, hold_lower)
 *  - the memory of a verb that returned is not touched          (tell_waiter)
 *  - no deadlock and no lost wake-up: a patient waiter, whom no deadline, signal
 *    or cancel saves, is granted                                (end states)
 *  - at the end every entity is free                            (init)
 *
 * Plans (-DPLAN_...), faults to be found (-DBROKEN_...): see scripts/models.sh.
 */

/*
 * A plan: the sets; who goes on asynchronously, while others block; whose wait
 * may end by a deadline, a signal or a kill; who asks for more once it has its
 * set; who cannot tell of a grant and takes it back; who has a lease, and keeps
 * what it holds until that has run out; when each comes; how many are granted in a
 * batch; whether one more thread says UNLOCK or CANCEL to token 0, asks for more
 * for it, renews its lease, or BREAKs entity 0.
 */
#if defined(PLAN_SETS)
#define TOKENS		3
#define ENTITIES	2
#define SETS		want(0, 0, EXCLUSIVE); want(0, 1, EXCLUSIVE); \
			want(1, 0, SHARED); want(1, 1, EXCLUSIVE); \
			want(2, 0, SHARED)
#define MAY_EXPIRE(t)	(t == 1)
#elif defined(PLAN_STEPS)
#define TOKENS		2
#define ENTITIES	3
#define SETS		want(0, 0, EXCLUSIVE); want(0, 1, EXCLUSIVE); want(0, 2, SHARED); \
			want(1, 0, SHARED); want(1, 1, EXCLUSIVE); want(1, 2, EXCLUSIVE)
#define ASYNC(t)	(t == 0)
#define MAY_EXPIRE(t)	(t == 0)
#define CANCELS		1
#elif defined(PLAN_BATCH)
#define TOKENS		3
#define ENTITIES	1
#define SETS		want(0, 0, EXCLUSIVE); want(1, 0, SHARED); want(2, 0, SHARED)
#define BATCH		1
#define MAY_EXPIRE(t)	(t == 0)
#elif defined(PLAN_RAISE)
#define TOKENS		3
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(1, 0, SHARED); want(2, 1, EXCLUSIVE)
#define MAY_RAISE(t)	true
#elif defined(PLAN_AGAIN)
#define TOKENS		2
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(0, 1, EXCLUSIVE); want(1, 0, EXCLUSIVE)
#define MAY_EXPIRE(t)	(t == 0)
#define MAY_REFUSE(t)	(t == 0)
#define MAY_RAISE(t)	(t == 0)
#define MAY_TAKE_BACK(t) (t == 0)
#define ROUNDS(t)	(t == 0 -> 2 : 1)
#define CANCELS		1
#elif defined(PLAN_BREAK)
#define TOKENS		2
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(0, 1, EXCLUSIVE); want(1, 0, EXCLUSIVE)
#define MAY_EXPIRE(t)	(t == 0)
#define MAY_RAISE(t)	(t == 0)
#define BREAKS		1
#elif defined(PLAN_LOSE)
#define TOKENS		2
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(1, 1, EXCLUSIVE)
#define MAY_REFUSE(t)	(kind == RAISE)
#define MAY_RAISE(t)	(rounds == 2)
#define ROUNDS(t)	(t == 0 -> 2 : 1)
#define BREAKS		1
#elif defined(PLAN_TAKE)
#define TOKENS		2
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(1, 1, EXCLUSIVE)
#define MAY_RAISE(t)	(t == 0)
#define MAY_TAKE_BACK(t) (t == 0)
#define EXTENDS		1
#elif defined(PLAN_LEASE)
#define TOKENS		3
#define ENTITIES	1
#define SETS		want(0, 0, SHARED); want(1, 0, SHARED); want(2, 0, EXCLUSIVE)
#define LEASED(t)	(t != 2)
#define HANGS(t)	LEASED(t)
#define MAY_RUN_OUT(t)	token[t].timer
#define COMES(t)	(!LEASED(t) -> token[0].state == HELD && token[1].state == HELD : true)
#elif defined(PLAN_NEXT)
#define TOKENS		3
#define ENTITIES	1
#define SETS		want(0, 0, EXCLUSIVE); want(1, 0, EXCLUSIVE); want(2, 0, EXCLUSIVE)
#define LEASED(t)	(t == 1)
#define HANGS(t)	LEASED(t)
#define MAY_RUN_OUT(t)	token[t].timer
#define COMES(t)	(t == 0 || (t == 1 && (hold(0, 0).mode || !hold(0, 0).want)) || \
			 (t == 2 && (hold(1, 0).waiting || hold(1, 0).mode)))
#elif defined(PLAN_RENEW)
#define TOKENS		2
#define ENTITIES	1
#define SETS		want(0, 0, EXCLUSIVE); want(1, 0, EXCLUSIVE)
#define LEASED(t)	(t == 0)
#define HANGS(t)	LEASED(t)
#define MAY_EXPIRE(t)	(t == 1)
#define RENEWS		1
#elif defined(PLAN_ETIME)
#define TOKENS		2
#define ENTITIES	2
#define SETS		want(0, 0, SHARED); want(1, 1, EXCLUSIVE)
#define LEASED(t)	(t == 0)
#define MAY_RAISE(t)	(t == 0)
#else
#error "a plan, please"
#endif
#ifndef ASYNC
#define ASYNC(t)	false
#endif
#ifndef MAY_EXPIRE
#define MAY_EXPIRE(t)	false
#endif
#ifndef MAY_REFUSE
#define MAY_REFUSE(t)	false
#endif
#ifndef MAY_RAISE
#define MAY_RAISE(t)	false
#endif
#ifndef MAY_TAKE_BACK
#define MAY_TAKE_BACK(t) false
#endif
#ifndef ROUNDS
#define ROUNDS(t)	1
#endif
#ifndef BATCH
#define BATCH		TOKENS
#endif
#ifndef CANCELS
#define CANCELS		0
#endif
#ifndef BREAKS
#define BREAKS		0
#endif
#ifndef MAY_RUN_OUT
#define MAY_RUN_OUT(t)	true
#endif
#ifndef COMES
#define COMES(t)	true
#endif
#ifndef HANGS
#define HANGS(t)	false
#endif
#ifndef EXTENDS
#define EXTENDS		0
#endif
#ifndef RENEWS
#define RENEWS		0
#endif
#ifdef LEASED
#define LEASES		1
#else
#define LEASES		0
#define LEASED(t)	false
#endif

#define SHARED		1
#define EXCLUSIVE	2

#define IDLE		0
#define PENDING		1
#define HELD		2
#define LOST		3
#define LEAVING		4

#define LOCK		1
#define RAISE		2

/* Results; only their being different matters. */
#define OK		0
#define EINPROGRESS	1
#define EAGAIN		2
#define EDEADLK		3
#define ETIMEDOUT	4	/* or a signal */
#define ECANCELED	5
#define ESTALE		6
#define ETIME		7
#define REAPED		8	/* of walk(): holders that are gone were ended, try again */

/*
 * What hold_lower() undoes: LOCK or RAISE and the number of the attempt, so all
 * for LOCK; or nothing, because others have given holds back and locked the entity.
 */
#define AS_IT_IS	0
#define KEEP_LOCK	3	/* the same, and it stays locked */
#define BY_WORKER	4	/* the same, in el_entity_grant() */

/* A lease, token's lock */
#define NO_LEASE	0
#define RUNS		1
#define RUN_OUT		2

/* Its timer */
#define UNARMED		0
#define ARMED		1
#define TOO_EARLY	2	/* for an end that has been put off since */

/* What is to be told to a token, or its thread, before its lock is let go. */
#define QUIET		0
#define RESULT		1	/* its result is there: see tell_wake() */
#define STEP		2	/* it was granted a hold, but not all: token_step() */

/* Whom hold_lower() has granted a hold: a token, or these. */
#define NOBODY		TOKENS
#define NOT_YET		(TOKENS + 1)

/* struct el_hold; one that wants nothing is not in its token's set. */
typedef hold_t {
	byte mode;
	byte want;
	byte added;
	byte raised;
	bool waiting;
	bool last;
	bool leased;
	byte ahead;	/* ghost: those who waited already when this one came */
}

/* struct el_entity and its el_queue; those who wait are in waiters[] */
typedef entity_t {
	bool lock;
	bool exclusive;
	bool noticed;
	byte holders;
	byte leased;	/* "nr_leased" */
	byte upgrader;
}

/* struct el_token */
typedef token_t {
	bool mutex;
	bool lock;
	byte state;
	bool doomed;
	byte kind;
	byte pos;
	byte end;
	byte top;
	byte number;	/* "attempt" */
	byte granted;	/* number of the attempt that was granted last */
	bool refused;
	byte lease;
	byte timer;	/* that rings when the lease has run out */
	bool todo;	/* its work is queued */

	/* el_alarm: the attempts that it is armed for, rings for, rang for */
	byte armed;
	byte ringing;
	byte rang;

	/* struct el_waiter, on the stack of a verb that blocks */
	bool waiter;	/* the token has its address */
	bool alive;	/* ghost: it exists */
	bool asleep;	/* its task's state */
	bool step;
	byte result;

	/* ghosts: attempts by what became of them; somebody took from it since IDLE */
	byte grants;
	byte ends;
	bool broken;
}

hold_t holds[TOKENS * ENTITIES];
entity_t entity[ENTITIES];
token_t token[TOKENS];
chan waiters[ENTITIES] = [TOKENS] of { byte };
byte running;	/* threads with an fd, and works that run */
byte hanging;	/* those of them that do nothing any more */

#define hold(t, e)	holds[(t) * ENTITIES + (e)]

/* ghosts */
#define this(t)		(1 << token[t].number)
#define goes_on(t)	(!((token[t].grants | token[t].ends) & this(t)))
#define modes(t)	(hold(t, 0).mode + 4 * hold(t, ENTITIES - 1).mode)

/* variables of one step */
hidden byte i, j, g, at, less, fine;

/* count_leased() in hold.c, if the token has a lease or will have one */
inline count_leased(t, e)
{
	if
	:: LEASED(t) && !hold(t, e).leased ->
		hold(t, e).leased = true;
		entity[e].leased++
	:: else
	fi
}

/* see_to_leases() in hold.c: the worker shall look whose timer to arm */
#define somebody_waits(e) (len(waiters[e]) || entity[e].upgrader != NOBODY)

inline see_to_leases(e)
{
	if
	:: entity[e].leased && somebody_waits(e) -> entity[e].noticed = true
	:: else
	fi
}

/* module/queue.c: all under the entity's lock */

inline queue_grant(t, e)
{
	/* Nobody overtakes, but an upgrade. */
	assert(hold(t, e).mode || !hold(t, e).ahead);
	if
	:: !hold(t, e).mode -> entity[e].holders++
	:: else
	fi;
	/* granted() */
	if
	:: token[t].kind == RAISE && hold(t, e).added != token[t].number ->
		hold(t, e).raised = token[t].number
	:: else
	fi;
	count_leased(t, e);
	hold(t, e).mode = hold(t, e).want;
	entity[e].exclusive = hold(t, e).mode == EXCLUSIVE;
	/* One exclusive holder, or shared ones. */
	for (i : 0 .. TOKENS - 1) {
		assert(i == t || !hold(i, e).mode ||
		       hold(i, e).mode == SHARED && hold(t, e).mode == SHARED)
	}
}

#define fits(t, e)	(!entity[e].holders || \
			 (hold(t, e).want == SHARED && !entity[e].exclusive))

/* el_queue_try() */
inline queue_try(t, e)
{
	hold(t, e).ahead = 0;
	for (i : 0 .. TOKENS - 1) {
		if
		:: hold(i, e).waiting -> hold(t, e).ahead = hold(t, e).ahead | (1 << i)
		:: else
		fi
	}
	if
	:: hold(t, e).mode -> fine = entity[e].holders == 1
#ifdef BROKEN_FIFO
	:: else -> fine = fits(t, e)
#else
	:: else -> fine = !hold(t, e).ahead && fits(t, e)
#endif
	fi;
	if
	:: fine -> queue_grant(t, e)
	:: else
	fi
}

/* el_queue_may_wait() */
#ifdef BROKEN_UPGRADE
#define may_wait(t, e)	true
#else
#define may_wait(t, e)	(!hold(t, e).mode || entity[e].upgrader == NOBODY)
#endif

/* el_queue_wait() */
inline queue_wait(t, e)
{
	if
	:: hold(t, e).mode -> entity[e].upgrader = t
	:: else -> waiters[e]!t
	fi;
	hold(t, e).waiting = true
}

/* el_queue_leave() */
inline queue_leave(t, e)
{
	if
	:: hold(t, e).mode -> entity[e].upgrader = NOBODY
	:: else -> waiters[e]??eval(t)
	fi;
	hold(t, e).waiting = false;
	for (i : 0 .. TOKENS - 1) {
		hold(i, e).ahead = hold(i, e).ahead & ~(1 << t)
	}
}

/* el_queue_lower() */
inline queue_lower(t, e)
{
	entity[e].exclusive = false;
	hold(t, e).mode = less;
	if
	:: !less -> entity[e].holders--
	:: else
	fi
}

/* Whose turn it is: @who, or NOBODY. */
inline queue_next(e, who)
{
	who = NOBODY;
	if
	:: entity[e].upgrader != NOBODY ->
		if
		:: entity[e].holders == 1 -> who = entity[e].upgrader
		:: else
		fi
	:: entity[e].upgrader == NOBODY && len(waiters[e]) > 0 ->
		waiters[e]?<who>;
		if
		:: !fits(who, e) -> who = NOBODY
		:: else
		fi
	:: else
	fi
}

/* Nobody waits whose turn has come, unless the worker will see to it. */
inline entity_unlock(e)
{
	queue_next(e, g);
	assert(g == NOBODY || entity[e].noticed);
	entity[e].lock = false
}

/* module/token.c */

/*
 * tell_waiter(), in two steps: a verb that blocks may see its result before its
 * task is woken.  The token's lock is held in between.
 */
inline tell_result(t, how, tell)
{
	tell = QUIET;
	if
	:: token[t].waiter ->
		assert(token[t].alive);
		token[t].waiter = false;
		token[t].result = how;
		token[t].lock = true;
		tell = RESULT
	:: else
	fi
}

inline tell_wake(t, tell)
{
	assert(token[t].alive);
	token[t].asleep = false;
	token[t].lock = false;
	tell = QUIET
}

/* el_token_grant(), up to tell_wake() */
inline token_grant(t, tell)
{
	!token[t].lock;
	if
#ifndef BROKEN_ETIME
	:: token[t].kind == RAISE && token[t].lease == RUN_OUT -> token[t].refused = true
#endif
	:: else
	fi;
	if
#ifdef BROKEN_GRANT
	:: true ->
#else
	:: token[t].state == PENDING && !token[t].refused ->
#endif
		assert(goes_on(t));
		assert(token[t].lease != RUN_OUT);
		for (i : 0 .. ENTITIES - 1) {
			assert(hold(t, i).mode == hold(t, i).want)
		}
		token[t].grants = token[t].grants | this(t);
		token[t].granted = token[t].number;
		token[t].state = HELD;
		if
		:: token[t].kind == LOCK && LEASED(t) -> token[t].lease = RUNS
		:: else
		fi;
		token[t].armed = 0;		/* el_alarm_disarm() */
		tell_result(t, OK, tell)
	:: else -> tell = STEP
	fi
}

/* el_lease_end() */
inline lease_end(t)
{
	token[t].lease = NO_LEASE;
	token[t].timer = UNARMED
}

/* set_lost(), up to tell_wake() */
inline set_lost(t, tell)
{
	assert(token[t].broken);
	if
	:: token[t].state == PENDING ->
		assert(goes_on(t));
		token[t].ends = token[t].ends | this(t)
	:: else
	fi;
	token[t].state = LOST;
	lease_end(t);
	token[t].armed = 0;
	tell_result(t, ESTALE, tell);
	token[t].todo = true
}

/* el_token_lose(), up to tell_wake(); @fine: the token's hold is to be ended */
inline token_lose(t, tell)
{
	!token[t].lock;
	token[t].broken = true;
	fine = true;
	if
	:: token[t].state == LEAVING -> token[t].doomed = true; fine = false
	:: token[t].state == LOST
	:: else -> set_lost(t, tell)
	fi
}

/*
 * el_token_expire(), in one step; @fine as in token_lose().  Whoever blocks for the
 * token is woken in the same step: token_lose() shows that it need not be.
 */
inline token_expire(t, tell)
{
	fine = token[t].state == LOST;
	if
	:: token[t].lease == RUN_OUT ->
		token_lose(t, tell);
		if
		:: tell == RESULT -> tell_wake(t, tell)
		:: else
		fi
	:: else
	fi
}

/* el_token_left() */
inline token_left(t, to, how, tell)
{
	d_step {
		!token[t].lock;
		token[t].armed = 0;
		tell_result(t, how, tell);
		token[t].state = to;
		if
		:: to == IDLE -> token[t].broken = false; lease_end(t)
		:: to == HELD && token[t].doomed -> set_lost(t, fine)
		:: else
		fi;
#ifndef BROKEN_DOOMED
		token[t].doomed = false
#endif
	};
	if
	:: tell == RESULT -> d_step { tell_wake(t, tell) }
	:: else
	fi
}

/* el_token_step(), el_token_todo() */
inline token_step(t)
{
	if
	:: token[t].waiter ->
		assert(token[t].alive);
		token[t].step = true;
		token[t].asleep = false
#ifdef BROKEN_STEP
	/* Its thread is still on its way, and will see for itself? */
	:: else
#else
	:: else -> token[t].todo = true
#endif
	fi
}

/* module/hold.c */

/* el_hold_before() */
#define had_before(t, e, what, number) \
	(what == LOCK || hold(t, e).added == number -> 0 : \
	 (hold(t, e).raised == number && hold(t, e).mode -> SHARED : hold(t, e).mode))

/*
 * Let a hold wait no longer, and lower it to @less.  @fine: those who wait may
 * have their turn now.
 */
inline lower(t, e)
{
	fine = true;
	if
	:: hold(t, e).waiting ->
		queue_leave(t, e);
#ifdef BROKEN_LEAVE
		/* Nothing was given back, so nobody is let in? */
		fine = false
#endif
	:: else
	fi;
	if
#ifdef BROKEN_ORPHAN
	/* What the token waited for cannot have been granted? */
	:: hold(t, e).mode > less && !(token[t].ends & this(t) && e == token[t].pos) ->
#else
	:: hold(t, e).mode > less ->
#endif
		queue_lower(t, e);
		if
		:: hold(t, e).leased && !less ->
			hold(t, e).leased = false;
			entity[e].leased--
		:: else
		fi;
		fine = true
	:: else
	fi
}

/*
 * el_hold_end(), then grant_waiters() with granted_after_wait(): in each turn
 * the one who was granted a hold is told, and the next one is granted his.
 */
inline hold_lower(t, e, what, which, next, tell, batch)
{
	next = (what == LOCK || what == RAISE -> NOT_YET : NOBODY);
	do
	:: d_step {
		(next != NOT_YET || !entity[e].lock) &&
		(tell != STEP || !token[next].lock);
		fine = true;
		if
		:: next == NOT_YET ->
			entity[e].lock = true;
			less = had_before(t, e, what, which);
			lower(t, e)
		:: tell == RESULT -> tell_wake(next, tell)
		:: tell == STEP -> token_step(next); tell = QUIET
		:: else
		fi;
#ifdef BROKEN_NEXT
		/* Whose timer is to be armed next, its own rings? */
#elif defined(BROKEN_REST)
		if
		:: !batch -> see_to_leases(e)
		:: else
		fi;
#else
		/* The worker looks at the leases itself. */
		if
		:: !batch && what != BY_WORKER -> see_to_leases(e)
		:: else
		fi;
#endif
		queue_next(e, next);
		if
		:: fine && next != NOBODY && batch < BATCH ->
			batch++;
			queue_leave(next, e);
			queue_grant(next, e);
			tell = (hold(next, e).last -> QUIET : STEP)
		:: else ->
			if
			:: next != NOBODY && batch == BATCH -> entity[e].noticed = true
			:: else
			fi;
			/* The worker has nothing to tell itself, but that there is more. */
			assert(what != BY_WORKER || !entity[e].noticed || batch == BATCH);
			next = NOBODY;
			batch = 0;
			if
			:: what != KEEP_LOCK -> entity_unlock(e)
			:: else
			fi
		fi
	   };
	   if
	   :: next == NOBODY -> break
	   :: next != NOBODY && tell == QUIET ->
		d_step {
			token_grant(next, tell);
#ifndef BROKEN_TODO
			if
			:: tell != STEP && token[next].lease -> token[next].todo = true
			:: else
			fi
#endif
		}
	   :: else
	   fi
	od;
	next = 0
}

/* reap(), expired(): end holds that are gone and in the way */
inline reap(t, e, r, tell)
{
	j = 0;
	less = 0;
	do
	:: j == TOKENS -> break
	:: j < TOKENS && j != t && (token[j].state == LOST || hold(j, e).leased) &&
	   hold(j, e).mode && hold(j, e).mode + hold(t, e).want > 2 * SHARED ->
		token_expire(j, tell);
		if
		:: fine -> lower(j, e); r = REAPED
		:: else
		fi;
		j++
	:: else -> j++
	od
}

/* against_order() */
#ifdef BROKEN_ORDER
#define against_order(t, e)	false
#else
#define against_order(t, e)	(e + (hold(t, e).mode -> 1 : 0) < token[t].top)
#endif

/*
 * el_hold_request() with try(), in one step where it reaps nobody.  Otherwise there
 * are two, REAPED in between: those behind come first, then it tries once more, and
 * the entity's lock is held all the time.
 */
inline hold_request(t, e, refusal, r, tell)
{
	queue_try(t, e);
	if
	:: fine -> token[t].pos++; r = OK
	:: !fine && r == OK && (BREAKS || LEASES) -> reap(t, e, r, tell); fine = r == REAPED
	:: else -> r = OK
	fi;
	if
	:: fine
	:: !fine && (!may_wait(t, e) || against_order(t, e)) -> r = EDEADLK
	:: else ->
		r = refusal;
		if
		:: r == OK ->
			hold(t, e).last = e + 1 == token[t].end;
			queue_wait(t, e);
#ifndef BROKEN_NOTICE
			see_to_leases(e);
#endif
			r = EINPROGRESS
		:: else
		fi
	fi;
	if
	:: r == REAPED -> entity[e].lock = true
	:: else -> entity_unlock(e)
	fi
}

/* module/attempt.c */

#define tokens_unlocked	(!token[0].lock && !token[1].lock && !token[TOKENS - 1].lock)

/* walk(), step(); @r is OK before */
inline walk(t, refusal, r, next, tell, batch)
{
	do
	:: r != OK && r != REAPED || token[t].pos == token[t].end -> break
	:: (r == OK || r == REAPED) && token[t].pos < token[t].end ->
		d_step {
			(r == REAPED || !entity[token[t].pos].lock) && (!LEASES || tokens_unlocked);
			at = token[t].pos;
			if
			:: hold(t, at).mode >= hold(t, at).want -> token[t].pos++
			:: else -> hold_request(t, at, refusal, r, tell)
			fi;
			if
			:: r == OK && token[t].state == LOST -> r = ESTALE
			:: else
			fi
		};
#if BREAKS || LEASES
		if
		:: r == REAPED -> hold_lower(t, token[t].pos, KEEP_LOCK, 0, next, tell, batch)
		:: else
		fi
#endif
	od
}

/* begin(), el_token_pend() */
inline begin(t, what)
{
	token[t].state = PENDING;
	token[t].kind = what;
	token[t].number++;
	token[t].pos = 0;
	token[t].end = 0;
	token[t].top = 0;
	token[t].refused = false;
	for (i : 0 .. ENTITIES - 1) {
		if
		:: hold(t, i).mode -> token[t].top = i + 1
		:: else
		fi;
		if
		:: hold(t, i).mode < hold(t, i).want -> token[t].end = i + 1
		:: else
		fi
	};
	i = 0
}

/* drop_added() */
inline drop_added(t, which)
{
	for (i : 0 .. ENTITIES - 1) {
		if
		:: hold(t, i).added != which -> hold(t, i).want = hold(t, i).mode
		:: else ->
			assert(!hold(t, i).mode && !hold(t, i).waiting);
			hold(t, i).want = 0
		fi
	}
}

/*
 * Leave a state, unless it has been left, and undo(): give_up() for PENDING, release()
 * for HELD, the end of el_attempt_take_back() for HELD with the kind and number of the
 * attempt, end_holds() for LOST, which stays.  The mutex is held.
 */
inline leave(t, from, what, which, how, e, next, tell, batch)
{
	d_step {
		!token[t].lock;
		if
		:: token[t].state == from && from != LOST ->
			token[t].state = LEAVING;
			if
			:: from == PENDING ->
				assert(goes_on(t));
				token[t].ends = token[t].ends | this(t)
			:: else
			fi
		:: else
		fi
	};
	if
	:: token[t].state == LEAVING || token[t].state == LOST && from == LOST ->
		do
		:: e < ENTITIES && hold(t, e).want ->
			hold_lower(t, e, what, which, next, tell, batch);
			e++
		:: e < ENTITIES && !hold(t, e).want -> e++
		:: e == ENTITIES -> e = 0; break
		od;
		if
		:: token[t].state == LEAVING && what == RAISE ->
			d_step { drop_added(t, which) };
			token_left(t, HELD, how, tell)
		:: token[t].state == LEAVING && what != RAISE ->
			token_left(t, IDLE, how, tell)
		:: token[t].state == LOST
		fi
	:: else
	fi
}

/* el_watch_waiters(), for one hold; el_hold_expire() asks the same. */
#define wanted(t, e)	(hold(t, e).mode && len(waiters[e]) + \
			 (entity[e].upgrader != NOBODY) > hold(t, e).waiting)

/*
 * see_to_lease(), el_hold_lease().  If the token is LOST, its work ends the holds; the
 * module does that at once as well.  The mutex is held; @seen is 0.
 */
inline see_to_lease(t, e, tell, seen)
{
	if
	:: token[t].lease ->
		do
		:: e < ENTITIES ->
			d_step {
				!entity[e].lock;
				seen = seen || wanted(t, e);
				e++
			}
		:: e == ENTITIES -> break
		od;
		e = 0;
		d_step {
			!token[t].lock;
			if
			:: seen -> token_expire(t, tell)
			:: else
			fi;
			seen = 0
		};
		do
		:: e < ENTITIES && token[t].state != LOST ->
			d_step {
				!entity[e].lock;
				if
				:: hold(t, e).mode -> count_leased(t, e); see_to_leases(e)
				:: else
				fi;
				e++
			}
		:: e == ENTITIES || token[t].state == LOST -> break
		od;
		e = 0
	:: else
	fi
}

/* walk(), conclude(), give_up(): as in attempt() and go_on(); unless @r says why not */
inline carry(t, refusal, r, e, next, tell, batch)
{
	walk(t, refusal, r, next, tell, batch);
	if
	:: r == OK ->
		d_step { token_grant(t, tell) };
		if
		:: tell == RESULT -> d_step { tell_wake(t, tell) }
		:: tell == STEP -> tell = QUIET; r = ESTALE
		:: else
		fi;
#if LEASES
		if
		:: r == OK -> see_to_lease(t, e, tell, batch)
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: r != OK && r != EINPROGRESS ->
		leave(t, PENDING, token[t].kind, token[t].number, r, e, next, tell, batch)
	:: else
	fi
}

inline mutex_lock(t)
{
	d_step { !token[t].mutex -> token[t].mutex = true }
}

/* go_on(), up to the walk: @r is OK if there is something to be done. */
inline waits(t, r)
{
	d_step {
		!entity[token[t].pos].lock;
		r = (hold(t, token[t].pos).waiting -> EINPROGRESS :
		     (token[t].refused -> ETIME : OK))
	}
}

/* What has no meaning any more: states that differ in it only are one. */
inline forget(t)
{
	token[t].kind = 0;
	token[t].pos = 0;
	token[t].end = 0;
	token[t].top = 0;
	token[t].number = 0;
	token[t].granted = 0;
	token[t].refused = false;
	token[t].rang = 0;
	token[t].grants = 0;
	token[t].ends = 0;
	token[t].broken = false;
	for (i : 0 .. ENTITIES - 1) {
		hold(t, i).want = 0;
		hold(t, i).added = 0;
		hold(t, i).raised = 0;
		hold(t, i).last = false
	}
}

#define TO_BE_HAD(t)	(hold(t, 0).want < EXCLUSIVE || hold(t, 1).want < EXCLUSIVE)

/* prepare_raise(), and there is something */
#define may_raise(t)	(TO_BE_HAD(t) && token[t].lease != RUN_OUT)

/* What el_attempt_take_back() undoes: the caller's own attempt, not the last one. */
#ifdef BROKEN_NUMBER
#define taken(t)	token[t].number
#else
#define taken(t)	mine
#endif

/* EXTEND, or an upgrade: any one thing that is to be had */
inline want_more(t)
{
	if
	:: hold(t, 0).want < EXCLUSIVE ->
		if
		:: !hold(t, 0).mode -> hold(t, 0).added = token[t].number + 1
		:: else
		fi;
		hold(t, 0).want++
	:: hold(t, 1).want < EXCLUSIVE ->
		if
		:: !hold(t, 1).mode -> hold(t, 1).added = token[t].number + 1
		:: else
		fi;
		hold(t, 1).want = EXCLUSIVE
	fi
}

/* The user of a token, from its first verb to the last close. */
proctype owner(byte t)
{
	byte e, next, tell, batch, r, kind, refusal, rounds, from;
	byte mine, before, had;		/* "grant": its attempt, granted_before; ghost */
	bool patient, took;

	COMES(t);
again:	atomic { rounds++; kind = LOCK };
	do
	:: atomic {
		/* el_attempt_lock(), _upgrade(), _extend(), begin of attempt() */
		!token[t].mutex && !token[t].lock && !token[t].ringing;
		r = OK;
		if
		:: token[t].state == LOST -> break
		:: kind == LOCK && token[t].state == IDLE
		:: kind == RAISE && token[t].state == HELD && may_raise(t) -> want_more(t)
		:: kind == RAISE && !(token[t].state == HELD && may_raise(t)) -> break
		fi;
		if
		:: true
		:: MAY_REFUSE(t) -> refusal = EAGAIN
		fi;
		token[t].mutex = true;
		d_step {
			before = token[t].granted;
			had = modes(t);
			begin(t, kind);
			mine = token[t].number
		}
	   };
	   do
	   :: carry(t, refusal, r, e, next, tell, batch);
		if
		:: r == EINPROGRESS && !token[t].alive ->
			if
			:: patient = true
			:: MAY_EXPIRE(t) -> patient = false
			fi
		:: else
		fi;
		d_step {	/* the end of attempt() */
			!token[t].lock;
#ifdef BROKEN_FLAG
			/* All that is to be done has been? */
			token[t].step = false;
#endif
			if
			:: (r == OK || r == EINPROGRESS) && !token[t].alive ->
				if
				:: token[t].state == PENDING ->
					r = EINPROGRESS;
					token[t].waiter = !ASYNC(t);
					token[t].alive = !ASYNC(t);
					token[t].result = (ASYNC(t) -> OK : EINPROGRESS);
					/* el_alarm_arm() */
					token[t].armed =
						(ASYNC(t) && !patient -> token[t].number : 0)
				:: token[t].state == LOST -> r = ESTALE
				:: else -> r = OK
				fi
			:: else
			fi;
			token[t].mutex = false
		};
		if
		:: !token[t].alive -> break
		:: else
		fi;

		/* block(), el_wait_sleep() */
sleep:		token[t].asleep = true;
		if
		:: token[t].result != EINPROGRESS -> break
		:: token[t].result == EINPROGRESS && token[t].step
		:: else ->
			if
			:: !token[t].asleep -> goto sleep
			:: !patient -> r = ETIMEDOUT
			fi
		fi;
		if
		:: token[t].result != EINPROGRESS -> break
		:: else
		fi;
		d_step {
			!token[t].mutex -> token[t].mutex = true;
			token[t].step = false;
			if
			:: !token[t].waiter -> r = EINPROGRESS	/* there is a result */
			:: else
			fi
		};
		if
		:: r == EINPROGRESS && token[t].waiter -> waits(t, r)
		:: else
		fi
	   od;
	   if
	   :: token[t].alive ->
		d_step {
#ifndef BROKEN_STACK
			!token[t].lock;
#endif
			r = token[t].result;
			token[t].result = OK;
			token[t].asleep = false;
			token[t].step = false;
			token[t].alive = false
		}
	   :: r == EINPROGRESS && !token[t].alive ->
		/* It polls, until it does so no longer. */
		if
		:: token[t].grants & (1 << mine) -> r = OK
		:: token[t].ends & (1 << mine) -> r = ECANCELED
		:: !patient
		fi
	   :: else
	   fi;

	   /* A verb returns what became of its attempt, and nothing else. */
	   d_step {
		assert(r == OK && token[t].grants & (1 << mine) ||
		       r != OK && token[t].ends & (1 << mine) ||
		       r == ESTALE && token[t].broken || r == EINPROGRESS && ASYNC(t));
		patient = false;
		refusal = OK
	   };
	   if
	   :: r == OK && kind == LOCK && MAY_RAISE(t) -> kind = RAISE
	   :: (r == OK || r == EINPROGRESS) && MAY_TAKE_BACK(t) -> took = true; break
	   :: true -> break
	   fi
	od;

#if LEASES
	/* It hangs, until only those that do are left: a lease must end by itself. */
	if
	:: !HANGS(t)
	:: LEASED(t) ->
		hanging++;
		running == hanging;
		hanging--
	fi;
#endif

	/* el_attempt_take_back(), el_attempt_unlock(), el_attempt_end_token() */
	do
	:: mutex_lock(t);
	   r = (took || rounds < ROUNDS(t) -> HELD : LOST);
	   from = (took && token[t].number != mine && token[t].granted != mine -> LOST : PENDING);
	   do
	   :: from > r -> break
	   :: from == PENDING ->
		leave(t, PENDING, token[t].kind, token[t].number, ECANCELED, e, next, tell, batch);
		from++
	   :: from == HELD && took ->
		if
		:: token[t].granted == mine && token[t].state == HELD ->
			leave(t, HELD, kind, taken(t), OK, e, next, tell, batch);
			d_step {
				token[t].granted = before;	/* el_token_ungrant() */
				assert(modes(t) == had || token[t].state == LOST)
			}
		:: else
		fi;
		from++
	   :: else ->	/* HELD, LOST */
		leave(t, from, LOCK, 0, OK, e, next, tell, batch);
		from++
	   od;
	   from = 0;
	   d_step {
		token[t].mutex = false;
		r = OK
	   };
	   if
	   :: took -> took = false
	   :: else -> break
	   fi
	od;
	atomic { kind = 0; mine = 0; before = 0; had = 0 };
	if
	:: rounds < ROUNDS(t) -> goto again
	:: else -> d_step { forget(t); rounds = 0; running-- }
	fi
}

#if CANCELS
/* el_attempt_unlock() by another who has the fd */
proctype other(byte t)
{
	byte e, next, tell, batch;

	mutex_lock(t);
	leave(t, PENDING, token[t].kind, token[t].number, ECANCELED, e, next, tell, batch);
	if
	:: leave(t, HELD, LOCK, 0, OK, e, next, tell, batch)
	:: true		/* CANCEL */
	fi;
	d_step { token[t].mutex = false; running-- }
}
#endif

#if EXTENDS
/* el_attempt_extend() or _upgrade() by another who has the fd, once it is HELD */
proctype extender(byte t)
{
	byte e, next, tell, batch, r, refusal, had;

end:	atomic {
		!token[t].mutex && !token[t].lock && token[t].state == HELD && may_raise(t);
		token[t].mutex = true;
		running++;
		want_more(t);
		if
		:: true
		:: refusal = EAGAIN
		fi;
		d_step { had = modes(t); begin(t, RAISE) }
	};
	carry(t, refusal, r, e, next, tell, batch);
	d_step {
		assert(r == OK || r == EINPROGRESS || modes(t) == had);
		token[t].mutex = false;
		running--
	}
}
#endif

#if RENEWS
/* el_attempt_renew(), el_token_renew() by another who has the fd */
proctype renewer(byte t)
{
	byte e, tell, seen;

end:	atomic {
		!token[t].mutex && token[t].lease -> token[t].mutex = true;
		running++
	};
	see_to_lease(t, e, tell, seen);
	d_step {
		!token[t].lock;
		if
		:: token[t].state == HELD || token[t].state == PENDING && token[t].kind == RAISE ->
			token[t].lease = RUNS;
			/* What was armed for the old end rings then. */
			token[t].timer = (token[t].timer -> TOO_EARLY : UNARMED)
		:: else
		fi
	};
	see_to_lease(t, e, tell, seen);
	d_step { token[t].mutex = false; running-- }
}
#endif

#if BREAKS
/* el_entity_break() */
proctype breaker(byte e)
{
	byte t, next, tell, batch;

	d_step { !entity[e].lock -> entity[e].lock = true };
	do
	:: t < TOKENS && hold(t, e).mode ->
		d_step {
			token_lose(t, tell);
			if
			:: fine -> less = 0; lower(t, e)
			:: else
			fi
		};
		if
		:: tell == RESULT -> d_step { tell_wake(t, tell) }
		:: else
		fi;
		t++
	:: t < TOKENS && !hold(t, e).mode -> t++
	:: t == TOKENS -> break
	od;
	t = 0;
	hold_lower(t, e, AS_IT_IS, 0, next, tell, batch);
	running--
}
#endif

#if LEASES
/* lease_ring(), and time goes by */
proctype clock(byte t)
{
end:	do
	:: d_step { token[t].lease == RUNS && MAY_RUN_OUT(t) -> token[t].lease = RUN_OUT }
	:: d_step {
		token[t].timer == TOO_EARLY || token[t].timer && token[t].lease == RUN_OUT ->
		token[t].timer = UNARMED;
		token[t].todo = true
	   }
	od
}
#endif

/* alarm_ring() */
proctype alarm(byte t)
{
end:	do
	:: d_step {
		token[t].armed -> token[t].ringing = token[t].armed; token[t].armed = 0
	   };
	   token[t].rang = token[t].ringing;
	   d_step { token[t].todo = true; token[t].ringing = 0 }
	od
}

/* token_work(), el_attempt_advance() */
proctype work(byte t)
{
	byte e, next, tell, batch, r, from;

end:	do
	:: atomic { token[t].todo -> token[t].todo = false; running++ };
	   mutex_lock(t);
#if LEASES
	   see_to_lease(t, e, tell, batch);
#endif
	   d_step {
		from = token[t].state;
		r = OK;
		if
		:: from == PENDING && token[t].rang == token[t].number -> r = ETIMEDOUT
		:: else
		fi
	   };
	   if
	   :: from == PENDING ->
		if
		:: r == OK -> waits(t, r)	/* go_on() */
		:: else
		fi;
		carry(t, OK, r, e, next, tell, batch)
	   :: from == LOST ->
		leave(t, LOST, LOCK, 0, OK, e, next, tell, batch)
	   :: else
	   fi;
	   d_step { token[t].mutex = false; from = 0; r = OK; running-- }
	od
}

/* domain_work(), el_watch_tell() */
proctype domain_work(byte e)
{
	byte t, next, tell, batch;
#if LEASES
	byte first = NOBODY;
	bool ended;
#endif

end:	do
	:: d_step {
		entity[e].noticed && !entity[e].lock ->
		entity[e].noticed = false;
		entity[e].lock = true;
		running++
	   };
	   /* el_entity_grant() */
	   hold_lower(t, e, BY_WORKER, 0, next, tell, batch);
#if LEASES
	   /* el_lease_scan() */
	   d_step { !entity[e].lock -> entity[e].lock = true };
	   do
	   :: t < TOKENS && wanted(t, e) ->
		d_step {
			/* el_hold_expire() */
			!token[t].lock;
			token_expire(t, tell);
			ended = fine;
			less = 0;
			if
			:: ended -> lower(t, e)
			:: else
			fi
		};
		if
		:: ended -> hold_lower(t, e, KEEP_LOCK, 0, next, tell, batch)
		/* earlier(): any may be the one that ends first */
		:: !ended && token[t].lease -> first = t
		:: !ended && (first != NOBODY || !token[t].lease)
		fi;
		atomic { ended = false; t++ }
	   :: t < TOKENS && !wanted(t, e) -> t++
	   :: t == TOKENS -> break
	   od;
	   t = 0;
	   d_step {
		if
		:: first != NOBODY && token[first].lease -> token[first].timer = ARMED
		:: else
		fi;
		first = NOBODY;
		entity_unlock(e)
	   };
#endif
	   running--
	od
}

#define want(t, e, m)	hold(t, e).want = m

init
{
	byte n;

	atomic {
		SETS;
		running = TOKENS + CANCELS + BREAKS;
		for (n : 0 .. ENTITIES - 1) {
			entity[n].upgrader = NOBODY
		}
#if CANCELS
		run other(0);
#endif
#if EXTENDS
		run extender(0);
#endif
#if RENEWS
		run renewer(0);
#endif
#if BREAKS
		run breaker(0);
#endif
#if LEASES
		for (n : 0 .. ENTITIES - 1) {
			run domain_work(n)
		}
#else
		if
		:: BATCH < TOKENS -> run domain_work(0)
		:: else
		fi;
#endif
		n = 0;
		do
		:: n < TOKENS ->
			run work(n);
			run owner(n);
			if
			:: ASYNC(n) && MAY_EXPIRE(n) -> run alarm(n)
			:: else
			fi;
#if LEASES
			if
			:: LEASED(n) -> run clock(n)
			:: else
			fi;
#endif
			n++
		:: else -> break
		od;
		n = 0
	};
	d_step {
		!running && !token[0].todo && !token[1].todo && !token[TOKENS - 1].todo;
		for (i : 0 .. ENTITIES - 1) {
			assert(!entity[i].lock && !entity[i].holders && !entity[i].leased &&
			       empty(waiters[i]) &&
			       entity[i].upgrader == NOBODY)
		}
	}
}
