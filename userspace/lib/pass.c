// SPDX-License-Identifier: LGPL-2.1-or-later
/* Handing a token, or a domain fd, to another process through a Unix socket. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#ifndef SCM_PIDFD
#define SCM_PIDFD	0x04
#endif

/* The kernel's own limit of descriptors in a message. */
#define FDS_MAX		253

/*
 * Room for whatever may come with a message, so that MSG_CTRUNC can have but
 * one reason: descriptors did not fit into the process.
 */
union control {
	struct cmsghdr align;
	unsigned char room[CMSG_SPACE(FDS_MAX * sizeof(int)) +	/* SCM_RIGHTS */
			   CMSG_SPACE(3 * sizeof(int)) +	/* SCM_CREDENTIALS */
			   CMSG_SPACE(sizeof(int)) +		/* SCM_PIDFD */
			   CMSG_SPACE(4096)];			/* SCM_SECURITY */
};

/*
 * The rest of a message whose first bytes, and so the fd, are on their way:
 * the receiver counts on it.
 */
static int send_rest(int sock, const char *data, size_t len)
{
	struct pollfd pfd = { .fd = sock, .events = POLLOUT };
	ssize_t sent;

	while (len) {
		sent = send(sock, data, len, MSG_NOSIGNAL);
		if (sent >= 0) {
			data += sent;
			len -= sent;
		} else if (errno == EAGAIN) {
			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

int entitylock_send(int sock, int fd, const void *data, size_t len)
{
	char nothing = 0;
	union {
		struct cmsghdr align;
		unsigned char room[CMSG_SPACE(sizeof(fd))];
	} control = {};
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	ssize_t sent;

	iov.iov_base = len ? (void *)(uintptr_t)data : &nothing;
	iov.iov_len = len ? len : sizeof(nothing);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));

	sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	return send_rest(sock, (char *)iov.iov_base + sent, iov.iov_len - sent);
}

/* Descriptors received: how many, and the last one. */
struct received {
	unsigned int count;
	int fd;
};

/* Takes the one descriptor there should be, closes all others. */
static struct received take_fds(struct msghdr *msg)
{
	struct received got = { .fd = -1 };
	struct cmsghdr *cmsg;
	size_t i, nr;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    (cmsg->cmsg_type != SCM_RIGHTS &&
		     cmsg->cmsg_type != SCM_PIDFD))
			continue;
		nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			if (cmsg->cmsg_type == SCM_RIGHTS && !got.count++)
				got.fd = fd;
			else if (fd >= 0)
				close(fd);
		}
	}
	return got;
}

/*
 * The rest of a stream's message.  Further descriptors have nowhere to go and
 * are dropped by the kernel.  The peer may never send it: who does not want to
 * wait, or not for so long, as the socket says, does not wait here either.
 */
static int recv_rest(int sock, char *data, size_t len)
{
	ssize_t got;

	while (len) {
		got = recv(sock, data, len, 0);
		if (got > 0) {
			data += got;
			len -= got;
		} else if (!got || errno == EAGAIN) {
			return -EBADMSG;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int check_token(int fd)
{
	struct entitylock_info info = {};

	return __entitylock_ioctl(fd, ENTITYLOCK_IOC_INFO, &info);
}

/* This is no use of a fresh one. */
static int check_domain(int fd)
{
	struct entitylock_version version = {};

	return __entitylock_ioctl(fd, ENTITYLOCK_IOC_VERSION, &version);
}

/* Whether the one message @msg, of @got descriptors, is what was agreed on. */
static int check_message(const struct msghdr *msg, const struct received *got)
{
	if (msg->msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if (msg->msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (got->count != 1)
		return -EBADMSG;
	return 0;
}

static int recv_message(int sock, char *data, size_t *len, bool stream,
			int (*check)(int fd))
{
	union control control;
	struct iovec iov = { .iov_base = data, .iov_len = *len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct received got;
	ssize_t size;
	int err;

	size = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	if (size < 0)
		return -errno;

	got = take_fds(&msg);
	if (!size && !got.count && !(msg.msg_flags & MSG_CTRUNC))
		return -ENODATA;
	err = check_message(&msg, &got);
	if (!err)
		err = check(got.fd);
	if (!err && stream)
		err = recv_rest(sock, data + size, *len - size);
	if (err) {
		if (got.count)
			close(got.fd);
		return err;
	}
	if (!stream)
		*len = size;
	return got.fd;
}

/* Receives a descriptor of which @check says that it is what it should be. */
static int recv_fd(int sock, void *data, size_t *len, int (*check)(int fd))
{
	socklen_t type_len = sizeof(int);
	size_t one = 1;
	char dropped;
	int type, state, ret;

	if (!len) {
		data = &dropped;
		len = &one;
	}
	if (!*len)
		return -EINVAL;
	if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &type_len))
		return -errno;

	/* A descriptor must not be lost between its arrival and the return. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = recv_message(sock, data, len, type == SOCK_STREAM, check);
	pthread_setcancelstate(state, NULL);
	return ret;
}

int entitylock_recv(int sock, void *data, size_t *len)
{
	return recv_fd(sock, data, len, check_token);
}

int entitylock_recv_domain(int sock, void *data, size_t *len)
{
	return recv_fd(sock, data, len, check_domain);
}
