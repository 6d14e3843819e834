/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Light threads (fibers), many of them on few OS threads.
 *
 * A fiber may find itself on another OS thread after fiber_yield() and fiber_wait().
 * So it must not use across them what belongs to an OS thread: errno, of which a
 * compiler may keep the address, or a mutex.
 */
#ifndef FIBER_H
#define FIBER_H

#include <stdbool.h>

struct fiber;
struct scheduler;

typedef void fiber_main(struct fiber *self, void *arg);

/* For up to @fibers fibers; ends the program if there is no memory. */
struct scheduler *scheduler_new(unsigned int fibers);
void scheduler_free(struct scheduler *scheduler);

/* To be called before scheduler_run(). */
void fiber_start(struct scheduler *scheduler, fiber_main *main, void *arg);

/*
 * Runs the fibers to their end on @os_threads OS threads, the caller's being one.
 *
 * With @stall_ms, another OS thread watches: if for so long every one that runs
 * fibers is pinned, it says so and adds as many as there are.
 */
void scheduler_run(struct scheduler *scheduler, unsigned int os_threads,
		   unsigned int stall_ms);

/* How many fibers wait now, and the most that did at once. */
unsigned int scheduler_waiting(struct scheduler *scheduler);
unsigned int scheduler_most_waiting(const struct scheduler *scheduler);
unsigned int scheduler_stalls(const struct scheduler *scheduler);

/* Lets the other fibers run that can. */
void fiber_yield(struct fiber *self);

/* Waits until poll(2) would report POLLIN, POLLERR or POLLHUP for @fd. */
void fiber_wait(struct fiber *self, int fd);

/* Around a call that blocks: fiber and OS thread wait together. */
void fiber_pin(struct fiber *self);
void fiber_unpin(struct fiber *self);

/* The number of the OS thread that the fiber runs on. */
unsigned int fiber_os_thread(const struct fiber *self);

#endif /* FIBER_H */
