/* SPDX-License-Identifier: GPL-2.0 */
/* Entities: named, in their domain's table, gone with their last reference. */
#ifndef EL_ENTITY_H
#define EL_ENTITY_H

#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include "domain.h"
#include "queue.h"

struct el_user;

/**
 * struct el_entity - one entity
 * @node: in the domain's table.
 * @refs: references: holds, a mark, and a notice under way.  An entity whose count is
 *	zero is dying: whoever meets it in the table removes it.
 * @lock: guards @queue, @fence, @version, @mark, @watchers, @noticed, and the holds
 *	in them.
 *	No two entities' locks are ever held together.
 * @hash: of the name, keyed by the domain.
 * @queue: holders and waiters.
 * @fence: number that every later grant that conflicts must exceed, among
 *	those that ended; 0 until el_entity_settle().
 * @version: number of the last exclusive hold that changed it.
 * @mark: who is charged for the mark that it was abandoned; NULL = no mark.
 *	A mark is a reference.
 * @watchers: holds whose tokens want to know, see watch.c.
 * @notice: in the domain's notices while @noticed.
 * @rcu: defers the end of the memory, for those who look up.
 * @noticed: a notice to @watchers is under way.
 * @name_len: bytes of @name.
 * @name: constant.
 */
struct el_entity {
	struct rhash_head node;
	refcount_t refs;
	spinlock_t lock;	/* of this entity alone */
	struct el_queue queue;
	u64 fence;
	u64 version;
	struct el_user *mark;
	union {
		struct {
			struct hlist_head watchers;
			struct llist_node notice;
		};
		struct rcu_head rcu;
	};
	u32 hash;
	bool noticed;
	u8 name_len;
	char name[];
};

int el_entities_init(struct rhashtable *table);
void el_entities_destroy(struct rhashtable *table);
void el_entities_settle(struct rhashtable *table);
struct el_entity *el_entity_get(struct el_domain *domain, const char *name, u8 len);
struct el_entity *el_entity_find(struct el_domain *domain, const char *name, u8 len);
void el_entity_inherit(struct el_entity *entity);
void el_entity_put(struct el_domain *domain, struct el_entity *entity);

/**
 * el_entity_settle - take over what the name's last life has left
 * @entity: the entity
 *
 * Not when it is made, but before its first use: whoever removed the name has
 * raised its floors before it could be inserted anew.
 */
static inline void el_entity_settle(struct el_entity *entity)
{
	lockdep_assert_held(&entity->lock);
	if (unlikely(!entity->fence))
		el_entity_inherit(entity);
}

/* el_entity_version - when it was last changed, by a holder or by the gate's */
static inline u64 el_entity_version(const struct el_domain *domain, struct el_entity *entity)
{
	el_entity_settle(entity);
	return max(entity->version, READ_ONCE(domain->gate.version));
}

#endif /* EL_ENTITY_H */
