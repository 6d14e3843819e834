/* SPDX-License-Identifier: GPL-2.0 */
/* Domains: the spaces in which entity names have meaning. */
#ifndef EL_DOMAIN_H
#define EL_DOMAIN_H

#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>

#include "gate.h"
#include "lease.h"

struct file;
struct user_namespace;

/**
 * struct el_domain - a space of names, with one gate
 * @table: entities by name.
 * @seed: key of the names' hash; constant.
 * @gate: the gate.
 * @leases: leased holders.
 * @refs: references: domain fds, tokens, @work while it is queued or runs.  A
 *	domain without any is dormant if there are marks in it, otherwise gone.
 * @notices: entities that the worker shall see to, newest first; each holds a
 *	reference to itself.
 * @work: sees to @notices, tells the gate's watchers, and admits operations
 *	behind a gate.  It never runs twice at a time.
 * @ns: user namespace whose default domain this is; a reference.
 * @node: in the table of domains; guarded by its mutex.
 * @dormant: in the list of dormant domains; the same.
 * @since: jiffies when it became dormant; the same.
 */
struct el_domain {
	struct rhashtable table;
	u32 seed;
	struct el_gate gate;
	struct el_leases leases;
	refcount_t refs;
	struct llist_head notices;
	struct work_struct work;
	struct user_namespace *ns;
	struct hlist_node node;
	struct list_head dormant;
	u64 since;
};

int el_domains_init(void);
void el_domains_exit(void);
struct el_domain *el_domain_open(struct user_namespace *ns);
void el_domain_get(struct el_domain *domain);
void el_domain_put(struct el_domain *domain);
void el_domain_kick(struct el_domain *domain);
bool el_domain_owned(const struct el_domain *domain, const struct file *file);

#endif /* EL_DOMAIN_H */
