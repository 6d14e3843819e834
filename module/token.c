// SPDX-License-Identifier: GPL-2.0
/*
 * Tokens: life, states, and the file.
 *
 *              ACQUIRE OPEN                 LOCK, ACQUIRE
 *   (nothing) -------------> IDLE ------------------------> PENDING
 *                             ^  ^                           |   |
 *                             |  '---- refused, ended -------'   | granted
 *                             |                                  v
 *                             '----------- UNLOCK ------------ HELD
 *                                                              |   ^
 *                                       EXTEND, CONVERT up     v   | granted,
 *                                                            PENDING refused
 *
 *   BREAK, the end of a lease: from HELD, or PENDING with something held, to LOST, which is final.
 *
 * Each transition is one function here.  Between a state that is left and the
 * next one there is EL_LEAVING, in which holds are given back.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "attempt.h"
#include "breakage.h"
#include "domain.h"
#include "entity.h"
#include "fence.h"
#include "info.h"
#include "lease.h"
#include "stats.h"
#include "token.h"
#include "trace.h"
#include "uring.h"
#include "user.h"
#include "verbs.h"
#include "wait.h"
#include "watch.h"
#include "work.h"

static struct kmem_cache *el_token_cache;
static struct kmem_cache *el_hold_cache;
static DEFINE_PER_CPU(u64, el_token_ids);

static const struct file_operations el_token_fops;

static void token_work(struct work_struct *work)
{
	struct el_token *token = container_of(work, struct el_token, work);

	el_attempt_advance(token);
	el_token_put(token);
}

/* What is so again when a token ends, and need not be made for each. */
static void token_construct(void *memory)
{
	struct el_token *token = memory;

	mutex_init(&token->mutex);
	spin_lock_init(&token->lock);
	init_waitqueue_head(&token->wait);
	INIT_HLIST_NODE(&token->gate_watch);
}

int el_tokens_init(void)
{
	el_token_cache = kmem_cache_create("el_token", sizeof(struct el_token), 0,
					   SLAB_ACCOUNT, token_construct);
	if (!el_token_cache)
		return -ENOMEM;
	el_hold_cache = KMEM_CACHE(el_hold, SLAB_ACCOUNT);
	if (!el_hold_cache) {
		kmem_cache_destroy(el_token_cache);
		return -ENOMEM;
	}
	return 0;
}

void el_tokens_exit(void)
{
	kmem_cache_destroy(el_hold_cache);
	kmem_cache_destroy(el_token_cache);
}

/* Unique, without a counter that all CPUs write: each has its residue class. */
static u64 new_id(void)
{
	u64 id;

	preempt_disable();
	id = __this_cpu_inc_return(el_token_ids) * nr_cpu_ids + smp_processor_id();
	preempt_enable();
	return id;
}

static void hold_init(struct el_hold *hold, struct el_token *token,
		      struct el_entity *entity, u8 mode)
{
	hold->entity = entity;
	hold->token = token;
	hold->want = mode;
	INIT_LIST_HEAD(&hold->link);
	INIT_HLIST_NODE(&hold->watch);
}

/**
 * el_hold_first - the claim of a new token on its first entity
 * @token: the token
 * @entity: the entity; its reference goes to the hold
 * @mode: mode that it will ask for
 *
 * It is part of the token: one over a single entity needs no other memory.
 */
struct el_hold *el_hold_first(struct el_token *token, struct el_entity *entity, u8 mode)
{
	hold_init(&token->hold, token, entity, mode);
	return &token->hold;
}

/* el_hold_new - the same for further entities; NULL if there is no memory */
struct el_hold *el_hold_new(struct el_token *token, struct el_entity *entity, u8 mode)
{
	struct el_hold *hold = kmem_cache_zalloc(el_hold_cache, GFP_KERNEL);

	if (hold)
		hold_init(hold, token, entity, mode);
	return hold;
}

/* el_hold_free - the end of a claim that is in no list; its entity's reference goes */
void el_hold_free(struct el_hold *hold)
{
	struct el_token *token = hold->token;

	WARN_ON_ONCE(hold->mode || hold->waiting || !hlist_unhashed(&hold->watch));
	if (!el_break_entityleak())
		el_entity_put(token->domain, hold->entity);
	if (hold != &token->hold)
		kmem_cache_free(el_hold_cache, hold);
}

/**
 * el_token_step - a hold was granted after a wait, and the attempt needs more
 * @token: the token
 *
 * The thread that blocks for it goes on itself, which spares waking a worker; one
 * that is killed meanwhile gives up.
 *
 * Context: the lock of the entity whose hold was granted.
 */
void el_token_step(struct el_token *token)
{
	struct el_waiter *waiter;

	spin_lock(&token->lock);
	waiter = token->waiter;
	if (waiter) {
		WRITE_ONCE(waiter->step, true);
		wake_up_process(waiter->task);
	} else {
		el_token_todo(token);
	}
	spin_unlock(&token->lock);
}

static void note_comm(struct el_token *token)
{
	rcu_read_lock();
	memcpy(token->comm, current->group_leader->comm, sizeof(token->comm));
	rcu_read_unlock();
}

/**
 * el_token_new - an IDLE token without a set, owned by the caller
 * @domain: its domain
 * @label: what it does, or NULL; goes to the token
 *
 * Return: the token, or NULL if there is no memory.
 */
struct el_token *el_token_new(struct el_domain *domain, struct el_label *label)
{
	struct el_token *token = kmem_cache_alloc(el_token_cache, GFP_KERNEL);

	if (!token)
		return NULL;
	memset_startat(token, 0, count);
	refcount_set(&token->refs, 1);
	token->set = &token->single;
	el_domain_get(domain);
	token->domain = domain;
	INIT_LIST_HEAD(&token->gate_link);
	/* Not in the constructor: who debugs objects forgets those in freed memory. */
	INIT_WORK(&token->work, token_work);
	token->id = new_id();
	token->owner = get_pid(task_tgid(current));
	note_comm(token);
	token->label = label;
	token->since = get_jiffies_64();
	this_cpu_inc(domain->stats->tokens);
	return token;
}

void el_token_get(struct el_token *token)
{
	refcount_inc(&token->refs);
}

/* Context: process context. */
void el_token_put(struct el_token *token)
{
	if (!refcount_dec_and_test(&token->refs))
		return;
	WARN_ON_ONCE(token->count || token->entered || token->queued ||
		     atomic_read(&token->reserved));
	/* As it was constructed. */
	WARN_ON_ONCE(waitqueue_active(&token->wait) || !hlist_unhashed(&token->gate_watch));
	this_cpu_dec(token->domain->stats->tokens);
	el_user_put(token->user);
	put_pid(token->owner);
	if (!el_break_leak())
		kfree(token->label);
	if (token->set != &token->single)
		kvfree(token->set);
	el_domain_put(token->domain);
	kmem_cache_free(el_token_cache, token);
	if (el_break_uaf())
		WRITE_ONCE(token->id, 0);
}

/**
 * el_label_read - a label from user memory
 * @user: address of its bytes
 * @len: their number
 *
 * Return: the label, NULL if it is empty, or -EINVAL, -EFAULT or -ENOMEM as a
 * pointer.
 */
struct el_label *el_label_read(u64 user, u32 len)
{
	struct el_label *label;

	if (len > ENTITYLOCK_LABEL_MAX)
		return ERR_PTR(-EINVAL);
	if (!len)
		return NULL;
	label = kmalloc(struct_size(label, text, len), GFP_KERNEL_ACCOUNT);
	if (!label)
		return ERR_PTR(-ENOMEM);
	label->len = len;
	if (copy_from_user(label->text, u64_to_user_ptr(user), len)) {
		kfree(label);
		return ERR_PTR(-EFAULT);
	}
	return label;
}

static void set_owner(struct el_token *token, struct pid **owner)
{
	lockdep_assert_held(&token->lock);
	swap(token->owner, *owner);
	note_comm(token);
}

/* el_token_own - record the caller as the token's owner */
void el_token_own(struct el_token *token)
{
	struct pid *owner = get_pid(task_tgid(current));

	spin_lock(&token->lock);
	set_owner(token, &owner);
	spin_unlock(&token->lock);
	put_pid(owner);
}

/**
 * el_token_set_owner - the same, with a new label
 * @token: the token
 * @label: what it does, or NULL; goes to the token
 */
void el_token_set_owner(struct el_token *token, struct el_label *label)
{
	struct pid *owner = get_pid(task_tgid(current));

	spin_lock(&token->lock);
	set_owner(token, &owner);
	swap(token->label, label);
	el_break_inversion(token);
	spin_unlock(&token->lock);
	put_pid(owner);
	kfree(label);
}

/*
 * Without a key, which aio and io_uring would report as it is, though it may not be so
 * for them, or not any more: they look again.
 */
static void wake_pollers(struct el_token *token)
{
	if (wq_has_sleeper(&token->wait))
		wake_up_poll(&token->wait, 0);
}

/* The blocked verb's outcome; it may return as soon as the lock is dropped. */
static void tell_waiter(struct el_token *token, int result)
{
	struct el_waiter *waiter = token->waiter;

	lockdep_assert_held(&token->lock);
	if (!waiter)
		return;
	WRITE_ONCE(token->waiter, NULL);
	waiter->fence = token->fence;
	waiter->told = token->result;
	WRITE_ONCE(waiter->result, result);
	wake_up_process(waiter->task);
}

/* el_token_age - nanoseconds since its state last changed, to a timer tick */
u64 el_token_age(const struct el_token *token)
{
	return jiffies64_to_nsecs(get_jiffies_64() - token->since);
}

/* An attempt waits no longer.  Return: for how long it did. */
static u64 end_wait(struct el_token *token)
{
	return likely(!token->queued) ? 0 : el_stats_waited(token);
}

/* As long as the token is PENDING nobody changes its set. */
static noinline void trace_grant(const struct el_token *token, u64 waited)
{
	if (token->gate)
		trace_entitylock_gate_grant(token, NULL, waited);
	else
		trace_entitylock_grant(token, el_trace_first(token), waited);
}

/* A grant: told, and counted. */
static __always_inline void note_grant(struct el_token *token)
{
	u64 waited = end_wait(token);

	this_cpu_inc(token->domain->stats->grants);
	if (unlikely(waited))
		el_stats_contended(token->domain, waited);
	if (trace_entitylock_grant_enabled() || trace_entitylock_gate_grant_enabled())
		trace_grant(token, waited);
}

static void set_lost(struct el_token *token)
{
	lockdep_assert_held(&token->lock);
	WRITE_ONCE(token->partial, token->state == ENTITYLOCK_PENDING);
	end_wait(token);
	if (token->state == ENTITYLOCK_HELD ||
	    (token->state == ENTITYLOCK_PENDING && token->kind == EL_RAISE))
		el_stats_release(token);
	el_token_set_state(token, ENTITYLOCK_LOST);
	WRITE_ONCE(token->error, -ESTALE);
	el_lease_end(token);
	el_alarm_disarm(token);
	tell_waiter(token, -ESTALE);
	wake_pollers(token);
	el_token_todo(token);
}

/**
 * el_token_raise - an attempt begins that raises what is held
 * @token: a token that was HELD
 *
 * Return: false if the token is LOST.
 */
bool el_token_raise(struct el_token *token)
{
	bool pends;

	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	pends = token->state != ENTITYLOCK_LOST;
	if (pends)
		el_token_pend(token, EL_RAISE);
	spin_unlock(&token->lock);
	return pends;
}

/**
 * el_token_grant - the attempt has all that it wants
 * @token: the token
 *
 * Context: under the lock of what was granted last, an entity or the gate, or
 * with the token's mutex, or both.
 * Return: false if the attempt is being given up, or must be: see @refused.
 */
bool el_token_grant(struct el_token *token)
{
	bool granted;

	spin_lock(&token->lock);
	granted = token->state == ENTITYLOCK_PENDING && !token->refused;
	if (granted && token->kind == EL_RAISE && el_lease_expired(token)) {
		token->refused = -ETIME;
		granted = false;
	}
	if (granted) {
		token->floor = el_fence_next(max(token->floor,
						 READ_ONCE(token->domain->gate.floor)));
		WRITE_ONCE(token->fence, token->floor);
		WRITE_ONCE(token->granted, token->attempt);
		WRITE_ONCE(token->error, 0);
		note_grant(token);
		if (token->kind == EL_LOCK && unlikely(token->lease_len) && !token->parked)
			el_lease_begin(token);
		el_token_set_state(token, ENTITYLOCK_HELD);
		el_alarm_disarm(token);
		tell_waiter(token, 0);
		/* Somebody may have queued for it while it was not yet HELD. */
		wake_pollers(token);
	}
	spin_unlock(&token->lock);
	return granted;
}

/**
 * el_token_renew - the lease of what is held begins anew
 * @token: a token
 * @lease: its duration, prepared
 *
 * Return: 0, also where nothing is held yet; -ESTALE if the token is LOST.
 */
int el_token_renew(struct el_token *token, u64 lease)
{
	int ret = 0;

	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	/* Who grants it meanwhile looks at this under the lock, and at what was prepared. */
	WRITE_ONCE(token->lease_len, lease);
	if (token->state == ENTITYLOCK_LOST)
		ret = -ESTALE;
	else if (token->state == ENTITYLOCK_HELD || token->kind != EL_LOCK || token->parked)
		el_lease_begin(token);
	spin_unlock(&token->lock);
	if (token->parked)
		el_lease_arm(token);
	return ret;
}

/**
 * el_token_park - the lease is that of parking from now on
 * @token: the token
 * @lease: 0 = the one that runs, which ends when it would have
 *
 * Return: 0, or -ESTALE if the token is LOST.
 */
int el_token_park(struct el_token *token, u64 lease)
{
	int ret = 0;

	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	if (token->state == ENTITYLOCK_LOST)
		ret = -ESTALE;
	else if (lease)
		el_lease_begin(token);
	token->parked = !ret;
	spin_unlock(&token->lock);
	if (!ret)
		el_lease_arm(token);
	return ret;
}

/*
 * el_token_unpark - one that holds nothing drops the lease, any other keeps it; if
 * it waits to be locked, a lease as long begins with the grant
 */
void el_token_unpark(struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	token->parked = false;
	if (token->state == ENTITYLOCK_IDLE ||
	    (token->state == ENTITYLOCK_PENDING && token->kind == EL_LOCK))
		el_lease_end(token);
	spin_unlock(&token->lock);
}

/* el_token_succeeded - a verb that needs no attempt has: what failed before is past */
void el_token_succeeded(struct el_token *token)
{
	spin_lock(&token->lock);
	if (token->state != ENTITYLOCK_LOST)
		WRITE_ONCE(token->error, 0);
	spin_unlock(&token->lock);
}

/* el_token_failed - a wait had, and what came since was as if it had not been */
void el_token_failed(struct el_token *token, int error)
{
	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	if (token->state != ENTITYLOCK_LOST) {
		WRITE_ONCE(token->error, error);
		wake_pollers(token);
	}
	spin_unlock(&token->lock);
}

/**
 * el_token_ungrant - the last grant has not been; its number stays used
 * @token: the token, EL_LEAVING
 * @fence: number of the grant before
 * @granted: number of the attempt that brought it
 */
void el_token_ungrant(struct el_token *token, u64 fence, u32 granted)
{
	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	WRITE_ONCE(token->fence, fence);
	token->granted = granted;
	spin_unlock(&token->lock);
}

/**
 * el_token_left - what was to be given up has been
 * @token: the token
 * @state: its new state
 * @error: why: 0 or -ECANCELED because of UNLOCK, else what a verb that blocks
 *	returns, and INFO reports of an attempt that nobody blocks for
 */
void el_token_left(struct el_token *token, u8 state, int error)
{
	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	WARN_ON_ONCE(token->state != EL_LEAVING);
	end_wait(token);
	el_alarm_disarm(token);
	if (error && token->async)
		WRITE_ONCE(token->error, error);
	else if (!error || error == -ECANCELED)
		WRITE_ONCE(token->error, 0);
	tell_waiter(token, error);
	el_token_set_state(token, state);
	if (state == ENTITYLOCK_IDLE && !token->parked)
		el_lease_end(token);
	if (state == ENTITYLOCK_HELD && token->doomed)
		set_lost(token);
	else if (token->error || state == ENTITYLOCK_HELD)
		wake_pollers(token);
	token->doomed = false;
	spin_unlock(&token->lock);
}

/**
 * el_token_expire - take from a token what it holds, if its lease has run out
 * @token: the token
 * @at: one of its holds, or NULL
 *
 * Context: somebody wants it; as el_token_lose().
 */
enum el_loss el_token_expire(struct el_token *token, const struct el_hold *at)
{
	enum el_loss loss = EL_KEPT;

	spin_lock(&token->lock);
	if (token->state == ENTITYLOCK_LOST) {
		loss = EL_LOST;
	} else if (el_lease_expired(token)) {
		loss = EL_GOING;
		if (token->state == EL_LEAVING) {
			token->doomed = true;
		} else {
			trace_entitylock_expire(token, at);
			set_lost(token);
			loss = EL_LOST;
		}
	}
	spin_unlock(&token->lock);
	return loss;
}

/**
 * el_token_lose - take from a token what it holds
 * @token: a token that holds something, perhaps while it waits for more
 * @fence: only if it carries this number; 0 = any
 * @at: its hold there, or NULL
 *
 * Context: under the lock of what is to be taken, an entity or the gate.
 * Return: what to do with its hold there.  The others are ended by the worker,
 * and whoever meets one of them before treats it as gone.
 */
enum el_loss el_token_lose(struct el_token *token, u64 fence, const struct el_hold *at)
{
	enum el_loss loss = EL_GOING;
	bool holds_grant;

	spin_lock(&token->lock);
	holds_grant = token->kind != EL_LOCK || token->granted == token->attempt;
	if (fence && (!holds_grant || token->fence != fence)) {
		loss = EL_KEPT;
	} else if (token->state == EL_LEAVING) {
		token->doomed = true;
	} else {
		loss = EL_LOST;
		if (token->state != ENTITYLOCK_LOST) {
			trace_entitylock_break(token, at);
			set_lost(token);
		}
	}
	spin_unlock(&token->lock);
	return loss;
}

/**
 * el_token_todo - let a worker carry the attempt on
 * @token: the token
 *
 * Each token has a work of its own, because it may have to wait for the token's
 * mutex, whose owner may be one whom the scheduler does not like.
 *
 * Context: any, interrupts included; the token is alive, and stays so.
 */
void el_token_todo(struct el_token *token)
{
	el_token_get(token);
	if (!queue_work(el_workqueue, &token->work))
		el_token_put(token);
}

static __poll_t el_token_poll(struct file *file, poll_table *wait)
{
	struct el_token *token = file->private_data;
	__poll_t events = 0;
	u8 state;

	poll_wait(file, &token->wait, wait);
	/* Pairs with wq_has_sleeper(): queued before the state is read. */
	smp_mb();
	if (poll_requested_events(wait) & EPOLLPRI)
		events |= el_watch_poll(token);
	/* Acquire: with the error that was told, or cleared, before it. */
	state = smp_load_acquire(&token->state);
	if (state == ENTITYLOCK_HELD)
		events |= EPOLLIN | EPOLLRDNORM;
	if (state == ENTITYLOCK_LOST)
		events |= EPOLLHUP | EPOLLERR;
	if (READ_ONCE(token->error))
		events |= EPOLLERR;
	return events;
}

/*
 * The last reference to the file is gone: no verb runs or begins.  Others may
 * still be about to grant what the token waits for, and the worker may have it
 * on its list.
 */
static int el_token_release(struct inode *inode, struct file *file)
{
	struct el_token *token = file->private_data;

	el_attempt_end_token(token);
	el_token_put(token);
	return 0;
}

static const struct file_operations el_token_fops = {
	.owner = THIS_MODULE,
	.release = el_token_release,
	.poll = el_token_poll,
	.unlocked_ioctl = el_token_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = el_token_show_fdinfo,
	.llseek = noop_llseek,
	.uring_cmd = el_token_uring_cmd,
};

/**
 * el_token_file - the file of a new token
 * @token: the token; the file takes its reference
 *
 * Return: the file, or a negative errno as a pointer, and the token is as it was.
 */
struct file *el_token_file(struct el_token *token)
{
	return anon_inode_getfile("[entitylock]", &el_token_fops, token, O_RDWR);
}

/* el_token_of - the token of a file, NULL if the file is none */
struct el_token *el_token_of(struct file *file)
{
	return file->f_op == &el_token_fops ? file->private_data : NULL;
}
