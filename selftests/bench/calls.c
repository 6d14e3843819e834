// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that nobody contends for, and what a user would call in their place.
 */
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>

#include "bench.h"

#define NR_UNKNOWN	0x7f	/* no verb */
#define SET_SIZE	64

static int a_domain, token, gate_token, lock_file, semaphore, ntsync_mutex, ntsync_device;
static pthread_mutex_t *mutex;
static char path[32] = "/tmp/bench.XXXXXX";
static const char lock_path[] = "/tmp/bench.lock";

/* The floor of any call on a token. */
static bool start_null(struct bench_row *row)
{
	(void)row;
	a_domain = must(domain_open(O_RDWR));
	token = must(idle(a_domain, "entity-0123456789"));
	return true;
}

static void null_ioctl(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--)
		if (ioctl(token, _IO(ENTITYLOCK_IOC_TYPE, NR_UNKNOWN)) != -1 || errno != ENOTTY)
			fail("unknown verb");
}

void lock_unlock_token(int fd, unsigned int calls)
{
	struct entitylock_lock lock = { 0 };
	struct entitylock_unlock unlock = { 0 };

	while (calls--) {
		must(ioctl(fd, ENTITYLOCK_IOC_LOCK, &lock));
		must(ioctl(fd, ENTITYLOCK_IOC_UNLOCK, &unlock));
	}
}

static void lock_unlock(struct bench_row *row, unsigned int calls)
{
	(void)row;
	lock_unlock_token(token, calls);
}

static bool start_gate(struct bench_row *row)
{
	(void)row;
	gate_token = must(acquire_gate(a_domain, ENTITYLOCK_OPEN, NOWAIT));
	return true;
}

static void gate_lock_unlock(struct bench_row *row, unsigned int calls)
{
	(void)row;
	lock_unlock_token(gate_token, calls);
}

void acquire_close_one(int domain, unsigned int calls)
{
	struct entitylock_entity entity = X("entity-987654321");
	struct entitylock_acquire args = {
		.count = 1,
		.entities = ptr(&entity),
		.entity_size = sizeof(entity),
	};

	while (calls--)
		close(must(ioctl(domain, ENTITYLOCK_IOC_ACQUIRE, &args)));
}

static void acquire_close(struct bench_row *row, unsigned int calls)
{
	(void)row;
	acquire_close_one(a_domain, calls);
}

static void acquire_set_close(struct bench_row *row, unsigned int calls)
{
	static struct numbered many;

	numbered_set(&many, 0, row->param, EXCLUSIVE);
	while (calls--)
		close(must(acquire_set(a_domain, many.set, row->param, 0, NOWAIT)));
}

/* The floor of anything that makes an fd. */
static void eventfd_close(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--)
		close(must(eventfd(0, EFD_CLOEXEC)));
}

static bool start_file(struct bench_row *row)
{
	(void)row;
	lock_file = must(mkstemp(path));
	return true;
}

static void flock_pair(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--) {
		must(flock(lock_file, LOCK_EX | LOCK_NB));
		must(flock(lock_file, LOCK_UN));
	}
}

static void ofd_pair(struct bench_row *row, unsigned int calls)
{
	struct flock lock = { .l_type = F_WRLCK };
	struct flock unlock = { .l_type = F_UNLCK };

	(void)row;
	while (calls--) {
		must(fcntl(lock_file, F_OFD_SETLK, &lock));
		must(fcntl(lock_file, F_OFD_SETLK, &unlock));
	}
}

static void open_flock_close(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--) {
		int fd = must(open(path, O_RDWR | O_CLOEXEC));

		must(flock(fd, LOCK_EX | LOCK_NB));
		close(fd);
	}
}

static void lockfile(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--) {
		int fd = must(open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));

		must(flock(fd, LOCK_EX | LOCK_NB));
		must(unlink(lock_path));
		close(fd);
	}
}

static bool start_semaphore(struct bench_row *row)
{
	struct sembuf up = { .sem_op = 1 };

	(void)row;
	semaphore = must(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
	must(semop(semaphore, &up, 1));
	return true;
}

static void semop_pair(struct bench_row *row, unsigned int calls)
{
	struct sembuf down = { .sem_op = -1, .sem_flg = SEM_UNDO | IPC_NOWAIT };
	struct sembuf up = { .sem_op = 1, .sem_flg = SEM_UNDO };

	(void)row;
	while (calls--) {
		must(semop(semaphore, &down, 1));
		must(semop(semaphore, &up, 1));
	}
}

/* No system call while nobody contends; no fd, and only whoever locked it may unlock it. */
static bool start_mutex(struct bench_row *row)
{
	pthread_mutexattr_t attr;

	(void)row;
	mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (mutex == MAP_FAILED)
		fail("mmap");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
	return true;
}

static void mutex_pair(struct bench_row *row, unsigned int calls)
{
	(void)row;
	while (calls--)
		if (pthread_mutex_lock(mutex) || pthread_mutex_unlock(mutex))
			fail("robust mutex");
}

/* The part of ntsync's interface that is needed here; Debian 12 has no header of it. */
struct ntsync_mutex {
	__u32 owner;
	__u32 count;
};

struct ntsync_wait {
	__aligned_u64 timeout;
	__aligned_u64 objects;
	__u32 count;
	__u32 index;
	__u32 flags;
	__u32 owner;
	__u32 alert;
	__u32 pad;
};

#define NTSYNC_WAIT_ANY		_IOWR('N', 0x82, struct ntsync_wait)
#define NTSYNC_CREATE_MUTEX	_IOW('N', 0x84, struct ntsync_mutex)
#define NTSYNC_MUTEX_UNLOCK	_IOWR('N', 0x85, struct ntsync_mutex)

static bool start_ntsync(struct bench_row *row)
{
	struct ntsync_mutex args = { 0 };

	(void)row;
	ntsync_device = open("/dev/ntsync", O_RDWR | O_CLOEXEC);
	if (ntsync_device < 0)
		return false;
	ntsync_mutex = must(ioctl(ntsync_device, NTSYNC_CREATE_MUTEX, &args));
	return true;
}

static void ntsync_pair(struct bench_row *row, unsigned int calls)
{
	struct ntsync_wait wait = {
		.objects = ptr(&ntsync_mutex),
		.count = 1,
		.owner = 1,
	};
	struct ntsync_mutex unlock = { .owner = 1 };

	(void)row;
	while (calls--) {
		must(ioctl(ntsync_device, NTSYNC_WAIT_ANY, &wait));
		must(ioctl(ntsync_mutex, NTSYNC_MUTEX_UNLOCK, &unlock));
	}
}

static struct bench_row rows[] = {
	{ "null_ioctl", .start = start_null, .loop = null_ioctl },
	{ "lock_unlock", .loop = lock_unlock },
	{ "acquire_close", .loop = acquire_close },
	{ "acquire_set_close", .loop = acquire_set_close, .param = SET_SIZE },
	{ "gate_lock_unlock", .start = start_gate, .loop = gate_lock_unlock },
	{ "eventfd_close", .loop = eventfd_close },
	{ "flock_pair", .start = start_file, .loop = flock_pair },
	{ "ofd_pair", .loop = ofd_pair },
	{ "open_flock_close", .loop = open_flock_close },
	{ "lockfile", .loop = lockfile },
	{ "semop_pair", .start = start_semaphore, .loop = semop_pair },
	{ "mutex_pair", .start = start_mutex, .loop = mutex_pair },
	{ "ntsync_pair", .start = start_ntsync, .loop = ntsync_pair },
};

const struct group calls_group = {
	.name = "calls",
	.rounds = 301,
	.rows = rows,
	.nr_rows = ARRAY_SIZE(rows),
};
