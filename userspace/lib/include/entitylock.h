/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libentitylock: locks on named entities, held by file descriptors
 *
 * Conventions, for all functions unless they say otherwise:
 *
 * - A function returns 0, or a new file descriptor, or a negative errno.  The
 *   variable errno is not part of the interface.
 * - What a pointer argument receives is written on success only.
 * - Every descriptor that a function makes is close-on-exec.
 * - The library keeps no state of its own, starts no thread, installs no
 *   signal handler and prints nothing.  Any function may be called in any
 *   thread at any time, also for one descriptor in several threads, with the
 *   one exception of a struct entitylock_list, which belongs to one thread at
 *   a time.
 * - A thread that is cancelled inside a function loses no descriptor; to wait
 *   for a lock, or to receive a token, is no cancellation point.
 * - Times are nanoseconds.  A deadline is absolute.
 * - The layout of the structs is that of this version of the library; a later
 *   one that finds them grown keeps these functions under their symbol version.
 *
 * Flags, modes, states, limits and the structs that are not defined here come
 * from <linux/entitylock.h>.
 */
#ifndef ENTITYLOCK_H
#define ENTITYLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/entitylock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** ENTITYLOCK_DEVICE - path of the device node */
#define ENTITYLOCK_DEVICE	"/dev/entitylock"

/**
 * struct entitylock_options - what is optional when a lock is asked for
 * @size: sizeof(struct entitylock_options), as the caller was compiled.
 * @flags: ENTITYLOCK_* flags, those that the function names.
 * @deadline: until when to wait: ENTITYLOCK_NOWAIT, ENTITYLOCK_FOREVER or a
 *	time of CLOCK_MONOTONIC, or of the clock that @flags select.
 * @lease: nanoseconds from the grant to the end of the lease, 0 = none.
 * @label: what the operation is, for listings: at most ENTITYLOCK_LABEL_MAX
 *	bytes and a terminating zero.  NULL = none.
 * @restart: not 0: a call that blocks goes on after a signal handler ran.
 *	0: it gives up and returns -EINTR.
 * @reserved: 0.
 *
 * Start from ENTITYLOCK_OPTIONS_INIT, which is what a NULL pointer stands for:
 * wait without end, no lease, no label, give up after a signal handler.  The
 * struct may grow: @size tells the library which fields the caller knows.
 */
struct entitylock_options {
	uint32_t size;
	uint32_t flags;
	uint64_t deadline;
	uint64_t lease;
	const char *label;
	uint32_t restart;
	uint32_t reserved;
};

#define ENTITYLOCK_OPTIONS_INIT \
	{ sizeof(struct entitylock_options), 0, ENTITYLOCK_FOREVER, 0, NULL, 0, 0 }

/**
 * struct entitylock_grant - what is known of a grant
 * @fence: its number, greater than that of every earlier grant that conflicts
 *	with it; 0 = not granted yet (ENTITYLOCK_ASYNC) or not asked for
 *	(ENTITYLOCK_OPEN).
 * @result: ENTITYLOCK_ABANDONED, ENTITYLOCK_CHANGED, of any entity of the set.
 * @reserved: 0.
 */
struct entitylock_grant {
	uint64_t fence;
	uint32_t result;
	uint32_t reserved;
};

/*
 * Blocking and signals.
 *
 * entitylock_acquire(), _acquire_set(), _gate(), _lock(), _extend() and
 * _convert() wait if they have to, until the deadline.  They queue with
 * ENTITYLOCK_ASYNC and poll, so a stopped and continued process, a debugger or
 * a frozen system does not cost the caller its place in the queue.  With
 * options->restart a signal handler does not either.  Without, the request is
 * withdrawn and -EINTR returned; should the lock be granted in the same
 * moment, the grant wins and the call succeeds.
 *
 * Who wants to look at something after each signal and keep the place, asks
 * with ENTITYLOCK_ASYNC and then calls entitylock_wait() in a loop.
 *
 * A module without ENTITYLOCK_FEATURE_ASYNC waits in the ioctl itself: then a
 * signal, a stop included, puts the request at the end of the queue again.
 */

/**
 * entitylock_open() - open the device
 * @path: the device node, NULL for ENTITYLOCK_DEVICE.
 * @oflags: O_RDWR, or O_WRONLY to lock only, or O_RDONLY to list only; or
 *	O_ACCMODE for neither: for VERSION, and to look at a domain and to keep
 *	it alive, for which no right in it is needed.
 *
 * Return: a domain fd in the default domain of the caller's user namespace, or
 * -ENOENT, -ENXIO, -ENODEV: the module is not loaded;
 * -EACCES: the caller may not open the node;
 * -EMFILE, -ENFILE, -ENOMEM; whatever else open(2) says of @path.
 */
int entitylock_open(const char *path, int oflags);

/**
 * entitylock_version() - ask what the module can do
 * @domain: a domain fd.
 * @version: receives interface number, limits, ENTITYLOCK_FEATURE_* bits.
 *
 * Return: 0, or -EBADF: no descriptor; -ENOTTY: not a domain fd; -EFAULT.
 */
int entitylock_version(int domain, struct entitylock_version *version);

/**
 * entitylock_domain() - move a fresh domain fd to another domain
 * @domain: a domain fd that was not used yet.
 * @name: the domain's name, not terminated; NULL with ENTITYLOCK_PRIVATE.
 * @len: its bytes, 1 to ENTITYLOCK_NAME_MAX; 0 with ENTITYLOCK_PRIVATE.
 * @flags: ENTITYLOCK_CREATE, ENTITYLOCK_EXCL, ENTITYLOCK_PRIVATE.
 * @mode: with ENTITYLOCK_CREATE, permission bits for a new domain, 0 to 0777: r
 *	lists, w locks, x takes the gate; NULL: 0.  Receives those that the domain
 *	has, which are others if it was there before.
 * @owner: receives the user id of the owner, in the caller's user namespace: who
 *	joins a name that anybody may have taken first looks at it.  May be NULL.
 *
 * A domain lives while something refers to it: a domain fd, a token, or an
 * abandoned mark.  After a failure the fd is where it was, and not used.
 *
 * Return: 0, or
 * -EINVAL: bad name length or flags, or a bad mode with ENTITYLOCK_CREATE;
 * -ENOENT: no such domain, and ENTITYLOCK_CREATE was not given;
 * -EEXIST: it exists, and ENTITYLOCK_EXCL was given;
 * -EACCES: its permission bits do not give the opener of the fd what it was opened
 *	for: r for reading, w or x for writing; of a new domain neither;
 * -EBUSY: the fd was used already;
 * -EBADF, -ENOTTY: not a domain fd, or a module that has no domains;
 * -EFAULT, -ENOMEM.
 */
int entitylock_domain(int domain, const void *name, size_t len, uint32_t flags,
		      uint32_t *mode, uint32_t *owner);

/**
 * entitylock_open_domain() - open the device in a domain
 * @path: the device node, NULL for ENTITYLOCK_DEVICE.
 * @oflags: as for entitylock_open().
 * @name: the domain's name, not terminated; NULL with ENTITYLOCK_PRIVATE.
 * @len: its bytes, 1 to ENTITYLOCK_NAME_MAX; 0 with ENTITYLOCK_PRIVATE.
 * @flags: as for entitylock_domain().
 * @mode: as for entitylock_domain().
 * @owner: as for entitylock_domain().
 *
 * entitylock_open() and entitylock_domain() in one, with errors that tell which of
 * them failed.
 *
 * Return: a domain fd in that domain, or
 * -ENODEV: there is no such device: the module is not loaded;
 * -EPERM: the caller may not open the node;
 * -EINVAL, -ENOENT, -EEXIST, -EACCES, -EFAULT: as entitylock_domain();
 * -ENOTTY: @path is another device, or the module has no domains;
 * -EMFILE, -ENFILE, -ENOMEM; whatever else open(2) says of @path.
 */
int entitylock_open_domain(const char *path, int oflags, const void *name, size_t len,
			   uint32_t flags, uint32_t *mode, uint32_t *owner);

/**
 * entitylock_entity_init() - fill in one element of a set
 * @entity: the element; all of it is written.
 * @name: the entity's name, any bytes, not terminated.  It is not copied: it
 *	must live as long as the element is used.
 * @len: its bytes, 1 to ENTITYLOCK_NAME_MAX.
 * @mode: ENTITYLOCK_SHARED or ENTITYLOCK_EXCLUSIVE.
 *
 * Cannot fail: what is wrong is found where the element is used.
 */
void entitylock_entity_init(struct entitylock_entity *entity, const void *name,
			    size_t len, uint32_t mode);

/**
 * entitylock_acquire_set() - make a token over a set of entities and lock it
 * @domain: a domain fd, open for writing.
 * @set: the entities, in any order; one named twice counts once, with its
 *	stronger mode.  With ENTITYLOCK_IF_UNCHANGED each version is input.
 *	Each version and result is written, unless an ENTITYLOCK_ASYNC request
 *	is still pending on return; on -ESTALE the results tell what changed.
 * @count: elements of @set, 1 to ENTITYLOCK_SET_MAX.
 * @options: flags ENTITYLOCK_ASYNC, _OPEN, _ROBUST, _SEALED, _IF_UNCHANGED,
 *	_CLOCK_REALTIME, _CLOCK_BOOTTIME; deadline; lease; label.  May be NULL.
 * @grant: receives the grant.  May be NULL.
 *
 * The set is taken as a whole or not at all.  With ENTITYLOCK_ASYNC the call
 * returns at once, and a fence of 0 says that the token is still pending: poll
 * it, then call entitylock_outcome(), or call entitylock_wait().  With
 * ENTITYLOCK_OPEN the token is made and not locked.
 *
 * Return: a token fd, or
 * -EINVAL: bad length of a name or label, mode, count, flag or option;
 * -E2BIG: options of a newer library that this one does not know;
 * -EAGAIN: not free, and the deadline is ENTITYLOCK_NOWAIT;
 * -ETIMEDOUT: not granted by the deadline;
 * -EINTR: a signal handler ran meanwhile;
 * -ESTALE: an entity changed (ENTITYLOCK_IF_UNCHANGED), or the waiting request
 *	was broken;
 * -EBADF: @domain is no descriptor or not open for writing;
 * -ENOTTY: @domain is not a domain fd;
 * -EACCES: the domain does not let its opener lock;
 * -EDQUOT: the user's quota of robust holds is used up;
 * -EFAULT, -EMFILE, -ENFILE, -ENOMEM.
 */
int entitylock_acquire_set(int domain, struct entitylock_entity *set,
			   unsigned int count,
			   const struct entitylock_options *options,
			   struct entitylock_grant *grant);

/**
 * entitylock_acquire() - make a token over one entity and lock it
 * @domain: a domain fd, open for writing.
 * @name: the entity's name, any bytes, not terminated.
 * @len: its bytes, 1 to ENTITYLOCK_NAME_MAX.
 * @mode: ENTITYLOCK_SHARED or ENTITYLOCK_EXCLUSIVE.
 * @options: as for entitylock_acquire_set(), without ENTITYLOCK_IF_UNCHANGED,
 *	for which there is no version to compare (-EINVAL).
 * @grant: receives the grant.  May be NULL.
 *
 * Return: as entitylock_acquire_set().
 */
int entitylock_acquire(int domain, const void *name, size_t len, uint32_t mode,
		       const struct entitylock_options *options,
		       struct entitylock_grant *grant);

/**
 * entitylock_gate() - make a token over the domain's gate and take it
 * @domain: a domain fd, open for writing.
 * @options: as for entitylock_acquire_set(), without ENTITYLOCK_IF_UNCHANGED.
 * @grant: receives the grant.  May be NULL.
 *
 * Held, it excludes every other operation of the domain, also on entities that
 * do not exist yet.
 *
 * Return: as entitylock_acquire_set(); -EINVAL also from a module without
 * ENTITYLOCK_FEATURE_GATE.
 */
int entitylock_gate(int domain, const struct entitylock_options *options,
		    struct entitylock_grant *grant);

/**
 * entitylock_lock() - lock an idle token's set again
 * @token: a token fd.
 * @options: flags ENTITYLOCK_ASYNC, _ROBUST, _IF_UNCHANGED, _CLOCK_REALTIME,
 *	_CLOCK_BOOTTIME; deadline; lease; no label.  May be NULL.
 * @grant: receives the grant.  May be NULL.
 *
 * Return: 0, or
 * -EBADFD: the token is held or pending already;
 * -ECANCELED: entitylock_unlock() or entitylock_cancel() ended the wait;
 * -ESTALE: the token is lost, or an entity changed (ENTITYLOCK_IF_UNCHANGED);
 * -EINVAL: bad flag or option, a label; -E2BIG;
 * -EAGAIN, -ETIMEDOUT, -EINTR, -EDQUOT: as for entitylock_acquire_set();
 * -EBADF, -ENOTTY: not a token fd; -ENOMEM.
 */
int entitylock_lock(int token, const struct entitylock_options *options,
		    struct entitylock_grant *grant);

/**
 * entitylock_unlock() - give back what a token holds, end what it waits for
 * @token: a token fd.
 * @fence: act on the grant of this number only, 0 = on any.
 * @flags: ENTITYLOCK_UNCHANGED, ENTITYLOCK_CONSISTENT, ENTITYLOCK_CANCEL.
 *
 * The entities are free at once, however many copies of the fd there are.
 * Never blocks.
 *
 * Return: 0, or
 * -EBADFD: there is nothing to give back (with ENTITYLOCK_CANCEL: no wait);
 * -ESTALE: the token is lost, or holds a grant of another number;
 * -EINVAL: bad flag;
 * -EBADF, -ENOTTY: not a token fd.
 */
int entitylock_unlock(int token, uint64_t fence, uint32_t flags);

/**
 * entitylock_cancel() - end a token's wait, keep what it held before
 * @token: a token fd.
 *
 * The thread that waits gets -ECANCELED.  Never blocks.
 *
 * Return: 0, or
 * -EBADFD: nothing waits, be it that the grant came first;
 * -ESTALE: the token is lost;
 * -EINVAL: a module without ENTITYLOCK_FEATURE_ASYNC;
 * -EBADF, -ENOTTY: not a token fd.
 */
int entitylock_cancel(int token);

/**
 * entitylock_convert() - change the mode of everything a token holds
 * @token: a token fd.
 * @mode: ENTITYLOCK_SHARED, which never waits, or ENTITYLOCK_EXCLUSIVE.
 * @options: flags ENTITYLOCK_ASYNC, _CLOCK_REALTIME, _CLOCK_BOOTTIME;
 *	deadline; no lease, no label.  May be NULL.
 * @grant: receives the grant: a new one for an upgrade, else the same.  May be
 *	NULL.
 *
 * After a failure the token holds what it held.
 *
 * Return: 0, or
 * -EDEADLK: the upgrade would have to wait against the order of names, or
 *	another upgrade of an entity is waiting already;
 * -EBADFD: the token is not held;
 * -ETIME: its lease has run out: renew first;
 * -ECANCELED: entitylock_unlock() or entitylock_cancel() ended the wait;
 * -ESTALE: the token is lost;
 * -EINVAL: bad mode, flag or option, a gate token; -E2BIG;
 * -EAGAIN, -ETIMEDOUT, -EINTR, -EDQUOT: as for entitylock_acquire_set();
 * -EBADF, -ENOTTY: not a token fd, or a module without conversion; -ENOMEM.
 */
int entitylock_convert(int token, uint32_t mode,
		       const struct entitylock_options *options,
		       struct entitylock_grant *grant);

/**
 * entitylock_extend() - add entities to what a token holds, all or none
 * @token: a token fd.
 * @set: the entities to add, as for entitylock_acquire_set().  One that is
 *	held already in the same or a stronger mode stays as it is.
 * @count: elements of @set, 1 to ENTITYLOCK_SET_MAX.
 * @options: flags ENTITYLOCK_ASYNC, _IF_UNCHANGED, _CLOCK_REALTIME,
 *	_CLOCK_BOOTTIME; deadline; no lease, no label.  May be NULL.
 * @grant: receives the grant of all that the token then holds.  May be NULL.
 *
 * After a failure the token holds what it held.
 *
 * Return: 0, or
 * -EDEADLK: it would have to wait against the order of names: release, and
 *	acquire all of them as one set;
 * -E2BIG: more than ENTITYLOCK_SET_MAX in all, or unknown options;
 * -EPERM: the token is sealed;
 * -EBADFD: the token is not held;
 * -ETIME: its lease has run out: renew first;
 * -ECANCELED: entitylock_unlock() or entitylock_cancel() ended the wait;
 * -ESTALE: the token is lost, or an entity changed (ENTITYLOCK_IF_UNCHANGED);
 * -EINVAL: as for entitylock_acquire_set(); a lease, a label, a gate token;
 * -EAGAIN, -ETIMEDOUT, -EINTR, -EDQUOT: as for entitylock_acquire_set();
 * -EBADF, -ENOTTY: not a token fd, or a module without extension;
 * -EFAULT, -ENOMEM.
 */
int entitylock_extend(int token, struct entitylock_entity *set,
		      unsigned int count,
		      const struct entitylock_options *options,
		      struct entitylock_grant *grant);

/**
 * entitylock_renew() - restart a token's lease
 * @token: a token fd.
 * @lease: nanoseconds from now, 0 = the last duration again.
 *
 * Return: 0, or
 * -EINVAL: no duration to repeat, one above the module's limit, or a module
 *	without leases;
 * -EPERM: the token is sealed;
 * -EBADFD: the token is idle;
 * -ESTALE: the token is lost: another holds what it held;
 * -EBADF, -ENOTTY: not a token fd, or a module without leases; -ENOMEM.
 */
int entitylock_renew(int token, uint64_t lease);

/**
 * entitylock_keep_timer() - a timer that says when to renew a token's lease
 * @token: a token fd, held or pending.
 * @lease: nanoseconds from now, 0 = the last duration again.
 *
 * Renews the lease, and makes a non-blocking timerfd of the clock that leases
 * have, CLOCK_BOOTTIME.  Poll it for POLLIN in any event loop, and call
 * entitylock_keep() when it is readable, which it is after each third of the
 * lease.  Nothing is renewed unless the caller's loop runs: a lease says that
 * somebody is at work.
 *
 * To learn of a loss at once, and not at the next third, watch the token as
 * well, in an epoll(7) with EPOLLET and no other events: POLLHUP is reported in
 * any case.  So is POLLERR, and it stays, when the token's last wait failed, also
 * while it is held: a level-triggered poll would not sleep any more.
 *
 * Close the timer when it is no longer needed; it does not refer to the token.
 *
 * Return: a timer fd, or -errno as entitylock_renew(), and
 * -EINVAL: also if @lease is 0 and the token waits and holds nothing: then
 * there is no telling how long the lease will be;
 * -EMFILE, -ENFILE, -ENOMEM, -ENODEV: no timer.
 */
int entitylock_keep_timer(int token, uint64_t lease);

/**
 * entitylock_keep() - renew a token's lease if its owner's time has come
 * @timer: what entitylock_keep_timer() returned.
 * @token: the token fd.
 *
 * Renews the lease by its last duration, and sets the timer to a third of that.
 * Never blocks, and may be called at any time, for instance when poll(2)
 * reports POLLHUP for the token.
 *
 * A program that was paused past the end of its lease finds the timer readable
 * when it goes on.  If nobody has come meanwhile, the lease is renewed, the
 * fence is the same, and the call returns 0.  If somebody has, the lock is lost:
 * -ESTALE.  Between the pause and this call the program may have written
 * already; only fences protect from that.
 *
 * The timer runs on after a failure: what is transient is tried again after
 * another third of the lease.
 *
 * Return: 0: renewed, or not to be renewed yet, since the token waits and holds
 * nothing, or
 * -ESTALE: the token is lost; stop, what it held may be another's;
 * -EBADFD: the token is idle: it was unlocked;
 * -EINVAL: @timer is no timer; -EPERM: the token is sealed;
 * -EBADF, -ENOTTY: no descriptor, not a token fd; -ENOMEM.
 */
int entitylock_keep(int timer, int token);

/**
 * entitylock_label() - make the caller the recorded owner of a token
 * @token: a token fd.
 * @label: what the operation is now, at most ENTITYLOCK_LABEL_MAX bytes and a
 *	terminating zero.  NULL = none.
 *
 * Call it in the process that received a token from another, so that listings
 * name the right one.
 *
 * Return: 0, or
 * -EINVAL: the label is too long;
 * -ESTALE: the token is lost;
 * -EBADF, -ENOTTY: not a token fd; -EFAULT, -ENOMEM.
 */
int entitylock_label(int token, const char *label);

/**
 * entitylock_park() - keep a token alive without an fd
 * @token: a token fd, held or idle.
 * @lease: nanoseconds from now that it lives, 0 = its running lease.
 * @cookie: receives what entitylock_claim() needs.  It is a secret.
 *
 * Return: 0, or
 * -EBADFD: the token is pending, or parked already;
 * -EINVAL: no lease to use, or one above the module's limit;
 * -ETIME: its lease has run out, and none was given;
 * -EPERM: the token is sealed;
 * -ESTALE: the token is lost;
 * -EDQUOT: the user's quota of parked tokens is used up;
 * -EBADF, -ENOTTY: not a token fd, or a module without parking;
 * -EFAULT, -ENOMEM.
 */
int entitylock_park(int token, uint64_t lease,
		    unsigned char cookie[ENTITYLOCK_COOKIE_SIZE]);

/** ENTITYLOCK_COOKIE_TEXT - bytes of a cookie as text, with the zero at its end */
#define ENTITYLOCK_COOKIE_TEXT	(2 * ENTITYLOCK_COOKIE_SIZE + 1)

/**
 * entitylock_cookie_format() - a parking cookie as text
 * @cookie: what entitylock_park() gave.
 * @text: receives lower-case hexadecimal digits and a terminating zero.
 *
 * Cannot fail.
 */
void entitylock_cookie_format(const unsigned char cookie[ENTITYLOCK_COOKIE_SIZE],
			      char text[ENTITYLOCK_COOKIE_TEXT]);

/**
 * entitylock_cookie_parse() - a parking cookie from its text
 * @text: hexadecimal digits, two for each byte, and a terminating zero.
 * @cookie: receives what entitylock_claim() needs.
 *
 * Return: 0, or -EINVAL: other characters, too few, or too many.
 */
int entitylock_cookie_parse(const char *text,
			    unsigned char cookie[ENTITYLOCK_COOKIE_SIZE]);

/**
 * entitylock_claim() - get an fd for a parked token
 * @domain: a domain fd of the token's domain, open for writing.
 * @cookie: what entitylock_park() gave.  It works once.
 *
 * Return: a token fd, or
 * -ENOENT: no parked token of this domain has that cookie (any more);
 * -EACCES: the domain does not let its opener lock;
 * -EBADF: @domain is no descriptor or not open for writing;
 * -ENOTTY: not a domain fd, or a module without parking;
 * -EFAULT, -EMFILE, -ENFILE, -ENOMEM.
 */
int entitylock_claim(int domain,
		     const unsigned char cookie[ENTITYLOCK_COOKIE_SIZE]);

/**
 * entitylock_break() - take an entity, or the gate, from its holders
 * @domain: a domain fd, open for writing.
 * @name: the entity's name, not terminated; NULL with ENTITYLOCK_GATE.
 * @len: its bytes; 0 with ENTITYLOCK_GATE.
 * @flags: ENTITYLOCK_GATE or 0.
 * @fence: only if the grant of this number still holds, 0 = whoever holds it.
 *
 * The holder's whole token is lost.  If nobody holds the entity, its abandoned
 * mark is dropped.
 *
 * Return: 0, or
 * -ENOENT: nobody holds it, and it has no mark;
 * -ESTALE: the grant of that number does not hold any more;
 * -EPERM: the opener of @domain is neither the domain's owner nor has
 *	CAP_SYS_ADMIN in its user namespace;
 * -EINVAL: bad name length or flag;
 * -EBADF: @domain is no descriptor or not open for writing;
 * -ENOTTY: not a domain fd, or a module without breaking; -EFAULT.
 */
int entitylock_break(int domain, const void *name, size_t len, uint32_t flags,
		     uint64_t fence);

/**
 * entitylock_info() - report on a token
 * @token: a token fd, in any state.
 * @info: as the struct says.  Input: flags (ENTITYLOCK_SEEN or 0), entities,
 *	entity_size, capacity, label, label_len, reserved; all 0 to be told no
 *	names and no label.  Output: the rest.
 *
 * Return: 0, or
 * -EINVAL: bad flag, entity size or reserved field;
 * -E2BIG: an entity size above a page;
 * -EBADF, -ENOTTY: not a token fd; -EFAULT, -ENOMEM.
 */
int entitylock_info(int token, struct entitylock_info *info);

/**
 * entitylock_seen() - look at a token's entities as they are now
 * @token: a token fd, in any state.
 * @set: elements whose names are to be looked up in the token.  Version and
 *	result of each are written: ENTITYLOCK_CHANGED if another holder changed
 *	it since the token last saw it, ENTITYLOCK_ABANDONED.  An element that
 *	the token does not have stays as it is.  May be NULL if @count is 0.
 * @count: elements of @set.
 *
 * From now on the token has seen these versions: entitylock_lock() with
 * ENTITYLOCK_IF_UNCHANGED compares with them, and POLLPRI tells of later
 * changes.  To be called before what the entities stand for is read.
 *
 * Return: 0, or -EBADF, -ENOTTY: not a token fd; -EFAULT, -ENOMEM.
 */
int entitylock_seen(int token, struct entitylock_entity *set, unsigned int count);

/**
 * entitylock_outcome() - ask how an asynchronous request ended
 * @token: a token fd.
 * @grant: receives the grant if the token is held.  May be NULL.
 *
 * Never blocks.  To be called when poll(2) reports POLLIN, POLLERR or POLLHUP;
 * may be called at any time and again.  For tokens over many entities it uses
 * up to 40 KiB of stack.
 *
 * Return: 0: the token is held and the last request was granted, or
 * -EAGAIN: still pending;
 * -ETIMEDOUT: not granted by the deadline;
 * -ECANCELED: cancelled, or the token is idle for another reason;
 * -ESTALE: the token is lost, or an entity changed (ENTITYLOCK_IF_UNCHANGED);
 * whatever else the request failed with;
 * -EBADF, -ENOTTY: not a token fd;
 * -ENOMEM: it cannot be told now, ask again.
 */
int entitylock_outcome(int token, struct entitylock_grant *grant);

/**
 * entitylock_wait() - block until an asynchronous request has ended
 * @token: a token fd.
 * @grant: receives the grant if the token is held.  May be NULL.
 *
 * Waits as long as the deadline that the request was made with.
 *
 * Return: as entitylock_outcome() but never -EAGAIN, and -EINTR: a signal
 * handler ran, the request still waits in its place.
 */
int entitylock_wait(int token, struct entitylock_grant *grant);

/**
 * entitylock_deadline_in() - a deadline so long from now
 * @ns: nanoseconds from now.
 *
 * Return: that time of CLOCK_MONOTONIC, always less than ENTITYLOCK_FOREVER.
 */
uint64_t entitylock_deadline_in(uint64_t ns);

/** ENTITYLOCK_UNTOLD - what stands for a time that a listing does not tell */
#define ENTITYLOCK_UNTOLD	UINT64_MAX

/**
 * struct entitylock_list_party - a holder, or a waiter, in a listing
 * @id: number of its token.
 * @mode: ENTITYLOCK_SHARED or ENTITYLOCK_EXCLUSIVE.
 * @pid: its recorded owner in the reader's pid namespace, 0 = not in it.
 * @comm: that process's command, terminated.
 * @label: what the operation is, terminated; may contain any byte.
 * @label_len: bytes of @label.
 * @comm_len: bytes of @comm.
 * @age: nanoseconds since it holds, or waits.
 * @lease: of a holder: nanoseconds to the end of its lease, 0 = it has run out,
 *	ENTITYLOCK_UNTOLD = it has none.
 * @parked: of a holder: not 0: its token is parked.
 */
struct entitylock_list_party {
	uint64_t id;
	uint32_t mode;
	pid_t pid;
	const char *comm;
	const char *label;
	size_t comm_len;
	size_t label_len;
	uint64_t age;
	uint64_t lease;
	uint32_t parked;
};

/**
 * struct entitylock_list_entry - an entity, or the gate, in a listing
 * @name: its name, any bytes, terminated by a zero that does not count.
 * @name_len: bytes of @name; 0 for the gate.
 * @state: in words as the module gives it: "held-exclusive", "held-shared",
 *	"free", "abandoned", or one that a later module has.  Of the gate:
 *	"held-exclusive"; "awaited": its first waiter is next, when what runs has
 *	ended; "open": those that waited are let in; "abandoned".
 * @fence: number of the last grant that was recorded.
 * @holders: how many hold it.
 * @waiters: how many wait for it.
 * @holder: the first of the holders.
 * @waiter: the first of the waiters, in order.
 * @nr_holder: elements of @holder.
 * @nr_waiter: elements of @waiter.
 * @abandoned: not 0: it bears the mark of a robust holder that vanished.
 * @gate: not 0: this is the domain's gate.  It comes first, and only if it is held
 *	or marked or somebody waits at it.
 */
struct entitylock_list_entry {
	const char *name;
	size_t name_len;
	const char *state;
	uint64_t fence;
	uint64_t holders;
	uint64_t waiters;
	const struct entitylock_list_party *holder;
	const struct entitylock_list_party *waiter;
	size_t nr_holder;
	size_t nr_waiter;
	uint32_t abandoned;
	uint32_t gate;
};

/** struct entitylock_list - a listing that is being read */
struct entitylock_list;

/**
 * entitylock_list_open() - begin to list a domain's entities
 * @domain: a domain fd, open for reading.  It must stay open until
 *	entitylock_list_close(), which does not close it.  Its file position is
 *	used: copies of one fd, in whatever process, list one at a time.
 * @list: receives the listing.
 *
 * Return: 0, or
 * -EBADF: @domain is no descriptor or not open for reading;
 * -EACCES: the domain does not let its opener list;
 * -EPROTO: what is read is not a listing;
 * -EINTR: a signal handler ran; -ENOMEM.
 */
int entitylock_list_open(int domain, struct entitylock_list **list);

/**
 * entitylock_list_next() - read the next entity, at first perhaps the gate
 * @list: the listing.
 * @entry: receives the entity, which lives until the next call for @list.
 *
 * Each entity is as it was at one moment, the listing as a whole is not: what
 * comes or goes meanwhile may be in it or not.
 *
 * Return: 1: there was one, 0: the listing has ended, or
 * -EPROTO: the line cannot be understood;
 * -EINTR: a signal handler ran, the call may be repeated;
 * -EACCES, -ENOMEM.
 */
int entitylock_list_next(struct entitylock_list *list,
			 const struct entitylock_list_entry **entry);

/**
 * entitylock_list_close() - end a listing and free it
 * @list: the listing, or NULL.
 */
void entitylock_list_close(struct entitylock_list *list);

/** ENTITYLOCK_STATS_BUCKETS - elements of a histogram of times */
#define ENTITYLOCK_STATS_BUCKETS	32

/**
 * struct entitylock_stats - what happens in a domain, and has happened there
 * @entities: that there are.
 * @tokens: that there are.
 * @waiters: tokens that wait.
 * @in_flight: operations that hold, or wait for, entities: what the gate waits for.
 * @grants: in all, also of more to a token that had some.
 * @contended: those of them that were waited for.
 * @waits: how long those waited: element i counts what took less than 2^i
 *	microseconds and is in no element before, the last one all else.
 * @holds: the same of how long what was granted was held; see @counts_holds.
 * @counts_holds: not 0: holds are counted, while the module's parameter
 *	hold_times says so.
 * @reserved: 0.
 *
 * The numbers may be of slightly different moments.
 */
struct entitylock_stats {
	uint64_t entities;
	uint64_t tokens;
	uint64_t waiters;
	uint64_t in_flight;
	uint64_t grants;
	uint64_t contended;
	uint64_t waits[ENTITYLOCK_STATS_BUCKETS];
	uint64_t holds[ENTITYLOCK_STATS_BUCKETS];
	uint32_t counts_holds;
	uint32_t reserved;
};

/**
 * entitylock_stats() - ask for the statistics of a domain
 * @domain: a domain fd, of whom may list the domain.
 * @stats: receives them.
 *
 * They are read from /proc, which must be mounted.
 *
 * Return: 0, or
 * -EBADF: no descriptor;
 * -ENOTTY: not a domain fd;
 * -EACCES: whoever opened it may not list the domain;
 * -ENOENT: /proc is not mounted;
 * -EPROTO: what is read are not the statistics that this library knows;
 * -EMFILE, -ENFILE, -ENOMEM; whatever else open(2) and read(2) say.
 */
int entitylock_stats(int domain, struct entitylock_stats *stats);

/**
 * entitylock_send() - send a token, or a domain fd, to whoever reads a Unix socket
 * @sock: a connected Unix socket, stream or sequenced packets.
 * @fd: the token, or domain fd.  The caller keeps it; while the message is on its
 *	way it holds the lock, or keeps the domain, as well.
 * @data: bytes that go with it.  May be NULL if @len is 0.
 * @len: how many; with 0 one byte of value 0 is sent, for there must be one.
 *
 * Raises no SIGPIPE.  If a stream takes only part of the bytes, the call waits
 * to send the rest, also if @sock is non-blocking and in spite of signals.
 *
 * Return: 0, or
 * -EAGAIN: @sock is non-blocking and takes nothing now;
 * -EINTR: a signal handler ran, nothing was sent;
 * -EPIPE, -ECONNRESET: the other end is closed;
 * -ENOTCONN, -ENOTSOCK: not such a socket;
 * -EMSGSIZE: more than a packet can hold;
 * -EBADF: no descriptor; -ETOOMANYREFS, -ENOBUFS, -ENOMEM.
 */
int entitylock_send(int sock, int fd, const void *data, size_t len);

/**
 * entitylock_recv() - receive a token from a Unix socket
 * @sock: a connected Unix socket, stream or sequenced packets.
 * @data: receives the bytes that come with it.  May be NULL if @len is NULL.
 *	After a failure its contents are undefined.
 * @len: bytes that @data has room for, at least 1; receives how many came.
 *	NULL: one byte is read and dropped, as sent with a length of 0.
 *
 * A stream does not keep messages apart: there exactly *@len bytes are read,
 * and both ends must agree on the number.  For those that are not there yet the
 * call waits, in spite of signals, unless @sock is non-blocking, and for each
 * part of them as long as its SO_RCVTIMEO says.  If they do not come, the stream
 * is out of step: close it.  From a peer that is not trusted take sequenced
 * packets, which come whole.
 *
 * The peer chooses what it sends: no descriptor stays open but the one token that
 * is returned.
 *
 * Return: a token fd, or
 * -ENODATA: the other end is closed and nothing is left to read;
 * -EBADMSG: the message carried no descriptor, several, or fewer bytes than
 *	expected, or not all of them in time; it is lost;
 * -ENOTTY: it carried a descriptor that is not a token;
 * -EMFILE: the caller has no room for more descriptors, or may not have this
 *	one; the message is lost;
 * -EMSGSIZE: a packet of more than *@len bytes, it is lost;
 * -EINVAL: *@len is 0;
 * -EAGAIN: @sock is non-blocking, or its time is over, and there is nothing;
 * -EINTR: a signal handler ran, nothing was received;
 * -ECONNRESET, -ENOTCONN, -ENOTSOCK, -EBADF, -ENOMEM.
 */
int entitylock_recv(int sock, void *data, size_t *len);

/**
 * entitylock_recv_domain() - receive a domain fd from a Unix socket
 * @sock: as for entitylock_recv().
 * @data: as for entitylock_recv().
 * @len: as for entitylock_recv().
 *
 * This is how another process comes to a private domain.  Rights in the domain
 * are those of whoever opened the fd; it may be one that was not used yet.
 *
 * Return: a domain fd, or as entitylock_recv(), but
 * -ENOTTY: the message carried a descriptor that is not a domain fd.
 */
int entitylock_recv_domain(int sock, void *data, size_t *len);

/**
 * enum entitylock_verb - what failed, for entitylock_explain()
 *
 * One for each function of that name; ENTITYLOCK_VERB_DOMAIN also for
 * entitylock_open_domain(), ENTITYLOCK_VERB_LIST for those of a listing,
 * ENTITYLOCK_VERB_ACQUIRE for entitylock_acquire(), _acquire_set() and _gate(),
 * ENTITYLOCK_VERB_LOCK also for _outcome() and _wait(), ENTITYLOCK_VERB_RENEW also
 * for _keep_timer() and _keep(), ENTITYLOCK_VERB_INFO also for _seen(),
 * ENTITYLOCK_VERB_RECV also for _recv_domain().
 */
enum entitylock_verb {
	ENTITYLOCK_VERB_OPEN,
	ENTITYLOCK_VERB_VERSION,
	ENTITYLOCK_VERB_DOMAIN,
	ENTITYLOCK_VERB_ACQUIRE,
	ENTITYLOCK_VERB_CLAIM,
	ENTITYLOCK_VERB_BREAK,
	ENTITYLOCK_VERB_LIST,
	ENTITYLOCK_VERB_LOCK,
	ENTITYLOCK_VERB_UNLOCK,
	ENTITYLOCK_VERB_CANCEL,
	ENTITYLOCK_VERB_CONVERT,
	ENTITYLOCK_VERB_EXTEND,
	ENTITYLOCK_VERB_RENEW,
	ENTITYLOCK_VERB_LABEL,
	ENTITYLOCK_VERB_PARK,
	ENTITYLOCK_VERB_INFO,
	ENTITYLOCK_VERB_SEND,
	ENTITYLOCK_VERB_RECV,
	ENTITYLOCK_VERB_STATS,
};

/**
 * entitylock_explain() - say in words why something failed and what to do
 * @verb: what failed.
 * @error: what it returned, negative or positive.
 *
 * Return: a constant string without a full stop or newline, never NULL: what
 * was wrong, and for most errors, after a semicolon, what to do about it.
 */
const char *entitylock_explain(enum entitylock_verb verb, int error);

#ifdef __cplusplus
}
#endif

#endif /* ENTITYLOCK_H */
