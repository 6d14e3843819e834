// SPDX-License-Identifier: GPL-2.0
/*
 * The table of entities of a domain.
 *
 * Looking up takes no lock: under RCU, find the entity and raise its count
 * unless that is zero.  An entity whose count is zero is removed by whoever
 * sees it first, its last owner or one who looks the name up, so that nobody
 * spins on a last owner that was preempted; one of the two finds it gone.
 */
#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "domain.h"
#include "entity.h"
#include "fence.h"
#include "mark.h"

struct el_key {
	const char *name;
	u32 hash;
	u8 len;
};

/* A name is hashed once, keyed by its domain: the table's own key adds nothing. */
static u32 key_hash(const void *data, u32 len, u32 seed)
{
	const struct el_key *key = data;

	return key->hash;
}

static u32 entity_hash(const void *data, u32 len, u32 seed)
{
	const struct el_entity *entity = data;

	return entity->hash;
}

static int entity_differs(struct rhashtable_compare_arg *arg, const void *data)
{
	const struct el_entity *entity = data;
	const struct el_key *key = arg->key;

	return entity->hash != key->hash || entity->name_len != key->len ||
	       memcmp(entity->name, key->name, key->len);
}

static const struct rhashtable_params el_table_params = {
	.head_offset = offsetof(struct el_entity, node),
	.hashfn = key_hash,
	.obj_hashfn = entity_hash,
	.obj_cmpfn = entity_differs,
	/* 2 KiB a domain: a set that comes and goes shall not resize it each time. */
	.min_size = 256,
	.automatic_shrinking = true,
};

int el_entities_init(struct rhashtable *table)
{
	return rhashtable_init(table, &el_table_params);
}

/* What nobody refers to any more is there because of its mark only. */
static void free_marked(void *ptr, void *arg)
{
	struct el_entity *entity = ptr;

	WARN(!entity->mark || refcount_read(&entity->refs) != 1,
	     "entitylock: an entity leaked\n");
	if (entity->mark)
		el_mark_drop(entity->mark);
	kfree_rcu(entity, rcu);
}

void el_entities_destroy(struct rhashtable *table)
{
	rhashtable_free_and_destroy(table, free_marked, NULL);
}

/**
 * el_entities_settle - let what resizes a table come to its end, if it does before long
 * @table: the table
 *
 * A walk goes through the old table and the new one, and meets twice what has been
 * moved meanwhile.
 *
 * Context: may sleep.
 */
void el_entities_settle(struct rhashtable *table)
{
	int tries = 0;

	/* A work that has more to do queues itself again. */
	while (flush_work(&table->run_work) && ++tries < 4)
		;
}

/* Idempotent; see the head of this file. */
static void remove_dying(struct el_domain *domain, struct el_entity *entity)
{
	/* Whoever saw the count at zero sees what the last owner has written. */
	smp_acquire__after_ctrl_dep();
	el_fence_reclaim(entity->hash, entity->fence, entity->version);
	/*
	 * The lock of a bucket is a bit of the pointer that it guards, which the kernel
	 * reads plainly while others try to set the bit: a race, and its own.
	 */
	if (!data_race(rhashtable_remove_fast(&domain->table, &entity->node, el_table_params)))
		kfree_rcu(entity, rcu);
}

static struct el_key key_of(const struct el_domain *domain, const char *name, u8 len)
{
	return (struct el_key){
		.name = name,
		.hash = jhash(name, len, domain->seed),
		.len = len,
	};
}

static struct el_entity *lookup(struct el_domain *domain, const struct el_key *key)
{
	struct el_entity *entity;

	rcu_read_lock();
	for (;;) {
		entity = rhashtable_lookup(&domain->table, key, el_table_params);
		if (!entity || refcount_inc_not_zero(&entity->refs))
			break;
		remove_dying(domain, entity);
	}
	rcu_read_unlock();
	return entity;
}

static struct el_entity *entity_new(const struct el_key *key)
{
	struct el_entity *entity;

	entity = kmalloc(struct_size(entity, name, key->len), GFP_KERNEL_ACCOUNT);
	if (!entity)
		return NULL;
	refcount_set(&entity->refs, 1);
	spin_lock_init(&entity->lock);
	el_queue_init(&entity->queue);
	entity->fence = 0;
	entity->version = 0;
	entity->mark = NULL;
	INIT_HLIST_HEAD(&entity->watchers);
	entity->hash = key->hash;
	entity->noticed = false;
	entity->name_len = key->len;
	memcpy(entity->name, key->name, key->len);
	return entity;
}

/* Insert an entity, or find another of the same key: a reference, or an error. */
static struct el_entity *insert(struct el_domain *domain, const struct el_key *key,
				struct el_entity *fresh)
{
	struct el_entity *other;

	rcu_read_lock();
	for (;;) {
		/* As in remove_dying(). */
		other = data_race(rhashtable_lookup_get_insert_key(&domain->table, key,
								   &fresh->node,
								   el_table_params));
		if (!other) {
			other = fresh;
			break;
		}
		if (IS_ERR(other) || refcount_inc_not_zero(&other->refs))
			break;
		remove_dying(domain, other);
	}
	rcu_read_unlock();
	return other;
}

/**
 * el_entity_get - a reference to the entity of that name, made if need be
 * @domain: the domain
 * @name: its bytes
 * @len: their number, not 0
 *
 * Context: may sleep.
 * Return: the entity, or NULL if there is no memory.
 */
struct el_entity *el_entity_get(struct el_domain *domain, const char *name, u8 len)
{
	struct el_key key = key_of(domain, name, len);
	struct el_entity *entity, *fresh;
	int tries = 0;

	entity = lookup(domain, &key);
	if (entity)
		return entity;

	fresh = entity_new(&key);
	if (!fresh)
		return NULL;

	/* The table refuses now and then while it is being resized. */
	do {
		entity = insert(domain, &key, fresh);
	} while (entity == ERR_PTR(-EBUSY) && tries++ < 8 && !cond_resched());
	if (entity != fresh)
		kfree(fresh);
	return IS_ERR(entity) ? NULL : entity;
}

/* el_entity_find - a reference to an entity if it exists, or NULL */
struct el_entity *el_entity_find(struct el_domain *domain, const char *name, u8 len)
{
	struct el_key key = key_of(domain, name, len);

	return lookup(domain, &key);
}

/* el_entity_inherit - the part of el_entity_settle() that is done once */
void el_entity_inherit(struct el_entity *entity)
{
	entity->version = el_version_reclaimed(entity->hash);
	entity->fence = el_fence_reclaimed(entity->hash);
}

/**
 * el_entity_put - give a reference back
 * @domain: the entity's domain
 * @entity: the entity
 *
 * Context: process context, no lock of an entity held.
 */
void el_entity_put(struct el_domain *domain, struct el_entity *entity)
{
	/*
	 * As soon as the count is zero another may remove it, and the memory is
	 * ours only for as long as RCU says: so RCU comes first.
	 */
	rcu_read_lock();
	if (refcount_dec_and_test(&entity->refs))
		remove_dying(domain, entity);
	rcu_read_unlock();
}
