/* SPDX-License-Identifier: GPL-2.0 */
/* Attempts: how a token comes to hold its set, and gives it back. */
#ifndef EL_ATTEMPT_H
#define EL_ATTEMPT_H

#include <linux/types.h>

#include "token.h"

struct el_deadline;

/**
 * struct el_grant - what an attempt has brought
 * @fence: number of the grant, 0 if there is none yet
 * @before: number of the grant before it
 * @result: ENTITYLOCK_ABANDONED
 * @granted_before: number of the attempt that brought @before
 * @error: the token's before the attempt
 * @attempt: number of the attempt
 * @kind: what it raised
 */
struct el_grant {
	u64 fence;
	u64 before;
	u32 result;
	u32 granted_before;
	u32 attempt;
	int error;
	enum el_attempt_kind kind;
};

/**
 * struct el_extension - what EXTEND adds to a set
 * @fresh: holds in order, each entity once
 * @count: their number
 * @set: room for the larger set; on return the smaller one, if @taken
 * @room: elements of @set
 * @spare: room for @count holds; output: those of entities that were in the set
 * @nr_spare: output: their number
 * @taken: output: all of @fresh but @spare belongs to the token, or is gone
 */
struct el_extension {
	struct el_hold **fresh;
	u32 count;
	struct el_hold **set;
	u32 room;
	struct el_hold **spare;
	u32 nr_spare;
	bool taken;
};

/**
 * struct el_terms - on what terms an IDLE token is locked
 * @robust: exclusive holds that vanish leave a mark
 * @lease: nanoseconds of the lease, 0 = none
 * @unchanged: fail if an entity has changed since the token last saw it
 * @given: of those only which a version was given for, see read_hold()
 */
struct el_terms {
	u64 lease;
	bool robust;
	bool unchanged;
	bool given;
};

int el_attempt_lock(struct el_token *token, const struct el_terms *terms,
		    const struct el_deadline *deadline, bool async, struct el_grant *grant);
int el_attempt_upgrade(struct el_token *token, const struct el_deadline *deadline, bool async,
		       struct el_grant *grant);
int el_attempt_downgrade(struct el_token *token, u64 fence);
int el_attempt_extend(struct el_token *token, struct el_extension *more,
		      const struct el_deadline *deadline, bool async, struct el_grant *grant);
int el_attempt_unlock(struct el_token *token, u32 flags, u64 fence);
void el_attempt_take_back(struct el_token *token, const struct el_grant *grant);
int el_attempt_park(struct el_token *token, u64 lease);
void el_attempt_unpark(struct el_token *token);
int el_attempt_renew(struct el_token *token, u64 lease);
void el_attempt_expire(struct el_token *token);
bool el_attempt_admit(struct el_token *token);
void el_attempt_advance(struct el_token *token);
void el_attempt_end_token(struct el_token *token);

#endif /* EL_ATTEMPT_H */
