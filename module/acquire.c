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
#include "breakage.h"
#include "domain.h"
#include "entity.h"
#include "hold.h"
#include "lease.h"
#include "order.h"
#include "token.h"
#include "wait.h"

/* Bytes of the structs as first published. */
#define ACQUIRE_LEAST	offsetofend(struct entitylock_acquire, reserved)
#define ENTITY_LEAST	offsetofend(struct entitylock_entity, result)

#define ACQUIRE_FLAGS	(ENTITYLOCK_GATE | ENTITYLOCK_OPEN | \
			 ENTITYLOCK_SEALED | LOCKING_FLAGS)

/* Flags of a verb that locks, which OPEN does not. */
#define LOCKING_FLAGS	(ENTITYLOCK_ASYNC | ENTITYLOCK_ROBUST | ENTITYLOCK_IF_UNCHANGED | \
			 EL_CLOCK_FLAGS)

/* Address of the caller's element @i; it was checked that the stride is sane. */
static void __user *element(const struct entitylock_acquire *args, u32 i)
{
	return u64_to_user_ptr(args->entities + (u64)i * args->entity_size);
}

static int read_hold(struct el_set *set, struct el_token *token,
		     const struct entitylock_acquire *args, bool first)
{
	struct el_named *named = &set->named[set->nr_named];
	struct el_hold **hold = &set->holds[set->count];
	struct entitylock_entity element_args;
	char name[ENTITYLOCK_NAME_MAX];
	struct el_entity *entity;
	int ret;

	ret = el_args_read(&element_args, sizeof(element_args), ENTITY_LEAST,
			   element(args, set->nr_named), args->entity_size);
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
	set->count++;

	named->entity = entity;
	named->expected = 0;
	if (args->flags & ENTITYLOCK_IF_UNCHANGED && element_args.version) {
		named->expected = element_args.version;
		(*hold)->seen = element_args.version;
		(*hold)->check = true;
	}
	if (set->pinned)
		refcount_inc(&entity->refs);
	set->nr_named++;
	return 0;
}

static int set_room(struct el_set *set, u32 count)
{
	set->count = 0;
	set->nr_named = 0;
	set->holds = &set->one_hold;
	set->named = &set->one_named;
	if (count == 1)
		return 0;
	set->holds = kvmalloc_array(count, sizeof(*set->holds), GFP_KERNEL_ACCOUNT);
	set->named = kvmalloc_array(count, sizeof(*set->named), GFP_KERNEL_ACCOUNT);
	return set->holds && set->named ? 0 : -ENOMEM;
}

/**
 * el_set_read - make claims on the entities that a caller names
 * @set: output; @pinned is input
 * @token: the token that will have the claims
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

	ret = set_room(set, args->count);
	while (!ret && set->nr_named < args->count) {
		ret = read_hold(set, token, args, first && !set->count);
		cond_resched();
	}
	if (ret) {
		el_set_free_holds(set);
		el_set_free_named(set, token->domain);
		return ret;
	}

	if (set->count == 1)
		return 0;
	el_order_sort(set->holds, set->count);
	unique = el_order_unique(set->holds, set->count);
	while (set->count > unique)
		el_hold_free(set->holds[--set->count]);
	return 0;
}

/* el_set_free_holds - claims that no token has taken, and their array */
void el_set_free_holds(struct el_set *set)
{
	while (set->count)
		el_hold_free(set->holds[--set->count]);
	if (set->holds != &set->one_hold)
		kvfree(set->holds);
}

/* el_set_free_named - the caller has been told */
void el_set_free_named(struct el_set *set, struct el_domain *domain)
{
	while (set->pinned && set->nr_named)
		el_entity_put(domain, set->named[--set->nr_named].entity);
	if (set->named != &set->one_named)
		kvfree(set->named);
}

/**
 * el_set_write - write the outputs in the caller's entities
 * @set: the set
 * @domain: its domain
 * @args: the caller's
 *
 * Return: 0 or -EFAULT.
 */
int el_set_write(const struct el_set *set, struct el_domain *domain,
		 const struct entitylock_acquire *args)
{
	struct entitylock_entity __user *user;
	const struct el_named *named;
	u32 i, result;
	u64 version;

	for (i = 0; i < set->nr_named; i++) {
		named = &set->named[i];
		spin_lock(&named->entity->lock);
		version = el_entity_version(domain, named->entity);
		result = named->entity->mark ? ENTITYLOCK_ABANDONED : 0;
		spin_unlock(&named->entity->lock);
		if (named->expected && named->expected != version)
			result |= ENTITYLOCK_CHANGED;
		user = element(args, i);
		if (el_args_tell(user, ENTITY_LEAST, version, &user->version,
				 result, &user->result))
			return -EFAULT;
	}
	return 0;
}

/**
 * el_acquire_results - tell the caller of ACQUIRE or EXTEND
 * @set: the set
 * @token: its token
 * @args: the caller's
 * @user: where they came from
 * @grant: what the attempt has brought
 * @ret: its result
 *
 * What has changed is told where that is the reason for a refusal, too.  What
 * cannot be told is taken back.
 *
 * Return: @ret, or why the caller cannot be told.
 */
int el_acquire_results(const struct el_set *set, struct el_token *token,
		       const struct entitylock_acquire *args,
		       struct entitylock_acquire __user *user,
		       const struct el_grant *grant, int ret)
{
	int err;

	if (ret && ret != -EINPROGRESS &&
	    !(ret == -ESTALE && grant->result & ENTITYLOCK_CHANGED))
		return ret;
	err = el_args_deliverable();
	if (!err)
		err = el_set_write(set, token->domain, args);
	if (!err)
		err = el_args_tell(user, ACQUIRE_LEAST, grant->fence, &user->fence,
				   grant->result, &user->result);
	if (err && ret != -ESTALE)
		el_attempt_take_back(token, grant);
	return err ?: ret;
}

static int check_acquire(const struct entitylock_acquire *args)
{
	if (args->flags & ~ACQUIRE_FLAGS || args->reserved || !el_lease_valid(args->lease))
		return -EINVAL;
	if (args->flags & ENTITYLOCK_OPEN && (args->flags & LOCKING_FLAGS || args->lease))
		return -EINVAL;
	if (args->flags & ENTITYLOCK_GATE &&
	    (args->count || args->flags & ENTITYLOCK_IF_UNCHANGED))
		return -EINVAL;
	return 0;
}

/* The set's claims become the new token's. */
static void adopt(struct el_token *token, struct el_set *set)
{
	token->count = set->count;
	if (set->holds == &set->one_hold)
		token->single = set->one_hold;
	else
		token->set = set->holds;
}

/* A token that is there before it holds anything has seen its entities so. */
static void see(struct el_token *token)
{
	struct el_hold *hold;
	u32 i;

	el_for_each_hold(hold, token, i) {
		if (!hold->seen)
			el_hold_see(hold, 0);
	}
}

/* A token as the caller describes it, IDLE. */
static struct el_token *make_token(struct el_domain *domain,
				   const struct entitylock_acquire *args, struct el_set *set)
{
	struct el_token *token;
	struct el_label *label;
	int ret;

	label = el_label_read(args->label, args->label_len);
	if (IS_ERR(label))
		return ERR_CAST(label);
	token = el_token_new(domain, label);
	if (!token) {
		kfree(label);
		return ERR_PTR(-ENOMEM);
	}
	token->gate = args->flags & ENTITYLOCK_GATE;
	token->sealed = args->flags & ENTITYLOCK_SEALED;
	if (!token->gate) {
		ret = el_set_read(set, token, args, true);
		if (ret) {
			el_token_put(token);
			return ERR_PTR(ret);
		}
		adopt(token, set);
		if (args->flags & (ENTITYLOCK_OPEN | ENTITYLOCK_ASYNC))
			see(token);
	}
	return token;
}

/* Give the token an fd, lock it, and tell the caller. */
static int acquire(struct el_token *token, const struct el_set *set,
		   const struct entitylock_acquire *args,
		   struct entitylock_acquire __user *user, const struct el_deadline *deadline)
{
	const struct el_terms terms = {
		.lease = args->lease,
		.robust = args->flags & ENTITYLOCK_ROBUST,
		.unchanged = args->flags & ENTITYLOCK_IF_UNCHANGED,
		.given = true,
	};
	bool async = args->flags & ENTITYLOCK_ASYNC;
	struct el_grant grant = { .kind = EL_NOTHING };
	struct file *file;
	int fd, ret = 0;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		el_attempt_end_token(token);
		el_token_put(token);
		return fd;
	}
	file = el_token_file(token);
	if (IS_ERR(file)) {
		if (!el_break_unwind())
			put_unused_fd(fd);
		el_attempt_end_token(token);
		el_token_put(token);
		return PTR_ERR(file);
	}

	if (!(args->flags & ENTITYLOCK_OPEN))
		ret = el_attempt_lock(token, &terms, deadline, async, &grant);
	ret = el_acquire_results(set, token, args, user, &grant, ret);
	if (ret && ret != -EINPROGRESS) {
		fput(file);
		put_unused_fd(fd);
		return ret;
	}
	fd_install(fd, file);
	return fd;
}

/**
 * el_acquire - ACQUIRE
 * @domain: the domain
 * @rights: those of the domain fd
 * @cmd: number of the ioctl
 * @user: the caller's struct entitylock_acquire
 * @may_wait: the caller's thread may block
 *
 * The fd is reserved before the wait and installed last, when nothing can fail
 * any more: until then nobody else can reach the token by it.
 *
 * Return: the token fd, or a negative errno, and nothing is held.
 */
long el_acquire(struct el_domain *domain, u8 rights, unsigned int cmd, void __user *user,
		bool may_wait)
{
	struct el_set set = { .named = &set.one_named };
	struct entitylock_acquire args;
	struct el_deadline deadline;
	struct el_token *token;
	int ret;

	ret = el_args_read(&args, sizeof(args), ACQUIRE_LEAST, user, _IOC_SIZE(cmd));
	if (!ret)
		ret = check_acquire(&args);
	if (!ret)
		ret = el_deadline_read(&deadline, args.deadline, args.flags,
				       may_wait || args.flags & ENTITYLOCK_OPEN);
	if (ret)
		return ret;
	if (!(rights & (args.flags & ENTITYLOCK_GATE ? EL_MAY_GATE : EL_MAY_LOCK)))
		return -EACCES;

	token = make_token(domain, &args, &set);
	if (IS_ERR(token))
		return PTR_ERR(token);
	ret = acquire(token, &set, &args, user, &deadline);
	el_set_free_named(&set, domain);
	return ret;
}
