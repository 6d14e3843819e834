// SPDX-License-Identifier: GPL-2.0
/*
 * ACQUIRE: from names in user memory to a locked token with an fd.
 */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stddef.h>

#include <linux/entitylock.h>

#include "acquire.h"
#include "args.h"
#include "attempt.h"
#include "domain.h"
#include "entity.h"
#include "order.h"
#include "token.h"
#include "wait.h"

/* Bytes of the structs as first published. */
#define ACQUIRE_LEAST	offsetofend(struct entitylock_acquire, reserved)
#define ENTITY_LEAST	offsetofend(struct entitylock_entity, result)

#define ACQUIRE_FLAGS	(ENTITYLOCK_ASYNC | ENTITYLOCK_GATE | ENTITYLOCK_OPEN | \
			 ENTITYLOCK_SEALED | EL_CLOCK_FLAGS)
#define EXTEND_FLAGS	(ENTITYLOCK_ASYNC | EL_CLOCK_FLAGS)

/* Flags of a verb that locks, which OPEN does not. */
#define LOCKING_FLAGS	(ENTITYLOCK_ASYNC | EL_CLOCK_FLAGS)

/* Address of the caller's element @i; it was checked that the stride is sane. */
static void __user *element(const struct entitylock_acquire *args, u32 i)
{
	return u64_to_user_ptr(args->entities + (u64)i * args->entity_size);
}

static int read_hold(struct el_hold **hold, struct el_token *token,
		     const struct entitylock_acquire *args, u32 i, bool first)
{
	struct entitylock_entity element_args;
	char name[ENTITYLOCK_NAME_MAX];
	struct el_entity *entity;
	int ret;

	ret = el_args_read(&element_args, sizeof(element_args), ENTITY_LEAST,
			   element(args, i), args->entity_size);
	if (ret)
		return ret;
	if (element_args.flags ||
	    !element_args.name_len || element_args.name_len > ENTITYLOCK_NAME_MAX)
		return -EINVAL;
	if (element_args.mode != ENTITYLOCK_SHARED && element_args.mode != ENTITYLOCK_EXCLUSIVE)
		return -EINVAL;
	if (copy_from_user(name, u64_to_user_ptr(element_args.name), element_args.name_len))
		return -EFAULT;

	entity = el_entity_get(token->domain, name, element_args.name_len);
	if (!entity)
		return -ENOMEM;
	if (first)
		*hold = el_hold_first(token, entity, element_args.mode);
	else
		*hold = el_hold_new(token, entity, element_args.mode);
	if (!*hold) {
		el_entity_put(token->domain, entity);
		return -ENOMEM;
	}
	return 0;
}

/**
 * el_set_read - make claims on the entities that a caller names
 * @set: output, in order of names, each entity once
 * @token: the token that will have them
 * @args: the caller's, of which the entities are looked at
 * @first: the token has no set yet
 *
 * Return: 0, and the claims are the caller's until the token has them; or
 * -EINVAL, -E2BIG, -EFAULT, -ENOMEM.
 */
int el_set_read(struct el_set *set, struct el_token *token,
		const struct entitylock_acquire *args, bool first)
{
	u32 unique;
	int ret;

	if (!args->count || args->count > ENTITYLOCK_SET_MAX)
		return -EINVAL;
	if (args->entity_size < ENTITY_LEAST)
		return -EINVAL;
	if (args->entity_size > PAGE_SIZE)
		return -E2BIG;

	set->holds = &set->one;
	if (args->count > 1)
		set->holds = kvmalloc_array(args->count, sizeof(*set->holds),
					    GFP_KERNEL_ACCOUNT);
	if (!set->holds)
		return -ENOMEM;

	for (set->count = 0; set->count < args->count; set->count++) {
		ret = read_hold(&set->holds[set->count], token, args, set->count,
				first && !set->count);
		if (ret) {
			el_set_free(set);
			return ret;
		}
		cond_resched();
	}

	el_order_sort(set->holds, set->count);
	unique = el_order_unique(set->holds, set->count);
	while (set->count > unique)
		el_hold_free(set->holds[--set->count]);
	return 0;
}

/* el_set_free - the claims that no token has taken, and their array, unless it was */
void el_set_free(struct el_set *set)
{
	while (set->count)
		el_hold_free(set->holds[--set->count]);
	if (set->holds != &set->one)
		kvfree(set->holds);
}

/**
 * el_set_write - write the outputs in the caller's entities
 * @args: the caller's
 *
 * Return: 0 or -EFAULT.
 */
int el_set_write(const struct entitylock_acquire *args)
{
	struct entitylock_entity __user *user;
	u32 i;

	for (i = 0; i < args->count; i++) {
		user = element(args, i);
		if (put_user(0, &user->version) || put_user(0, &user->result))
			return -EFAULT;
	}
	return 0;
}

static int write_results(struct entitylock_acquire __user *user,
			 const struct entitylock_acquire *args, u64 fence)
{
	int ret = el_args_deliverable();

	if (!ret)
		ret = el_set_write(args);
	if (!ret && (put_user(fence, &user->fence) || put_user(0, &user->result)))
		ret = -EFAULT;
	return ret;
}

static int check_acquire(const struct entitylock_acquire *args)
{
	if (args->flags & ~ACQUIRE_FLAGS || args->reserved || args->lease)
		return -EINVAL;
	if (args->flags & ENTITYLOCK_OPEN && args->flags & LOCKING_FLAGS)
		return -EINVAL;
	if (args->flags & ENTITYLOCK_GATE && args->count)
		return -EINVAL;
	return 0;
}

/* The set becomes the new token's. */
static void adopt(struct el_token *token, struct el_set *set)
{
	token->count = set->count;
	if (set->holds == &set->one)
		token->single = set->one;
	else
		token->set = set->holds;
}

/* A token as the caller describes it, IDLE. */
static struct el_token *make_token(struct el_domain *domain,
				   const struct entitylock_acquire *args)
{
	struct el_token *token;
	struct el_label *label;
	struct el_set set;
	int ret;

	label = el_label_read(args->label, args->label_len);
	if (IS_ERR(label))
		return ERR_CAST(label);
	token = el_token_new(domain);
	if (!token) {
		kfree(label);
		return ERR_PTR(-ENOMEM);
	}
	el_token_set_owner(token, label);
	token->gate = args->flags & ENTITYLOCK_GATE;
	token->sealed = args->flags & ENTITYLOCK_SEALED;
	if (!token->gate) {
		ret = el_set_read(&set, token, args, true);
		if (ret) {
			el_token_put(token);
			return ERR_PTR(ret);
		}
		adopt(token, &set);
	}
	return token;
}

/**
 * el_acquire - ACQUIRE
 * @domain: the domain
 * @cmd: number of the ioctl
 * @user: the caller's struct entitylock_acquire
 *
 * The fd is reserved before the wait and installed last, when nothing can fail
 * any more: until then nobody else can reach the token by it.
 *
 * Return: the token fd, or a negative errno, and nothing is held.
 */
long el_acquire(struct el_domain *domain, unsigned int cmd, void __user *user)
{
	struct el_grant grant = { .kind = EL_NOTHING };
	struct entitylock_acquire args;
	struct el_deadline deadline;
	struct el_token *token;
	struct file *file;
	bool async;
	int fd, ret;

	ret = el_args_read(&args, sizeof(args), ACQUIRE_LEAST, user, _IOC_SIZE(cmd));
	if (!ret)
		ret = check_acquire(&args);
	if (!ret)
		ret = el_deadline_read(&deadline, args.deadline, args.flags);
	if (ret)
		return ret;

	token = make_token(domain, &args);
	if (IS_ERR(token))
		return PTR_ERR(token);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = fd;
		goto err_token;
	}
	file = el_token_file(token);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_fd;
	}

	if (!(args.flags & ENTITYLOCK_OPEN)) {
		async = args.flags & ENTITYLOCK_ASYNC;
		ret = el_attempt_lock(token, &deadline, async, &grant);
		if (ret && !(async && ret == -EINPROGRESS))
			goto err_file;
	}
	ret = write_results(user, &args, grant.fence);
	if (ret)
		goto err_grant;
	fd_install(fd, file);
	return fd;

err_grant:
	el_attempt_take_back(token, &grant);
err_file:
	fput(file);
	put_unused_fd(fd);
	return ret;
err_fd:
	put_unused_fd(fd);
err_token:
	el_attempt_end_token(token);
	el_token_put(token);
	return ret;
}
