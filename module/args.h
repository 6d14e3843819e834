/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of ioctls: structs that may grow at their end, in both directions. */
#ifndef EL_ARGS_H
#define EL_ARGS_H

#include <linux/fault-inject-usercopy.h>
#include <linux/ioctl.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "attempt.h"

/*
 * Words of a struct whose size the compiler knows: a handful of loads, where
 * copy_from_user() would check and copy as for any size.
 */
static __always_inline int el_args_read_words(u64 *to, const u64 __user *from, size_t words)
{
	size_t i;

	might_fault();
	if (should_fail_usercopy() || !user_read_access_begin(from, words * sizeof(*from)))
		return -EFAULT;
#pragma GCC unroll 16
	for (i = 0; i < words; i++)
		unsafe_get_user(to[i], &from[i], fault);
	user_read_access_end();
	return 0;

fault:
	user_read_access_end();
	return -EFAULT;
}

/* Structs are aligned to words, but for the caller's that only the ABI aligns. */
static inline bool words_fit(const void __user *user)
{
	return IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) ||
	       IS_ALIGNED((unsigned long)user, sizeof(u64));
}

/**
 * el_args_read - copy an argument in
 * @args: output
 * @size: bytes of @args, a constant and a number of u64
 * @least: bytes that were first published
 * @user: the caller's struct
 * @usize: its bytes, as the caller says
 *
 * Return: 0, -EINVAL if it is too short, -E2BIG if it is longer than @size and
 * its tail not zero, -EFAULT.
 */
static __always_inline int el_args_read(void *args, size_t size, size_t least,
					const void __user *user, size_t usize)
{
	BUILD_BUG_ON(size % sizeof(u64));
	if (likely(usize == size && words_fit(user)))
		return el_args_read_words(args, user, size / sizeof(u64));
	if (usize < least)
		return -EINVAL;
	return copy_struct_from_user(args, size, user, usize);
}

/* Copy an argument out; a tail that the caller has and we do not is zero. */
static inline int el_args_write(void __user *user, size_t usize, const void *args, size_t size)
{
	if (copy_to_user(user, args, min(size, usize)))
		return -EFAULT;
	if (usize > size && clear_user(user + size, usize - size))
		return -EFAULT;
	return 0;
}

/*
 * Write a grant's number and result to where @user has them, an argument or an
 * element of @size bytes.
 */
static __always_inline int el_args_tell(const void __user *user, size_t size,
					u64 number, u64 __user *to_number,
					u32 result, u32 __user *to_result)
{
	might_fault();
	if (!user_write_access_begin(user, size))
		return -EFAULT;
	unsafe_put_user(number, to_number, fault);
	unsafe_put_user(result, to_result, fault);
	user_write_access_end();
	return 0;

fault:
	user_write_access_end();
	return -EFAULT;
}

/*
 * A grant that its caller can not be told of is given back: results that
 * cannot be written are one reason, a thread that will never see them another.
 */
static inline int el_args_deliverable(void)
{
	return fatal_signal_pending(current) ? -EINTR : 0;
}

#endif /* EL_ARGS_H */
