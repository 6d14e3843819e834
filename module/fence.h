/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers of grants, which rise from each grant to those that conflict with it. */
#ifndef EL_FENCE_H
#define EL_FENCE_H

#include <linux/types.h>

void el_fence_init(void);
u64 el_fence_next(u64 floor);
u64 el_fence_max(void);
u64 el_fence_reclaimed(u32 hash);
u64 el_version_reclaimed(u32 hash);
void el_fence_reclaim(u32 hash, u64 fence, u64 version);

#endif /* EL_FENCE_H */
