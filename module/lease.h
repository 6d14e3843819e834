/* SPDX-License-Identifier: GPL-2.0 */
/* Leases: until when a token may count on what it holds. */
#ifndef EL_LEASE_H
#define EL_LEASE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include "token.h"

struct el_domain;
struct el_entity;

/**
 * struct el_leases - the leased holders of a domain
 * @lock: guards @tokens; it nests inside a token's lock
 * @tokens: those that hold something with a lease, for the gate to find
 * @count: their number
 * @noticed: the worker shall look through them for the gate
 */
struct el_leases {
	spinlock_t lock;	/* of the list */
	struct list_head tokens;
	u32 count;
	bool noticed;
};

void el_leases_init(struct el_leases *leases);
u64 el_lease_max(void);

int el_lease_new(struct el_token *token);
void el_lease_begin(struct el_token *token);
void el_lease_drop(struct el_token *token);
void el_lease_free(struct el_token *token);
u64 el_lease_left(const struct el_token *token);
void el_lease_arm(struct el_token *token);

void el_lease_scan(struct el_domain *domain, struct el_entity *entity);
void el_lease_notice_gate(struct el_domain *domain);
void el_lease_scan_gate(struct el_domain *domain);
void el_lease_sweep(struct el_domain *domain, void (*expired)(struct el_token *token));

/**
 * el_lease_prepare - make sure that a lease can begin
 * @token: the token
 * @lease: its duration, 0 for none
 *
 * Context: the token's mutex is held; may sleep.
 * Return: 0 or -ENOMEM.
 */
static inline int el_lease_prepare(struct el_token *token, u64 lease)
{
	lockdep_assert_held(&token->mutex);
	return likely(!lease) || token->lease ? 0 : el_lease_new(token);
}

/**
 * el_lease_end - the token holds no more, or is parked no more
 * @token: the token
 *
 * Context: the token's lock is held.  A timer that rings just now finds nothing
 * to do.
 */
static inline void el_lease_end(struct el_token *token)
{
	lockdep_assert_held(&token->lock);
	if (unlikely(token->lease_end))
		el_lease_drop(token);
}

/* el_lease_valid - is it none, or not too long? */
static inline bool el_lease_valid(u64 lease)
{
	return likely(!lease) || lease <= el_lease_max();
}

/* el_lease_expired - is there a lease, and has it run out? */
static inline bool el_lease_expired(const struct el_token *token)
{
	u64 end = READ_ONCE(token->lease_end);

	return unlikely(end) && ktime_get_boottime_ns() >= end;
}

#endif /* EL_LEASE_H */
