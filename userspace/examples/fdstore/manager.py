#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""manager.py CONTROL COMMAND...: what systemd does for a service, and no more

Listens on the Unix socket CONTROL, and hands it to the command as "control" together
with what the command has put into the store.  Starts the command again when it ends,
however it ends.  Says on the output when the command is ready.
"""
import os
import select
import signal
import socket
import sys
import tempfile

FIRST = 3  # SD_LISTEN_FDS_START


def start(command, notify, fds):
    """Fork, and exec the command with its descriptors from FIRST on."""
    pid = os.fork()
    if pid:
        return pid
    # Out of the way first: a target may be the number of another source.
    high = [(name, os.dup2(fd, 100 + number, inheritable=False))
            for number, (name, fd) in enumerate(fds)]
    for number, (_, fd) in enumerate(high):
        os.dup2(fd, FIRST + number, inheritable=True)
    environment = dict(os.environ, NOTIFY_SOCKET=notify, LISTEN_PID=str(os.getpid()),
                       LISTEN_FDS=str(len(fds)),
                       LISTEN_FDNAMES=":".join(name for name, _ in fds))
    os.execvpe(command[0], command, environment)


def hear(notify, store, pid):
    """One message of the service."""
    data, fds, _, _ = socket.recv_fds(notify, 4096, 16)
    said = dict(line.split("=", 1) for line in data.decode().splitlines())
    name = said.get("FDNAME", "stored")
    if said.get("READY"):
        print("ready", pid, flush=True)
    if said.get("FDSTOREREMOVE"):
        for stored in [each for each in store if each[0] == name]:
            store.remove(stored)
            os.close(stored[1])
    if said.get("FDSTORE"):
        store.extend((name, fd) for fd in fds)
    else:
        for fd in fds:
            os.close(fd)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    control = socket.socket(socket.AF_UNIX)
    control.bind(sys.argv[1])
    control.listen()
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    address = os.path.join(tempfile.mkdtemp(), "notify")
    notify.bind(address)
    store = []

    # Its death is an event like the others.
    ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    pid = None
    try:
        while True:
            if not pid:
                pid = start(sys.argv[2:], address, [("control", control.fileno())] + store)
            poller = select.poll()
            poller.register(notify, select.POLLIN)
            poller.register(ended, select.POLLIN)
            for _, fd in store:
                poller.register(fd, 0)
            # All that was said before the end comes first.
            events = dict(poller.poll())
            if notify.fileno() in events:
                hear(notify, store, pid)
                continue
            for stored in [each for each in store if each[1] in events]:
                store.remove(stored)    # as systemd does, unless FDPOLL=0
                os.close(stored[1])
            if ended in events:
                os.read(ended, 16)
                if os.waitpid(pid, os.WNOHANG)[0]:
                    pid = None
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.unlink(address)
        os.rmdir(os.path.dirname(address))


main()
