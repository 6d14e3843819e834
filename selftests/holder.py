#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""holder.py STEP...: a process that locks, waits and passes on, for tests of the command

  lock NAME    lock it, and keep it
  call NAME    the same, blocked in the ioctl itself
  gate         take the gate
  chain N      N processes, each but one waits for what the one before has locked:
               link1, link2 and so on
  inherit      take over the token of "entitylock run --inherit"
  extend NAME  wait in vain for more, which another has, for a moment
  park         park the last token, and print its cookie
  send         put the last token into a socket that nobody reads, and close it
  thread STEP  do it in another thread, which may block
  reuse PID    have a child of that id, which is free, and is called sleep
  touch FILE   say that so much is done
  await FILE   wait until there is that file
  sleep        for ever
"""
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
library = ctypes.CDLL(os.path.join(HERE, "../build/userspace/libentitylock.so.0"))
EXCLUSIVE = 2
ASYNC = 1
FOREVER = 2**64 - 1
SYS_CLONE3 = 435
ACQUIRE = struct.Struct("=IIQIIQQQQII")
OPTIONS = struct.Struct("=IIQQQII")
IOC_ACQUIRE = 3 << 30 | ACQUIRE.size << 16 | 0xE1 << 8 | 1

domain = library.entitylock_open(None, os.O_RDWR)
tokens, sockets = [], []


def exclusive(text):
    return ctypes.create_string_buffer(struct.pack(
        "=QIIQII", ctypes.addressof(text), len(text.value), EXCLUSIVE, 0, 0, 0))


def extend(name):
    text = ctypes.create_string_buffer(name)
    library.entitylock_deadline_in.restype = ctypes.c_uint64
    deadline = library.entitylock_deadline_in(ctypes.c_uint64(50000000))
    options = OPTIONS.pack(OPTIONS.size, 0, deadline, 0, 0, 0, 0)
    error = library.entitylock_extend(tokens[-1], exclusive(text), 1, options, None)
    assert error == -errno.ETIMEDOUT, error


def chain(length):
    options = OPTIONS.pack(OPTIONS.size, ASYNC, FOREVER, 0, 0, 0, 0)
    for number in range(length):
        ready, done = os.pipe()
        if not os.fork():
            for name in (b"link%d" % (number + 1), b"link%d" % number)[:number + 1]:
                library.entitylock_acquire(domain, name, ctypes.c_size_t(len(name)), EXCLUSIVE,
                                           options, None)
            os.write(done, b"x")
            signal.pause()
        os.read(ready, 1)


def park():
    cookie = ctypes.create_string_buffer(16)
    error = library.entitylock_park(tokens[-1], ctypes.c_uint64(3600 * 10**9), cookie)
    assert not error, error
    print(cookie.raw.hex())


def call(name):
    text = ctypes.create_string_buffer(name)
    entity = exclusive(text)
    argument = bytearray(ACQUIRE.pack(0, 1, ctypes.addressof(entity), len(entity.raw) - 1, 0, 0,
                                      FOREVER, 0, 0, 0, 0))
    return fcntl.ioctl(domain, IOC_ACQUIRE, argument)


def send():
    ends = socket.socketpair()
    sockets.extend(ends)
    token = tokens.pop()
    socket.send_fds(ends[0], [b"x"], [token])
    os.close(token)


def reuse(pid):
    libc = ctypes.CDLL(None)
    tid = ctypes.c_int(pid)
    arguments = struct.pack("=11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid),
                            1, 0)
    if libc.syscall(SYS_CLONE3, arguments, ctypes.c_size_t(len(arguments))) == 0:
        os.execvp("sleep", ["sleep", "1000"])


def step(steps):
    word = steps.pop(0)
    if word == "lock":
        name = steps.pop(0).encode()
        tokens.append(library.entitylock_acquire(
            domain, name, ctypes.c_size_t(len(name)), EXCLUSIVE, None, None))
    elif word == "call":
        tokens.append(call(steps.pop(0).encode()))
    elif word == "gate":
        tokens.append(library.entitylock_gate(domain, None, None))
    elif word == "chain":
        chain(int(steps.pop(0)))
    elif word == "inherit":
        tokens.append(int(os.environ["ENTITYLOCK_FD"]))
    elif word == "extend":
        extend(steps.pop(0).encode())
    elif word == "park":
        park()
    elif word == "send":
        send()
    elif word == "reuse":
        reuse(int(steps.pop(0)))
    elif word == "thread":
        size = 1 if steps[0] == "gate" else 2
        threading.Thread(target=step, args=(steps[:size],), daemon=True).start()
        del steps[:size]
    elif word == "touch":
        with open(steps.pop(0), "w", encoding="ascii"):
            pass
    elif word == "await":
        while not os.path.exists(steps[0]):
            time.sleep(0.05)
        steps.pop(0)
    else:
        time.sleep(1000)


steps = sys.argv[1:]
while steps:
    step(steps)
