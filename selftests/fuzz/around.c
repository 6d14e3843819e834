// SPDX-License-Identifier: GPL-2.0
/* What users do with descriptors, beside the verbs. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "run.h"

static int result(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* What was there is closed. */
void slot_fill(unsigned int slot, int fd, unsigned int where)
{
	int old;

	run.slots[slot].where = where;
	old = atomic_exchange(&run.slots[slot].fd, fd);
	if (old >= 0)
		close(old);
}

int slot_take(unsigned int slot)
{
	return atomic_exchange(&run.slots[slot].fd, -1);
}

/* At the end nothing may be left in this domain, which can be cleared by @fd only. */
void watch(int fd)
{
	struct entitylock_version version;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	/* It may be another one by now. */
	if (el_ioctl(copy, ENTITYLOCK_IOC_VERSION, &version) ||
	    (fcntl(copy, F_GETFL) & O_ACCMODE) == O_RDONLY)
		close(copy);
	else
		run.watches[run.watched++] = copy;
}

static int make_open(const struct step *step)
{
	static const int flags[] = { O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	__u32 how = step->field[HOW];
	int fd = domain_open(flags[how < ARRAY_SIZE(flags) ? how : 0] |
			     (how == 5 ? O_NONBLOCK : 0));

	if (fd >= 0)
		slot_fill(step->field[TO], fd, 0);
	return fd;
}

static int make_dup(const struct step *step)
{
	struct slot *from = &run.slots[step->field[FD]];
	unsigned int where = from->where;
	int fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	run.copied = true;
	slot_fill(step->field[TO], fd, where);
	return fd;
}

/* The number stays, and is another file: whoever is in a verb of the old one is not told. */
static int make_replace(const struct step *step)
{
	struct slot *from = &run.slots[step->field[FD]];
	unsigned int where = from->where;
	int fd, ret;

	if (step->field[FD] == step->field[TO])
		return -EINVAL;
	fd = slot_take(step->field[TO]);
	if (fd < 0)
		return -EBADF;
	ret = result(dup3(from->fd, fd, O_CLOEXEC));
	run.copied = true;
	slot_fill(step->field[TO], fd, ret < 0 ? NOWHERE : where);
	return ret;
}

static int make_poll(const struct step *step)
{
	static const short events[] = { POLLIN, POLLPRI, POLLIN | POLLPRI | POLLOUT, 0 };
	struct pollfd pfd = {
		.fd = run.slots[step->field[FD]].fd,
		.events = events[step->field[HOW] % 4],
	};

	return poll(&pfd, 1, step->field[HOW] & 8 ? 2 : 0) < 0 ? -errno : pfd.revents;
}

static int make_epoll(const struct step *step)
{
	static const int operations[] = { EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD };
	__u32 how = step->field[HOW];
	struct epoll_event event = {
		.events = EPOLLIN | (how & 4 ? EPOLLPRI : 0) | (how & 8 ? EPOLLET : 0),
	};

	if (how % 4 == 3)
		return result(epoll_wait(run.epoll, &event, 1, how & 4 ? 1 : 0));
	return result(epoll_ctl(run.epoll, operations[how % 4], run.slots[step->field[FD]].fd,
				&event));
}

static int make_read(struct lane *lane, const struct step *step)
{
	size_t size = step->field[SIZE] ? 1 << step->field[SIZE] : 4096;
	struct placed placed = place(&lane->desks, TEXT, step->field[AT], size);

	return result(read(run.slots[step->field[FD]].fd, (void *)(uintptr_t)placed.user, size));
}

static int make_seek(const struct step *step)
{
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END };
	__u32 how = step->field[HOW];

	return result(lseek(run.slots[step->field[FD]].fd, how < 8 ? how * 37 : 0,
			    whences[how % 3]));
}

static int make_fdinfo(const struct step *step)
{
	char path[64], text[4096];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", run.slots[step->field[FD]].fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = result(read(fd, text, sizeof(text)));
	close(fd);
	return ret;
}

static int make_receive(const struct step *step)
{
	int fd = receive_fd_with(run.sockets[1], step->field[HOW] & 1 ? MSG_PEEK : 0);

	if (fd < 0)
		return fd;
	run.copied = true;
	slot_fill(step->field[TO], fd, NOWHERE);
	return fd;
}

/*
 * A child makes the next step as well, with copies of all descriptors: it ends then, or
 * stays until it is killed, soon or at the end of the program.
 */
static int make_fork(struct lane *lane, const struct step *step, unsigned int number)
{
	__u32 how = step->field[HOW] % 3;
	pid_t pid;

	run.exact = false;
	pid = spawn();
	if (!pid) {
		lane->child = true;
		lane->has_ring = false;
		coverage_child();
		if (number + 1 < run.program->count &&
		    run.program->steps[number + 1].verb != FORK)
			step_make(lane, number + 1);
		if (how)
			pause();
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	run.children[run.births++] = pid;
	if (how == 1) {
		usleep(500);
		kill(pid, SIGKILL);
	}
	return 0;
}

int make_around(struct lane *lane, const struct step *step, unsigned int number)
{
	int fd;

	switch (step->verb) {
	case OPEN:
		return make_open(step);
	case CLOSE:
		fd = slot_take(step->field[FD]);
		return fd < 0 ? -EBADF : result(close(fd));
	case DUP:
		return make_dup(step);
	case REPLACE:
		return make_replace(step);
	case POLL:
		return make_poll(step);
	case EPOLL:
		return make_epoll(step);
	case READ:
		return make_read(lane, step);
	case SEEK:
		return make_seek(step);
	case FDINFO:
		return make_fdinfo(step);
	case SEND:
		return send_fd(run.sockets[0], run.slots[step->field[FD]].fd);
	case RECEIVE:
		return make_receive(step);
	case FORK:
		return make_fork(lane, step, number);
	case SIGNAL:
		return result(syscall(SYS_tgkill, getpid(),
				      run.lanes[step->field[HOW] % LANES].tid, SIGUSR1));
	case PAUSE:
		return usleep(step->field[HOW] * 50);
	default:
		nothing_conflicts();
		return 0;
	}
}
