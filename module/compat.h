/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that the module is built for, so that the
 * rest reads as if only the newest existed.  6.1 is the oldest.
 */
#ifndef EL_COMPAT_H
#define EL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Before 6.12 commands cannot be relied on; io_uring refuses them by itself. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define EL_HAVE_URING
#include <linux/io_uring/cmd.h>

/* Both came with the macro for large entries. */
#ifndef io_uring_sqe128_cmd
#define io_uring_sqe_cmd(sqe, type)		((const type *)(sqe)->cmd)
#define io_uring_cmd_done(cmd, ret, flags)	io_uring_cmd_done(cmd, ret, 0, flags)
#endif
#endif

#endif /* EL_COMPAT_H */
