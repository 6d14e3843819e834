// SPDX-License-Identifier: GPL-2.0
/*
 * What must be so at the end of a program: all that waited has ended, no two tokens hold
 * what only one may, and when all descriptors are closed the domains are empty, their
 * gates free, and no descriptor is left.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "names.h"
#include "run.h"

#define LOOKED_AT	8	/* entities of a token */
#define FDS_MAX		256

/* --- While they are held --- */

struct look {
	struct entitylock_info info;
	struct entitylock_entity entities[LOOKED_AT];
	char names[LOOKED_AT][ENTITYLOCK_NAME_MAX];
	unsigned int slot;
	unsigned int where;
};

/* Does the token there hold? */
static bool look_at(unsigned int slot, struct look *look)
{
	look->slot = slot;
	look->where = run.slots[slot].where;
	look->info = (struct entitylock_info){
		.entities = ptr(look->entities),
		.entity_size = sizeof(look->entities[0]),
		.capacity = LOOKED_AT,
	};
	for (unsigned int i = 0; i < LOOKED_AT; i++)
		look->entities[i] = (struct entitylock_entity){
			.name = ptr(look->names[i]),
			.name_len = ENTITYLOCK_NAME_MAX,
		};
	return look->where != NOWHERE &&
	       !el_ioctl(run.slots[slot].fd, ENTITYLOCK_IOC_INFO, &look->info) &&
	       look->info.state == ENTITYLOCK_HELD;
}

static unsigned int entities_of(const struct look *look)
{
	return look->info.count < LOOKED_AT ? look->info.count : LOOKED_AT;
}

static bool sets_conflict(const struct look *one, const struct look *other)
{
	for (unsigned int i = 0; i < entities_of(one); i++)
		for (unsigned int j = 0; j < entities_of(other); j++) {
			const struct entitylock_entity *a = &one->entities[i];
			const struct entitylock_entity *b = &other->entities[j];

			if (a->name_len == b->name_len &&
			    !memcmp(one->names[i], other->names[j], a->name_len) &&
			    (a->mode == EXCLUSIVE || b->mode == EXCLUSIVE))
				return true;
		}
	return false;
}

/* L3, L5: @one was looked at first; if it still has its grant it had it then. */
static void must_not_conflict(const struct look *one, const struct look *other)
{
	struct look again;

	if (one->where != other->where || one->info.id == other->info.id)
		return;
	if (!((one->info.flags | other->info.flags) & ENTITYLOCK_GATE) &&
	    !sets_conflict(one, other))
		return;
	if (look_at(one->slot, &again) && again.info.fence == one->info.fence)
		violation("the tokens in slots %u and %u, fences %llu and %llu, hold the same",
			  one->slot, other->slot, one->info.fence, other->info.fence);
}

void nothing_conflicts(void)
{
	static struct look looks[SLOTS];
	unsigned int count = 0;

	if (!run.exact)
		return;
	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		if (run.slots[slot].fd < 0 || !look_at(slot, &looks[count]))
			continue;
		for (unsigned int i = 0; i < count; i++)
			must_not_conflict(&looks[i], &looks[count]);
		count++;
	}
}

/* --- When they are given up --- */

static void kill_children(void)
{
	unsigned int births = run.births;

	for (unsigned int i = 0; i < births; i++) {
		pid_t pid = atomic_exchange(&run.children[i], 0);

		if (!pid)
			continue;
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void claim_parked(void)
{
	unsigned int cookies = atomic_exchange(&run.cookies->count, 0);

	for (unsigned int i = 0; i < cookies; i++)
		for (unsigned int j = 0; j < run.watched; j++) {
			struct entitylock_claim arg = { 0 };
			int token;

			memcpy(arg.cookie, run.cookies->bytes[i], sizeof(arg.cookie));
			token = el_ioctl(run.watches[j], ENTITYLOCK_IOC_CLAIM, &arg);
			if (token >= 0)
				close(token);
		}
}

/* Take what is in the slot, unless it waits: its turn will come.  Return: it waits. */
static bool waits(unsigned int slot)
{
	struct entitylock_unlock arg = { 0 };
	int fd = run.slots[slot].fd;

	if (fd < 0)
		return false;
	if (token_state(fd) == ENTITYLOCK_PENDING)
		return true;
	fd = slot_take(slot);
	el_ioctl(fd, ENTITYLOCK_IOC_UNLOCK, &arg);
	close(fd);
	return false;
}

/*
 * Give up all that does not wait.  Return: the slots of what does, as bits.
 *
 * L4: who waits has to be granted then, so this is called again until nobody does.
 */
unsigned int give_up_all(void)
{
	unsigned int waiting = 0;

	kill_children();
	for (unsigned int slot = 0; slot < SLOTS; slot++)
		waiting |= (unsigned int)waits(slot) << slot;
	while (recv(run.sockets[1], NULL, 0, MSG_DONTWAIT) >= 0)
		;
	claim_parked();
	return waiting;
}

static void break_name(int domain, unsigned int number)
{
	struct name name = name_at(number);
	struct entitylock_break arg = { .name = ptr(name.bytes), .name_len = name.len };

	el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &arg);
}

/* Drop the marks of owners that vanished: they are all that may be left. */
static bool is_empty(int domain)
{
	struct entitylock_break gate = { .flags = ENTITYLOCK_GATE };

	if (!live_entities(domain))
		return true;
	for (unsigned int i = 0; i < 2 * NAME_KINDS; i++)
		break_name(domain, i);
	if (!live_entities(domain))
		return true;
	for (unsigned int i = 0; i < ENTITYLOCK_SET_MAX + 2 * NAME_KINDS; i++)
		break_name(domain, i);
	el_ioctl(domain, ENTITYLOCK_IOC_BREAK, &gate);
	return !live_entities(domain);
}

static bool gate_is_free(int domain)
{
	int ret = try_gate(domain);

	/* Not every domain lets take its gate. */
	return !ret || ret == -EACCES;
}

static unsigned int fds_open(void)
{
	static struct pollfd fds[FDS_MAX];
	unsigned int count = 0;

	for (unsigned int i = 0; i < FDS_MAX; i++)
		fds[i] = (struct pollfd){ .fd = i };
	poll(fds, FDS_MAX, 0);
	for (unsigned int i = 0; i < FDS_MAX; i++)
		count += !(fds[i].revents & POLLNVAL);
	return count;
}

/* The first watch is for good. */
void nothing_is_left(void)
{
	unsigned int fds;

	for (unsigned int i = run.watched; i-- > 0;) {
		int domain = run.watches[i];

		if (!eventually(is_empty(domain)))
			violation("%u entities are left in watched domain %u of %u",
				  live_entities(domain), i, run.watched);
		if (!eventually(gate_is_free(domain)))
			violation("the gate of watched domain %u is not free: %d", i,
				  try_gate(domain));
		if (i)
			close(domain);
	}
	run.watched = 1;
	fds = fds_open();
	if (!run.fds)
		run.fds = fds;
	if (fds != run.fds)
		violation("%u descriptors are open, %u before", fds, run.fds);
}
