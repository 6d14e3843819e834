/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gate: operations that count themselves in and out in per-CPU counters,
 * requests that stop and drain them, and the queue behind.
 *
 * The locks are those of module/gate.c: a token's mutex, then the gate's lock.
 * What happens under the gate's lock and is never read without it is one step.
 * What is read without it, the counters and @closing, is modelled with its
 * memory order, see "Memory" below; the letters A to D and R are those of gate.c.
 *
 * Left out: entities (an operation is granted when it has begun), labels of
 * waiters, POLLPRI.  Of the fences only what the gate needs: it must see the
 * clocks of all that was granted before.
 *
 * Proved, for all interleavings of the plan that is compiled in:
 *  - the gate is never held while an operation is in flight     (enters, drain)
 *  - it sees the clock of every operation before it             (drain)
 *  - no drain is missed: a patient request is granted when the last one leaves,
 *    and patient operations are admitted                        (end states)
 *  - who came first goes first, operations and requests alike, newcomers not
 *    excepted; so the phases alternate                          (served)
 *  - @closing is cleared only when nobody is queued, and in the end it is
 *                                                               (next_phase, init)
 *
 * Plans (-DPLAN_...), faults to be found (-DBROKEN_...): see scripts/models.sh.
 */

/*
 * A plan: how many operations and requests for the gate, who may give up or
 * must not wait, how often an operation comes; STRONG: stores are seen at once.
 */
#if defined(PLAN_ORDER)
#define OPS		2
#define GATES		1
#elif defined(PLAN_PHASES)
#define OPS		2
#define GATES		2
#define STRONG
#elif defined(PLAN_ABORT)
#define OPS		2
#define GATES		1
#define ROUNDS(t)	(t == 0 -> 2 : 1)
#define MAY_EXPIRE(t)	true
#define MAY_REFUSE(t)	(t != 0)
#define STRONG
#elif defined(PLAN_BREAK)
#define OPS		1
#define GATES		2
#define MAY_EXPIRE(t)	is_gate(t)
#define BREAKS		1
#define STRONG
#else
#error "a plan, please"
#endif
#ifndef ROUNDS
#define ROUNDS(t)	1
#endif
#ifndef MAY_EXPIRE
#define MAY_EXPIRE(t)	false
#endif
#ifndef BREAKS
#define BREAKS		0
#endif
#ifndef MAY_REFUSE
#define MAY_REFUSE(t)	false
#endif

#define TOKENS		(OPS + GATES)	/* operations first */
#define NOBODY		TOKENS
#define is_gate(t)	((t) >= OPS)

#define IDLE		0
#define PENDING		1
#define HELD		2
#define LEAVING		3
#define LOST		4

/* struct el_token */
typedef token_t {
	bool mutex;
	byte cpu;	/* on which the mutex was taken last */
	byte state;
	bool entered;
	byte ahead;	/* ghost: those who came before, and have not been served */
}

token_t token[TOKENS];

/* struct el_gate; @closing and the counters are below */
bool lock;
byte awaited = NOBODY;
byte holder = NOBODY;
chan queue = [TOKENS] of { byte };

bool kicked;	/* the worker is to look */
bool working;
byte running;	/* processes with a token */
byte in_flight;	/* ghost */
byte unserved;	/* ghost: mask of those who queue, and of gates since C */

hidden byte i;

/*
 * Memory.  A CPU's stores wait in its buffer until they are seen by others, in
 * any order but: a release store after all that were before it.  The CPU itself
 * sees them at once.  smp_mb() waits until the buffer is empty, and so does
 * whoever lets the gate's lock go, before that can be seen.  A mutex that is let go
 * can be taken on another CPU only once the buffer is empty; what its CPU does next
 * may be seen before that.  Loads are in the order of the program, but where D is
 * missing.
 */
#define CPUS		2

#define IN		0	/* in[cpu]++ */
#define OUT		1	/* out[cpu]++, release */
#define CLOCK		2	/* the clock of fences rises */
#define CLOSE		3	/* closing = true */
#define OPEN		4	/* closing = false, release */

typedef cpu_t {
	/* what it has stored; what all others see */
	byte in;
	byte out;
	byte clock;
	byte seen_in;
	byte seen_out;
	byte seen_clock;
}

cpu_t cpu[CPUS];
bool closing;		/* what CPUs see that have not just stored it */
#ifndef STRONG
chan buffer[CPUS] = [6] of { byte };
#endif

inline visible(c, what)
{
	if
	:: what == IN -> cpu[c].seen_in++
	:: what == OUT -> cpu[c].seen_out++
	:: what == CLOCK -> cpu[c].seen_clock++
	:: what == CLOSE -> closing = true
	:: what == OPEN -> closing = false
	fi
}

inline store(c, what)
{
	if
	:: what == IN -> cpu[c].in++
	:: what == OUT -> cpu[c].out++
	:: what == CLOCK -> cpu[c].clock++
	:: else
	fi;
#ifdef STRONG
	visible(c, what)
#else
	buffer[c]!what
#endif
}

#ifdef STRONG
#define WEAK		false
#define flushed(c)	true
#define sees_closing(c)	closing
#else
#define WEAK		true
#define flushed(c)	empty(buffer[c])
#define sees_closing(c)	(!buffer[c]??[OPEN] && (closing || buffer[c]??[CLOSE]))

proctype store_buffer(byte c)
{
end:	do
	:: d_step { buffer[c]??[IN] -> buffer[c]??IN; visible(c, IN) }
	:: d_step { buffer[c]??[CLOCK] -> buffer[c]??CLOCK; visible(c, CLOCK) }
	:: d_step { buffer[c]??[CLOSE] -> buffer[c]??CLOSE; visible(c, CLOSE) }
#ifdef BROKEN_R
	:: d_step { buffer[c]??[OUT] -> buffer[c]??OUT; visible(c, OUT) }
#else
	:: d_step { buffer[c]?[OUT] -> buffer[c]?OUT; visible(c, OUT) }
#endif
	:: d_step { buffer[c]?[OPEN] -> buffer[c]?OPEN; visible(c, OPEN) }
	od
}
#endif

#define in_of(c, me)	(c == me -> cpu[c].in : cpu[c].seen_in)
#define out_of(c, me)	(c == me -> cpu[c].out : cpu[c].seen_out)
#define clock_of(c, me)	(c == me -> cpu[c].clock : cpu[c].seen_clock)

inline lock_gate()
{
	d_step { !lock -> lock = true }
}

inline unlock_gate(me)
{
	d_step { flushed(me) -> lock = false }
}

#define may_lock(t, me)	(!token[t].mutex && (token[t].cpu == me || flushed(token[t].cpu)))

inline lock_mutex(t, me)
{
	token[t].mutex = true;
	token[t].cpu = me
}

inline unlock_mutex(t)
{
	token[t].mutex = false
}

/* ghosts: who has been before whom */
inline comes(t)
{
	token[t].ahead = unserved
}

inline queues(t)
{
	unserved = unserved | (1 << t)
}

inline is_gone(t)
{
	unserved = unserved & ~(1 << t);
	for (i : 0 .. TOKENS - 1) {
		token[i].ahead = token[i].ahead & ~(1 << t)
	}
}

/* Who came first has been served, or has given up. */
#define served(t)	!token[t].ahead

/* A newcomer is let in. */
inline enters(t)
{
	assert(holder == NOBODY && served(t));
	in_flight++
}

/* It reaches the queue of its first entity. */
inline arrives(t)
{
	assert(holder == NOBODY && served(t));
	is_gone(t)
}

/*
 * drain(), drained(); @sum and @clocks are locals.  Under the gate's lock, but
 * the counters move.
 */
inline drain(me, sum, clocks)
{
	if
	:: awaited != NOBODY ->
#ifdef BROKEN_D
		clocks = clock_of(0, me) + clock_of(1, me);
#endif
		sum = out_of(0, me);
		sum = sum + out_of(1, me);
		/* D */
		sum = sum - in_of(0, me);
		sum = sum - in_of(1, me);
#ifndef BROKEN_D
		clocks = clock_of(0, me) + clock_of(1, me);	/* el_fence_max() */
#endif
		d_step {
			if
#ifdef BROKEN_GRANT
			:: !sum ->
#else
			:: !sum && token[awaited].state == PENDING ->
#endif
				assert(!in_flight);
				assert(clocks == cpu[0].clock + cpu[1].clock);
				assert(holder == NOBODY);
				assert(served(awaited));
				token[awaited].state = HELD;
				holder = awaited;
				awaited = NOBODY
			:: else
			fi;
			sum = 0;
			clocks = 0
		}
	:: else
	fi
}

/* next_phase(), under the gate's lock */
inline next_phase(me, next, sum, clocks)
{
	d_step {
		if
		:: holder != NOBODY || awaited != NOBODY
		:: else ->
			if
#ifdef BROKEN_OPEN
			:: true ->
#else
			:: len(queue) == 0 ->
#endif
				assert(len(queue) == 0);
				store(me, OPEN)
			:: else ->
				queue?<next>;
				if
				:: is_gate(next) -> queue?next; awaited = next
				:: else -> kicked = true
				fi;
				next = 0
			fi
		fi
	};
	drain(me, sum, clocks)
}

/* el_gate_leave(), up to the unlock; the token can no longer be granted */
inline leave_gate(t, me, next, sum, clocks)
{
	lock_gate();
	d_step {
#ifdef BROKEN_GIVEUP
		next = holder == t;
#endif
		if
		:: holder == t -> holder = NOBODY
		:: awaited == t -> awaited = NOBODY
		:: queue??[eval(t)] -> queue??eval(t)
		:: else
		fi;
		is_gone(t)
	};
#ifdef BROKEN_GIVEUP
	/* A request that was given up has kept nobody out? */
	if
	:: next -> next = 0; next_phase(me, next, sum, clocks)
	:: else
	fi;
#else
	next_phase(me, next, sum, clocks);
#endif
	unlock_gate(me)
}

#define PASSED		1
#define QUEUED		2
#define REFUSED		3

/* A thread with a token for entities: it locks, and releases or gives up. */
proctype operation(byte t)
{
	byte me, r, next, sum, clocks, rounds;
	bool refuse;

	do
	:: rounds == ROUNDS(t) -> break
	:: rounds < ROUNDS(t) ->
	   /* el_attempt_lock(), el_gate_enter() */
	   atomic {
		if
		:: may_lock(t, 0) -> me = 0
		:: WEAK && may_lock(t, 1) -> me = 1
		fi;
		lock_mutex(t, me);
		rounds++;
		if
		:: true
		:: MAY_REFUSE(t) -> refuse = true
		fi;
		d_step {
			token[t].state = PENDING;
			token[t].entered = true;
			comes(t);
			store(me, IN)
		}
	   };
#ifndef BROKEN_A
	   flushed(me);		/* A */
#endif
	   d_step {
		r = (sees_closing(me) -> 0 : PASSED);
		if
		:: r == PASSED -> enters(t)
		:: else
		fi
	   };
	   if
	   :: r != PASSED ->	/* enter_slow() */
		lock_gate();
		d_step {
			if
			:: !sees_closing(me) ->
				r = PASSED;
				enters(t)
			:: else ->
				store(me, OUT);
				token[t].entered = false;
				if
				:: refuse -> r = REFUSED
				:: else -> r = QUEUED; queue!t; queues(t)
				fi
			fi
		};
#ifndef BROKEN_BOUNCE
		if
		:: r != PASSED -> drain(me, sum, clocks)
		:: else
		fi;
#endif
		unlock_gate(me)
	   :: else
	   fi;
	   d_step {
		refuse = false;
		if
		:: r == PASSED -> token[t].state = HELD; store(me, CLOCK)
		:: else
		fi
	   };
	   unlock_mutex(t);
	   if
	   :: r == QUEUED ->
		if
		:: token[t].state == HELD
		:: MAY_EXPIRE(t)
		fi
	   :: else
	   fi;

	   /* give_up() or release(); another CPU may do it */
	   atomic {
		if
		:: may_lock(t, 0) -> me = 0
		:: WEAK && may_lock(t, 1) -> me = 1
		fi;
		lock_mutex(t, me);
		token[t].state = LEAVING
	   };
	   if
	   :: !token[t].entered -> leave_gate(t, me, next, sum, clocks)
	   :: else ->
		/* el_gate_exit() */
		d_step {
			token[t].entered = false;
			in_flight--;
			store(me, OUT)
		};
#ifndef BROKEN_B
		flushed(me);	/* B */
#endif
		if
		:: sees_closing(me) ->
			lock_gate();
			drain(me, sum, clocks);
			unlock_gate(me)
		:: else
		fi
	   fi;
	   d_step {
		assert(token[t].state == LEAVING);
		token[t].state = IDLE;
		r = 0
	   };
	   unlock_mutex(t);
	   me = 0
	od;
	atomic { rounds = 0; running-- }
}

/* A thread with a token for the gate. */
proctype request(byte t)
{
	byte me, next, sum, clocks;
	bool refuse;

	/* el_attempt_lock(), el_gate_request() */
	atomic {
		if
		:: may_lock(t, 0) -> me = 0
		:: WEAK && may_lock(t, 1) -> me = 1
		fi;
		lock_mutex(t, me);
		if
		:: true
		:: MAY_REFUSE(t) -> refuse = true
		fi;
		token[t].state = PENDING;
		d_step { comes(t) }
	};
	lock_gate();
	if
	:: !sees_closing(me) ->
		d_step { awaited = t; store(me, CLOSE) };
#ifndef BROKEN_C
		d_step { flushed(me) -> queues(t) };	/* C */
#endif
		drain(me, sum, clocks);
		if
		:: holder != t && refuse ->
			d_step { awaited = NOBODY; is_gone(t) };
			next_phase(me, next, sum, clocks)
		:: else
		fi
	:: sees_closing(me) && !refuse -> d_step { queue!t; queues(t) }
	:: sees_closing(me) && refuse
	fi;
	unlock_gate(me);
	unlock_mutex(t);
	if
	:: token[t].state == HELD || token[t].state == LOST
	:: MAY_EXPIRE(t) || refuse
	fi;

	/* give_up() or release(), or what the worker does with a LOST token */
	atomic {
		if
		:: may_lock(t, 0) -> me = 0
		:: WEAK && may_lock(t, 1) -> me = 1
		fi;
		lock_mutex(t, me);
		if
		:: token[t].state != LOST -> token[t].state = LEAVING
		:: else
		fi;
		refuse = false
	};
	leave_gate(t, me, next, sum, clocks);
	d_step {
		assert(token[t].state == LEAVING || token[t].state == LOST);
		token[t].state = IDLE
	};
	unlock_mutex(t);
	d_step { me = 0; running-- }
}

/* el_gate_break(), el_token_lose(); the same is done where a lease has run out */
proctype breaker()
{
	byte next, sum, clocks;

	lock_gate();
	d_step {
		if
		:: holder != NOBODY && token[holder].state != LEAVING ->
			token[holder].state = LOST;
			is_gone(holder);
			holder = NOBODY;
			next = 1
		:: else
		fi
	};
	if
	:: next -> next = 0; next_phase(0, next, sum, clocks)
	:: else
	fi;
	unlock_gate(0);
	running--
}

/* domain_work(): el_gate_first(), el_attempt_admit(), el_gate_admit() */
#define WORKER_CPU	0
#define first_operation	(holder == NOBODY && awaited == NOBODY && len(queue) > 0)

proctype worker()
{
	byte t, next, sum, clocks;

end:	do
	:: atomic { kicked -> kicked = false; working = true };
	   do
	   :: d_step {
		!lock;
		t = NOBODY;
		if
		:: first_operation ->
			queue?<t>;
			if
			:: is_gate(t) -> t = NOBODY
			:: else
			fi
		:: else
		fi
	      };
	      if
	      :: t == NOBODY -> break
	      :: else
	      fi;
	      atomic { may_lock(t, WORKER_CPU) -> lock_mutex(t, WORKER_CPU) };
	      if
	      :: token[t].state == PENDING ->
		lock_gate();
		d_step {
			next = NOBODY;
			if
#ifdef BROKEN_FIRST
			:: queue??[eval(t)] -> next = t
#else
			:: first_operation -> queue?<next>
#endif
			:: else
			fi;
			if
			:: next == t ->
				queue??eval(t);
				token[t].entered = true;
				in_flight++;
#ifndef BROKEN_ARRIVE
				arrives(t);
#endif
				store(WORKER_CPU, IN)
			:: else
			fi;
			next = 0
		};
		if
		:: token[t].entered -> next_phase(WORKER_CPU, next, sum, clocks)
		:: else
		fi;
		unlock_gate(WORKER_CPU);
		d_step {
			if
			:: token[t].entered ->
#ifdef BROKEN_ARRIVE
				arrives(t);
#endif
				token[t].state = HELD;
				store(WORKER_CPU, CLOCK)
			:: else
			fi
		}
	      :: else
	      fi;
	      unlock_mutex(t)
	   od;
	   atomic { t = 0; working = false }
	od
}

init
{
	byte n;

	atomic {
		running = TOKENS + BREAKS;
#ifndef STRONG
		run store_buffer(0);
		run store_buffer(1);
#endif
		run worker();
		if
		:: BREAKS -> run breaker()
		:: else
		fi;
		do
		:: n < OPS -> run operation(n); n++
		:: n >= OPS && n < TOKENS -> run request(n); n++
		:: n == TOKENS -> n = 0; break
		od
	};
	d_step {
		!running && !kicked && !working;
		assert(!closing && !lock && empty(queue) && !in_flight);
		assert(awaited == NOBODY && holder == NOBODY);
		assert(cpu[0].seen_in + cpu[1].seen_in == cpu[0].seen_out + cpu[1].seen_out)
	}
}
