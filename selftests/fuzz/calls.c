// SPDX-License-Identifier: GPL-2.0
/* The verbs of the module, from what a step says of their arguments. */
#include "names.h"
#include "run.h"

#define SIZE_MAX_GIVEN	512

/* All that a verb may answer. */
static bool is_answer(int error)
{
	static const int answers[] = {
		EINVAL, EFAULT, EAGAIN, ETIMEDOUT, EINTR, ECANCELED, EDEADLK, ESTALE, ETIME,
		EBADFD, EACCES, EPERM, ENOENT, EEXIST, EBUSY, E2BIG, EMFILE, ENFILE, ENOMEM,
		EDQUOT, ENOTTY, EBADF,
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i] == error)
			return true;
	return false;
}

static __u32 size_of(enum size kind, __u32 exact)
{
	switch (kind) {
	case LONGER_ZERO:
	case LONGER_DIRTY:
		return exact + 8;
	case MUCH_LONGER:
		return exact + 256;
	case SHORTER:
		return exact - 8;
	case ODD_SIZE:
		return exact - 1;
	case EMPTY:
		return 0;
	default:
		return exact;
	}
}

/* A kernel before 6.12 has none of these commands, and sockets none at all. */
static int by_ring(struct lane *lane, int fd, unsigned long cmd, __u64 address)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&lane->ring);
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = cmd;
	memcpy(sqe->cmd, &address, sizeof(address));
	ret = io_uring_submit(&lane->ring);
	if (ret != 1)
		violation("io_uring_submit: %d", ret);
	/* A signal may come while it waits, and the command is done. */
	do {
		ret = io_uring_wait_cqe(&lane->ring, &cqe);
	} while (ret == -EINTR);
	if (ret)
		violation("io_uring_wait_cqe: %d", ret);
	ret = cqe->res;
	io_uring_cqe_seen(&lane->ring, cqe);
	return ret == -EOPNOTSUPP ? -ENOTTY : ret;
}

static int call(struct lane *lane, const struct step *step, unsigned long cmd, __u64 address)
{
	int fd = run.slots[step->field[FD]].fd;
	int ret;

	if (step->field[RING] && lane->has_ring)
		ret = by_ring(lane, fd, cmd, address);
	else
		ret = el_ioctl(fd, cmd, (void *)(uintptr_t)address);
	if (ret < 0 && !is_answer(-ret))
		violation("%s answers %d", verb_types[step->verb].name, ret);
	return ret;
}

/* A verb with the argument of @size bytes; what it has written there is there again. */
static int call_with(struct lane *lane, const struct step *step, unsigned long cmd, void *arg,
		     size_t size)
{
	__u32 usize = size_of(step->field[SIZE], size);
	struct placed placed = place(&lane->desks, STRUCT, step->field[AT], usize);
	char bytes[SIZE_MAX_GIVEN] = { 0 };
	int ret;

	memcpy(bytes, arg, size);
	if (step->field[SIZE] == LONGER_DIRTY)
		bytes[usize - 1] = 1;
	put(&placed, bytes, usize);
	ret = call(lane, step, resized(cmd, usize), placed.user);
	get(&placed, arg, size);
	return ret;
}

/* --- What fields mean --- */

static __u64 deadline_of(const struct step *step)
{
	clockid_t clock = CLOCK_MONOTONIC;

	if (step->field[FLAGS] & ENTITYLOCK_CLOCK_REALTIME)
		clock = CLOCK_REALTIME;
	else if (step->field[FLAGS] & ENTITYLOCK_CLOCK_BOOTTIME)
		clock = CLOCK_BOOTTIME;
	switch (step->field[DEADLINE]) {
	case AT_ONCE:
		return NOWAIT;
	case IN_VAIN:
		return PASSED;
	case NEAR:
		return now_on(clock) + 300000;
	case FAR:
		return now_on(clock) + 2 * NSEC_PER_MSEC;
	case TOO_FAR:
		return FOREVER - 1;
	default:
		return FOREVER;
	}
}

static __u64 lease_of(const struct step *step)
{
	switch (step->field[LEASE]) {
	case NO_LEASE:
		return 0;
	case INSTANT:
		return 1;
	case SHORT:
		return 300000;
	case LONGER:
		return 2 * NSEC_PER_MSEC;
	case LONGEST:
		return run.lease_max;
	default:
		return run.lease_max + 1;
	}
}

static __u64 number_of(const struct lane *lane, const struct step *step)
{
	switch (step->field[NUMBER]) {
	case NONE:
		return 0;
	case LAST_FENCE:
		return lane->fence;
	case LAST_VERSION:
		return lane->version;
	case FENCE_BEFORE:
		return lane->fence - 1;
	default:
		return ~0ULL;
	}
}

/* Mode 3: both, in turn. */
static __u32 mode_of(const struct step *step, __u32 i)
{
	return step->field[MODE] == 3 ? SHARED + i % 2 : step->field[MODE];
}

/* The @i-th of a set.  Only the first may be one that is not allowed; mode 3 repeats it. */
static struct name name_of(const struct step *step, __u32 i)
{
	__u32 number = step->field[NAME] + i;

	if (i && i % 3 == 0 && step->field[MODE] == 3)
		number = step->field[NAME];
	else if (i && number >= NAME_KINDS - 2)
		number += 2;
	return name_at(number);
}

/* Where the bytes of a name are, or of a label. */
static __u64 place_text(struct lane *lane, __u32 kind, const char *bytes, size_t len)
{
	struct placed placed = place(&lane->desks, TEXT, kind % PLACES, len);

	put(&placed, bytes, len);
	return placed.user;
}

static __u64 label_bytes(void)
{
	static const char bytes[256] = "a label\twith\xff all sorts of bytes, and more than it may";

	return ptr(bytes);
}

/* --- Verbs --- */

static struct placed place_set(struct lane *lane, const struct step *step, __u32 count,
			       __u32 stride)
{
	__u32 in = step->field[IN];
	struct placed array = place(&lane->desks, ARRAY, in < PLACES ? in : GOOD,
				    (size_t)count * stride);

	for (__u32 i = 0; i < count && (i + 1) * stride <= array.room && stride; i++) {
		struct name name = name_of(step, i);
		struct entitylock_entity entity = {
			.name = ptr(name.bytes),
			.name_len = name.len,
			.mode = mode_of(step, i),
			.version = i ? 0 : number_of(lane, step),
		};
		char *element = array.mine + i * stride;

		if (i + 1 == count && in >= PLACES)
			entity.name = place_text(lane, in, name.bytes, name.len);
		memset(element, 0, stride);
		memcpy(element, &entity, stride < sizeof(entity) ? stride : sizeof(entity));
		if (step->field[STRIDE] == LONGER_DIRTY)
			element[stride - 1] = 1;
	}
	return array;
}

/* A gate has no set, unless a large one is asked for. */
static int make_acquire(struct lane *lane, const struct step *step, unsigned long cmd)
{
	bool gate = step->field[FLAGS] & ENTITYLOCK_GATE && step->field[COUNT] <= 4;
	__u32 stride = size_of(step->field[STRIDE], sizeof(struct entitylock_entity));
	__u32 count = gate ? 0 : step->field[COUNT];
	struct placed array = place_set(lane, step, count, stride);
	struct entitylock_entity first = { 0 };
	struct entitylock_acquire arg = {
		.flags = step->field[FLAGS],
		.count = count,
		.entities = array.user,
		.entity_size = gate ? 0 : stride,
		.label_len = step->field[LABEL],
		.label = label_bytes(),
		.deadline = deadline_of(step),
		.lease = lease_of(step),
	};
	unsigned int where = run.slots[step->field[FD]].where;
	int ret = call_with(lane, step, cmd, &arg, sizeof(arg));

	if (ret < 0)
		return ret;
	if (cmd == ENTITYLOCK_IOC_ACQUIRE)
		slot_fill(step->field[TO], ret, where);
	get(&array, &first, sizeof(first));
	lane->version = first.version;
	lane->fence = arg.fence;
	return ret;
}

/* A private domain has no name, unless it is a hard one. */
static int make_domain(struct lane *lane, const struct step *step)
{
	static const __u32 modes[] = { 0, 0777, 0700, 0600 };
	bool private = step->field[FLAGS] & ENTITYLOCK_PRIVATE && step->field[NAME] < 4;
	struct name name = name_at(step->field[NAME]);
	struct slot *slot = &run.slots[step->field[FD]];
	struct entitylock_domain arg = {
		.name = place_text(lane, step->field[IN], name.bytes, name.len),
		.name_len = private ? 0 : name.len,
		.flags = step->field[FLAGS],
		.mode = step->field[MODE] < ARRAY_SIZE(modes) ? modes[step->field[MODE]] :
			step->field[MODE],
	};
	int ret = call_with(lane, step, ENTITYLOCK_IOC_DOMAIN, &arg, sizeof(arg));

	if (ret)
		return ret;
	if (run.copied)
		run.exact = false;
	slot->where = private ? 1 + NAMES + run.privates++ : 1 + step->field[NAME];
	watch(slot->fd);
	return 0;
}

static int make_claim(struct lane *lane, const struct step *step)
{
	struct entitylock_claim arg = { .flags = step->field[FLAGS] };
	unsigned int where = run.slots[step->field[FD]].where;
	unsigned int count = run.cookies->count;
	int ret;

	if (count)
		memcpy(arg.cookie, run.cookies->bytes[step->field[HOW] % count],
		       sizeof(arg.cookie));
	ret = call_with(lane, step, ENTITYLOCK_IOC_CLAIM, &arg, sizeof(arg));
	if (ret >= 0)
		slot_fill(step->field[TO], ret, where);
	return ret;
}

static int make_park(struct lane *lane, const struct step *step)
{
	struct entitylock_park arg = { .lease = lease_of(step), .flags = step->field[FLAGS] };
	int ret = call_with(lane, step, ENTITYLOCK_IOC_PARK, &arg, sizeof(arg));

	if (!ret)
		memcpy(run.cookies->bytes[run.cookies->count++], arg.cookie, sizeof(arg.cookie));
	return ret;
}

static int make_break(struct lane *lane, const struct step *step)
{
	bool gate = step->field[FLAGS] & ENTITYLOCK_GATE && step->field[NAME] < 4;
	struct name name = name_at(step->field[NAME]);
	struct entitylock_break arg = {
		.name = place_text(lane, step->field[IN], name.bytes, name.len),
		.name_len = gate ? 0 : name.len,
		.flags = step->field[FLAGS],
		.fence = number_of(lane, step),
	};

	return call_with(lane, step, ENTITYLOCK_IOC_BREAK, &arg, sizeof(arg));
}

static int make_version(struct lane *lane, const struct step *step)
{
	struct entitylock_version arg = { 0 };

	return call_with(lane, step, ENTITYLOCK_IOC_VERSION, &arg, sizeof(arg));
}

static int make_lock(struct lane *lane, const struct step *step)
{
	struct entitylock_lock arg = {
		.flags = step->field[FLAGS],
		.deadline = deadline_of(step),
		.lease = lease_of(step),
	};
	int ret = call_with(lane, step, ENTITYLOCK_IOC_LOCK, &arg, sizeof(arg));

	if (!ret)
		lane->fence = arg.fence;
	return ret;
}

static int make_unlock(struct lane *lane, const struct step *step)
{
	struct entitylock_unlock arg = {
		.flags = step->field[FLAGS],
		.fence = number_of(lane, step),
	};

	return call_with(lane, step, ENTITYLOCK_IOC_UNLOCK, &arg, sizeof(arg));
}

static int make_convert(struct lane *lane, const struct step *step)
{
	struct entitylock_convert arg = {
		.mode = mode_of(step, 0),
		.flags = step->field[FLAGS],
		.deadline = deadline_of(step),
	};
	int ret = call_with(lane, step, ENTITYLOCK_IOC_CONVERT, &arg, sizeof(arg));

	if (!ret)
		lane->fence = arg.fence;
	return ret;
}

static int make_renew(struct lane *lane, const struct step *step)
{
	struct entitylock_renew arg = { .lease = lease_of(step), .flags = step->field[FLAGS] };

	return call_with(lane, step, ENTITYLOCK_IOC_RENEW, &arg, sizeof(arg));
}

static int make_label(struct lane *lane, const struct step *step)
{
	size_t len = step->field[LABEL] <= 256 ? step->field[LABEL] : 0;
	struct entitylock_label arg = {
		.label = place_text(lane, step->field[IN], (char *)(uintptr_t)label_bytes(), len),
		.label_len = step->field[LABEL],
	};

	return call_with(lane, step, ENTITYLOCK_IOC_LABEL, &arg, sizeof(arg));
}

/* Buffers for names lie one behind the other, those of many entities in the same places. */
static int make_info(struct lane *lane, const struct step *step)
{
	__u32 stride = size_of(step->field[STRIDE], sizeof(struct entitylock_entity));
	__u32 count = step->field[COUNT], in = step->field[IN];
	struct placed array = place(&lane->desks, ARRAY, in < PLACES ? in : GOOD,
				    (size_t)count * stride);
	struct placed text = place(&lane->desks, TEXT, in < PLACES ? GOOD : in - PLACES, 256);
	struct entitylock_info arg = {
		.flags = step->field[FLAGS],
		.entities = array.user,
		.entity_size = stride,
		.capacity = count,
		.label = text.user,
		.label_len = step->field[LABEL],
	};
	int ret;

	for (__u32 i = 0; i < count && (i + 1) * stride <= array.room && stride; i++) {
		struct entitylock_entity entity = {
			.name = text.user ? text.user + i % 64 * 256 : 0,
			.name_len = 256,
		};

		memcpy(array.mine + i * stride, &entity,
		       stride < sizeof(entity) ? stride : sizeof(entity));
	}
	ret = call_with(lane, step, ENTITYLOCK_IOC_INFO, &arg, sizeof(arg));
	if (!ret)
		lane->fence = arg.fence;
	return ret;
}

/* Any number of an ioctl, with nothing but zeros. */
static int make_wild(struct lane *lane, const struct step *step)
{
	static const __u32 sizes[] = { 0, 1, 8, 24, 64, 88, 4096, 16383 };
	__u32 how = step->field[HOW], number = step->field[FLAGS] % 32;
	struct placed placed = place(&lane->desks, STRUCT, step->field[AT], 512);
	unsigned long cmd = _IOC(how % 4, how == 15 ? 'E' : ENTITYLOCK_IOC_TYPE, number,
				 sizes[step->field[SIZE]]);
	static const char zeros[512];
	int ret;

	put(&placed, zeros, sizeof(zeros));
	ret = call(lane, step, cmd, placed.user);
	if (ret > 0)
		violation("ioctl %lx with zeros returns %d", cmd, ret);
	return ret;
}

int make_call(struct lane *lane, const struct step *step)
{
	switch (step->verb) {
	case DOMAIN:
		return make_domain(lane, step);
	case ACQUIRE:
		return make_acquire(lane, step, ENTITYLOCK_IOC_ACQUIRE);
	case EXTEND:
		return make_acquire(lane, step, ENTITYLOCK_IOC_EXTEND);
	case CLAIM:
		return make_claim(lane, step);
	case BREAK:
		return make_break(lane, step);
	case VERSION:
		return make_version(lane, step);
	case LOCK:
		return make_lock(lane, step);
	case UNLOCK:
		return make_unlock(lane, step);
	case CONVERT:
		return make_convert(lane, step);
	case RENEW:
		return make_renew(lane, step);
	case MARK:
		return make_label(lane, step);
	case PARK:
		return make_park(lane, step);
	case INFO:
		return make_info(lane, step);
	default:
		return make_wild(lane, step);
	}
}
