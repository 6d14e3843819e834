// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs of a token fd: decode, attempt, tell the results.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <linux/entitylock.h>

#include "acquire.h"
#include "args.h"
#include "attempt.h"
#include "info.h"
#include "lease.h"
#include "park.h"
#include "token.h"
#include "verbs.h"
#include "wait.h"

/* Bytes of the structs as first published. */
#define LOCK_LEAST	offsetofend(struct entitylock_lock, fence)
#define UNLOCK_LEAST	offsetofend(struct entitylock_unlock, fence)
#define CONVERT_LEAST	offsetofend(struct entitylock_convert, fence)
#define EXTEND_LEAST	offsetofend(struct entitylock_acquire, reserved)
#define RENEW_LEAST	offsetofend(struct entitylock_renew, reserved)
#define LABEL_LEAST	offsetofend(struct entitylock_label, reserved)

#define WAITING_FLAGS	(ENTITYLOCK_ASYNC | EL_CLOCK_FLAGS)
#define LOCK_FLAGS	(WAITING_FLAGS | ENTITYLOCK_ROBUST | ENTITYLOCK_IF_UNCHANGED)
#define UNLOCK_FLAGS	(ENTITYLOCK_CANCEL | ENTITYLOCK_UNCHANGED | ENTITYLOCK_CONSISTENT)

/*
 * What an attempt has brought is told to the caller, or taken back.  One that
 * goes on asynchronously is a success: the token is PENDING.
 */
static int settle_lock(struct el_token *token, const struct el_grant *grant,
		       struct entitylock_lock __user *user)
{
	int ret = el_args_deliverable();

	if (!ret)
		ret = el_args_tell(user, LOCK_LEAST, grant->fence, &user->fence,
				   grant->result, &user->result);
	if (ret)
		el_attempt_take_back(token, grant);
	return ret;
}

/* The same for CONVERT, which has no result but the number. */
static int settle_convert(struct el_token *token, const struct el_grant *grant,
			  struct entitylock_convert __user *user)
{
	int ret = el_args_deliverable();

	if (!ret && put_user(grant->fence, &user->fence))
		ret = -EFAULT;
	if (ret)
		el_attempt_take_back(token, grant);
	return ret;
}

static noinline long token_lock(struct el_token *token, unsigned int cmd,
				struct entitylock_lock __user *user, bool may_wait)
{
	struct entitylock_lock args;
	struct el_deadline deadline;
	struct el_grant grant = { .kind = EL_NOTHING };
	struct el_terms terms;
	int ret;

	ret = el_args_read(&args, sizeof(args), LOCK_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags & ~LOCK_FLAGS || !el_lease_valid(args.lease))
		return -EINVAL;
	terms.lease = args.lease;
	terms.robust = args.flags & ENTITYLOCK_ROBUST;
	terms.unchanged = args.flags & ENTITYLOCK_IF_UNCHANGED;
	terms.given = false;
	if (terms.unchanged && token->gate)
		return -EINVAL;
	ret = el_deadline_read(&deadline, args.deadline, args.flags, may_wait);
	if (ret)
		return ret;
	ret = el_attempt_lock(token, &terms, &deadline, args.flags & ENTITYLOCK_ASYNC, &grant);
	if (ret == -ESTALE && grant.result && put_user(grant.result, &user->result))
		return -EFAULT;
	if (ret && ret != -EINPROGRESS)
		return ret;
	return settle_lock(token, &grant, user);
}

static noinline long token_unlock(struct el_token *token, unsigned int cmd,
				  void __user *user)
{
	struct entitylock_unlock args;
	int ret;

	ret = el_args_read(&args, sizeof(args), UNLOCK_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags & ~UNLOCK_FLAGS || args.reserved)
		return -EINVAL;
	if (args.flags & ENTITYLOCK_CANCEL && args.flags != ENTITYLOCK_CANCEL)
		return -EINVAL;
	return el_attempt_unlock(token, args.flags, args.fence);
}

/* Nothing can be taken back here, so the results are written first. */
static int downgrade(struct el_token *token, u64 __user *user_fence)
{
	u64 fence;
	int ret;

	do {
		spin_lock(&token->lock);
		fence = token->fence;
		ret = el_token_check(token, ENTITYLOCK_HELD);
		spin_unlock(&token->lock);
		if (ret)
			return ret;
		ret = el_args_deliverable();
		if (ret)
			return ret;
		if (put_user(fence, user_fence))
			return -EFAULT;
		ret = el_attempt_downgrade(token, fence);
	} while (ret == -EAGAIN);
	return ret;
}

static long token_convert(struct el_token *token, unsigned int cmd,
			  struct entitylock_convert __user *user, bool may_wait)
{
	struct entitylock_convert args;
	struct el_deadline deadline;
	struct el_grant grant = { .kind = EL_NOTHING };
	int ret;

	ret = el_args_read(&args, sizeof(args), CONVERT_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags & ~WAITING_FLAGS || token->gate)
		return -EINVAL;
	ret = el_deadline_read(&deadline, args.deadline, args.flags, may_wait);
	if (ret)
		return ret;
	switch (args.mode) {
	case ENTITYLOCK_SHARED:
		return downgrade(token, &user->fence);
	case ENTITYLOCK_EXCLUSIVE:
		ret = el_attempt_upgrade(token, &deadline, args.flags & ENTITYLOCK_ASYNC, &grant);
		if (ret && ret != -EINPROGRESS)
			return ret;
		return settle_convert(token, &grant, user);
	default:
		return -EINVAL;
	}
}

/* Room for the set as it is now, and what is to be added. */
static int make_room(struct el_extension *more, const struct el_token *token)
{
	more->room = min_t(u32, READ_ONCE(token->count) + more->count, ENTITYLOCK_SET_MAX);
	more->set = kvmalloc_array(more->room, sizeof(*more->set), GFP_KERNEL_ACCOUNT);
	return more->set ? 0 : -ENOMEM;
}

static int extend(struct el_token *token, struct el_set *set,
		  const struct el_deadline *deadline, bool async, struct el_grant *grant)
{
	struct el_extension more = { .fresh = set->holds, .count = set->count };
	int ret;

	more.spare = kvmalloc_array(set->count, sizeof(*more.spare), GFP_KERNEL_ACCOUNT);
	if (!more.spare)
		return -ENOMEM;
	do {
		ret = make_room(&more, token);
		if (ret)
			break;
		ret = el_attempt_extend(token, &more, deadline, async, grant);
		if (more.set != &token->single)
			kvfree(more.set);
	} while (ret == -ENOSPC);	/* the set has grown meanwhile */

	if (more.taken) {
		set->count = more.nr_spare;
		memcpy(set->holds, more.spare, more.nr_spare * sizeof(*more.spare));
	}
	kvfree(more.spare);
	return ret;
}

static long token_extend(struct el_token *token, unsigned int cmd,
			 struct entitylock_acquire __user *user, bool may_wait)
{
	struct el_grant grant = { .kind = EL_NOTHING };
	struct entitylock_acquire args;
	struct el_deadline deadline;
	struct el_set set = { .pinned = true };
	int ret;

	ret = el_args_read(&args, sizeof(args), EXTEND_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags & ~(WAITING_FLAGS | ENTITYLOCK_IF_UNCHANGED) || args.reserved ||
	    args.lease || args.label_len || token->gate)
		return -EINVAL;
	ret = el_token_check_sealed(token);
	if (ret)
		return ret;
	ret = el_deadline_read(&deadline, args.deadline, args.flags, may_wait);
	if (ret)
		return ret;
	ret = el_set_read(&set, token, &args, false);
	if (ret)
		return ret;
	ret = extend(token, &set, &deadline, args.flags & ENTITYLOCK_ASYNC, &grant);
	el_set_free_holds(&set);
	ret = el_acquire_results(&set, token, &args, user, &grant, ret);
	el_set_free_named(&set, token->domain);
	return ret == -EINPROGRESS ? 0 : ret;
}

static long token_renew(struct el_token *token, unsigned int cmd, void __user *user)
{
	struct entitylock_renew args;
	int ret;

	ret = el_args_read(&args, sizeof(args), RENEW_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags || args.reserved || !el_lease_valid(args.lease))
		return -EINVAL;
	ret = el_token_check_sealed(token);
	if (ret)
		return ret;
	return el_attempt_renew(token, args.lease);
}

static long token_label(struct el_token *token, unsigned int cmd, void __user *user)
{
	struct entitylock_label args;
	struct el_label *label;
	int ret;

	ret = el_args_read(&args, sizeof(args), LABEL_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.reserved)
		return -EINVAL;
	label = el_label_read(args.label, args.label_len);
	if (IS_ERR(label))
		return PTR_ERR(label);
	if (READ_ONCE(token->state) == ENTITYLOCK_LOST) {
		kfree(label);
		return -ESTALE;
	}
	el_token_set_owner(token, label);
	return 0;
}

/* Those that are called less often. */
static noinline long other_verb(struct file *file, unsigned int cmd, void __user *user,
				bool may_wait)
{
	struct el_token *token = file->private_data;

	switch (_IOC_NR(cmd)) {
	case _IOC_NR(ENTITYLOCK_IOC_CONVERT):
		return token_convert(token, cmd, user, may_wait);
	case _IOC_NR(ENTITYLOCK_IOC_EXTEND):
		return token_extend(token, cmd, user, may_wait);
	case _IOC_NR(ENTITYLOCK_IOC_RENEW):
		return token_renew(token, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_PARK):
		return el_park(file, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_LABEL):
		return token_label(token, cmd, user);
	case _IOC_NR(ENTITYLOCK_IOC_INFO):
		return el_token_info(token, cmd, user);
	default:
		return -ENOTTY;
	}
}

/* Verbs are told apart by type and number; sizes may differ. */
static __always_inline long verb(struct file *file, unsigned int cmd, void __user *user,
				 bool may_wait)
{
	if (_IOC_TYPE(cmd) != ENTITYLOCK_IOC_TYPE)
		return -ENOTTY;
	if (_IOC_NR(cmd) == _IOC_NR(ENTITYLOCK_IOC_LOCK))
		return token_lock(file->private_data, cmd, user, may_wait);
	if (_IOC_NR(cmd) == _IOC_NR(ENTITYLOCK_IOC_UNLOCK))
		return token_unlock(file->private_data, cmd, user);
	return other_verb(file, cmd, user, may_wait);
}

/* el_token_ioctl - a verb, which may wait */
long el_token_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return verb(file, cmd, (void __user *)arg, true);
}

/* el_token_command - a verb by io_uring, which must not wait */
long el_token_command(struct file *file, unsigned int cmd, void __user *user)
{
	return verb(file, cmd, user, false);
}
