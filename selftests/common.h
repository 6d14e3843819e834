/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the self-tests share: thin wrappers on the uapi, waits for a condition
 * instead of sleeps, and sizes and times that follow the kernel's speed.
 *
 * Wrappers return what the ioctl returns, or -errno.
 */
#ifndef SELFTESTS_COMMON_H
#define SELFTESTS_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <linux/entitylock.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define DEVICE		"/dev/entitylock"
#define NOWAIT		ENTITYLOCK_NOWAIT
#define FOREVER		ENTITYLOCK_FOREVER
#define PASSED		1ULL		/* a deadline that is over: just after boot */
#define SHARED		ENTITYLOCK_SHARED
#define EXCLUSIVE	ENTITYLOCK_EXCLUSIVE

#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

static inline __u64 ptr(const void *p)
{
	return (uintptr_t)p;
}

/* An element of a set: struct entitylock_entity set[] = { X("a"), S("b") }; */
#define ENTITY(n, m)	{ .name = ptr(n), .name_len = strlen(n), .mode = (m) }
#define X(n)		ENTITY(n, EXCLUSIVE)
#define S(n)		ENTITY(n, SHARED)

/* Speed: 1 on a stock kernel, emulated; 10 is ten times slower. */
double speed_scale(void);
/* @n operations, fewer on a slow kernel, but @least. */
unsigned int scaled(unsigned int n, unsigned int least);
/* Most seconds that a test may take, and that a condition may take to come true. */
unsigned int test_seconds(void);
unsigned int limit_seconds(void);

/* Time. */
__u64 now_on(clockid_t clock);

static inline __u64 now(void)
{
	return now_on(CLOCK_MONOTONIC);
}

/* Monotonic deadline in @ms milliseconds, more on a slow kernel. */
__u64 in_ms(unsigned int ms);

/* eventually(): look until @cond is true; false when it took too long. */
struct limit {
	__u64 end;
};

struct limit limit_start(void);
bool limit_pause(const struct limit *limit);

#define eventually(cond) ({						\
	struct limit _limit = limit_start();				\
	bool _met;							\
									\
	while (!(_met = (cond)) && limit_pause(&_limit))		\
		;							\
	_met;								\
})

/* Domain fds. */
int domain_open(int flags);
int el_ioctl(int fd, unsigned long cmd, void *arg);
/* The same verb with a struct of another size. */
unsigned long resized(unsigned long cmd, size_t size);
__u64 features(int domain);
int acquire_set(int domain, const struct entitylock_entity *set, __u32 count, __u32 flags,
		__u64 deadline);
int acquire(int domain, const char *name, __u32 mode, __u32 flags, __u64 deadline);
int acquire_gate(int domain, __u32 flags, __u64 deadline);

#define acquire_these(domain, flags, deadline, ...) ({			\
	struct entitylock_entity _set[] = { __VA_ARGS__ };		\
									\
	acquire_set(domain, _set, ARRAY_SIZE(_set), flags, deadline);	\
})

/* An exclusive lock, at once. */
static inline int hold(int domain, const char *name)
{
	return acquire(domain, name, EXCLUSIVE, 0, NOWAIT);
}

/* A token over @name that is not locked. */
static inline int idle(int domain, const char *name)
{
	return acquire(domain, name, EXCLUSIVE, ENTITYLOCK_OPEN, NOWAIT);
}

/* Many entities by number: "00000042". */
struct numbered {
	struct entitylock_entity set[ENTITYLOCK_SET_MAX];
	char names[ENTITYLOCK_SET_MAX][12];
};

void numbered_set(struct numbered *many, unsigned int first, unsigned int count, __u32 mode);

/* Can somebody new lock @name right now? 0 or -errno; leaves no trace. */
int try_lock(int domain, const char *name, __u32 mode);
int try_gate(int domain);

/* Token fds. */
int token_lock(int token, __u32 flags, __u64 deadline);
int token_unlock(int token, __u32 flags, __u64 fence);
int token_convert(int token, __u32 mode, __u32 flags, __u64 deadline);
int token_extend(int token, const struct entitylock_entity *set, __u32 count, __u32 flags,
		 __u64 deadline);
int token_label(int token, const char *label);
struct entitylock_info token_info(int token);
int token_state(int token);

#define extend_these(token, flags, deadline, ...) ({			\
	struct entitylock_entity _set[] = { __VA_ARGS__ };		\
									\
	token_extend(token, _set, ARRAY_SIZE(_set), flags, deadline);	\
})

static inline int unlock(int token)
{
	return token_unlock(token, 0, 0);
}

static inline __u64 token_fence(int token)
{
	return token_info(token).fence;
}

static inline __u32 token_waiters(int token)
{
	return token_info(token).waiters;
}

/* Names of the token's entities, in its order, separated by spaces, in a static buffer. */
const char *token_names(int token);
/* Modes likewise, a letter each: s, x. */
const char *token_modes(int token);
/* Poll bits that are set right now. */
short token_poll(int token);
/* Poll bits once one of @events (or POLLERR, POLLHUP) is set, 0 when it took too long. */
short token_poll_wait(int token, short events);

/* A blocking ioctl in a thread of its own. */
struct call {
	int fd;
	unsigned long cmd;
	void *arg;
	atomic_int ret;
	atomic_int tid;
	pthread_t thread;
	struct entitylock_entity entity;
	union {
		struct entitylock_acquire acquire;
		struct entitylock_lock lock;
		struct entitylock_convert convert;
	};
};

#define CALL_STUCK	(-100000)	/* call_result(): it did not return */

void call_start(struct call *call, int fd, unsigned long cmd, void *arg);
void call_acquire(struct call *call, int domain, const char *name, __u32 mode, __u64 deadline);
void call_acquire_set(struct call *call, int domain, const struct entitylock_entity *set,
		      __u32 count, __u64 deadline);
void call_acquire_gate(struct call *call, int domain, __u64 deadline);
void call_lock(struct call *call, int token, __u64 deadline);
void call_convert(struct call *call, int token, __u32 mode, __u64 deadline);
void call_extend(struct call *call, int token, const struct entitylock_entity *set, __u32 count,
		 __u64 deadline);
/* Does it sleep in its ioctl? */
bool call_blocked(struct call *call);
bool task_blocked(pid_t tid);
/* Number of the system call in which the thread sleeps, -1 when it runs. */
long task_syscall(pid_t tid);
int call_result(struct call *call);

/* A value of "key:\tvalue" in the fdinfo of @fd, in a static buffer, "" when absent. */
const char *fdinfo_value(int fd, const char *key);
/* Entities that exist in the domain of @domain. */
unsigned int live_entities(int domain);
unsigned int open_fds(void);

/* The listing. */
struct row {
	char name[4 * ENTITYLOCK_NAME_MAX + 1];
	char state[32];
	__u64 fence;
	unsigned int holders;
	unsigned int waiters;
	char holder[16384];
	char waiter[16384];
	char mark[16];
	char held[512];
	char waited[512];
	char lease[512];
	char parked[512];
};

/* The text of a whole listing read through @fd in pieces of @chunk bytes, to be freed. */
char *listing_read(int fd, size_t chunk);
/* Decode the line that begins at @line. */
bool row_parse(const char *line, struct row *row);
/* The row of @name (as listed, escaped) in the default domain. */
bool listing_find(const char *name, struct row *row);
/* Requests that wait for @name, 0 also when it is not listed. */
unsigned int queued(const char *name);

/* Processes: fork, the child dies with its parent. */
pid_t spawn(void);
/* Exit status of @pid, or 256 + the signal that ended it; -1 when it did not end. */
int reap(pid_t pid);

int send_fd(int sock, int fd);
/* Flags of recvmsg(2). */
int receive_fd_with(int sock, int flags);

static inline int receive_fd(int sock)
{
	return receive_fd_with(sock, 0);
}

void pin_to_cpu(unsigned int cpu);
unsigned int cpus(void);
/* Write a file of the kernel's: 0 or -errno. */
int write_file(const char *path, const char *text);
/* Is this line all that is in it? */
bool file_says(const char *path, const char *line);
/* Freeze all tasks for some seconds as suspend does, and thaw them. */
int freeze_and_thaw(void);
/* Allow as many fds as the kernel does. */
void raise_fd_limit(unsigned int need);

/* Two racers that start at the same moment, on as many CPUs as there are. */
struct start_line {
	atomic_int ready;
};

void start_together(struct start_line *line, int racers);
void spin_ns(__u64 ns);

#endif
