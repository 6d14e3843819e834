// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"

/*
 * Nanoseconds of eventfd + close on a stock kernel under emulation.  It stands
 * for what slows a sanitised kernel down: system calls and allocations.
 */
#define REFERENCE_NS	8000.0
#define SCALE_MAX	50.0
#define SCALE_TIME_MAX	6.0

static double measure_scale(void)
{
	__u64 best = ~0ULL;

	for (int batch = 0; batch < 10; batch++) {
		__u64 begin = now();

		for (int i = 0; i < 100; i++)
			close(eventfd(0, EFD_CLOEXEC));
		if (now() - begin < best)
			best = now() - begin;
	}
	return best / 100 / REFERENCE_NS;
}

double speed_scale(void)
{
	static double scale;
	const char *given = getenv("ENTITYLOCK_SCALE");
	char text[32];

	if (scale)
		return scale;
	scale = given ? atof(given) : measure_scale();
	if (scale < 1)
		scale = 1;
	if (scale > SCALE_MAX)
		scale = SCALE_MAX;
	snprintf(text, sizeof(text), "%f", scale);
	setenv("ENTITYLOCK_SCALE", text, 1);
	return scale;
}

static double time_scale(void)
{
	double scale = speed_scale();

	return scale < SCALE_TIME_MAX ? scale : SCALE_TIME_MAX;
}

unsigned int scaled(unsigned int n, unsigned int least)
{
	/* The 32-bit programs prove the interface's layout; the load is the others'. */
	unsigned int share = sizeof(long) == 4 ? 16 : 1;
	unsigned int fewer = n / speed_scale() / share;

	return fewer > least ? fewer : least;
}

unsigned int limit_seconds(void)
{
	return 10 * time_scale();
}

unsigned int test_seconds(void)
{
	return 6 * limit_seconds();
}

__u64 now_on(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

__u64 in_ms(unsigned int ms)
{
	return now() + (__u64)(ms * time_scale() * NSEC_PER_MSEC);
}

struct limit limit_start(void)
{
	return (struct limit){ .end = now() + limit_seconds() * NSEC_PER_SEC };
}

bool limit_pause(const struct limit *limit)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	nanosleep(&pause, NULL);
	return now() < limit->end;
}

int domain_open(int flags)
{
	int fd = open(DEVICE, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int el_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

unsigned long resized(unsigned long cmd, size_t size)
{
	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

__u64 features(int domain)
{
	struct entitylock_version version = { 0 };

	el_ioctl(domain, ENTITYLOCK_IOC_VERSION, &version);
	return version.features;
}

static struct entitylock_acquire acquire_arg(const struct entitylock_entity *set, __u32 count,
					     __u32 flags, __u64 deadline)
{
	return (struct entitylock_acquire){
		.flags = flags,
		.count = count,
		.entities = ptr(set),
		.entity_size = count ? sizeof(*set) : 0,
		.deadline = deadline,
	};
}

int acquire_set(int domain, const struct entitylock_entity *set, __u32 count, __u32 flags,
		__u64 deadline)
{
	struct entitylock_acquire arg = acquire_arg(set, count, flags, deadline);

	return el_ioctl(domain, ENTITYLOCK_IOC_ACQUIRE, &arg);
}

int acquire(int domain, const char *name, __u32 mode, __u32 flags, __u64 deadline)
{
	struct entitylock_entity entity = ENTITY(name, mode);

	return acquire_set(domain, &entity, 1, flags, deadline);
}

int acquire_gate(int domain, __u32 flags, __u64 deadline)
{
	return acquire_set(domain, NULL, 0, flags | ENTITYLOCK_GATE, deadline);
}

void numbered_set(struct numbered *many, unsigned int first, unsigned int count, __u32 mode)
{
	for (unsigned int i = 0; i < count; i++) {
		snprintf(many->names[i], sizeof(many->names[i]), "%08u", first + i);
		many->set[i] = (struct entitylock_entity)ENTITY(many->names[i], mode);
	}
}

static int close_token(int token)
{
	if (token < 0)
		return token;
	return close(token) ? -errno : 0;
}

int try_lock(int domain, const char *name, __u32 mode)
{
	return close_token(acquire(domain, name, mode, 0, NOWAIT));
}

int try_gate(int domain)
{
	return close_token(acquire_gate(domain, 0, NOWAIT));
}

int token_lock(int token, __u32 flags, __u64 deadline)
{
	struct entitylock_lock arg = { .flags = flags, .deadline = deadline };

	return el_ioctl(token, ENTITYLOCK_IOC_LOCK, &arg);
}

int token_unlock(int token, __u32 flags, __u64 fence)
{
	struct entitylock_unlock arg = { .flags = flags, .fence = fence };

	return el_ioctl(token, ENTITYLOCK_IOC_UNLOCK, &arg);
}

int token_convert(int token, __u32 mode, __u32 flags, __u64 deadline)
{
	struct entitylock_convert arg = { .mode = mode, .flags = flags, .deadline = deadline };

	return el_ioctl(token, ENTITYLOCK_IOC_CONVERT, &arg);
}

int token_extend(int token, const struct entitylock_entity *set, __u32 count, __u32 flags,
		 __u64 deadline)
{
	struct entitylock_acquire arg = acquire_arg(set, count, flags, deadline);

	return el_ioctl(token, ENTITYLOCK_IOC_EXTEND, &arg);
}

int token_label(int token, const char *label)
{
	struct entitylock_label arg = { .label = ptr(label), .label_len = strlen(label) };

	return el_ioctl(token, ENTITYLOCK_IOC_LABEL, &arg);
}

struct entitylock_info token_info(int token)
{
	struct entitylock_info info = { 0 };

	if (el_ioctl(token, ENTITYLOCK_IOC_INFO, &info))
		info.state = -1;
	return info;
}

int token_state(int token)
{
	struct entitylock_info info = { 0 };
	int ret = el_ioctl(token, ENTITYLOCK_IOC_INFO, &info);

	return ret ? ret : (int)info.state;
}

#define SHOWN	16	/* entities that token_names() and token_modes() show */

static unsigned int shown_entities(int token, struct entitylock_entity *entities,
				   char (*names)[ENTITYLOCK_NAME_MAX])
{
	struct entitylock_info info = {
		.entities = ptr(entities),
		.entity_size = sizeof(*entities),
		.capacity = SHOWN,
	};

	for (int i = 0; i < SHOWN; i++)
		entities[i] = (struct entitylock_entity){
			.name = ptr(names[i]),
			.name_len = sizeof(names[i]),
		};
	if (el_ioctl(token, ENTITYLOCK_IOC_INFO, &info))
		return 0;
	return info.count < SHOWN ? info.count : SHOWN;
}

const char *token_names(int token)
{
	static char text[SHOWN * (ENTITYLOCK_NAME_MAX + 1)];
	struct entitylock_entity entities[SHOWN];
	char names[SHOWN][ENTITYLOCK_NAME_MAX];
	unsigned int count = shown_entities(token, entities, names);
	char *end = text;

	*end = '\0';
	for (unsigned int i = 0; i < count; i++)
		end += sprintf(end, "%s%.*s", i ? " " : "", (int)entities[i].name_len, names[i]);
	return text;
}

const char *token_modes(int token)
{
	static char text[SHOWN + 1];
	struct entitylock_entity entities[SHOWN];
	char names[SHOWN][ENTITYLOCK_NAME_MAX];
	unsigned int count = shown_entities(token, entities, names);

	for (unsigned int i = 0; i < count; i++)
		text[i] = entities[i].mode == SHARED ? 's' :
			  entities[i].mode == EXCLUSIVE ? 'x' : '?';
	text[count] = '\0';
	return text;
}

#define ALL_EVENTS	(POLLIN | POLLPRI | POLLOUT)

short token_poll(int token)
{
	struct pollfd pfd = { .fd = token, .events = ALL_EVENTS };

	return poll(&pfd, 1, 0) < 0 ? -errno : pfd.revents;
}

short token_poll_wait(int token, short events)
{
	struct pollfd pfd = { .fd = token, .events = events };

	if (poll(&pfd, 1, limit_seconds() * 1000) <= 0)
		return 0;
	return token_poll(token);
}

static void *call_thread(void *data)
{
	struct call *call = data;

	call->tid = gettid();
	call->ret = el_ioctl(call->fd, call->cmd, call->arg);
	return NULL;
}

void call_start(struct call *call, int fd, unsigned long cmd, void *arg)
{
	call->fd = fd;
	call->cmd = cmd;
	call->arg = arg;
	call->tid = 0;
	call->ret = CALL_STUCK;
	if (pthread_create(&call->thread, NULL, call_thread, call))
		abort();
}

void call_acquire_set(struct call *call, int domain, const struct entitylock_entity *set,
		      __u32 count, __u64 deadline)
{
	call->acquire = acquire_arg(set, count, 0, deadline);
	call_start(call, domain, ENTITYLOCK_IOC_ACQUIRE, &call->acquire);
}

void call_acquire(struct call *call, int domain, const char *name, __u32 mode, __u64 deadline)
{
	call->entity = (struct entitylock_entity)ENTITY(name, mode);
	call_acquire_set(call, domain, &call->entity, 1, deadline);
}

void call_acquire_gate(struct call *call, int domain, __u64 deadline)
{
	call->acquire = acquire_arg(NULL, 0, ENTITYLOCK_GATE, deadline);
	call_start(call, domain, ENTITYLOCK_IOC_ACQUIRE, &call->acquire);
}

void call_lock(struct call *call, int token, __u64 deadline)
{
	call->lock = (struct entitylock_lock){ .deadline = deadline };
	call_start(call, token, ENTITYLOCK_IOC_LOCK, &call->lock);
}

void call_convert(struct call *call, int token, __u32 mode, __u64 deadline)
{
	call->convert = (struct entitylock_convert){ .mode = mode, .deadline = deadline };
	call_start(call, token, ENTITYLOCK_IOC_CONVERT, &call->convert);
}

void call_extend(struct call *call, int token, const struct entitylock_entity *set, __u32 count,
		 __u64 deadline)
{
	call->acquire = acquire_arg(set, count, 0, deadline);
	call_start(call, token, ENTITYLOCK_IOC_EXTEND, &call->acquire);
}

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	close(fd);
	if (len < 0)
		return -EIO;
	text[len] = '\0';
	return len;
}

bool file_says(const char *path, const char *line)
{
	char text[256];

	return read_file(path, text, sizeof(text)) > 0 &&
	       !strncmp(text, line, strlen(line)) && !strcmp(text + strlen(line), "\n");
}

long task_syscall(pid_t tid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	if (read_file(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return -1;
	return strtol(text, NULL, 10);
}

bool task_blocked(pid_t tid)
{
	return task_syscall(tid) == SYS_ioctl;
}

bool call_blocked(struct call *call)
{
	return call->tid && task_blocked(call->tid);
}

int call_result(struct call *call)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += limit_seconds();
	if (pthread_timedjoin_np(call->thread, NULL, &until))
		return CALL_STUCK;
	return call->ret;
}

const char *fdinfo_value(int fd, const char *key)
{
	static char value[4096];
	char path[64], line[4096];
	size_t len = strlen(key);
	FILE *file;

	value[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return value;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len) || strncmp(line + len, ":\t", 2))
			continue;
		line[strcspn(line, "\n")] = '\0';
		strcpy(value, line + len + 2);
		break;
	}
	fclose(file);
	return value;
}

unsigned int live_entities(int domain)
{
	const char *value = fdinfo_value(domain, "entities");

	return *value ? strtoul(value, NULL, 10) : ~0U;
}

unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	if (!dir)
		return ~0U;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

char *listing_read(int fd, size_t chunk)
{
	size_t size = chunk + 65536, len = 0;
	char *text = malloc(size);
	ssize_t got;

	while ((got = read(fd, text + len, chunk)) > 0) {
		len += got;
		if (size < len + chunk + 1) {
			size = 2 * size;
			text = realloc(text, size);
		}
	}
	if (got < 0) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

bool row_parse(const char *line, struct row *row)
{
	int used, more;

	return sscanf(line, "%1020[^\t\n]\t%31[^\t\n]\t%llu\t%u\t%u\t%16383[^\t\n]\t%16383[^\t]%n",
		      row->name, row->state, &row->fence, &row->holders, &row->waiters,
		      row->holder, row->waiter, &used) == 7 &&
	       sscanf(line + used, "\t%15[^\t\n]\t%511[^\t\n]\t%511[^\t\n]\t%511[^\t\n]%n",
		      row->mark, row->held, row->waited, row->lease, &more) == 4 &&
	       sscanf(line + used + more, "\t%511[^\t\n]", row->parked) == 1;
}

bool listing_find(const char *name, struct row *row)
{
	int fd = domain_open(O_RDONLY);
	size_t len = strlen(name);
	bool found = false;
	char *text, *line;

	if (fd < 0)
		return false;
	text = listing_read(fd, 65536);
	close(fd);
	for (line = text; line && *line; line = strchr(line, '\n') + 1) {
		if (!strncmp(line, name, len) && line[len] == '\t') {
			found = row_parse(line, row);
			break;
		}
	}
	free(text);
	return found;
}

unsigned int queued(const char *name)
{
	struct row row;

	return listing_find(name, &row) ? row.waiters : 0;
}

pid_t spawn(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int reap(pid_t pid)
{
	int status;

	if (!eventually(waitpid(pid, &status, WNOHANG)))
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int send_fd(int sock, int fd)
{
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int receive_fd_with(int sock, int flags)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags) != 1)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -ENOMSG;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

void pin_to_cpu(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % cpus(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

unsigned int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int freeze_and_thaw(void)
{
	int ret = write_file("/sys/power/pm_test", "freezer");

	if (ret)
		return ret;
	ret = write_file("/sys/power/state", "mem");
	if (ret == -EINVAL)
		ret = write_file("/sys/power/state", "freeze");
	write_file("/sys/power/pm_test", "none");
	return ret;
}

void raise_fd_limit(unsigned int need)
{
	struct rlimit limit = { .rlim_cur = need, .rlim_max = need };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		abort();
}

void start_together(struct start_line *line, int racers)
{
	atomic_fetch_add(&line->ready, 1);
	while (atomic_load(&line->ready) < racers)
		sched_yield();
}

void spin_ns(__u64 ns)
{
	__u64 end = now() + ns;

	while (now() < end)
		;
}
