// SPDX-License-Identifier: GPL-2.0
/* The calls of a recorder's process, and its log. */
#include "record.h"

const char *const letters[LETTERS] = { "A", "B", "a", "b", "c", "d" };

unsigned int below(struct worker *worker, unsigned int n)
{
	return rand_r(&worker->seed) % n;
}

bool chance(struct worker *worker, unsigned int percent)
{
	return below(worker, 100) < percent;
}

/* --- The log --- */

struct event *call_begins(struct worker *worker, enum verb verb)
{
	struct log *log = &shared->logs[worker->slot];
	struct event *event = &log->events[log->count];

	*event = (struct event){
		.end = NEVER,
		.process = worker->process,
		.token = worker->token,
		.verb = verb,
	};
	if (verb <= DOWNGRADE) {
		event->count = worker->count;
		memcpy(event->items, worker->items, sizeof(event->items));
	}
	event->begin = now();
	log->count++;
	return event;
}

void call_ends(struct event *event, enum result result, __u64 fence)
{
	event->result = result;
	event->fence = fence;
	atomic_thread_fence(memory_order_seq_cst);
	event->end = now();
}

/* --- Sets --- */

static struct item *find_item(struct worker *worker, unsigned char thing)
{
	for (u32 i = 0; i < worker->count; i++)
		if (worker->items[i].thing == thing)
			return &worker->items[i];
	return NULL;
}

/* In order, and the stronger mode. */
static void add_item(struct worker *worker, unsigned char thing, bool exclusive)
{
	struct item *item = find_item(worker, thing);
	u32 i = worker->count;

	if (item) {
		item->exclusive |= exclusive;
		return;
	}
	for (; i > 0 && worker->items[i - 1].thing > thing; i--)
		worker->items[i] = worker->items[i - 1];
	worker->items[i] = (struct item){ .thing = thing, .exclusive = exclusive };
	worker->count++;
}

static void draw_item(struct worker *worker)
{
	add_item(worker, thing_of(*letters[below(worker, ARRAY_SIZE(letters))]),
		 chance(worker, 60));
}

bool has_gate(const struct worker *worker)
{
	return worker->items[0].exclusive;
}

static void draw_set(struct worker *worker)
{
	unsigned int count = chance(worker, 60) ? 1 : 2 + below(worker, 2);

	worker->count = 0;
	if (chance(worker, 4)) {
		add_item(worker, GATE, true);
		return;
	}
	add_item(worker, GATE, false);
	while (count--)
		draw_item(worker);
}

static struct entitylock_entity encode(const struct item *item)
{
	return (struct entitylock_entity)ENTITY(thing_name(item->thing),
						item->exclusive ? EXCLUSIVE : SHARED);
}

/* --- Calls --- */

void post(struct worker *worker, __u64 fence)
{
	struct board *board = &shared->boards[worker->slot];

	board->fence = 0;
	board->thing = worker->items[worker->count - 1].thing;
	board->fence = fence;
}

/* What a verb that locks has returned, other than that it is granted. */
static enum result refusal(int ret)
{
	return ret == -ESTALE ? LOST : FAILED;
}

static void forget(struct worker *worker)
{
	if (worker->fd >= 0)
		close(worker->fd);
	worker->fd = -1;
	worker->locked = false;
}

static void draw_deadline(struct worker *worker, __u64 *deadline, __u32 *flags)
{
	*deadline = FOREVER;
	if (chance(worker, 15))
		*deadline = now() + below(worker, 3000000);
	else if (chance(worker, 5))
		*deadline = NOWAIT;
	if (flags && chance(worker, 5)) {
		*deadline = now_on(CLOCK_REALTIME) + below(worker, 3000000);
		*flags |= ENTITYLOCK_CLOCK_REALTIME;
	}
	if (flags && chance(worker, 40))
		*flags |= ENTITYLOCK_ASYNC;
}

static __u64 draw_lease(struct worker *worker)
{
	return chance(worker, 20) ? 100000 + below(worker, 5000000) : 0;
}

/* ACQUIRE and EXTEND: @extra is what the call names, all of it or what is new. */
static int lock_set(struct worker *worker, struct event *event, unsigned long verb,
		    const struct item *extra, u32 count, __u32 flags, __u64 deadline,
		    __u64 *fence)
{
	struct entitylock_entity set[ITEMS];
	struct entitylock_acquire arg = {
		.flags = flags,
		.count = count,
		.entities = ptr(set),
		.entity_size = count ? sizeof(set[0]) : 0,
		.deadline = deadline,
		.lease = event->lease,
	};
	int ret;

	for (u32 i = 0; i < count; i++)
		set[i] = encode(&extra[i]);
	ret = el_ioctl(verb == ENTITYLOCK_IOC_ACQUIRE ? worker->domain : worker->fd, verb, &arg);
	*fence = ret < 0 ? 0 : arg.fence;
	for (u32 i = 0; *fence && i < count; i++) {
		struct item *item = &event->items[find_item(worker, extra[i].thing) -
						  worker->items];

		item->told = true;
		item->version = set[i].version;
	}
	return ret;
}

enum result acquire_call(struct worker *worker)
{
	enum result result;
	struct event *event;
	__u32 flags = 0;
	__u64 deadline, fence;

	draw_set(worker);
	draw_deadline(worker, &deadline, &flags);
	worker->token = shared->tokens++ + 1;
	worker->lease = draw_lease(worker);
	event = call_begins(worker, ACQUIRE);
	event->lease = worker->lease;
	worker->fd = lock_set(worker, event, ENTITYLOCK_IOC_ACQUIRE, worker->items + 1,
			      worker->count - 1, flags | (has_gate(worker) ? ENTITYLOCK_GATE : 0),
			      deadline, &fence);
	result = worker->fd < 0 ? refusal(worker->fd) : fence ? GRANTED : WAITS;
	call_ends(event, result, fence);
	worker->locked = worker->fd >= 0;
	if (fence)
		post(worker, fence);
	return result;
}

enum result lock_call(struct worker *worker)
{
	struct entitylock_lock arg = { .lease = draw_lease(worker) };
	enum result result;
	struct event *event;
	int ret;

	draw_deadline(worker, (__u64 *)&arg.deadline, &arg.flags);
	event = call_begins(worker, LOCK);
	event->lease = arg.lease;
	worker->lease = arg.lease;
	ret = el_ioctl(worker->fd, ENTITYLOCK_IOC_LOCK, &arg);
	result = ret ? refusal(ret) : arg.fence ? GRANTED : WAITS;
	call_ends(event, result, ret ? 0 : arg.fence);
	worker->locked = !ret;
	if (result == LOST)
		forget(worker);
	else if (result == GRANTED)
		post(worker, arg.fence);
	return result;
}

/* The versions of what it holds, for the event. */
static enum result look(struct worker *worker, struct event *event, __u64 *fence)
{
	static const enum result results[] = {
		[ENTITYLOCK_IDLE] = FAILED, [ENTITYLOCK_PENDING] = WAITS,
		[ENTITYLOCK_HELD] = GRANTED, [ENTITYLOCK_LOST] = LOST,
	};
	struct entitylock_entity told[ITEMS] = { 0 };
	struct entitylock_info info = {
		.entities = ptr(told),
		.entity_size = sizeof(told[0]),
		.capacity = ITEMS,
	};

	if (el_ioctl(worker->fd, ENTITYLOCK_IOC_INFO, &info))
		abort();
	*fence = info.state == ENTITYLOCK_HELD ? info.fence : 0;
	for (u32 i = 0; *fence && i < info.count; i++)
		event->items[i] = (struct item){
			.thing = worker->items[1 + i].thing,
			.told = true,
			.version = told[i].version,
		};
	event->count = *fence ? info.count : 0;
	return results[info.state];
}

enum result look_call(struct worker *worker)
{
	struct event *event = call_begins(worker, LOOK);
	__u64 fence;
	enum result result = look(worker, event, &fence);

	call_ends(event, result, fence);
	return result;
}

void close_call(struct worker *worker)
{
	struct event *event = call_begins(worker, CLOSE);

	close(worker->fd);
	call_ends(event, OK, 0);
	worker->fd = -1;
	worker->locked = false;
}

/* A token that is lost is of no use any more. */
static void end_call(struct worker *worker, struct event *event, int ret)
{
	call_ends(event, ret == -ESTALE ? LOST : ret ? FAILED : OK, 0);
	if (ret == -ESTALE)
		forget(worker);
}

void unlock_call(struct worker *worker)
{
	bool unchanged = chance(worker, 40);
	struct event *event = call_begins(worker, unchanged ? UNLOCK_UNCHANGED : UNLOCK);
	int ret = token_unlock(worker->fd, unchanged ? ENTITYLOCK_UNCHANGED : 0, 0);

	end_call(worker, event, ret);
	worker->locked = false;
}

void renew_call(struct worker *worker)
{
	struct entitylock_renew arg = { .lease = 100000 + below(worker, 5000000) };
	struct event *event = call_begins(worker, RENEW);

	event->lease = arg.lease;
	end_call(worker, event, el_ioctl(worker->fd, ENTITYLOCK_IOC_RENEW, &arg));
}

static void raised(struct worker *worker, struct event *event, int ret, __u64 fence,
		   const struct item *before, u32 count)
{
	call_ends(event, ret ? refusal(ret) : GRANTED, ret ? 0 : fence);
	if (!ret) {
		post(worker, fence);
		return;
	}
	memcpy(worker->items, before, sizeof(worker->items));
	worker->count = count;
	if (ret == -ESTALE)
		forget(worker);
}

void extend_call(struct worker *worker)
{
	struct item before[ITEMS], extra;
	struct event *event;
	u32 count = worker->count;
	__u64 deadline, fence;
	int ret;

	memcpy(before, worker->items, sizeof(before));
	extra = (struct item){
		.thing = thing_of(*letters[below(worker, ARRAY_SIZE(letters))]),
		.exclusive = chance(worker, 60),
	};
	/* What changes nothing is no grant. */
	if (count == ITEMS || (find_item(worker, extra.thing) &&
			       find_item(worker, extra.thing)->exclusive >= extra.exclusive))
		return;
	add_item(worker, extra.thing, extra.exclusive);
	draw_deadline(worker, &deadline, NULL);
	event = call_begins(worker, EXTEND);
	ret = lock_set(worker, event, ENTITYLOCK_IOC_EXTEND, &extra, 1, 0, deadline, &fence);
	raised(worker, event, ret, fence, before, count);
}

void convert_call(struct worker *worker)
{
	struct entitylock_convert arg = { 0 };
	struct item before[ITEMS];
	bool any[2] = { false, false };
	struct event *event;
	int ret;

	memcpy(before, worker->items, sizeof(before));
	for (u32 i = 1; i < worker->count; i++)
		any[worker->items[i].exclusive] = true;
	/* All one mode already, or a mixture: to the other one. */
	for (u32 i = 1; i < worker->count; i++)
		worker->items[i].exclusive = any[false];
	arg.mode = any[false] ? EXCLUSIVE : SHARED;
	draw_deadline(worker, (__u64 *)&arg.deadline, NULL);
	event = call_begins(worker, any[false] ? UPGRADE : DOWNGRADE);
	ret = el_ioctl(worker->fd, ENTITYLOCK_IOC_CONVERT, &arg);
	if (any[false]) {
		raised(worker, event, ret, arg.fence, before, worker->count);
		return;
	}
	end_call(worker, event, ret);
	if (ret)
		memcpy(worker->items, before, sizeof(before));
}

void break_call(struct worker *worker)
{
	struct board *board = &shared->boards[below(worker, WORKERS)];
	struct entitylock_break arg = { .fence = board->fence };
	unsigned char thing = board->thing;
	struct event *event;
	int ret;

	if (!arg.fence)
		return;
	if (thing == GATE) {
		arg.flags = ENTITYLOCK_GATE;
	} else {
		arg.name = ptr(thing_name(thing));
		arg.name_len = 1;
	}
	event = call_begins(worker, BREAK);
	event->token = 0;
	event->number = arg.fence;
	event->count = 1;
	event->items[0] = (struct item){ .thing = thing };
	ret = el_ioctl(worker->domain, ENTITYLOCK_IOC_BREAK, &arg);
	call_ends(event, ret ? FAILED : OK, 0);
}
