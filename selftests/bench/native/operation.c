// SPDX-License-Identifier: GPL-2.0
/*
 * Operations as ACQUIRE, LOCK, UNLOCK and the last close make them.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "attempt.h"
#include "domain.h"
#include "entity.h"
#include "order.h"
#include "token.h"
#include "wait.h"

#include "native.h"

int native_error;

static void note(int error)
{
	if (error)
		native_error = error;
}

struct el_domain *native_domain(void)
{
	const struct el_domain_id id = {
		.ns = &init_user_ns,
		.kind = EL_PRIVATE,
		.mode = 0700,
		.owner = GLOBAL_ROOT_UID,
		.group = GLOBAL_ROOT_GID,
	};
	struct el_domain *domain = el_domain_create(&id, true);

	if (!IS_ERR(domain))
		return domain;
	note(PTR_ERR(domain));
	return NULL;
}

void native_name(struct native_name *name, u32 number)
{
	snprintf(name->text, sizeof(name->text), "entity-%09u", number);
}

static struct el_hold *claim(struct el_token *token, const struct native_name *name, bool first)
{
	struct el_entity *entity;
	struct el_hold *hold;

	entity = el_entity_get(token->domain, name->text, sizeof(name->text) - 1);
	if (!entity)
		return NULL;
	hold = first ? el_hold_first(token, entity, ENTITYLOCK_EXCLUSIVE) :
		       el_hold_new(token, entity, ENTITYLOCK_EXCLUSIVE);
	if (!hold)
		el_entity_put(token->domain, entity);
	return hold;
}

/* An IDLE token over the entity of that name, NULL if there is no memory. */
struct el_token *native_token(struct el_domain *domain, const struct native_name *name)
{
	struct el_token *token = el_token_new(domain, NULL);

	if (token) {
		token->single = claim(token, name, true);
		if (token->single) {
			token->count = 1;
			return token;
		}
		el_token_put(token);
	}
	note(-ENOMEM);
	return NULL;
}

/* The same over entities number @first to @first + @count - 1. */
struct el_token *native_set(struct el_domain *domain, u32 first, u32 count)
{
	struct el_token *token = el_token_new(domain, NULL);
	struct native_name name;
	struct el_hold **set;
	u32 i;

	if (!token)
		goto err;
	set = kvmalloc_array(count, sizeof(*set), GFP_KERNEL);
	if (!set)
		goto err_token;
	for (i = 0; i < count; i++) {
		native_name(&name, first + i);
		set[i] = claim(token, &name, !i);
		if (!set[i])
			goto err_holds;
	}
	el_order_sort(set, count);
	token->set = set;
	token->count = count;
	return token;

err_holds:
	while (i)
		el_hold_free(set[--i]);
	kvfree(set);
err_token:
	el_token_put(token);
err:
	note(-ENOMEM);
	return NULL;
}

struct el_token *native_gate(struct el_domain *domain)
{
	struct el_token *token = el_token_new(domain, NULL);

	if (token)
		token->gate = true;
	else
		note(-ENOMEM);
	return token;
}

/* The last close. */
void native_end(struct el_token *token)
{
	el_attempt_end_token(token);
	el_token_put(token);
}

void native_lock(struct el_token *token)
{
	static const struct el_deadline at_once = {
		.clock = CLOCK_MONOTONIC,
		.expires = KTIME_MAX,
		.refusal = -EAGAIN,
	};
	static const struct el_terms terms;
	struct el_grant grant = { .kind = EL_NOTHING };

	note(el_attempt_lock(token, &terms, &at_once, false, &grant));
}

void native_unlock(struct el_token *token)
{
	note(el_attempt_unlock(token, 0, 0));
}

/**
 * struct native_crowd - entities that live
 * @count: tokens, of as many entities each as a set may have
 * @tokens: they are IDLE
 */
struct native_crowd {
	u32 count;
	struct el_token *tokens[] __counted_by(count);
};

struct native_crowd *native_crowd(struct el_domain *domain, u32 count)
{
	u32 tokens = DIV_ROUND_UP(count, ENTITYLOCK_SET_MAX), i, size;
	struct native_crowd *crowd;

	crowd = kvzalloc(struct_size(crowd, tokens, tokens), GFP_KERNEL);
	if (!crowd) {
		note(-ENOMEM);
		return NULL;
	}
	crowd->count = tokens;
	for (i = 0; i < tokens; i++) {
		size = min_t(u32, count - i * ENTITYLOCK_SET_MAX, ENTITYLOCK_SET_MAX);
		crowd->tokens[i] = native_set(domain, i * ENTITYLOCK_SET_MAX, size);
		if (!crowd->tokens[i]) {
			native_disperse(crowd);
			return NULL;
		}
		cond_resched();
	}
	return crowd;
}

void native_disperse(struct native_crowd *crowd)
{
	u32 i;

	for (i = 0; i < crowd->count && crowd->tokens[i]; i++) {
		native_end(crowd->tokens[i]);
		cond_resched();
	}
	kvfree(crowd);
}
