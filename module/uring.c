// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring commands: the verbs that do not wait, each done when it is submitted.
 *
 * A command never stays pending: io_uring's cancellation and linked time-outs do
 * not reach one that does, and it would pin the file.  Who waits polls.
 */
#include "compat.h"

#ifdef EL_HAVE_URING
#include <linux/io_uring/cmd.h>
#include <linux/kernel.h>

#include "device.h"
#include "uring.h"
#include "verbs.h"

/*
 * The first 8 bytes of the payload are the argument's address.  They are shared
 * with userspace, and so read once.  An -EAGAIN that is returned would make
 * io_uring try again in a worker: it is posted.
 *
 * Context: the submitter, or a thread of io_uring's that shares its memory and its
 * files; the ring's lock may be held.
 */
static int command(struct io_uring_cmd *cmd, unsigned int issue_flags,
		   long (*verb)(struct file *file, unsigned int cmd, void __user *user))
{
	u64 user = READ_ONCE(*io_uring_sqe_cmd(cmd->sqe, u64));
	int ret = verb(cmd->file, cmd->cmd_op, u64_to_user_ptr(user));

	if (ret != -EAGAIN)
		return ret;
	io_uring_cmd_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}

/* el_device_uring_cmd - a verb of a domain fd */
int el_device_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	return command(cmd, issue_flags, el_device_command);
}

/* el_token_uring_cmd - a verb of a token fd */
int el_token_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	return command(cmd, issue_flags, el_token_command);
}
#endif
