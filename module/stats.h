/* SPDX-License-Identifier: GPL-2.0 */
/* Statistics of a domain: how many, how often, how long. */
#ifndef EL_STATS_H
#define EL_STATS_H

#include <linux/jump_label.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>

struct el_domain;
struct el_token;
struct seq_file;

/* Histogram: number i counts what took less than 2^i microseconds, the last one all else. */
#define EL_STATS_BUCKETS	32

/**
 * struct el_stats - what happened on one CPU; only sums over all CPUs mean something
 * @tokens: made, less those gone
 * @grants: of tokens, also of more to one that had some
 * @contended: those of them that were waited for
 * @waiters: tokens that began to wait, less those that ceased to
 * @waits: how long those that were granted waited
 * @holds: how long what was granted was held, while that is asked for
 *
 * They may be read as of slightly different moments.
 */
struct el_stats {
	unsigned long tokens;
	unsigned long grants;
	unsigned long contended;
	unsigned long waiters;
	unsigned long waits[EL_STATS_BUCKETS];
	unsigned long holds[EL_STATS_BUCKETS];
};

/* Are hold times counted? */
DECLARE_STATIC_KEY_FALSE(el_stats_holds);

int el_stats_init(struct el_domain *domain);
void el_stats_destroy(struct el_domain *domain);
void el_stats_wait(struct el_token *token);
u64 el_stats_waited(struct el_token *token);
void el_stats_contended(struct el_domain *domain, u64 waited);
void el_stats_held(struct el_token *token);
void el_stats_show(struct seq_file *seq, const struct el_domain *domain);

/* el_stats_release - a HELD token gives up, or loses, what it holds; under its lock */
static inline void el_stats_release(struct el_token *token)
{
	if (static_branch_unlikely(&el_stats_holds))
		el_stats_held(token);
}

#endif /* EL_STATS_H */
