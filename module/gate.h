/* SPDX-License-Identifier: GPL-2.0 */
/* The gate of a domain: held, it excludes every other operation. */
#ifndef EL_GATE_H
#define EL_GATE_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "breakage.h"
#include "token.h"

struct el_domain;
struct el_token;

/* Operations that came in, and that went out, on one CPU. */
struct el_gate_count {
	unsigned long in;
	unsigned long out;
};

/**
 * struct el_gate - the gate of a domain
 * @count: per CPU.  An operation may go out on another CPU than it came in:
 *	only the sums over all CPUs mean something.
 * @closing: newcomers queue here.  Written under @lock, read without.
 * @version: when a gate hold last ended: a change of every name.  Written under
 *	@lock, read without.
 * @floor: what the fence of every grant must exceed: that of the last gate.
 *	Written under @lock while nothing is in flight, read without.
 * @lock: guards all that follows, and the transitions of @closing.
 * @queue: tokens in order of arrival, operations and requests for the gate.
 * @nr_queued: length of @queue.
 * @awaited: the request for which those in flight are drained; not in @queue.
 * @holder: the token that holds the gate.
 * @mark: who is charged for the mark that it was abandoned; NULL = no mark.
 * @watchers: tokens that want to know when the gate is awaited, see watch.c.
 * @noticed: a notice to @watchers is under way.
 *
 * @closing is set while there is a @holder, an @awaited, or an element of @queue.
 */
struct el_gate {
	struct el_gate_count __percpu *count;
	bool closing;
	u64 floor;
	u64 version;

	spinlock_t lock ____cacheline_aligned_in_smp;
	struct list_head queue;
	u32 nr_queued;
	struct el_token *awaited;
	struct el_token *holder;
	bool noticed;
	struct el_user *mark;
	struct hlist_head watchers;
};

int el_gate_init(struct el_gate *gate);
void el_gate_destroy(struct el_gate *gate);
unsigned long el_gate_in_flight(const struct el_gate *gate);
int el_gate_enter_slow(struct el_token *token, bool wait);
void el_gate_exit_slow(struct el_gate *gate);
int el_gate_request(struct el_token *token, bool wait);
void el_gate_leave(struct el_token *token, enum el_end how);
void el_gate_lease(struct el_token *token);
bool el_gate_drop_mark(struct el_domain *domain);
int el_gate_break(struct el_domain *domain, u64 fence);
struct el_token *el_gate_first(struct el_domain *domain);
void el_gate_admit(struct el_token *token, void (*arrive)(struct el_token *token));

/*
 * Nobody else writes this CPU's counters while preemption is off, as no
 * interrupt does.
 */
static inline void el_gate_count_in(struct el_gate *gate)
{
	this_cpu_inc(gate->count->in);
}

static inline void el_gate_count_out(struct el_gate *gate)
{
	struct el_gate_count *count;

	preempt_disable();
	count = this_cpu_ptr(gate->count);
	/* R: pairs with D. */
	smp_store_release(&count->out, count->out + 1);
	preempt_enable();
}

/**
 * el_gate_enter - count an operation in
 * @gate: the gate of its domain
 * @token: the operation
 * @wait: queue if the gate is held or awaited
 *
 * Context: the token's mutex is held.
 * Return: 0, -EINPROGRESS if it was queued, or -EAGAIN.
 */
static inline int el_gate_enter(struct el_gate *gate, struct el_token *token, bool wait)
{
	lockdep_assert_held(&token->mutex);
	token->entered = true;
	el_gate_count_in(gate);
	smp_mb();	/* A: pairs with C, see gate.c. */
	/* Acquire: whoever finds it open sees the last gate's floor. */
	if (likely(!smp_load_acquire(&gate->closing)) || el_break_gateleak())
		return 0;
	return el_gate_enter_slow(token, wait);
}

/**
 * el_gate_exit - count an operation out
 * @gate: the gate of its domain
 * @token: an operation that was counted in
 *
 * Context: the token's mutex is held, and no lock of an entity.
 */
static inline void el_gate_exit(struct el_gate *gate, struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	token->entered = false;
	el_gate_count_out(gate);
	smp_mb();	/* B: pairs with C, see gate.c. */
	if (unlikely(READ_ONCE(gate->closing)))
		el_gate_exit_slow(gate);
}

#endif /* EL_GATE_H */
