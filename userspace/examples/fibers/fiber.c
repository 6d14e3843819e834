// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler: one queue of fibers that can run, one epoll instance for those
 * that wait, and OS threads that take from the first, and sleep in the second when
 * there is nothing to take.
 *
 * epoll and not io_uring, because all OS threads can wait for the same instance:
 * whoever is idle takes the next fiber, on whatever thread it began to wait.  A ring
 * has one owner, and fibers would have to be moved between rings.
 *
 * A fiber must not be resumed before its registers are saved.  So it only notes what
 * it wants and switches to its worker, and the worker, on its own stack, queues
 * the fiber or gives its descriptor to epoll: from then on another may resume it.
 *
 * The lock guards the queue and the counts; nothing blocks under it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "fiber.h"

#define STACK		(64UL << 10)
#define GUARD		(4UL << 10)
#define BATCH		64	/* fibers that run, or have news, at a time */

enum wish { TO_RUN, TO_WAIT, TO_END };

struct fiber {
	ucontext_t context;
	fiber_main *main;
	void *arg;
	struct worker *worker;		/* that runs it, or did last */
	struct fiber *next;		/* in the queue */
	enum wish wish;
	int fd;				/* to wait for */
};

struct worker {
	ucontext_t context;
	struct scheduler *scheduler;
	pthread_t thread;
	unsigned int number;
	unsigned int resumed;
};

struct scheduler {
	pthread_mutex_t lock;
	struct fiber *first, **last;	/* the queue */
	unsigned int alive;
	unsigned int waiting, most_waiting;
	unsigned int pinned;		/* of the waiting ones */
	unsigned int idle;		/* workers in epoll_wait() */
	unsigned int workers;
	unsigned long resumed;
	unsigned int stalls;

	unsigned int stall_ms;
	unsigned int capacity;		/* fibers, and workers: with one each nothing stalls */
	unsigned int started;
	int epoll;
	int bell;			/* an eventfd that wakes one idle worker */
	char *stacks;
	struct fiber *fibers;
	struct worker *worker;
};

/* The fiber that begins on this OS thread. */
static __thread struct fiber *beginner;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Edge triggered: one write wakes one of those that wait, and nobody has to read. */
static void ring(struct scheduler *s)
{
	const uint64_t one = 1;

	if (write(s->bell, &one, sizeof(one)) < 0)
		die("eventfd");
}

static void append(struct scheduler *s, struct fiber *fiber)
{
	fiber->next = NULL;
	*s->last = fiber;
	s->last = &fiber->next;
}

static struct fiber *take(struct scheduler *s)
{
	struct fiber *fiber = s->first;

	if (!fiber)
		return NULL;
	s->first = fiber->next;
	if (!s->first)
		s->last = &s->first;
	return fiber;
}

static void count_waiting(struct scheduler *s)
{
	if (++s->waiting > s->most_waiting)
		s->most_waiting = s->waiting;
}

/* Queues the fibers whose descriptors have news; an idle worker sleeps until there are. */
static void collect(struct scheduler *s, bool idle)
{
	struct epoll_event events[BATCH];
	int nr, i;
	bool wake;

	nr = epoll_wait(s->epoll, events, BATCH, idle ? -1 : 0);
	if (nr < 0 && errno != EINTR)
		die("epoll_wait");
	pthread_mutex_lock(&s->lock);
	s->idle -= idle;
	for (i = 0; i < nr; i++) {
		if (!events[i].data.ptr)
			continue;	/* the bell */
		append(s, events[i].data.ptr);
		s->waiting--;
	}
	wake = s->first && s->idle;
	pthread_mutex_unlock(&s->lock);
	if (wake)
		ring(s);
}

/* The next fiber to run; NULL when all have ended. */
static struct fiber *next_fiber(struct worker *worker)
{
	struct scheduler *s = worker->scheduler;
	struct fiber *fiber;
	bool over;

	/* Those that run on and on must not keep the others waiting. */
	if (++worker->resumed % BATCH == 0)
		collect(s, false);
	for (;;) {
		pthread_mutex_lock(&s->lock);
		fiber = take(s);
		over = !s->alive;
		s->resumed += !!fiber;
		s->idle += !fiber && !over;
		pthread_mutex_unlock(&s->lock);
		if (fiber || over)
			return fiber;
		collect(s, true);
	}
}

static void make_runnable(struct scheduler *s, struct fiber *fiber)
{
	bool wake;

	pthread_mutex_lock(&s->lock);
	append(s, fiber);
	wake = s->idle;
	pthread_mutex_unlock(&s->lock);
	if (wake)
		ring(s);
}

static void make_waiting(struct scheduler *s, struct fiber *fiber)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLONESHOT,
		.data.ptr = fiber,
	};
	int fd = fiber->fd;

	pthread_mutex_lock(&s->lock);
	count_waiting(s);
	pthread_mutex_unlock(&s->lock);
	if (!epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event))
		return;
	if (errno != EEXIST || epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &event))
		die("epoll_ctl");
}

static void make_dead(struct scheduler *s)
{
	pthread_mutex_lock(&s->lock);
	s->alive--;
	pthread_mutex_unlock(&s->lock);
}

static void resume(struct worker *worker, struct fiber *fiber)
{
	struct scheduler *s = worker->scheduler;

	fiber->worker = worker;
	beginner = fiber;
	swapcontext(&worker->context, &fiber->context);
	switch (fiber->wish) {
	case TO_RUN:
		make_runnable(s, fiber);
		break;
	case TO_WAIT:
		make_waiting(s, fiber);
		break;
	case TO_END:
		make_dead(s);
		break;
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct fiber *fiber;

	while ((fiber = next_fiber(worker)))
		resume(worker, fiber);
	ring(worker->scheduler);	/* the next of those who sleep ends, too */
	return NULL;
}

/* Back to the worker, which may be another each time. */
static void leave(struct fiber *self, enum wish wish)
{
	self->wish = wish;
	swapcontext(&self->context, &self->worker->context);
}

static void begin(void)
{
	struct fiber *self = beginner;

	self->main(self, self->arg);
	leave(self, TO_END);
}

void fiber_yield(struct fiber *self)
{
	leave(self, TO_RUN);
}

void fiber_wait(struct fiber *self, int fd)
{
	self->fd = fd;
	leave(self, TO_WAIT);
}

void fiber_pin(struct fiber *self)
{
	struct scheduler *s = self->worker->scheduler;

	pthread_mutex_lock(&s->lock);
	count_waiting(s);
	s->pinned++;
	pthread_mutex_unlock(&s->lock);
}

void fiber_unpin(struct fiber *self)
{
	struct scheduler *s = self->worker->scheduler;

	pthread_mutex_lock(&s->lock);
	s->waiting--;
	s->pinned--;
	pthread_mutex_unlock(&s->lock);
}

unsigned int fiber_os_thread(const struct fiber *self)
{
	return self->worker->number;
}

static struct worker *add_worker(struct scheduler *s)
{
	struct worker *worker = &s->worker[s->workers];

	worker->scheduler = s;
	worker->number = s->workers++;
	return worker;
}

static void start_thread(pthread_t *thread, void *(*function)(void *), void *arg)
{
	errno = pthread_create(thread, NULL, function, arg);
	if (errno)
		die("pthread_create");
}

/* Adds OS threads up to @nr in all. */
static void add_threads(struct scheduler *s, unsigned int nr)
{
	struct worker *worker;

	while (s->workers < nr && s->workers < s->capacity) {
		pthread_mutex_lock(&s->lock);
		worker = add_worker(s);
		pthread_mutex_unlock(&s->lock);
		start_thread(&worker->thread, work, worker);
	}
}

/* Looks from time to time whether every OS thread is pinned, and nothing moves. */
static void *watch(void *arg)
{
	struct scheduler *s = arg;
	struct timespec limit = {
		.tv_sec = s->stall_ms / 1000,
		.tv_nsec = s->stall_ms % 1000 * 1000000L,
	};
	unsigned long resumed = 0;
	bool over, stalled;

	do {
		nanosleep(&limit, NULL);
		pthread_mutex_lock(&s->lock);
		over = !s->alive;
		stalled = !over && s->pinned == s->workers && s->resumed == resumed;
		s->stalls += stalled;
		resumed = s->resumed;
		pthread_mutex_unlock(&s->lock);
		if (!stalled)
			continue;
		/* The fiber that could end it is in the queue, with nobody to run it. */
		printf("stalled, as expected: all of %u OS threads wait\n", s->workers);
		add_threads(s, 2 * s->workers);
	} while (!over);
	return NULL;
}

void scheduler_run(struct scheduler *s, unsigned int os_threads, unsigned int stall_ms)
{
	struct worker *own = add_worker(s);
	pthread_t watcher;
	unsigned int i;

	s->stall_ms = stall_ms;
	add_threads(s, os_threads);
	if (stall_ms)
		start_thread(&watcher, watch, s);
	work(own);
	if (stall_ms)
		pthread_join(watcher, NULL);
	for (i = 1; i < s->workers; i++)
		pthread_join(s->worker[i].thread, NULL);
}

void fiber_start(struct scheduler *s, fiber_main *main, void *arg)
{
	struct fiber *fiber = &s->fibers[s->started];
	char *stack = s->stacks + s->started * STACK;

	/* A page that cannot be touched below each stack. */
	if (mprotect(stack + GUARD, STACK - GUARD, PROT_READ | PROT_WRITE))
		die("mprotect");
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stack + GUARD;
	fiber->context.uc_stack.ss_size = STACK - GUARD;
	makecontext(&fiber->context, begin, 0);
	fiber->main = main;
	fiber->arg = arg;
	s->started++;
	s->alive++;
	append(s, fiber);
}

struct scheduler *scheduler_new(unsigned int fibers)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct scheduler *s = calloc(1, sizeof(*s));

	if (!s)
		die("memory");
	pthread_mutex_init(&s->lock, NULL);
	s->last = &s->first;
	s->capacity = fibers;
	s->fibers = calloc(fibers, sizeof(*s->fibers));
	s->worker = calloc(fibers, sizeof(*s->worker));
	s->stacks = mmap(NULL, fibers * STACK, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!s->fibers || !s->worker || s->stacks == MAP_FAILED)
		die("memory");
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->bell = eventfd(0, EFD_CLOEXEC);
	if (s->epoll < 0 || s->bell < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->bell, &event))
		die("epoll");
	return s;
}

void scheduler_free(struct scheduler *s)
{
	munmap(s->stacks, s->capacity * STACK);
	close(s->bell);
	close(s->epoll);
	free(s->worker);
	free(s->fibers);
	free(s);
}

unsigned int scheduler_waiting(struct scheduler *s)
{
	unsigned int waiting;

	pthread_mutex_lock(&s->lock);
	waiting = s->waiting;
	pthread_mutex_unlock(&s->lock);
	return waiting;
}

unsigned int scheduler_most_waiting(const struct scheduler *s)
{
	return s->most_waiting;
}

unsigned int scheduler_stalls(const struct scheduler *s)
{
	return s->stalls;
}
