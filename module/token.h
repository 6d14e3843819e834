/* SPDX-License-Identifier: GPL-2.0 */
/* Tokens: what a token fd stands for, and its states. */
#ifndef EL_TOKEN_H
#define EL_TOKEN_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/entitylock.h>

#include "queue.h"
#include "stats.h"

struct el_alarm;
struct el_domain;
struct el_lease;
struct el_parking;
struct el_user;
struct file;
struct pid;

/*
 * A state inside the module, beyond those of the header.  The token can not be
 * granted; whoever set it holds the token's mutex, and sets another state
 * before letting it go.
 */
#define EL_LEAVING	4	/* gives up an attempt, or what it holds */

/* What an attempt raises. */
enum el_attempt_kind {
	EL_NOTHING,
	EL_LOCK,	/* from nothing to the whole set, or the gate */
	EL_RAISE,	/* EXTEND, CONVERT: from what it holds to more */
};

/* How a hold ends, or becomes less; from EL_UNLOCKED on what it held may have changed. */
enum el_end {
	EL_UNDONE,	/* its attempt fails: as if it had never been */
	EL_TAKEN_BACK,	/* the same after the grant, whose number stays used */
	EL_UNCHANGED,	/* by UNLOCK, which says that nothing has changed */
	EL_UNLOCKED,	/* by UNLOCK, or a downgrade */
	EL_VANISHED,	/* by the last close, by the end of its lease, by BREAK */
};

/**
 * struct el_label - what an operation is, as told by its owner
 * @len: bytes of @text
 * @text: the label
 */
struct el_label {
	u8 len;
	char text[];
};

/**
 * struct el_waiter - a verb that blocks, on the stack of its thread
 * @task: the thread.
 * @result: -EINPROGRESS until the attempt has ended; token's lock.
 * @step: a hold was granted, and the attempt needs more: @task goes on.
 * @told: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED
 * @fence: number of the grant, if @result is 0.
 *
 * Whoever ends the attempt writes it and wakes @task under the token's lock,
 * which @task passes once more before it lets the memory go.
 */
struct el_waiter {
	struct task_struct *task;
	int result;
	bool step;
	u8 told;
	u64 fence;
};

#define EL_WAITER_INIT	{ .task = current, .result = -EINPROGRESS }

/**
 * struct el_token - one operation
 * @mutex: serialises verbs and the worker: it guards the set and the attempt,
 *	and is held from the start of a transition to its end, never while a
 *	verb waits or touches user memory.
 * @lock: guards @state, @fence, @error, @waiter, @owner, @comm, @label, @since,
 *	@queued.
 *	It nests inside an entity's lock and the gate's.  Who has not got it reads what is
 *	marked there (READ_ONCE(), or an acquire of @state), and knows it may be old.
 * @refs: the file's reference, and short ones: of those who grant, and of
 *	the worker.
 * @count: entities in @set, 0 for a gate token; @mutex.
 * @state: ENTITYLOCK_* or EL_LEAVING.  From IDLE only the owner of @mutex may
 *	lead away.  Changes under @lock, but for that and EL_LEAVING's end.
 * @kind: of the attempt; @mutex.
 * @gate: a token for the gate; constant.
 * @sealed: refuses EXTEND, RENEW, PARK; constant.
 * @entered: counted in at the gate; @mutex.
 * @watching: holds, or @gate_watch, may be in lists of watchers; @mutex.
 * @async: the attempt goes on without a verb that blocks; @mutex.
 * @robust: exclusive holds that vanish leave a mark; @mutex.
 * @checks: the attempt fails if a hold's entity has changed, see there; @mutex.
 * @partial: lost while an attempt was under way; @lock.
 * @doomed: lost while it was EL_LEAVING; @lock.
 * @result: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED, of the attempt.  Written
 *	like @floor.
 * @refused: why the attempt must not be granted though it has all, 0 or
 *	negative errno.  Written like @floor.
 * @error: of the last asynchronous wait, 0 or negative errno.
 * @pos: index in @set of the hold that the attempt has come to; @mutex.
 * @end: index after the last hold that the attempt must raise; @mutex.
 * @top: number of holds from the start of @set up to the last one that was
 *	held when the attempt began; @mutex.
 * @attempt: number of the attempt; written under @mutex, before others can see
 *	that the token is PENDING.
 * @granted: number of the attempt that brought @fence; @lock.
 * @reserved: marks that its robust holds may leave; @mutex, and the lock of the
 *	entity, or the gate, whose hold ends.
 * @fence: number of the last grant, 0 if there was none.
 * @floor: what the next grant's number must exceed: those of its own grants, also
 *	of one that was taken back, and what the entities taken so far tell.
 *	Written by whoever grants the hold at @pos, under its entity's lock, or
 *	the gate's; by a grant.
 * @set: holds in the order of their entities' names; @mutex.  Points to
 *	@single for a token over one entity.
 * @single: the element of @set for a token over one entity.
 * @hold: the hold on the first entity that ACQUIRE named.
 * @domain: constant; a reference.
 * @waiter: the verb that blocks, if one does.
 * @since: jiffies when @state last changed.
 * @queued: when the attempt began to wait, by the monotonic clock, 0 = it does
 *	not; @lock.
 * @lease_len: nanoseconds of the lease, of this or the next grant, 0 = none;
 *	@mutex.
 * @lease_end: when it ends, by the clock that counts suspend; 0 = there is none;
 *	@lock.
 * @parking: the place of a parked token; @mutex.
 * @parked: it has one, so its lease neither ends with what it holds nor begins
 *	with a grant; @lock.
 * @alarm: end of the wait of an asynchronous attempt, see wait.c; @mutex.
 * @lease: what a lease needs, made with the first one; @mutex and @lock.
 * @user: who is charged for @reserved; constant once set; a reference; @mutex.
 * @wait: those who poll.
 * @gate_link: in the gate's queue; gate's lock.  Whoever queues there has no hold
 *	in any list, so it has the place of @hold's link.
 * @gate_watch: in the gate's watchers; gate's lock.
 * @work: carries the attempt on, or ends what a LOST token held; with a reference
 *	while it is queued or runs.
 * @id: unique while the module is loaded; constant.
 * @owner: thread group that made the token, or labelled it last; a reference.
 * @comm: name of its leader then.
 * @label: what it is, or NULL.
 *
 * What comes before @count is constructed once, and as it was when the token ends.
 *
 * Life: the token fd's file holds a reference and drops it in ->release(),
 * after it has given back all that the token holds and waits for.  The memory
 * may outlive that for as long as a short reference does.
 */
struct el_token {
	/* Constructed once. */
	struct mutex mutex;	/* one transition at a time */
	spinlock_t lock;	/* what a transition ends with */
	refcount_t refs;
	wait_queue_head_t wait;
	struct hlist_node gate_watch;
	struct work_struct work;

	/* Zero at first. */
	u16 count;
	u16 pos;
	u16 end;
	u16 top;
	u8 state;
	u8 kind;
	bool gate;
	bool sealed;
	bool entered;
	bool watching;
	bool async;
	bool robust;
	bool checks;
	bool partial;
	bool doomed;
	bool parked;
	u8 result;
	s16 refused;
	s16 error;
	u32 attempt;
	u32 granted;
	atomic_t reserved;
	u64 fence;
	u64 floor;
	struct el_hold **set;
	struct el_hold *single;
	union {
		struct el_hold hold;
		struct list_head gate_link;
	};
	struct el_domain *domain;
	struct el_waiter *waiter;
	u64 since;
	u64 queued;
	u64 lease_len;
	u64 lease_end;
	struct el_parking *parking;
	struct el_alarm *alarm;

	/* Neither read nor written by a plain LOCK and UNLOCK. */
	struct el_lease *lease;
	struct el_user *user;
	u64 id;
	struct pid *owner;
	char comm[TASK_COMM_LEN];
	struct el_label *label;
};

/*
 * The next one in memory may begin in the cache line in which this one ends: two that have
 * nothing to do with each other shall not write the same one.
 */
static_assert(sizeof(struct el_token) - offsetof(struct el_token, lease) >= 64 - 8);

static_assert(offsetof(struct el_token, gate_link) == offsetof(struct el_token, hold.link));

/* What el_token_lose() found. */
enum el_loss {
	EL_KEPT,	/* it carries another number */
	EL_LOST,	/* LOST: its holds are to be ended */
	EL_GOING,	/* about to end what it holds, or to be LOST */
};

#define el_for_each_hold(hold, token, i) \
	for ((i) = 0; (i) < (token)->count && ((hold) = (token)->set[i], true); (i)++)

int el_tokens_init(void);
void el_tokens_exit(void);

struct el_token *el_token_new(struct el_domain *domain, struct el_label *label);
void el_token_get(struct el_token *token);
void el_token_put(struct el_token *token);
struct file *el_token_file(struct el_token *token);
struct el_token *el_token_of(struct file *file);

struct el_hold *el_hold_first(struct el_token *token, struct el_entity *entity, u8 mode);
struct el_hold *el_hold_new(struct el_token *token, struct el_entity *entity, u8 mode);
void el_hold_free(struct el_hold *hold);

struct el_label *el_label_read(u64 user, u32 len);
void el_token_own(struct el_token *token);
void el_token_set_owner(struct el_token *token, struct el_label *label);

bool el_token_raise(struct el_token *token);
bool el_token_grant(struct el_token *token);
int el_token_renew(struct el_token *token, u64 lease);
int el_token_park(struct el_token *token, u64 lease);
void el_token_unpark(struct el_token *token);
void el_token_failed(struct el_token *token, int error);
void el_token_succeeded(struct el_token *token);
void el_token_ungrant(struct el_token *token, u64 fence, u32 granted);
void el_token_left(struct el_token *token, u8 state, int error);
u64 el_token_age(const struct el_token *token);
enum el_loss el_token_expire(struct el_token *token, const struct el_hold *at);
enum el_loss el_token_lose(struct el_token *token, u64 fence, const struct el_hold *at);

void el_token_todo(struct el_token *token);
void el_token_step(struct el_token *token);

/* el_token_check - 0 if it is in that state, -ESTALE if LOST, else -EBADFD */
static inline int el_token_check(const struct el_token *token, u8 state)
{
	/* Acquire: what came with the state, without the token's lock (el_token_set_state()). */
	u8 is = smp_load_acquire(&token->state);

	if (likely(is == state))
		return 0;
	return is == ENTITYLOCK_LOST ? -ESTALE : -EBADFD;
}

/* el_token_check_sealed - 0, -EPERM for what a sealed token refuses, -ESTALE if LOST */
static inline int el_token_check_sealed(const struct el_token *token)
{
	if (likely(!token->sealed))
		return 0;
	return READ_ONCE(token->state) == ENTITYLOCK_LOST ? -ESTALE : -EPERM;
}

/* el_token_next_attempt - its number; 0 is that of none */
static inline u32 el_token_next_attempt(const struct el_token *token)
{
	return token->attempt + 1 ?: 1;
}

/* el_token_set_state - from one state into the next; token's lock, if that guards it */
static inline void el_token_set_state(struct el_token *token, u8 state)
{
	/* Pairs with the acquire in give_up(), which looks without the lock. */
	smp_store_release(&token->state, state);
	token->since = get_jiffies_64();
}

/**
 * el_token_pend - an attempt begins
 * @token: an IDLE token: nobody can meet one that holds nothing, or take it from here;
 *	or another, under its lock
 * @kind: what it raises
 */
static inline void el_token_pend(struct el_token *token, enum el_attempt_kind kind)
{
	lockdep_assert_held(&token->mutex);
	token->attempt = el_token_next_attempt(token);
	token->async = false;
	token->kind = kind;
	el_token_set_state(token, ENTITYLOCK_PENDING);
}

/**
 * el_token_leave - begin to give up an attempt, or what is held
 * @token: the token
 * @from: the state that is to be left
 *
 * Return: false if the token is not in that state (any more).  Otherwise it can
 * be granted no longer, and the caller will call el_token_left().
 */
static inline bool el_token_leave(struct el_token *token, u8 from)
{
	bool left;

	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	left = token->state == from;
	if (left && from == ENTITYLOCK_HELD)
		el_stats_release(token);
	if (left)
		WRITE_ONCE(token->state, EL_LEAVING);
	spin_unlock(&token->lock);
	return left;
}

#endif /* EL_TOKEN_H */
