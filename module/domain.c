// SPDX-License-Identifier: GPL-2.0
/*
 * Domains live while a domain fd or a token refers to them.  Each user
 * namespace has a default one, made when it is first opened.
 *
 * A domain in which something is marked as abandoned sleeps on for a while, so
 * that whoever opens it next is told.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "attempt.h"
#include "domain.h"
#include "entity.h"
#include "fence.h"
#include "token.h"
#include "watch.h"
#include "work.h"

static DEFINE_MUTEX(el_domains_mutex);
static DEFINE_HASHTABLE(el_domains, 6);	/* by namespace; el_domains_mutex */
static LIST_HEAD(el_dormant);		/* oldest first; el_domains_mutex */
struct workqueue_struct *el_workqueue;

static void forget_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(el_forget, forget_work);

static unsigned int mark_seconds = 24 * 60 * 60;

static int set_mark_seconds(const char *value, const struct kernel_param *param)
{
	int ret = param_set_uint(value, param);

	if (!ret && el_workqueue)
		mod_delayed_work(el_workqueue, &el_forget, 0);
	return ret;
}

static const struct kernel_param_ops mark_seconds_ops = {
	.set = set_mark_seconds,
	.get = param_get_uint,
};
module_param_cb(mark_seconds, &mark_seconds_ops, &mark_seconds, 0644);
MODULE_PARM_DESC(mark_seconds, "Seconds until a domain that nobody refers to forgets its marks");

/**
 * el_domain_kick - let the worker look
 * @domain: the domain; the caller has a reference
 *
 * Context: any, interrupts included.  A work that is queued has a reference of
 * its own to the domain.
 */
void el_domain_kick(struct el_domain *domain)
{
	el_domain_get(domain);
	if (!queue_work(el_workqueue, &domain->work))
		el_domain_put(domain);
}

/* Most operations that are admitted in one go: others wait for the worker, too. */
#define EL_ADMIT	64

static void domain_work(struct work_struct *work)
{
	struct el_domain *domain = container_of(work, struct el_domain, work);
	struct el_token *token;
	u32 i;

	el_watch_tell(domain, llist_del_all(&domain->notices));
	el_watch_tell_gate(domain);
	el_lease_scan_gate(domain);

	/* Whoever is left is seen to when the work runs again: see el_gate_admit(). */
	for (i = 0; i < EL_ADMIT && (token = el_gate_first(domain)); i++) {
		el_attempt_admit(token);
		el_token_put(token);
		cond_resched();
	}
	/* Perhaps the last one: the domain, and this work in it, may be gone. */
	el_domain_put(domain);
}

static struct el_domain *domain_new(struct user_namespace *ns)
{
	struct el_domain *domain;
	int ret;

	domain = kzalloc(sizeof(*domain), GFP_KERNEL_ACCOUNT);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	ret = el_gate_init(&domain->gate);
	if (ret)
		goto err_free;
	ret = el_entities_init(&domain->table);
	if (ret)
		goto err_gate;
	el_leases_init(&domain->leases);
	domain->seed = get_random_u32();
	/* Above all that was: it counts as a change of every name. */
	domain->gate.version = el_fence_max() + 1;
	domain->gate.floor = domain->gate.version;
	refcount_set(&domain->refs, 1);
	init_llist_head(&domain->notices);
	INIT_WORK(&domain->work, domain_work);
	domain->ns = get_user_ns(ns);
	INIT_LIST_HEAD(&domain->dormant);
	return domain;

err_gate:
	el_gate_destroy(&domain->gate);
err_free:
	kfree(domain);
	return ERR_PTR(ret);
}

static void domain_free(struct el_domain *domain)
{
	WARN_ON_ONCE(domain->leases.count || !llist_empty(&domain->notices));
	el_entities_destroy(&domain->table);
	el_gate_destroy(&domain->gate);
	put_user_ns(domain->ns);
	kfree(domain);
}

static bool has_marks(struct el_domain *domain)
{
	return atomic_read(&domain->table.nelems) || domain->gate.mark;
}

static void fall_asleep(struct el_domain *domain)
{
	lockdep_assert_held(&el_domains_mutex);
	domain->since = get_jiffies_64();
	list_add_tail(&domain->dormant, &el_dormant);
	queue_delayed_work(el_workqueue, &el_forget,
			   msecs_to_jiffies(1000UL * READ_ONCE(mark_seconds)));
}

static void wake_up_again(struct el_domain *domain)
{
	lockdep_assert_held(&el_domains_mutex);
	list_del_init(&domain->dormant);
	refcount_set(&domain->refs, 1);
}

/* Free those that have been dormant for so many jiffies; how long for the next? */
static u64 forget(u64 after)
{
	struct el_domain *domain, *next;
	u64 age;

	lockdep_assert_held(&el_domains_mutex);
	list_for_each_entry_safe(domain, next, &el_dormant, dormant) {
		age = get_jiffies_64() - domain->since;
		if (age < after)
			return after - age;
		list_del(&domain->dormant);
		hash_del(&domain->node);
		domain_free(domain);
	}
	return 0;
}

static void forget_work(struct work_struct *work)
{
	u64 left;

	mutex_lock(&el_domains_mutex);
	left = forget((u64)READ_ONCE(mark_seconds) * HZ);
	mutex_unlock(&el_domains_mutex);
	if (left)
		queue_delayed_work(el_workqueue, &el_forget, min_t(u64, left, MAX_JIFFY_OFFSET));
}

int el_domains_init(void)
{
	el_workqueue = alloc_workqueue("entitylock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return el_workqueue ? 0 : -ENOMEM;
}

/* Nothing refers to a domain any more, but its work may be about to return. */
void el_domains_exit(void)
{
	cancel_delayed_work_sync(&el_forget);
	mutex_lock(&el_domains_mutex);
	forget(0);
	mutex_unlock(&el_domains_mutex);
	destroy_workqueue(el_workqueue);
	WARN_ON(!hash_empty(el_domains));
}

static struct el_domain *domain_find(struct user_namespace *ns)
{
	struct el_domain *domain;

	lockdep_assert_held(&el_domains_mutex);
	hash_for_each_possible(el_domains, domain, node, (unsigned long)ns) {
		if (domain->ns == ns)
			return domain;
	}
	return NULL;
}

/**
 * el_domain_open - a reference to the default domain of a user namespace
 * @ns: the namespace
 *
 * Return: the domain, or -ENOMEM as a pointer.
 */
struct el_domain *el_domain_open(struct user_namespace *ns)
{
	struct el_domain *domain;

	mutex_lock(&el_domains_mutex);
	domain = domain_find(ns);
	if (domain && !refcount_read(&domain->refs)) {
		wake_up_again(domain);
	} else if (domain) {
		el_domain_get(domain);
	} else {
		domain = domain_new(ns);
		if (!IS_ERR(domain))
			hash_add(el_domains, &domain->node, (unsigned long)ns);
	}
	mutex_unlock(&el_domains_mutex);
	return domain;
}

void el_domain_get(struct el_domain *domain)
{
	refcount_inc(&domain->refs);
}

/* Context: process context, unless the caller knows that it is not the last. */
void el_domain_put(struct el_domain *domain)
{
	if (!refcount_dec_and_mutex_lock(&domain->refs, &el_domains_mutex))
		return;
	if (has_marks(domain)) {
		fall_asleep(domain);
	} else {
		hash_del(&domain->node);
		domain_free(domain);
	}
	mutex_unlock(&el_domains_mutex);
}

/**
 * el_domain_owned - may the opener of an fd act as the domain's owner?
 * @domain: the domain
 * @file: an open of the device
 *
 * The default domain of a user namespace is owned by the namespace's root.
 */
bool el_domain_owned(const struct el_domain *domain, const struct file *file)
{
	return uid_eq(file->f_cred->euid, make_kuid(domain->ns, 0)) ||
	       file_ns_capable(file, domain->ns, CAP_SYS_ADMIN);
}
