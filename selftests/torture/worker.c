// SPDX-License-Identifier: GPL-2.0
/*
 * What a worker does: again and again, one of the operations that the state of
 * one of its tokens allows.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>

#include "worker.h"

/* Holding takes time: mostly little. */
static void linger(struct self *self)
{
	unsigned int kind = below(&self->random, 100);

	if (kind < 10)
		spin_ns(below(&self->random, 20000));
	else if (kind < 25)
		sched_yield();
	else if (kind < 28)
		usleep(below(&self->random, 2000));
}

static void step(struct self *self)
{
	struct seat *seat = &self->seats[below(&self->random, PLACES)];

	stress_step(self->actor);
	if (seat->state == HELD) {
		linger(self);
		still_alone(seat);
	}
	operate(self, seat);
}

/* Are all at rest who send tokens, and none is on its way? */
static bool all_received(void)
{
	struct pollfd pfd = { .fd = shared->inbox[0], .events = POLLIN };

	for (unsigned int i = 0; i < ACTORS; i++)
		if (shared->workers[shared->actors[i].worker].kind != FINISHER &&
		    !shared->actors[i].resting)
			return false;
	return poll(&pfd, 1, 0) == 0;
}

/* Close all that does not wait.  Return: is there something that does? */
static bool close_all(struct self *self)
{
	bool waits = false;

	for (unsigned int i = 0; i < PLACES; i++) {
		struct seat *seat = &self->seats[i];

		if (seat->state == PENDING)
			waits = true;
		else if (seat->state != EMPTY)
			do_close(self, seat);
	}
	return waits;
}

/* What waits is waited for, so that what is forgotten is seen. */
static void come_to_rest(struct self *self)
{
	while (close_all(self))
		await(self);
	while (finisher(self) && !all_received()) {
		do_receive(self, &self->seats[0]);
		close_all(self);
	}
}

static void *actor_main(void *data)
{
	struct self *self = data;
	const struct timespec nap = { .tv_nsec = 1000000 };

	self->actor->tid = gettid();
	while (!shared->quit) {
		/* In this order: whoever sees it at rest, and stopped, is right. */
		self->actor->resting = false;
		if (shared->stop) {
			self->actor->resting = true;
			nanosleep(&nap, NULL);
			continue;
		}
		self->random = random_from(shared->seed, shared->round, self->number,
					   self->worker->incarnation);
		while (!shared->stop)
			step(self);
		come_to_rest(self);
	}
	return NULL;
}

static void interrupted(int number)
{
	(void)number;
}

static struct self *self_new(unsigned int number)
{
	struct self *self = calloc(1, sizeof(*self));

	self->number = number;
	self->actor = &shared->actors[number];
	self->worker = &shared->workers[self->actor->worker];
	self->seats = &shared->seats[number * PLACES];
	for (unsigned int i = 0; i < PLACES; i++) {
		struct seat *seat = &self->seats[i];

		pthread_mutex_init(&seat->lock, NULL);
		seat->fd = -1;
		seat->state = EMPTY;
		seat->raising = 0;
		set_clear(&seat->set, SHARED);
		set_clear(&seat->want, SHARED);
	}
	self->domain = domain_open(O_RDWR);
	return self;
}

/* In half of the workers a verb that was interrupted is called again. */
int worker_main(unsigned int number)
{
	struct worker *worker = &shared->workers[number];
	struct sigaction action = {
		.sa_handler = interrupted,
		.sa_flags = number % 2 ? SA_RESTART : 0,
	};
	pthread_t threads[ACTORS_EACH];
	struct self *selves[ACTORS_EACH];

	sigaction(SIGUSR1, &action, NULL);
	for (unsigned int i = 0; i < worker->actors; i++) {
		selves[i] = self_new(worker->first + i);
		if (selves[i]->domain < 0)
			return 1;
	}
	for (unsigned int i = 1; i < worker->actors; i++)
		if (pthread_create(&threads[i], NULL, actor_main, selves[i]))
			return 1;
	stress_worker();
	actor_main(selves[0]);
	for (unsigned int i = 1; i < worker->actors; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
