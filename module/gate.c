// SPDX-License-Identifier: GPL-2.0
/*
 * The gate: in its plain form a reader-writer lock that operations pass in
 * read mode only long enough to count themselves in, and a count that anyone
 * may give back.  Whoever takes the write side then waits for the count to be
 * zero.  Two phases, therefore: newcomers are stopped (@closing), and those in
 * flight are drained.
 *
 * What makes the entry cheap is that neither phase has a cache line which two
 * operations on two CPUs both write: @closing is only read, and the count is
 * two per-CPU counters that only rise.
 *
 *   operation enters           operation goes           gate is asked for
 *   ----------------           --------------           -----------------
 *   in[cpu]++                  out[cpu]++ (R: release)  lock; closing = 1
 *   A: smp_mb()                B: smp_mb()              C: smp_mb()
 *   if closing:                if closing:              sum out
 *     lock; out[cpu]++           lock; drain            D: smp_rmb()
 *     queue; drain; unlock       unlock                 sum in
 *                                                       equal: granted; unlock
 *
 * What operations do is in gate.h, so that it costs them no call.
 *
 * A and C: either the newcomer sees @closing, or the sum has its "in".
 * B and C: either the leaver sees @closing and drains, or the sum has its "out".
 * R and D: a sum that has an "out" also has the "in" which came before it, so
 * that the difference never looks less than what is in flight.
 *
 * A newcomer that finds the gate closing counts itself out again, and queues.
 * The queue is first come, first served, so the phases alternate: operations
 * that came while a gate was held or awaited are admitted before the next
 * request for the gate that came after them.
 *
 * Operations are admitted by the domain's worker, one after the other.  Each
 * reaches the queue of its first entity under the gate's lock, before the next one
 * or a newcomer is let in: so they arrive there in the order in which they came.
 *
 * Lock order: token's mutex, gate's lock, an entity's lock, token's lock.
 */
#include <linux/percpu.h>

#include "domain.h"
#include "fence.h"
#include "gate.h"
#include "lease.h"
#include "mark.h"
#include "token.h"
#include "trace.h"
#include "watch.h"

int el_gate_init(struct el_gate *gate)
{
	gate->count = alloc_percpu_gfp(struct el_gate_count, GFP_KERNEL_ACCOUNT);
	if (!gate->count)
		return -ENOMEM;
	spin_lock_init(&gate->lock);
	INIT_LIST_HEAD(&gate->queue);
	INIT_HLIST_HEAD(&gate->watchers);
	return 0;
}

void el_gate_destroy(struct el_gate *gate)
{
	WARN_ON_ONCE(gate->holder || gate->awaited || !list_empty(&gate->queue));
	if (gate->mark)
		el_mark_drop(gate->mark);
	free_percpu(gate->count);
}

/* el_gate_in_flight - operations that are counted in; never less than there are */
unsigned long el_gate_in_flight(const struct el_gate *gate)
{
	unsigned long in = 0, out = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		out += READ_ONCE(per_cpu_ptr(gate->count, cpu)->out);
	/* D: pairs with R. */
	smp_rmb();
	for_each_possible_cpu(cpu)
		in += READ_ONCE(per_cpu_ptr(gate->count, cpu)->in);
	return in - out;
}

/* Grant the gate if it is awaited and nothing is in flight. */
static void drain(struct el_gate *gate)
{
	struct el_token *token = gate->awaited;

	lockdep_assert_held(&gate->lock);
	if (!token || el_gate_in_flight(gate))
		return;
	token->result = gate->mark ? ENTITYLOCK_ABANDONED : 0;
	/* Raised by all that was granted before, which the sum has seen. */
	token->floor = max(token->floor, el_fence_max());
	if (!el_token_grant(token))
		return;		/* it gives up, and will leave */
	WRITE_ONCE(gate->floor, token->fence);
	if (READ_ONCE(token->lease_end))
		el_token_todo(token);
	gate->holder = token;
	WRITE_ONCE(gate->awaited, NULL);
}

static void enqueue(struct el_gate *gate, struct el_token *token)
{
	el_stats_wait(token);
	el_trace(queue, token, NULL);
	list_add_tail(&token->gate_link, &gate->queue);
	gate->nr_queued++;
	if (gate->holder) {
		el_watch_notice_gate(token->domain);
		el_lease_arm(gate->holder);
	}
}

static void dequeue(struct el_gate *gate, struct el_token *token)
{
	list_del_init(&token->gate_link);
	gate->nr_queued--;
}

/* The operation at the front of the queue, if nothing is in its way. */
static struct el_token *first_operation(struct el_gate *gate)
{
	struct el_token *token;

	lockdep_assert_held(&gate->lock);
	if (gate->holder || gate->awaited)
		return NULL;
	token = list_first_entry_or_null(&gate->queue, struct el_token, gate_link);
	return token && !token->gate ? token : NULL;
}

/*
 * The gate was released, or its first request given up: on with whoever came
 * next.  Operations are admitted by the worker.
 */
static void next_phase(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;
	struct el_token *token;

	lockdep_assert_held(&gate->lock);
	if (gate->holder || gate->awaited)
		return;
	token = list_first_entry_or_null(&gate->queue, struct el_token, gate_link);
	if (!token) {
		/* Newcomers that see this also see the floor. */
		smp_store_release(&gate->closing, false);
	} else if (token->gate) {
		dequeue(gate, token);
		WRITE_ONCE(gate->awaited, token);
		el_trace(gate_await, token, NULL);
		el_watch_notice_gate(domain);
		el_lease_notice_gate(domain);
		drain(gate);
	} else {
		el_domain_kick(domain);
	}
}

/* The holder's hold ends, and the gate remembers what it must. */
static void end_hold(struct el_domain *domain, enum el_end how)
{
	struct el_gate *gate = &domain->gate;
	struct el_token *token = gate->holder;

	lockdep_assert_held(&gate->lock);
	gate->holder = NULL;
	if (how >= EL_UNLOCKED) {
		WRITE_ONCE(gate->version, token->fence);
		el_watch_notice_gate(domain);
	}
	if (how == EL_VANISHED && token->robust && !gate->mark) {
		gate->mark = el_mark_take(token);
		el_trace(abandon, token, NULL);
	}
}

/* Somebody wants what the gate's holder has: its lease may have run out. */
static void expire_holder(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;

	lockdep_assert_held(&gate->lock);
	if (!gate->holder || el_token_expire(gate->holder, NULL) != EL_LOST)
		return;
	end_hold(domain, EL_VANISHED);
	next_phase(domain);
}

/* el_gate_lease - its lease begins: those who wait shall know when it ends */
void el_gate_lease(struct el_token *token)
{
	struct el_gate *gate = &token->domain->gate;

	spin_lock(&gate->lock);
	if (gate->holder == token && gate->nr_queued)
		el_lease_arm(token);
	spin_unlock(&gate->lock);
}

/* el_gate_enter_slow - el_gate_enter() of one that was counted in, and saw it closing */
int el_gate_enter_slow(struct el_token *token, bool wait)
{
	struct el_gate *gate = &token->domain->gate;
	int ret = 0;

	lockdep_assert_held(&token->mutex);
	spin_lock(&gate->lock);
	expire_holder(token->domain);
	if (gate->closing) {
		el_gate_count_out(gate);
		token->entered = false;
		if (wait)
			enqueue(gate, token);
		ret = wait ? -EINPROGRESS : -EAGAIN;
		drain(gate);
	}
	spin_unlock(&gate->lock);
	return ret;
}

/* el_gate_exit_slow - what el_gate_exit() does when the gate may wait for it */
void el_gate_exit_slow(struct el_gate *gate)
{
	spin_lock(&gate->lock);
	drain(gate);
	spin_unlock(&gate->lock);
}

/**
 * el_gate_request - ask for the gate
 * @token: a pending gate token
 * @wait: queue, and let newcomers queue behind
 *
 * Context: the token's mutex is held.
 * Return: 0 if it was granted, -EINPROGRESS or -EAGAIN.
 */
int el_gate_request(struct el_token *token, bool wait)
{
	struct el_domain *domain = token->domain;
	struct el_gate *gate = &domain->gate;
	int ret = wait ? -EINPROGRESS : -EAGAIN;

	lockdep_assert_held(&token->mutex);
	spin_lock(&gate->lock);
	expire_holder(domain);
	if (!gate->closing) {
		WRITE_ONCE(gate->awaited, token);
		WRITE_ONCE(gate->closing, true);
		smp_mb();	/* C: pairs with A and B. */
		drain(gate);
		if (gate->holder == token) {
			ret = 0;
		} else if (wait) {
			el_stats_wait(token);
			el_trace(gate_await, token, NULL);
			el_watch_notice_gate(domain);
			el_lease_notice_gate(domain);
		} else {
			WRITE_ONCE(gate->awaited, NULL);
			next_phase(domain);
		}
	} else if (wait) {
		enqueue(gate, token);
	}
	spin_unlock(&gate->lock);
	return ret;
}

/**
 * el_gate_leave - a token gives the gate back, or waits at it no longer
 * @token: a gate token, or an operation that was queued
 * @how: how its hold ends, if it has the gate
 *
 * Context: the token's mutex is held; the token can no longer be granted.
 */
void el_gate_leave(struct el_token *token, enum el_end how)
{
	struct el_gate *gate = &token->domain->gate;

	lockdep_assert_held(&token->mutex);
	spin_lock(&gate->lock);
	if (gate->holder == token)
		end_hold(token->domain, how);
	else if (gate->awaited == token)
		WRITE_ONCE(gate->awaited, NULL);
	else if (!list_empty(&token->gate_link))
		dequeue(gate, token);
	next_phase(token->domain);
	spin_unlock(&gate->lock);
}

/* el_gate_drop_mark - its holder says that all is well; was there a mark? */
bool el_gate_drop_mark(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;
	struct el_user *user;

	spin_lock(&gate->lock);
	user = gate->mark;
	gate->mark = NULL;
	spin_unlock(&gate->lock);
	if (user)
		el_mark_drop(user);
	return user;
}

/**
 * el_gate_break - take the gate from its holder
 * @domain: the domain
 * @fence: only from a holder of this number, 0 = from any
 *
 * Return: 0, also where nobody holds it but a mark was dropped; -ESTALE if it
 * is not held with @fence; -ENOENT.
 */
int el_gate_break(struct el_domain *domain, u64 fence)
{
	struct el_gate *gate = &domain->gate;
	enum el_loss loss = EL_KEPT;
	bool gone = false;

	spin_lock(&gate->lock);
	if (gate->holder) {
		/* As for an entity: see el_entity_break(). */
		gone = READ_ONCE(gate->holder->state) == ENTITYLOCK_LOST;
		loss = el_token_lose(gate->holder, fence, NULL);
	}
	if (loss == EL_LOST) {
		end_hold(domain, EL_VANISHED);
		next_phase(domain);
	}
	spin_unlock(&gate->lock);

	if (loss != EL_KEPT && !gone)
		return 0;
	if (fence)
		return -ESTALE;
	return el_gate_drop_mark(domain) ? 0 : -ENOENT;
}

/**
 * el_gate_first - the operation that is to be admitted next
 * @domain: the domain
 *
 * Return: the operation, with a reference, or NULL.
 */
struct el_token *el_gate_first(struct el_domain *domain)
{
	struct el_gate *gate = &domain->gate;
	struct el_token *token;

	spin_lock(&gate->lock);
	token = first_operation(gate);
	if (token)
		el_token_get(token);
	spin_unlock(&gate->lock);
	return token;
}

/**
 * el_gate_admit - count an operation in whose turn has come
 * @token: the operation that was first a moment ago
 * @arrive: what puts it into the queue of its first entity
 *
 * It arrives there before the next one, or a newcomer, is let in.
 *
 * Context: the domain's worker; the token's mutex is held.
 */
void el_gate_admit(struct el_token *token, void (*arrive)(struct el_token *token))
{
	struct el_domain *domain = token->domain;
	struct el_gate *gate = &domain->gate;

	lockdep_assert_held(&token->mutex);
	spin_lock(&gate->lock);
	if (first_operation(gate) == token) {
		dequeue(gate, token);
		el_gate_count_in(gate);
		token->entered = true;
		arrive(token);
		next_phase(domain);
	}
	spin_unlock(&gate->lock);
}
