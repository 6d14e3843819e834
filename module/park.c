// SPDX-License-Identifier: GPL-2.0
/*
 * Parking: a token's file is kept by a table until somebody claims it with the
 * cookie, until its lease ends, or until it is broken.
 *
 * Whoever takes the parking out of the table has its reference to the file, so
 * of a claim and the end of a lease that come at the same moment one wins.
 */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/stddef.h>

#include <crypto/algapi.h>

#include <linux/entitylock.h>

#include "args.h"
#include "attempt.h"
#include "domain.h"
#include "lease.h"
#include "park.h"
#include "token.h"
#include "trace.h"
#include "user.h"

#define PARK_LEAST	offsetofend(struct entitylock_park, cookie)
#define CLAIM_LEAST	offsetofend(struct entitylock_claim, reserved)

/**
 * struct el_parking - a token's place
 * @node: in the table; its lock
 * @cookie: constant
 * @file: the token's file; a reference
 * @user: who is charged; a reference
 */
struct el_parking {
	struct hlist_node node;
	u8 cookie[ENTITYLOCK_COOKIE_SIZE];
	struct file *file;
	struct el_user *user;
};

static DEFINE_SPINLOCK(el_parked_lock);
static DEFINE_HASHTABLE(el_parked, 10);

/* Cookies are random: any part of one will do as its hash. */
static u32 cookie_hash(const u8 *cookie)
{
	u32 hash;

	memcpy(&hash, cookie, sizeof(hash));
	return hash;
}

static void parking_free(struct el_parking *parking)
{
	if (parking->user)
		el_user_uncharge(parking->user, EL_PARKED, 1);
	el_user_put(parking->user);
	kfree(parking);
}

static struct el_parking *parking_new(void)
{
	struct el_parking *parking = kzalloc(sizeof(*parking), GFP_KERNEL_ACCOUNT);
	struct el_user *user;

	if (!parking)
		return ERR_PTR(-ENOMEM);
	get_random_bytes(parking->cookie, sizeof(parking->cookie));
	user = el_user_get();
	if (user && el_user_charge(user, EL_PARKED, 1)) {
		parking->user = user;
		return parking;
	}
	el_user_put(user);
	kfree(parking);
	return ERR_PTR(user ? -EDQUOT : -ENOMEM);
}

static void insert(struct el_parking *parking)
{
	spin_lock(&el_parked_lock);
	hash_add(el_parked, &parking->node, cookie_hash(parking->cookie));
	spin_unlock(&el_parked_lock);
}

/* Return: true for the one who takes it out. */
static bool remove(struct el_parking *parking)
{
	bool removed;

	spin_lock(&el_parked_lock);
	removed = hash_hashed(&parking->node);
	hash_del(&parking->node);
	spin_unlock(&el_parked_lock);
	return removed;
}

/* The parking of that cookie in a domain, taken out of the table, or NULL. */
static struct el_parking *take(const struct el_domain *domain, const u8 *cookie)
{
	struct el_parking *parking;

	spin_lock(&el_parked_lock);
	hash_for_each_possible(el_parked, parking, node, cookie_hash(cookie)) {
		if (crypto_memneq(parking->cookie, cookie, ENTITYLOCK_COOKIE_SIZE))
			continue;
		if (el_token_of(parking->file)->domain != domain)
			break;
		hash_del(&parking->node);
		spin_unlock(&el_parked_lock);
		return parking;
	}
	spin_unlock(&el_parked_lock);
	return NULL;
}

/**
 * el_park - PARK
 * @file: the token's file
 * @cmd: number of the ioctl
 * @user: the caller's struct entitylock_park
 *
 * The cookie is written before the token is parked: until then it opens nothing.
 */
long el_park(struct file *file, unsigned int cmd, void __user *user)
{
	struct el_token *token = el_token_of(file);
	struct el_parking *parking;
	struct entitylock_park args;
	int ret;

	ret = el_args_read(&args, sizeof(args), PARK_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags || args.reserved || !el_lease_valid(args.lease))
		return -EINVAL;
	ret = el_token_check_sealed(token);
	if (ret)
		return ret;
	/* Rather than that there is no room for one more. */
	if (READ_ONCE(token->state) == ENTITYLOCK_LOST)
		return -ESTALE;
	if (READ_ONCE(token->parked))
		return -EBADFD;
	parking = parking_new();
	if (IS_ERR(parking))
		return PTR_ERR(parking);
	memcpy(args.cookie, parking->cookie, sizeof(args.cookie));
	ret = el_args_write(user, _IOC_SIZE(cmd), &args, sizeof(args));
	if (ret)
		goto err;

	mutex_lock(&token->mutex);
	ret = el_attempt_park(token, args.lease);
	if (!ret) {
		parking->file = get_file(file);
		token->parking = parking;
		insert(parking);
		el_trace(park, token, el_trace_first(token));
	}
	mutex_unlock(&token->mutex);
	if (!ret)
		return 0;
err:
	parking_free(parking);
	return ret;
}

/**
 * el_claim - CLAIM
 * @domain: the domain
 * @rights: those of the domain fd
 * @cmd: number of the ioctl
 * @user: the caller's struct entitylock_claim
 *
 * Return: an fd of the token, or a negative errno.
 */
long el_claim(struct el_domain *domain, u8 rights, unsigned int cmd, void __user *user)
{
	struct el_parking *parking;
	struct entitylock_claim args __aligned(sizeof(u64));
	struct el_token *token;
	int fd, ret;

	ret = el_args_read(&args, sizeof(args), CLAIM_LEAST, user, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (args.flags || args.reserved)
		return -EINVAL;
	if (!(rights & EL_MAY_LOCK))
		return -EACCES;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	parking = take(domain, args.cookie);
	if (!parking) {
		put_unused_fd(fd);
		return -ENOENT;
	}

	token = el_token_of(parking->file);
	mutex_lock(&token->mutex);
	token->parking = NULL;
	el_attempt_unpark(token);
	ret = el_token_check(token, ENTITYLOCK_LOST) ? 0 : -ENOENT;
	if (!ret)
		el_trace(claim, token, el_trace_first(token));
	mutex_unlock(&token->mutex);
	if (ret) {
		/* Broken, or its time was over: the worker would have ended it. */
		put_unused_fd(fd);
		fput(parking->file);
	} else {
		el_token_own(token);
		fd_install(fd, parking->file);
	}
	parking_free(parking);
	return ret ?: fd;
}

/**
 * el_park_check - a parked token may have come to its end
 * @token: the token
 *
 * Context: the token's mutex is held; the worker.
 */
void el_park_check(struct el_token *token)
{
	struct el_parking *parking = token->parking;

	lockdep_assert_held(&token->mutex);
	if (likely(!parking))
		return;
	if (READ_ONCE(token->state) != ENTITYLOCK_LOST &&
	    el_token_expire(token, el_trace_first(token)) != EL_LOST)
		return;
	/* Otherwise a claim has it, and will find it LOST. */
	if (!remove(parking))
		return;
	token->parking = NULL;
	fput(parking->file);
	parking_free(parking);
}
