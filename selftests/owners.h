/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of owners that vanish: leases, marks, versions, BREAK, PARK.
 *
 * A lease is seen to run out by INFO (runs_out()), never by sleeping.
 */
#ifndef SELFTESTS_OWNERS_H
#define SELFTESTS_OWNERS_H

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include "harness.h"

#define ROBUST		ENTITYLOCK_ROBUST
#define HOUR		(3600 * NSEC_PER_SEC)

/* A duration of @n milliseconds, more on a slow kernel. */
static inline __u64 ms(unsigned int n)
{
	static __u64 second;
	__u64 begin = now();

	if (!second)
		second = in_ms(1000) - begin;
	return n * second / 1000;
}

/* A deadline for what is certain to come. */
static inline __u64 soon(void)
{
	return now() + limit_seconds() * NSEC_PER_SEC;
}

/* ACQUIRE with a lease. */
static inline int lease_set(int domain, const struct entitylock_entity *set, __u32 count,
			    __u32 flags, __u64 deadline, __u64 lease)
{
	struct entitylock_acquire arg = {
		.flags = flags,
		.count = count,
		.entities = ptr(set),
		.entity_size = count ? sizeof(*set) : 0,
		.deadline = deadline,
		.lease = lease,
	};

	return el_ioctl(domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
}

static inline int lease_entity(int domain, const char *name, __u32 mode, __u32 flags,
			       __u64 deadline, __u64 lease)
{
	struct entitylock_entity entity = ENTITY(name, mode);

	return lease_set(domain, &entity, 1, flags, deadline, lease);
}

static inline int hold_for(int domain, const char *name, __u64 duration)
{
	return lease_entity(domain, name, EXCLUSIVE, 0, NOWAIT, duration);
}

static inline int share_for(int domain, const char *name, __u64 duration)
{
	return lease_entity(domain, name, SHARED, 0, NOWAIT, duration);
}

static inline int share(int domain, const char *name)
{
	return acquire(domain, name, SHARED, 0, NOWAIT);
}

/* A request that waits in the background. */
static inline int await(int domain, const char *name)
{
	return acquire(domain, name, EXCLUSIVE, ENTITYLOCK_ASYNC, FOREVER);
}

static inline int await_gate(int domain)
{
	return acquire_gate(domain, ENTITYLOCK_ASYNC, FOREVER);
}

/* An operation of long ago may be on its way out still: the gate is waited for. */
static inline int hold_gate_for(int domain, __u32 flags, __u64 duration)
{
	return lease_set(domain, NULL, 0, flags | ENTITYLOCK_GATE, soon(), duration);
}

static inline int token_lock_for(int token, __u32 flags, __u64 deadline, __u64 duration)
{
	struct entitylock_lock arg = {
		.flags = flags,
		.deadline = deadline,
		.lease = duration,
	};

	return el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg);
}

static inline int token_renew(int token, __u64 duration)
{
	struct entitylock_renew arg = { .lease = duration };

	return el_ioctl(token, ENTITYLOCK_IOC_RENEW, &arg);
}

static inline __u64 lease_left(int token)
{
	return token_info(token).lease_left;
}

/* Its lease runs out, and nobody wants what it holds. */
static inline bool runs_out(int token)
{
	return eventually(lease_left(token) == 0);
}

struct cookie {
	__u8 bytes[ENTITYLOCK_COOKIE_SIZE];
};

static inline int token_park(int token, __u64 duration, struct cookie *cookie)
{
	struct entitylock_park arg = { .lease = duration };
	int ret = el_ioctl(token, ENTITYLOCK_IOC_PARK, &arg);

	memcpy(cookie->bytes, arg.cookie, sizeof(cookie->bytes));
	return ret;
}

static inline int claim(int domain, const struct cookie *cookie)
{
	struct entitylock_claim arg = { 0 };

	memcpy(arg.cookie, cookie->bytes, sizeof(arg.cookie));
	return el_ioctl(domain, ENTITYLOCK_IOC_CLAIM, &arg);
}

static inline int break_entity(int domain, const char *name, __u64 fence)
{
	struct entitylock_break arg = {
		.name = ptr(name),
		.name_len = strlen(name),
		.fence = fence,
	};

	return el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
}

static inline int break_gate(int domain, __u64 fence)
{
	struct entitylock_break arg = { .flags = ENTITYLOCK_GATE, .fence = fence };

	return el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
}

/* Further steps may be a worker's. */
static inline bool becomes(int token, int state)
{
	return eventually(token_state(token) == state);
}

/* LOST, as INFO, poll(2) and each verb say. */
static inline bool is_lost(int token)
{
	struct entitylock_info info = token_info(token);
	struct cookie cookie;

	if (info.state != ENTITYLOCK_LOST || token_poll(token) != (POLLERR | POLLHUP))
		return false;
	/* These are not for a gate at all. */
	if (!(info.flags & ENTITYLOCK_GATE) &&
	    (token_convert(token, SHARED, 0, NOWAIT) != -ESTALE ||
	     token_convert(token, EXCLUSIVE, 0, NOWAIT) != -ESTALE ||
	     extend_these(token, 0, NOWAIT, X("z")) != -ESTALE))
		return false;
	return token_lock(token, 0, NOWAIT) == -ESTALE && unlock(token) == -ESTALE &&
	       token_unlock(token, 0, info.fence) == -ESTALE &&
	       token_unlock(token, ENTITYLOCK_CANCEL, 0) == -ESTALE &&
	       token_unlock(token, ENTITYLOCK_CONSISTENT, 0) == -ESTALE &&
	       token_renew(token, HOUR) == -ESTALE && token_renew(token, 0) == -ESTALE &&
	       token_park(token, HOUR, &cookie) == -ESTALE &&
	       token_label(token, "late") == -ESTALE;
}

/* What INFO tells of the one entity of a token. */
static inline struct entitylock_entity entity_info(int token)
{
	struct entitylock_entity entity = { 0 };
	struct entitylock_info info = {
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
		.capacity = 1,
	};

	el_ioctl(token, ENTITYLOCK_IOC_INFO, &info);
	return entity;
}

/* Be root, without other rights, in a user namespace of one's own. */
static inline int enter_user_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		return -errno;
	return write_file("/proc/self/uid_map", "0 0 1");
}

/* Be another user, who may still open the device. */
static inline int become_user(uid_t uid)
{
	return setresuid(uid, uid, uid) ? -errno : 0;
}

/* A copy of @arg that can be read, and not written. */
static inline void *read_only_copy(const void *arg, size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, arg, size);
	mprotect(page, size, PROT_READ);
	return page;
}

/* The module's armed timers: on the clock that counts suspend, and on others. */
struct timers {
	unsigned int boottime;
	unsigned int other;
};

static inline struct timers armed_timers(void)
{
	struct timers timers = { 0 };
	int clock = CLOCK_MONOTONIC;
	char line[256];
	FILE *file = fopen("/proc/timer_list", "re");

	/* Bases are numbered monotonic, real, boot, TAI, and once more for soft interrupts. */
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " .index: %d", &clock) == 1)
			continue;
		if (!strstr(line, "[entitylock]"))
			continue;
		if (clock % 4 == 2)
			timers.boottime++;
		else
			timers.other++;
	}
	if (file)
		fclose(file);
	return timers;
}

/* Parameters of the module. */
#define PARAMETERS	"/sys/module/entitylock/parameters/"

static inline unsigned int parameter(const char *name)
{
	unsigned int value = 0;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%u", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

static inline int set_parameter(const char *name, unsigned int value)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), "%u", value);
	return write_file(path, text);
}

/*
 * The fixture of those who change a parameter, or mark the gate, which is not
 * counted among the entities: all is as it was.
 */
struct quotas {
	unsigned int marks_max;
	unsigned int parked_max;
	unsigned int mark_seconds;
	unsigned int lease_max;
};

static inline struct quotas quotas_read(void)
{
	return (struct quotas){
		.marks_max = parameter("marks_max"),
		.parked_max = parameter("parked_max"),
		.mark_seconds = parameter("mark_seconds"),
		.lease_max = parameter("lease_max"),
	};
}

static inline void quotas_restore(struct __test_metadata *_metadata, struct quotas quotas)
{
	EXPECT_EQ(0, set_parameter("marks_max", quotas.marks_max));
	EXPECT_EQ(0, set_parameter("parked_max", quotas.parked_max));
	EXPECT_EQ(0, set_parameter("mark_seconds", quotas.mark_seconds));
	EXPECT_EQ(0, set_parameter("lease_max", quotas.lease_max));
}

FIXTURE(owners) {
	union {
		struct ground ground;
		int domain;
	};
	struct quotas quotas;
};

FIXTURE_SETUP(owners)
{
	ground_check(_metadata, &self->ground);
	self->quotas = quotas_read();
}

FIXTURE_TEARDOWN(owners)
{
	quotas_restore(_metadata, self->quotas);
	EXPECT_EQ(-ENOENT, break_gate(self->domain, 0));
	ground_recheck(_metadata, &self->ground);
}

#endif
