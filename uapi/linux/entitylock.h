/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * entitylock: locks on named entities, held by file descriptors
 *
 * An open of /dev/entitylock is a domain fd.  ACQUIRE on it returns a token
 * fd: one operation that holds, or waits for, the lock on a set of named
 * entities.  The lock is given back when the last reference to the token
 * goes, in whatever process that is.
 *
 * The layout is the same for 32-bit and 64-bit userspace.  Every struct may
 * grow at its end: the size is part of the ioctl number, and a kernel accepts
 * a longer struct whose unknown tail is zero as well as a shorter one, down
 * to the size first published here.
 *
 * Unless a field is marked as output, it is input.  Output fields are ignored
 * on entry.  Unknown flags and non-zero reserved fields fail with EINVAL.
 */
#ifndef _UAPI_LINUX_ENTITYLOCK_H
#define _UAPI_LINUX_ENTITYLOCK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Number of this interface, reported by VERSION. */
#define ENTITYLOCK_ABI			1

/* Limits. */
#define ENTITYLOCK_NAME_MAX		255	/* bytes of an entity's name, at least 1 */
#define ENTITYLOCK_LABEL_MAX		63	/* bytes of a label, 0 allowed */
#define ENTITYLOCK_SET_MAX		1024	/* entities of a token, at least 1 */
#define ENTITYLOCK_COOKIE_SIZE		16	/* bytes of a parking cookie */

/*
 * Deadlines are absolute, in nanoseconds of the chosen clock (by default
 * CLOCK_MONOTONIC) in the caller's time namespace.  Two values are special.
 */
#define ENTITYLOCK_NOWAIT		0ULL	/* do not wait: EAGAIN */
#define ENTITYLOCK_FOREVER		(~0ULL)	/* wait without end */

/* Modes of a lock. */
#define ENTITYLOCK_SHARED		1
#define ENTITYLOCK_EXCLUSIVE		2

/* States of a token. */
#define ENTITYLOCK_IDLE			0	/* holds nothing, may be locked */
#define ENTITYLOCK_PENDING		1	/* a verb waits */
#define ENTITYLOCK_HELD			2	/* holds its whole set, or the gate */
#define ENTITYLOCK_LOST			3	/* lost it by expiry or BREAK; final */

/* Flags of ACQUIRE, LOCK, EXTEND and CONVERT, as each applies. */
#define ENTITYLOCK_ASYNC		(1U << 0)  /* return at once, poll for the grant */
#define ENTITYLOCK_GATE			(1U << 1)  /* the gate instead of entities (also BREAK) */
#define ENTITYLOCK_OPEN			(1U << 2)  /* make the token IDLE, do not lock */
#define ENTITYLOCK_ROBUST		(1U << 3)  /* mark the entities if the owner vanishes */
#define ENTITYLOCK_SEALED		(1U << 4)  /* the token refuses EXTEND, RENEW, PARK */
#define ENTITYLOCK_IF_UNCHANGED		(1U << 5)  /* ESTALE if another changed an entity */
#define ENTITYLOCK_CLOCK_REALTIME	(1U << 6)  /* the deadline is of CLOCK_REALTIME */
#define ENTITYLOCK_CLOCK_BOOTTIME	(1U << 7)  /* the deadline is of CLOCK_BOOTTIME */

/* Flags of UNLOCK. */
#define ENTITYLOCK_CANCEL		(1U << 8)  /* end a wait only, keep what was held */
#define ENTITYLOCK_UNCHANGED		(1U << 9)  /* the entities' versions stay */
#define ENTITYLOCK_CONSISTENT		(1U << 10) /* drop the abandoned marks */

/* Flags of INFO. */
#define ENTITYLOCK_SEEN			(1U << 11) /* in: the token has now seen the versions */
#define ENTITYLOCK_HOLDING		(1U << 12) /* out: PENDING, and holds its former set */

/* Flags of DOMAIN. */
#define ENTITYLOCK_CREATE		(1U << 13) /* make it if it does not exist */
#define ENTITYLOCK_EXCL			(1U << 14) /* fail with EEXIST if it does */
#define ENTITYLOCK_PRIVATE		(1U << 15) /* a new one without a name */

/* Results, of a whole grant and of each entity. */
#define ENTITYLOCK_ABANDONED		(1U << 0)  /* an earlier robust holder vanished */
#define ENTITYLOCK_CHANGED		(1U << 1)  /* the version is not the expected one */

/* Feature bits of VERSION: a verb or flag without its bit is refused. */
#define ENTITYLOCK_FEATURE_SHARED	(1ULL << 0)  /* ENTITYLOCK_SHARED */
#define ENTITYLOCK_FEATURE_ASYNC	(1ULL << 1)  /* ENTITYLOCK_ASYNC, CANCEL, POLLPRI */
#define ENTITYLOCK_FEATURE_CONVERT	(1ULL << 2)  /* CONVERT */
#define ENTITYLOCK_FEATURE_EXTEND	(1ULL << 3)  /* EXTEND, ENTITYLOCK_SEALED */
#define ENTITYLOCK_FEATURE_GATE		(1ULL << 4)  /* ENTITYLOCK_GATE */
#define ENTITYLOCK_FEATURE_ROBUST	(1ULL << 5)  /* ENTITYLOCK_ROBUST, CONSISTENT */
#define ENTITYLOCK_FEATURE_LEASE	(1ULL << 6)  /* leases, RENEW */
#define ENTITYLOCK_FEATURE_VERSION	(1ULL << 7)  /* versions, IF_UNCHANGED, UNCHANGED, SEEN */
#define ENTITYLOCK_FEATURE_BREAK	(1ULL << 8)  /* BREAK */
#define ENTITYLOCK_FEATURE_PARK		(1ULL << 9)  /* PARK, CLAIM */
#define ENTITYLOCK_FEATURE_DOMAIN	(1ULL << 10) /* DOMAIN */
#define ENTITYLOCK_FEATURE_URING	(1ULL << 11) /* io_uring commands */
#define ENTITYLOCK_FEATURE_CLOCKS	(1ULL << 12) /* CLOCK_REALTIME, CLOCK_BOOTTIME */

/**
 * struct entitylock_entity - one entity of a set
 * @name: address of the name's bytes, not terminated.  INFO: address of a
 *	buffer for the name, or 0 to be told the entity without its name.
 * @name_len: bytes of the name, 1 to ENTITYLOCK_NAME_MAX.  INFO: size of the
 *	buffer, on return the length of the whole name.
 * @mode: ENTITYLOCK_SHARED or ENTITYLOCK_EXCLUSIVE.
 * @version: ACQUIRE with IF_UNCHANGED: the version that the caller expects,
 *	0 for none.  Output: the entity's version.
 * @flags: 0.
 * @result: output: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED.
 */
struct entitylock_entity {
	__aligned_u64 name;
	__u32 name_len;
	__u32 mode;
	__aligned_u64 version;
	__u32 flags;
	__u32 result;
};

/**
 * struct entitylock_acquire - argument of ACQUIRE and EXTEND
 * @flags: ASYNC, GATE, OPEN, ROBUST, SEALED, IF_UNCHANGED, CLOCK_*.
 * @count: number of entities, 1 to ENTITYLOCK_SET_MAX; 0 with GATE.
 * @entities: address of an array of struct entitylock_entity.
 * @entity_size: sizeof(struct entitylock_entity): the array's stride.
 * @label_len: bytes of the label, at most ENTITYLOCK_LABEL_MAX.
 * @label: address of the label's bytes: what this operation is.
 * @deadline: until when to wait; ENTITYLOCK_NOWAIT, ENTITYLOCK_FOREVER.
 * @lease: nanoseconds from the grant to the end of the lease, 0 = none.
 * @fence: output: number of the grant, 0 if there is none yet.
 * @result: output: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED.
 * @reserved: 0.
 */
struct entitylock_acquire {
	__u32 flags;
	__u32 count;
	__aligned_u64 entities;
	__u32 entity_size;
	__u32 label_len;
	__aligned_u64 label;
	__aligned_u64 deadline;
	__aligned_u64 lease;
	__aligned_u64 fence;
	__u32 result;
	__u32 reserved;
};

/**
 * struct entitylock_lock - argument of LOCK
 * @flags: ASYNC, ROBUST, IF_UNCHANGED, CLOCK_*.
 * @result: output: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED.
 * @deadline: until when to wait; ENTITYLOCK_NOWAIT, ENTITYLOCK_FOREVER.
 * @lease: nanoseconds from the grant to the end of the lease, 0 = none.
 * @fence: output: number of the grant, 0 if there is none yet.
 */
struct entitylock_lock {
	__u32 flags;
	__u32 result;
	__aligned_u64 deadline;
	__aligned_u64 lease;
	__aligned_u64 fence;
};

/**
 * struct entitylock_unlock - argument of UNLOCK
 * @flags: CANCEL, UNCHANGED, CONSISTENT.
 * @reserved: 0.
 * @fence: act on the grant of this number only (else ESTALE), 0 = on any.
 */
struct entitylock_unlock {
	__u32 flags;
	__u32 reserved;
	__aligned_u64 fence;
};

/**
 * struct entitylock_convert - argument of CONVERT
 * @mode: mode that every entity of the token shall have.
 * @flags: ASYNC, CLOCK_*.
 * @deadline: until when to wait for an upgrade.
 * @fence: output: number of the grant, 0 if there is none yet.
 */
struct entitylock_convert {
	__u32 mode;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 fence;
};

/**
 * struct entitylock_renew - argument of RENEW
 * @lease: nanoseconds from now, 0 = the last duration again.
 * @flags: 0.
 * @reserved: 0.
 */
struct entitylock_renew {
	__aligned_u64 lease;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct entitylock_label - argument of LABEL
 * @label: address of the label's bytes.
 * @label_len: bytes of the label, at most ENTITYLOCK_LABEL_MAX.
 * @reserved: 0.
 */
struct entitylock_label {
	__aligned_u64 label;
	__u32 label_len;
	__u32 reserved;
};

/**
 * struct entitylock_park - argument of PARK
 * @lease: nanoseconds from now, 0 = the running lease.
 * @flags: 0.
 * @reserved: 0.
 * @cookie: output: what CLAIM needs.
 */
struct entitylock_park {
	__aligned_u64 lease;
	__u32 flags;
	__u32 reserved;
	__u8 cookie[ENTITYLOCK_COOKIE_SIZE];
};

/**
 * struct entitylock_claim - argument of CLAIM
 * @cookie: what PARK returned.
 * @flags: 0.
 * @reserved: 0.
 */
struct entitylock_claim {
	__u8 cookie[ENTITYLOCK_COOKIE_SIZE];
	__u32 flags;
	__u32 reserved;
};

/**
 * struct entitylock_break - argument of BREAK
 * @name: address of the entity's name; not used with GATE.
 * @name_len: bytes of the name, 0 with GATE.
 * @flags: GATE.
 * @fence: only if the grant of this number still holds (else ESTALE), 0 = any.
 */
struct entitylock_break {
	__aligned_u64 name;
	__u32 name_len;
	__u32 flags;
	__aligned_u64 fence;
};

/**
 * struct entitylock_domain - argument of DOMAIN
 * @name: address of the domain's name; not used with PRIVATE.
 * @name_len: bytes of the name, 1 to ENTITYLOCK_NAME_MAX; 0 with PRIVATE.
 * @flags: CREATE, EXCL, PRIVATE.
 * @mode: CREATE: permission bits for a new domain, 0 to 0777: r lists, w locks
 *	entities, x takes the gate.  Output: the domain's.
 * @owner: output: user id of the domain's owner, in the caller's user namespace.
 */
struct entitylock_domain {
	__aligned_u64 name;
	__u32 name_len;
	__u32 flags;
	__u32 mode;
	__u32 owner;
};

/**
 * struct entitylock_version - argument of VERSION
 * @abi: output: ENTITYLOCK_ABI of the module.
 * @set_max: output: most entities of a token.
 * @features: output: ENTITYLOCK_FEATURE_* bits.
 * @lease_max: output: longest lease, in nanoseconds; 0 = leases are refused.
 */
struct entitylock_version {
	__u32 abi;
	__u32 set_max;
	__aligned_u64 features;
	__aligned_u64 lease_max;
};

/**
 * struct entitylock_info - argument of INFO
 * @state: output: ENTITYLOCK_IDLE, _PENDING, _HELD or _LOST.
 * @flags: SEEN.  Output: HOLDING, and GATE, ROBUST, SEALED as the token has them.
 * @error: output: negative errno of the last asynchronous wait that failed.
 * @owner_pid: output: recorded owner, in the caller's pid namespace, 0 = not in it.
 * @id: output: number of the token, unique while the module is loaded.
 * @fence: output: number of the last grant, 0 if there was none.
 * @lease_left: output: nanoseconds to the end of the lease, 0 = it has run
 *	out, ENTITYLOCK_FOREVER = no lease.
 * @age: output: nanoseconds since the state last changed, to a timer tick.
 * @waiters: output: requests that wait for what the token holds.
 * @count: output: number of entities of the token.
 * @entities: address of an array of struct entitylock_entity to be filled.
 * @entity_size: sizeof(struct entitylock_entity): the array's stride; 0 with
 *	@capacity 0.
 * @capacity: elements of the array, 0 for none.
 * @label: address of a buffer for the label.
 * @label_len: size of that buffer.  Output: length of the whole label.
 * @reserved: 0.
 */
struct entitylock_info {
	__u32 state;
	__u32 flags;
	__s32 error;
	__u32 owner_pid;
	__aligned_u64 id;
	__aligned_u64 fence;
	__aligned_u64 lease_left;
	__aligned_u64 age;
	__u32 waiters;
	__u32 count;
	__aligned_u64 entities;
	__u32 entity_size;
	__u32 capacity;
	__aligned_u64 label;
	__u32 label_len;
	__u32 reserved;
};

#define ENTITYLOCK_IOC_TYPE		0xE1

/* On a domain fd. */
#define ENTITYLOCK_IOC_VERSION	_IOR(ENTITYLOCK_IOC_TYPE, 0x00, struct entitylock_version)
#define ENTITYLOCK_IOC_ACQUIRE	_IOWR(ENTITYLOCK_IOC_TYPE, 0x01, struct entitylock_acquire)
#define ENTITYLOCK_IOC_DOMAIN	_IOWR(ENTITYLOCK_IOC_TYPE, 0x02, struct entitylock_domain)
#define ENTITYLOCK_IOC_CLAIM	_IOW(ENTITYLOCK_IOC_TYPE, 0x03, struct entitylock_claim)
#define ENTITYLOCK_IOC_BREAK	_IOW(ENTITYLOCK_IOC_TYPE, 0x04, struct entitylock_break)

/* On a token fd. */
#define ENTITYLOCK_IOC_LOCK	_IOWR(ENTITYLOCK_IOC_TYPE, 0x10, struct entitylock_lock)
#define ENTITYLOCK_IOC_UNLOCK	_IOW(ENTITYLOCK_IOC_TYPE, 0x11, struct entitylock_unlock)
#define ENTITYLOCK_IOC_CONVERT	_IOWR(ENTITYLOCK_IOC_TYPE, 0x12, struct entitylock_convert)
#define ENTITYLOCK_IOC_EXTEND	_IOWR(ENTITYLOCK_IOC_TYPE, 0x13, struct entitylock_acquire)
#define ENTITYLOCK_IOC_RENEW	_IOW(ENTITYLOCK_IOC_TYPE, 0x14, struct entitylock_renew)
#define ENTITYLOCK_IOC_LABEL	_IOW(ENTITYLOCK_IOC_TYPE, 0x15, struct entitylock_label)
#define ENTITYLOCK_IOC_PARK	_IOWR(ENTITYLOCK_IOC_TYPE, 0x16, struct entitylock_park)
#define ENTITYLOCK_IOC_INFO	_IOWR(ENTITYLOCK_IOC_TYPE, 0x17, struct entitylock_info)

#endif /* _UAPI_LINUX_ENTITYLOCK_H */
