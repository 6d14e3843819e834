// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of a domain, per CPU.  Whoever waits looks at the clock when it
 * queues and when it is granted; whoever does not wait counts one grant.  How long
 * things are held is counted only while somebody asks for it, by the jiffies that
 * a token keeps of its last change.
 */
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/ktime.h>

#include "domain.h"
#include "stats.h"
#include "token.h"

DEFINE_STATIC_KEY_FALSE(el_stats_holds);

static int set_hold_times(const char *value, const struct kernel_param *param)
{
	bool on;
	int ret = kstrtobool(value, &on);

	if (ret)
		return ret;
	if (on)
		static_branch_enable(&el_stats_holds);
	else
		static_branch_disable(&el_stats_holds);
	return 0;
}

static int get_hold_times(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%c\n", static_key_enabled(&el_stats_holds) ? 'Y' : 'N');
}

static const struct kernel_param_ops hold_times_ops = {
	.set = set_hold_times,
	.get = get_hold_times,
};
module_param_cb(hold_times, &hold_times_ops, NULL, 0644);
MODULE_PARM_DESC(hold_times, "Count how long entities are held (N)");

int el_stats_init(struct el_domain *domain)
{
	domain->stats = alloc_percpu_gfp(struct el_stats, GFP_KERNEL_ACCOUNT);
	return domain->stats ? 0 : -ENOMEM;
}

void el_stats_destroy(struct el_domain *domain)
{
	free_percpu(domain->stats);
}

static unsigned int bucket(u64 ns)
{
	u64 us = div_u64(ns, NSEC_PER_USEC);

	return us ? min(ilog2(us) + 1, EL_STATS_BUCKETS - 1) : 0;
}

/**
 * el_stats_wait - a token is about to wait
 * @token: a token that is in no queue yet, or goes from one into the next
 *
 * Context: the token's mutex, and the lock under which it could be granted.
 */
void el_stats_wait(struct el_token *token)
{
	lockdep_assert_held(&token->mutex);
	spin_lock(&token->lock);
	if (!token->queued && token->state == ENTITYLOCK_PENDING) {
		token->queued = ktime_get_ns();
		this_cpu_inc(token->domain->stats->waiters);
	}
	spin_unlock(&token->lock);
}

/**
 * el_stats_waited - a token waits no longer
 * @token: a token that has waited
 *
 * Context: the token's lock is held.
 * Return: how long, in nanoseconds.
 */
u64 el_stats_waited(struct el_token *token)
{
	u64 queued = token->queued;

	lockdep_assert_held(&token->lock);
	token->queued = 0;
	this_cpu_dec(token->domain->stats->waiters);
	return ktime_get_ns() - queued;
}

/* el_stats_contended - a grant, after so many nanoseconds of waiting */
void el_stats_contended(struct el_domain *domain, u64 waited)
{
	this_cpu_inc(domain->stats->contended);
	this_cpu_inc(domain->stats->waits[bucket(waited)]);
}

/* el_stats_held - el_stats_release() while hold times are counted */
void el_stats_held(struct el_token *token)
{
	lockdep_assert_held(&token->lock);
	this_cpu_inc(token->domain->stats->holds[bucket(el_token_age(token))]);
}

static unsigned long sum(const struct el_domain *domain, size_t offset)
{
	unsigned long total = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		total += READ_ONCE(*(unsigned long *)((void *)per_cpu_ptr(domain->stats, cpu) +
						      offset));
	return total;
}

#define stats_sum(domain, what)	sum(domain, offsetof(struct el_stats, what))

/* What goes up on one CPU and down on another may be seen down first. */
static long level(unsigned long total)
{
	return max_t(long, total, 0);
}

/* Without the zeros at the end. */
static void show_histogram(struct seq_file *seq, const char *name,
			   const struct el_domain *domain, size_t offset)
{
	unsigned long counts[EL_STATS_BUCKETS];
	unsigned int i, used = 0;

	for (i = 0; i < EL_STATS_BUCKETS; i++) {
		counts[i] = sum(domain, offset + i * sizeof(counts[0]));
		if (counts[i])
			used = i + 1;
	}
	seq_printf(seq, "%s:\t", name);
	for (i = 0; i < used; i++)
		seq_printf(seq, i ? " %lu" : "%lu", counts[i]);
	seq_putc(seq, '\n');
}

/* el_stats_show - a line for each of them, for fdinfo */
void el_stats_show(struct seq_file *seq, const struct el_domain *domain)
{
	seq_printf(seq, "tokens:\t%ld\n", level(stats_sum(domain, tokens)));
	seq_printf(seq, "waiters:\t%ld\n", level(stats_sum(domain, waiters)));
	seq_printf(seq, "in-flight:\t%lu\n", el_gate_in_flight(&domain->gate));
	seq_printf(seq, "grants:\t%lu\n", stats_sum(domain, grants));
	seq_printf(seq, "contended:\t%lu\n", stats_sum(domain, contended));
	show_histogram(seq, "waits", domain, offsetof(struct el_stats, waits));
	if (static_key_enabled(&el_stats_holds))
		show_histogram(seq, "holds", domain, offsetof(struct el_stats, holds));
}
