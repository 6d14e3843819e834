/* SPDX-License-Identifier: GPL-2.0 */
/* Leases: until when a token may count on what it holds. */
#ifndef EL_LEASE_H
#define EL_LEASE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct el_domain;
struct el_entity;
struct el_token;

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
bool el_lease_valid(u64 lease);

int el_lease_prepare(struct el_token *token, u64 lease);
void el_lease_begin(struct el_token *token);
void el_lease_end(struct el_token *token);
void el_lease_free(struct el_token *token);
bool el_lease_expired(const struct el_token *token);
u64 el_lease_left(const struct el_token *token);
void el_lease_arm(struct el_token *token);

void el_lease_scan(struct el_domain *domain, struct el_entity *entity);
void el_lease_notice_gate(struct el_domain *domain);
void el_lease_scan_gate(struct el_domain *domain);
void el_lease_sweep(struct el_domain *domain, void (*expired)(struct el_token *token));

#endif /* EL_LEASE_H */
