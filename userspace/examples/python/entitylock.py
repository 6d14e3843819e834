# SPDX-License-Identifier: GPL-2.0
"""Locks on named entities, held by file descriptors: entitylock without its library.

The standard library has all that it takes: an ioctl, a struct, and a descriptor that is
polled, passed on and closed like any other.

    with entitylock.Domain() as domain, domain.acquire(b"account:42") as token:
        print(token.fence)

A token is asked for with wait=False and awaited with poll, or by asyncio's add_reader().
"""
import ctypes
import fcntl
import os
import select
import time

SHARED, EXCLUSIVE = 1, 2
IDLE, PENDING, HELD, LOST = range(4)
ASYNC, ROBUST = 1 << 0, 1 << 3
ABANDONED = 1 << 0
FOREVER = (1 << 64) - 1


class Entity(ctypes.Structure):
    """struct entitylock_entity"""
    _fields_ = [("name", ctypes.c_uint64), ("name_len", ctypes.c_uint32),
                ("mode", ctypes.c_uint32), ("version", ctypes.c_uint64),
                ("flags", ctypes.c_uint32), ("result", ctypes.c_uint32)]


class Acquire(ctypes.Structure):
    """struct entitylock_acquire"""
    _fields_ = [("flags", ctypes.c_uint32), ("count", ctypes.c_uint32),
                ("entities", ctypes.c_uint64), ("entity_size", ctypes.c_uint32),
                ("label_len", ctypes.c_uint32), ("label", ctypes.c_uint64),
                ("deadline", ctypes.c_uint64), ("lease", ctypes.c_uint64),
                ("fence", ctypes.c_uint64), ("result", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class Unlock(ctypes.Structure):
    """struct entitylock_unlock"""
    _fields_ = [("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("fence", ctypes.c_uint64)]


class Info(ctypes.Structure):
    """struct entitylock_info"""
    _fields_ = [("state", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("error", ctypes.c_int32), ("owner_pid", ctypes.c_uint32),
                ("id", ctypes.c_uint64), ("fence", ctypes.c_uint64),
                ("lease_left", ctypes.c_uint64), ("age", ctypes.c_uint64),
                ("waiters", ctypes.c_uint32), ("count", ctypes.c_uint32),
                ("entities", ctypes.c_uint64), ("entity_size", ctypes.c_uint32),
                ("capacity", ctypes.c_uint32), ("label", ctypes.c_uint64),
                ("label_len", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


WRITE, READ = 1, 2


def _number(direction, number, struct):
    return direction << 30 | ctypes.sizeof(struct) << 16 | 0xE1 << 8 | number


IOC_ACQUIRE = _number(READ | WRITE, 0x01, Acquire)
IOC_UNLOCK = _number(WRITE, 0x11, Unlock)
IOC_INFO = _number(READ | WRITE, 0x17, Info)


class Descriptor:
    """What is closed at the end of a with."""

    def __init__(self, fd):
        self.fd = fd

    def fileno(self):
        """For select, poll, asyncio, and socket.send_fds()."""
        return self.fd

    def close(self):
        """Of a token: gives back the lock, unless there are copies of the descriptor."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Token(Descriptor):
    """One operation, and what it holds.  Token(fd) for one that another process sent."""

    def __init__(self, fd, result=0):
        super().__init__(fd)
        self.result = result

    def info(self):
        """Its state and all else that the kernel knows of it."""
        info = Info()
        fcntl.ioctl(self.fd, IOC_INFO, info)
        return info

    @property
    def fence(self):
        """Goes with each write to what the lock protects; 0 = not granted yet."""
        return self.info().fence

    def wait(self, seconds=None):
        """After wait=False: whether it was granted in that time."""
        poller = select.poll()
        poller.register(self.fd, select.POLLIN)
        poller.poll(None if seconds is None else seconds * 1000)
        info = self.info()
        if info.error:
            raise OSError(-info.error, os.strerror(-info.error))
        return info.state == HELD

    def unlock(self):
        """Gives back what it holds, however many copies there are; ends its wait."""
        fcntl.ioctl(self.fd, IOC_UNLOCK, Unlock())


class Domain(Descriptor):
    """An open of the device: where names have a meaning."""

    def __init__(self, path="/dev/entitylock"):
        super().__init__(os.open(path, os.O_RDWR | os.O_CLOEXEC))

    def acquire(self, *names, mode=EXCLUSIVE, seconds=None, lease=0, flags=0, label=b"",
                wait=True):
        """A token over all the names, or OSError: ETIMEDOUT when the seconds are over.

        With wait=False it is returned at once, and may have to wait: see Token.wait().
        """
        buffers = [ctypes.create_string_buffer(name, len(name)) for name in names]
        entities = (Entity * len(names))(*[
            Entity(name=ctypes.addressof(buffer), name_len=len(name), mode=mode)
            for name, buffer in zip(names, buffers)])
        label_buffer = ctypes.create_string_buffer(label, len(label))
        deadline = FOREVER
        if seconds is not None:
            deadline = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(seconds * 1e9)
        argument = Acquire(flags=flags | (0 if wait else ASYNC), count=len(names),
                           entities=ctypes.addressof(entities),
                           entity_size=ctypes.sizeof(Entity), label_len=len(label),
                           label=ctypes.addressof(label_buffer) if label else 0,
                           deadline=deadline, lease=int(lease * 1e9))
        fd = fcntl.ioctl(self.fd, IOC_ACQUIRE, argument)
        return Token(fd, argument.result)
