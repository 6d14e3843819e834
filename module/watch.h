/* SPDX-License-Identifier: GPL-2.0 */
/* POLLPRI: tokens that want to know when somebody waits for what they hold. */
#ifndef EL_WATCH_H
#define EL_WATCH_H

#include <linux/types.h>

#include "entity.h"

struct el_domain;
struct el_hold;
struct el_token;
struct llist_node;

__poll_t el_watch_poll(struct el_token *token);
u32 el_watch_waiters(struct el_token *token);
void el_entity_notice(struct el_domain *domain, struct el_entity *entity);
void el_watch_notice_gate(struct el_domain *domain);
void el_watch_tell(struct el_domain *domain, struct llist_node *notices);
void el_watch_tell_gate(struct el_domain *domain);
void el_watch_forget_hold(struct el_hold *hold);
void el_watch_forget(struct el_token *token);

/* el_watch_notice - something happens that an entity's watchers want to see */
static inline void el_watch_notice(struct el_domain *domain, struct el_entity *entity)
{
	if (unlikely(!hlist_empty(&entity->watchers)))
		el_entity_notice(domain, entity);
}

#endif /* EL_WATCH_H */
