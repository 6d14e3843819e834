// SPDX-License-Identifier: LGPL-2.1-or-later
/* Making tokens, and the verbs of a token. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct entitylock_acquire acquire_arg(struct entitylock_entity *set,
					     unsigned int count,
					     const struct entitylock_options *opts)
{
	size_t label_len = opts->label ? strlen(opts->label) : 0;

	return (struct entitylock_acquire) {
		.flags = opts->flags,
		.count = count,
		.entities = __entitylock_address(set),
		.entity_size = sizeof(*set),
		.label_len = __entitylock_length(label_len, ENTITYLOCK_LABEL_MAX),
		.label = __entitylock_address(opts->label),
		.deadline = opts->deadline,
		.lease = opts->lease,
	};
}

static void store_grant(struct entitylock_grant *to, uint64_t fence,
			uint32_t result)
{
	if (to)
		*to = (struct entitylock_grant) { .fence = fence, .result = result };
}

/*
 * ACQUIRE, or EXTEND, of a set.  The space for what a wait may bring is got
 * first: after the grant it is too late to fail.
 */
static int take_set(int fd, unsigned long request, struct entitylock_entity *set,
		    unsigned int count, unsigned int capacity,
		    const struct entitylock_options *options,
		    struct entitylock_grant *grant)
{
	struct results *results = NULL;
	struct entitylock_grant waited;
	struct entitylock_options opts;
	struct entitylock_acquire arg;
	int ret, err, token;

	err = __entitylock_options(options, &opts);
	if (err)
		return err;
	if (__entitylock_blocks(&opts) && capacity) {
		results = __entitylock_results_alloc(capacity);
		if (!results)
			return -ENOMEM;
	}

	arg = acquire_arg(set, count, &opts);
	ret = __entitylock_begin(fd, request, &arg, &arg.flags, &opts);
	if (ret < 0)
		goto out;
	if (arg.fence || !__entitylock_blocks(&opts)) {
		store_grant(grant, arg.fence, arg.result);
		goto out;
	}

	token = request == ENTITYLOCK_IOC_ACQUIRE ? ret : fd;
	err = __entitylock_finish(token, opts.restart, &waited);
	if (results && (!err || err == -ESTALE))
		__entitylock_results_copy(results, token, 0, set, count);
	if (!err) {
		store_grant(grant, waited.fence, waited.result);
		goto out;
	}
	if (token != fd)
		__entitylock_close(token);
	ret = err;
out:
	free(results);
	return ret;
}

int entitylock_acquire_set(int domain, struct entitylock_entity *set,
			   unsigned int count,
			   const struct entitylock_options *options,
			   struct entitylock_grant *grant)
{
	unsigned int capacity = count < ENTITYLOCK_SET_MAX ? count
							   : ENTITYLOCK_SET_MAX;

	return take_set(domain, ENTITYLOCK_IOC_ACQUIRE, set, count, capacity,
			options, grant);
}

int entitylock_acquire(int domain, const void *name, size_t len, uint32_t mode,
		       const struct entitylock_options *options,
		       struct entitylock_grant *grant)
{
	struct entitylock_entity entity;

	if (options && options->flags & ENTITYLOCK_IF_UNCHANGED)
		return -EINVAL;
	entitylock_entity_init(&entity, name, len, mode);
	return take_set(domain, ENTITYLOCK_IOC_ACQUIRE, &entity, 1, 0, options,
			grant);
}

int entitylock_gate(int domain, const struct entitylock_options *options,
		    struct entitylock_grant *grant)
{
	struct entitylock_options opts;
	int err;

	err = __entitylock_options(options, &opts);
	if (err)
		return err;
	opts.size = sizeof(opts);
	opts.flags |= ENTITYLOCK_GATE;
	return take_set(domain, ENTITYLOCK_IOC_ACQUIRE, NULL, 0, 0, &opts, grant);
}

int entitylock_extend(int token, struct entitylock_entity *set,
		      unsigned int count,
		      const struct entitylock_options *options,
		      struct entitylock_grant *grant)
{
	return take_set(token, ENTITYLOCK_IOC_EXTEND, set, count,
			ENTITYLOCK_SET_MAX, options, grant);
}

/*
 * The rest of LOCK and CONVERT, once @err of __entitylock_begin() and the fence
 * that it left are known.
 */
static int complete(int token, const struct entitylock_options *opts, int err,
		    uint64_t fence, uint32_t result,
		    struct entitylock_grant *grant)
{
	struct entitylock_grant waited;

	if (err)
		return err;
	if (!fence && __entitylock_blocks(opts)) {
		err = __entitylock_finish(token, opts->restart, &waited);
		if (err)
			return err;
		fence = waited.fence;
		result = waited.result;
	}
	store_grant(grant, fence, result);
	return 0;
}

int entitylock_lock(int token, const struct entitylock_options *options,
		    struct entitylock_grant *grant)
{
	struct entitylock_options opts;
	struct entitylock_lock arg = {};
	int err;

	err = __entitylock_options(options, &opts);
	if (err)
		return err;
	if (opts.label)
		return -EINVAL;

	arg.flags = opts.flags;
	arg.deadline = opts.deadline;
	arg.lease = opts.lease;
	err = __entitylock_begin(token, ENTITYLOCK_IOC_LOCK, &arg, &arg.flags,
				 &opts);
	return complete(token, &opts, err, arg.fence, arg.result, grant);
}

int entitylock_convert(int token, uint32_t mode,
		       const struct entitylock_options *options,
		       struct entitylock_grant *grant)
{
	struct entitylock_options opts;
	struct entitylock_convert arg = {};
	int err;

	err = __entitylock_options(options, &opts);
	if (err)
		return err;
	if (opts.label || opts.lease)
		return -EINVAL;

	arg.mode = mode;
	arg.flags = opts.flags;
	arg.deadline = opts.deadline;
	err = __entitylock_begin(token, ENTITYLOCK_IOC_CONVERT, &arg, &arg.flags,
				 &opts);
	return complete(token, &opts, err, arg.fence, 0, grant);
}

int entitylock_unlock(int token, uint64_t fence, uint32_t flags)
{
	struct entitylock_unlock arg = { .flags = flags, .fence = fence };

	return __entitylock_ioctl(token, ENTITYLOCK_IOC_UNLOCK, &arg);
}

int entitylock_cancel(int token)
{
	return entitylock_unlock(token, 0, ENTITYLOCK_CANCEL);
}

int entitylock_renew(int token, uint64_t lease)
{
	struct entitylock_renew arg = { .lease = lease };

	return __entitylock_ioctl(token, ENTITYLOCK_IOC_RENEW, &arg);
}

int entitylock_label(int token, const char *label)
{
	struct entitylock_label arg = {
		.label = __entitylock_address(label),
		.label_len = __entitylock_length(label ? strlen(label) : 0,
						 ENTITYLOCK_LABEL_MAX),
	};

	return __entitylock_ioctl(token, ENTITYLOCK_IOC_LABEL, &arg);
}

int entitylock_park(int token, uint64_t lease,
		    unsigned char cookie[ENTITYLOCK_COOKIE_SIZE])
{
	struct entitylock_park arg = { .lease = lease };
	int err;

	err = __entitylock_ioctl(token, ENTITYLOCK_IOC_PARK, &arg);
	if (!err)
		memcpy(cookie, arg.cookie, sizeof(arg.cookie));
	return err;
}

int entitylock_info(int token, struct entitylock_info *info)
{
	struct entitylock_info arg = *info;
	int err;

	err = __entitylock_ioctl(token, ENTITYLOCK_IOC_INFO, &arg);
	if (!err)
		*info = arg;
	return err;
}
