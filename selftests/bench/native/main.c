// SPDX-License-Identifier: GPL-2.0
/*
 * entitylock-native: measures when it is loaded, and prints CSV to the kernel log,
 * a line a row: "native: row,param,unit,median,min,max,p99,p999,samples".
 */
#define pr_fmt(fmt) "native: " fmt

#include <linux/module.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "domain.h"
#include "fence.h"
#include "token.h"
#include "user.h"

#include "native.h"

static uint entities = 1000000;
module_param(entities, uint, 0444);
MODULE_PARM_DESC(entities, "most that live at a time");

static char *subjects = "calls pairs reclaim";
module_param(subjects, charp, 0444);
MODULE_PARM_DESC(subjects, "what is measured: calls, pairs, reclaim; the last two need two CPUs");

/* native_record - @value, of @divisor things */
void native_record(struct native_row *row, u64 value, u32 divisor)
{
	if (row->count < ARRAY_SIZE(row->values))
		row->values[row->count++] = div_u64(value * NATIVE_UNIT, divisor);
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Nearest rank. */
static u64 quantile(const struct native_row *row, u32 thousandths)
{
	u32 rank = (u64)thousandths * row->count / 1000;

	return row->values[min(rank, row->count - 1)];
}

#define THOUSANDTHS(value) (value) / NATIVE_UNIT, (value) % NATIVE_UNIT

void native_report(struct native_row *row)
{
	if (!row->count) {
		pr_warn("%s,%u: nothing was measured\n", row->name, row->param);
		return;
	}
	sort(row->values, row->count, sizeof(*row->values), compare, NULL);
	pr_info("%s,%u,%s,%llu.%03llu,%llu.%03llu,%llu.%03llu,%llu.%03llu,%llu.%03llu,%u\n",
		row->name, row->param, row->unit ?: "ns",
		THOUSANDTHS(quantile(row, 500)), THOUSANDTHS(quantile(row, 0)),
		THOUSANDTHS(quantile(row, 1000)), THOUSANDTHS(quantile(row, 990)),
		THOUSANDTHS(quantile(row, 999)), row->count);
}

static int __init native_init(void)
{
	int ret;

	el_fence_init();
	ret = el_tokens_init();
	if (ret)
		return ret;
	ret = el_domains_init();
	if (ret) {
		el_tokens_exit();
		return ret;
	}
	if (strstr(subjects, "calls"))
		native_calls(entities);
	if (strstr(subjects, "pairs"))
		native_pairs();
	if (strstr(subjects, "reclaim"))
		native_reclaim(entities);
	if (!native_error)
		return 0;
	pr_err("failed: %d\n", native_error);
	el_domains_exit();
	el_tokens_exit();
	el_users_exit();
	return native_error;
}

static void __exit native_exit(void)
{
	el_domains_exit();
	el_tokens_exit();
	el_users_exit();
}

module_init(native_init);
module_exit(native_exit);

MODULE_DESCRIPTION("What entitylock's own code costs");
MODULE_LICENSE("GPL");
