// SPDX-License-Identifier: GPL-2.0
/*
 * Domains live while a domain fd or a token refers to them.  Each user
 * namespace has a default one, made when it is first opened, and named ones.
 * Private ones have no name; only fds that are passed on lead there.
 *
 * A domain in which something is marked as abandoned sleeps on for a while, so
 * that whoever opens it next is told; a private one does not, as nobody could.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
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
static DEFINE_HASHTABLE(el_domains, 10);	/* by namespace and name; el_domains_mutex */
static LIST_HEAD(el_dormant);		/* oldest first; el_domains_mutex */
static bool el_may_sleep;		/* not while the module goes; el_domains_mutex */
static u32 el_domains_seed __read_mostly;
struct workqueue_struct *el_workqueue;

static void forget_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(el_forget, forget_work);

static unsigned int mark_seconds = 24 * 60 * 60;

static int set_mark_seconds(const char *value, const struct kernel_param *param)
{
	int ret = param_set_uint(value, param);

	/* It can be written before the module has begun, and until it is gone. */
	mutex_lock(&el_domains_mutex);
	if (!ret && el_may_sleep)
		mod_delayed_work(el_workqueue, &el_forget, 0);
	mutex_unlock(&el_domains_mutex);
	return ret;
}

static const struct kernel_param_ops mark_seconds_ops = {
	.set = set_mark_seconds,
	.get = param_get_uint,
};
module_param_cb(mark_seconds, &mark_seconds_ops, &mark_seconds, 0644);
MODULE_PARM_DESC(mark_seconds, "Seconds until a domain that nobody refers to forgets its marks");

static unsigned int default_mode = 0777;

static int set_default_mode(const char *value, const struct kernel_param *param)
{
	unsigned int mode;
	int ret = kstrtouint(value, 0, &mode);

	if (!ret && mode & ~0777)
		ret = -EINVAL;
	if (!ret)
		WRITE_ONCE(default_mode, mode);
	return ret;
}

static int get_default_mode(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "0%o\n", READ_ONCE(default_mode));
}

static const struct kernel_param_ops default_mode_ops = {
	.set = set_default_mode,
	.get = get_default_mode,
};
module_param_cb(default_mode, &default_mode_ops, &default_mode, 0644);
MODULE_PARM_DESC(default_mode, "Permission bits of default domains, for fds not used yet (0777)");

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
	bool admitted = true;
	u32 i;

	el_watch_tell(domain, llist_del_all(&domain->notices));
	el_watch_tell_gate(domain);
	el_lease_scan_gate(domain);

	/* Whoever is left is seen to when the work runs again: see el_gate_admit(). */
	for (i = 0; i < EL_ADMIT && admitted && (token = el_gate_first(domain)); i++) {
		admitted = el_attempt_admit(token);
		el_token_put(token);
		cond_resched();
	}
	/* Perhaps the last one: the domain, and this work in it, may be gone. */
	el_domain_put(domain);
}

/*
 * Above all that was: it counts as a change of every name.  What has a name has it
 * since then: the one before it may have granted until it was gone.
 */
static void begin_numbers(struct el_domain *domain)
{
	domain->gate.version = el_fence_next(el_fence_max());
	domain->gate.floor = domain->gate.version;
}

/* A domain as @id describes it, in no table. */
static struct el_domain *domain_new(const struct el_domain_id *id)
{
	struct el_domain *domain;
	int ret;

	domain = kzalloc(struct_size(domain, name, id->name_len), GFP_KERNEL_ACCOUNT);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	ret = el_gate_init(&domain->gate);
	if (ret)
		goto err_free;
	ret = el_stats_init(domain);
	if (ret)
		goto err_gate;
	ret = el_entities_init(&domain->table);
	if (ret)
		goto err_stats;
	el_leases_init(&domain->leases);
	domain->seed = get_random_u32();
	begin_numbers(domain);
	refcount_set(&domain->refs, 1);
	init_llist_head(&domain->notices);
	INIT_WORK(&domain->work, domain_work);
	domain->kind = id->kind;
	domain->mode = id->mode;
	domain->owner = id->owner;
	domain->group = id->group;
	domain->ns = get_user_ns(id->ns);
	domain->name_len = id->name_len;
	memcpy(domain->name, id->name, id->name_len);
	INIT_LIST_HEAD(&domain->dormant);
	return domain;

err_stats:
	el_stats_destroy(domain);
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
	el_stats_destroy(domain);
	el_gate_destroy(&domain->gate);
	put_user_ns(domain->ns);
	kfree(domain);
}

static bool has_marks(struct el_domain *domain)
{
	return atomic_read(&domain->table.nelems) || domain->gate.mark;
}

/* Jiffies until a dormant domain forgets its marks. */
static u64 forgets_in(const struct el_domain *domain)
{
	u64 after = (u64)READ_ONCE(mark_seconds) * HZ;
	u64 age = get_jiffies_64() - domain->since;

	return after > age ? after - age : 0;
}

static void fall_asleep(struct el_domain *domain)
{
	lockdep_assert_held(&el_domains_mutex);
	domain->since = get_jiffies_64();
	list_add_tail(&domain->dormant, &el_dormant);
	queue_delayed_work(el_workqueue, &el_forget,
			   min_t(u64, forgets_in(domain), MAX_JIFFY_OFFSET));
}

static void wake_up_again(struct el_domain *domain)
{
	lockdep_assert_held(&el_domains_mutex);
	list_del_init(&domain->dormant);
	refcount_set(&domain->refs, 1);
}

/* Move those whose time has come, or all; how many jiffies for the next? */
static u64 forget(bool all, struct list_head *forgotten)
{
	struct el_domain *domain, *next;

	lockdep_assert_held(&el_domains_mutex);
	list_for_each_entry_safe(domain, next, &el_dormant, dormant) {
		if (!all && forgets_in(domain))
			return forgets_in(domain);
		hash_del(&domain->node);
		list_move_tail(&domain->dormant, forgotten);
	}
	return 0;
}

static void free_all(struct list_head *forgotten)
{
	struct el_domain *domain, *next;

	list_for_each_entry_safe(domain, next, forgotten, dormant)
		domain_free(domain);
}

static void forget_work(struct work_struct *work)
{
	LIST_HEAD(forgotten);
	u64 left;

	mutex_lock(&el_domains_mutex);
	left = forget(false, &forgotten);
	mutex_unlock(&el_domains_mutex);
	free_all(&forgotten);
	if (left)
		queue_delayed_work(el_workqueue, &el_forget, min_t(u64, left, MAX_JIFFY_OFFSET));
}

int el_domains_init(void)
{
	el_domains_seed = get_random_u32();
	el_workqueue = alloc_workqueue("entitylock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!el_workqueue)
		return -ENOMEM;
	mutex_lock(&el_domains_mutex);
	el_may_sleep = true;
	mutex_unlock(&el_domains_mutex);
	return 0;
}

/*
 * Nothing refers to a domain any more, but works that are about to return, and
 * then free it.
 */
void el_domains_exit(void)
{
	LIST_HEAD(forgotten);

	mutex_lock(&el_domains_mutex);
	el_may_sleep = false;
	forget(true, &forgotten);
	mutex_unlock(&el_domains_mutex);
	cancel_delayed_work_sync(&el_forget);
	free_all(&forgotten);
	destroy_workqueue(el_workqueue);
	WARN_ON(!hash_empty(el_domains));
}

static u32 id_hash(const struct el_domain_id *id)
{
	return jhash(id->name, id->name_len, hash_ptr(id->ns, 32) ^ el_domains_seed);
}

/* A reference to the domain of that name, or NULL.  The default one's is empty. */
static struct el_domain *find(const struct el_domain_id *id)
{
	struct el_domain *domain;

	lockdep_assert_held(&el_domains_mutex);
	hash_for_each_possible(el_domains, domain, node, id_hash(id)) {
		if (domain->ns != id->ns || domain->name_len != id->name_len ||
		    memcmp(domain->name, id->name, id->name_len))
			continue;
		if (refcount_read(&domain->refs))
			el_domain_get(domain);
		else
			wake_up_again(domain);
		return domain;
	}
	return NULL;
}

/**
 * el_domain_find - a reference to a domain that has a name
 * @id: its namespace and name
 *
 * Return: the domain, or NULL.
 */
struct el_domain *el_domain_find(const struct el_domain_id *id)
{
	struct el_domain *domain;

	mutex_lock(&el_domains_mutex);
	domain = find(id);
	mutex_unlock(&el_domains_mutex);
	return domain;
}

/**
 * el_domain_create - a reference to a domain, which is made if need be
 * @id: what it is to be if it is new
 * @exclusive: it must be new
 *
 * Nobody waits for the memory of somebody else's domain: it is allocated first.
 *
 * Return: the domain, or -ENOMEM or -EEXIST as a pointer.
 */
struct el_domain *el_domain_create(const struct el_domain_id *id, bool exclusive)
{
	struct el_domain *domain, *fresh;

	fresh = domain_new(id);
	if (IS_ERR(fresh) || id->kind == EL_PRIVATE)
		return fresh;
	mutex_lock(&el_domains_mutex);
	domain = find(id);
	if (!domain) {
		begin_numbers(fresh);
		hash_add(el_domains, &fresh->node, id_hash(id));
	}
	mutex_unlock(&el_domains_mutex);
	if (!domain)
		return fresh;
	domain_free(fresh);
	if (!exclusive)
		return domain;
	el_domain_put(domain);
	return ERR_PTR(-EEXIST);
}

/**
 * el_domain_open - a reference to the default domain of a user namespace
 * @ns: the namespace
 *
 * Return: the domain, or -ENOMEM as a pointer.
 */
struct el_domain *el_domain_open(struct user_namespace *ns)
{
	const struct el_domain_id id = {
		.ns = ns,
		.kind = EL_DEFAULT,
	};

	return el_domain_find(&id) ?: el_domain_create(&id, false);
}

void el_domain_get(struct el_domain *domain)
{
	refcount_inc(&domain->refs);
}

/* Context: process context, unless the caller knows that it is not the last. */
void el_domain_put(struct el_domain *domain)
{
	bool sleeps;

	if (!refcount_dec_and_mutex_lock(&domain->refs, &el_domains_mutex))
		return;
	sleeps = el_may_sleep && domain->kind != EL_PRIVATE && has_marks(domain);
	if (sleeps)
		fall_asleep(domain);
	else
		hash_del(&domain->node);
	mutex_unlock(&el_domains_mutex);
	if (!sleeps)
		domain_free(domain);
}

/* el_domain_mode - the permission bits of a domain */
umode_t el_domain_mode(const struct el_domain *domain)
{
	return domain->kind == EL_DEFAULT ? READ_ONCE(default_mode) : domain->mode;
}

/*
 * el_domain_owner - who owns it; of a default domain the namespace's root, who may not
 * be known yet when it is made, before the ids of the namespace are mapped
 */
kuid_t el_domain_owner(const struct el_domain *domain)
{
	return domain->kind == EL_DEFAULT ? make_kuid(domain->ns, 0) : domain->owner;
}

static kgid_t domain_group(const struct el_domain *domain)
{
	return domain->kind == EL_DEFAULT ? make_kgid(domain->ns, 0) : domain->group;
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
	return uid_eq(file->f_cred->euid, el_domain_owner(domain)) ||
	       file_ns_capable(file, domain->ns, CAP_SYS_ADMIN);
}

static bool in_group(const struct cred *cred, kgid_t group)
{
	const struct cred *mine = override_creds(cred);
	bool in = in_egroup_p(group);

	revert_creds(mine);
	return in;
}

/**
 * el_domain_rights - what the opener of an fd may do in a domain
 * @domain: the domain
 * @file: an open of the device
 *
 * As with files: the bits of the owner, or else of the group, or else of others.
 * Who may break every lock may do the rest, too.
 *
 * Return: EL_MAY_LIST, EL_MAY_LOCK, EL_MAY_GATE.
 */
u8 el_domain_rights(const struct el_domain *domain, const struct file *file)
{
	const struct cred *cred = file->f_cred;
	umode_t mode = el_domain_mode(domain);

	if (uid_eq(cred->euid, el_domain_owner(domain)))
		mode >>= 6;
	else if (in_group(cred, domain_group(domain)))
		mode >>= 3;
	mode &= EL_MAY_ALL;
	if (mode != EL_MAY_ALL && file_ns_capable(file, domain->ns, CAP_SYS_ADMIN))
		mode = EL_MAY_ALL;
	return mode;
}
