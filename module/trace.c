// SPDX-License-Identifier: GPL-2.0
/*
 * What the tracepoints tell: texts, and why a thread has blocked.
 */
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/string.h>

#include "domain.h"
#include "entity.h"
#include "listing.h"
#include "token.h"
#include "tracing.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* A hold's mode, or the one that it asks for. */
u8 el_trace_mode(const struct el_token *token, const struct el_hold *hold)
{
	if (token->gate)
		return EL_MODE_GATE;
	return hold ? max(READ_ONCE(hold->mode), hold->want) : 0;
}

/* Escaped, and terminated. */
static size_t text_size(const char *text, size_t len)
{
	return el_escape(NULL, text, len, EL_SPECIAL) + 1;
}

static void write_text(char *to, const char *text, size_t len)
{
	to[el_escape(to, text, len, EL_SPECIAL)] = '\0';
}

/* What kind of domain it is; the name of one that has a name follows. */
static const char *domain_kind(const struct el_domain *domain)
{
	static const char * const kinds[] = {
		[EL_DEFAULT] = "default", [EL_NAMED] = "named:", [EL_PRIVATE] = "private",
	};

	return kinds[domain->kind];
}

size_t el_domain_text_size(const struct el_domain *domain)
{
	return strlen(domain_kind(domain)) + text_size(domain->name, domain->name_len);
}

void el_domain_text(char *to, const struct el_domain *domain)
{
	const char *kind = domain_kind(domain);
	size_t len = strlen(kind);

	memcpy(to, kind, len);
	write_text(to + len, domain->name, domain->name_len);
}

size_t el_name_text_size(const struct el_entity *entity)
{
	return entity ? text_size(entity->name, entity->name_len) : 1;
}

void el_name_text(char *to, const struct el_entity *entity)
{
	if (entity)
		write_text(to, entity->name, entity->name_len);
	else
		*to = '\0';
}

size_t el_label_text_size(const struct el_token *token)
{
	return token->label ? text_size(token->label->text, token->label->len) : 1;
}

void el_label_text(char *to, const struct el_token *token)
{
	if (token->label)
		write_text(to, token->label->text, token->label->len);
	else
		*to = '\0';
}

/* That of the current thread, which others may set meanwhile; no lock may be taken here. */
void el_comm_text(char *to)
{
	char comm[TASK_COMM_LEN];

	strscpy(comm, current->comm, sizeof(comm));
	write_text(to, comm, strlen(comm));
}

/* The first in the way of a token that waits for an entity, which it may share. */
static struct el_token *holder_of(struct el_entity *entity, const struct el_token *token)
{
	struct el_hold *hold;

	lockdep_assert_held(&entity->lock);
	list_for_each_entry(hold, &entity->queue.holders, link) {
		if (hold->token != token)
			return hold->token;
	}
	return NULL;
}

/* NULL for the request that is first: the operations in its way are only counted. */
static struct el_token *holder_of_gate(struct el_gate *gate, const struct el_token *token)
{
	lockdep_assert_held(&gate->lock);
	if (gate->holder)
		return gate->holder;
	return gate->awaited != token ? gate->awaited : NULL;
}

static void note_holder(struct el_blocked *blocked, struct el_token *holder)
{
	if (!holder)
		return;
	blocked->holder = holder->id;
	spin_lock(&holder->lock);
	blocked->holder_pid = pid_nr(holder->owner);
	spin_unlock(&holder->lock);
}

/**
 * el_blocked_begin - a thread is about to block, if it has to
 * @blocked: output
 * @token: what it waits for
 * @cause: by what verb: EL_FOR_ENTITY, or that which raises
 *
 * Context: no lock is held; the token may have been granted by now.
 */
void el_blocked_begin(struct el_blocked *blocked, struct el_token *token, enum el_cause cause)
{
	struct el_gate *gate = &token->domain->gate;
	struct el_entity *entity;

	*blocked = (struct el_blocked){ .traced = trace_entitylock_blocked_enabled() };
	if (likely(!blocked->traced))
		return;
	blocked->since = ktime_get_ns();
	mutex_lock(&token->mutex);
	if (token->gate || !token->entered || token->pos >= token->count) {
		blocked->cause = EL_FOR_GATE;
		spin_lock(&gate->lock);
		note_holder(blocked, holder_of_gate(gate, token));
		spin_unlock(&gate->lock);
	} else {
		entity = token->set[token->pos]->entity;
		refcount_inc(&entity->refs);
		blocked->cause = cause;
		blocked->entity = entity;
		spin_lock(&entity->lock);
		note_holder(blocked, holder_of(entity, token));
		spin_unlock(&entity->lock);
	}
	mutex_unlock(&token->mutex);
}

/* el_blocked_end - it goes on, and returns @result */
void el_blocked_end(struct el_blocked *blocked, struct el_token *token, int result)
{
	if (likely(!blocked->traced))
		return;
	blocked->duration = ktime_get_ns() - blocked->since;
	trace_entitylock_blocked(token, blocked, result);
	if (blocked->entity)
		el_entity_put(token->domain, blocked->entity);
}
