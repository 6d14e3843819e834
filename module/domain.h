/* SPDX-License-Identifier: GPL-2.0 */
/* Domains: the spaces in which entity names have meaning. */
#ifndef EL_DOMAIN_H
#define EL_DOMAIN_H

#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "gate.h"
#include "lease.h"
#include "stats.h"

struct file;
struct user_namespace;

enum el_domain_kind {
	EL_DEFAULT,	/* of a user namespace */
	EL_NAMED,
	EL_PRIVATE,	/* it has no name: fds of it are passed on, not opened */
};

/* Rights in a domain: the permission bits. */
#define EL_MAY_LIST	4
#define EL_MAY_LOCK	2
#define EL_MAY_GATE	1
#define EL_MAY_ALL	7

/**
 * struct el_domain_id - which domain is asked for
 * @ns: its user namespace
 * @kind: its kind
 * @name: its name
 * @name_len: bytes of it; 0 if it is not EL_NAMED
 * @mode: permission bits, of a new one
 * @owner: owner of a new one
 * @group: group of a new one
 */
struct el_domain_id {
	struct user_namespace *ns;
	enum el_domain_kind kind;
	const char *name;
	u8 name_len;
	umode_t mode;
	kuid_t owner;
	kgid_t group;
};

/**
 * struct el_domain - a space of names, with one gate
 * @seed: key of the names' hash; constant.
 * @stats: what has happened in it, per CPU; constant.
 * @table: entities by name.
 * @refs: references: domain fds, tokens, @work while it is queued or runs.  A
 *	domain without any is dormant if there are marks in it, otherwise gone.
 * @gate: the gate.
 * @leases: leased holders.
 * @notices: entities that the worker shall see to, newest first; each holds a
 *	reference to itself.
 * @work: sees to @notices, tells the gate's watchers, and admits operations
 *	behind a gate.  It never runs twice at a time.
 * @ns: user namespace that it belongs to; a reference.
 * @node: in the table of domains, unless it is private; guarded by its mutex.
 * @dormant: in the list of dormant domains; the same.
 * @since: jiffies when it became dormant; the same.
 * @kind: which of the three kinds; constant, as all below.
 * @mode: permission bits; a default domain has the module parameter's.
 * @owner: who may break locks, and whom the first three bits are for; el_domain_owner().
 * @group: whom the next three are for.
 * @name_len: bytes of the name.
 * @name: the name, without a terminator.
 *
 * What all verbs read is in other cache lines than what some write: the number of
 * entities and @refs, which ACQUIRE and close do, share one.
 */
struct el_domain {
	u32 seed;
	struct el_stats __percpu *stats;
	/* Ends with the number of its elements, which is written as often as @refs. */
	struct rhashtable table;
	refcount_t refs;
	struct el_gate gate;
	struct el_leases leases;
	struct llist_head notices;
	struct work_struct work;
	struct user_namespace *ns;
	struct hlist_node node;
	struct list_head dormant;
	u64 since;
	enum el_domain_kind kind;
	umode_t mode;
	kuid_t owner;
	kgid_t group;
	u8 name_len;
	char name[];
};

int el_domains_init(void);
void el_domains_exit(void);
struct el_domain *el_domain_open(struct user_namespace *ns);
struct el_domain *el_domain_find(const struct el_domain_id *id);
struct el_domain *el_domain_create(const struct el_domain_id *id, bool exclusive);
void el_domain_get(struct el_domain *domain);
void el_domain_put(struct el_domain *domain);
void el_domain_kick(struct el_domain *domain);
umode_t el_domain_mode(const struct el_domain *domain);
u8 el_domain_rights(const struct el_domain *domain, const struct file *file);
kuid_t el_domain_owner(const struct el_domain *domain);
bool el_domain_owned(const struct el_domain *domain, const struct file *file);

#endif /* EL_DOMAIN_H */
