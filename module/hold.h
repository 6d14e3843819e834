/* SPDX-License-Identifier: GPL-2.0 */
/* Holds: one token's claim on one entity, requested, granted, ended. */
#ifndef EL_HOLD_H
#define EL_HOLD_H

#include <linux/types.h>

#include "token.h"

struct el_domain;
struct el_entity;

int el_hold_request(struct el_hold *hold, bool last, int refusal);
void el_hold_end(struct el_hold *hold, enum el_end how);
bool el_hold_downgrade(struct el_hold *hold);
void el_hold_undo(struct el_hold *hold, enum el_attempt_kind kind, u32 attempt, enum el_end how);
bool el_hold_wanted(const struct el_hold *hold);
bool el_hold_expire(struct el_hold *hold);
void el_hold_lease(struct el_hold *hold);
bool el_hold_waits(const struct el_hold *hold);
bool el_hold_changed(struct el_hold *hold);
void el_hold_see(struct el_hold *hold, u64 version);
bool el_hold_drop_mark(struct el_hold *hold);
void el_entity_grant_next(struct el_domain *domain, struct el_entity *entity);
void el_entity_grant(struct el_domain *domain, struct el_entity *entity);
int el_entity_break(struct el_domain *domain, struct el_entity *entity, u64 fence,
		    void (*end_token)(struct el_token *token));

#endif /* EL_HOLD_H */
