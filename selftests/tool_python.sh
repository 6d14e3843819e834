#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Any language can do it (userspace/examples/python): TAP, a test a line.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
export PYTHONPATH=$here/../userspace/examples/python PYTHONDONTWRITEBYTECODE=1
count=$PYTHONPATH/count.py

echo 0 > number
for _ in 1 2 3; do
	"$count" number 100 &
done
wait
is 'count: three at once, and none is lost' "$(cat number)" 300
is 'count: bad input' "$(status "$count" number ten)" 1
says 'count: it says what it needs' 'count.py FILE TIMES'

# The layouts are those of the header.
sizes="$(gcc -xc -isystem "$here/../uapi" -o sizes - << 'EOF2'
#include <stdio.h>
#include <linux/entitylock.h>
int main(void)
{
	printf("%zu %zu %zu %zu %u %u %u\n", sizeof(struct entitylock_entity),
	       sizeof(struct entitylock_acquire), sizeof(struct entitylock_unlock),
	       sizeof(struct entitylock_info), (unsigned)ENTITYLOCK_IOC_ACQUIRE,
	       (unsigned)ENTITYLOCK_IOC_UNLOCK, (unsigned)ENTITYLOCK_IOC_INFO);
}
EOF2
./sizes)"
is 'sizes and numbers' "$(python3 -c '
import ctypes
from entitylock import *
print(*map(ctypes.sizeof, (Entity, Acquire, Unlock, Info)), IOC_ACQUIRE, IOC_UNLOCK, IOC_INFO)
')" "$sizes"

# A line of "ok" or of what is wrong for each.
python3 - > said 2> err << 'EOF2'
import asyncio
import errno
import os
import socket
import entitylock

def check(what, right):
    print("ok" if right else "not ok", what)

domain = entitylock.Domain()
with domain.acquire(b"a", b"b", label=b"first") as token:
    check("a set is held", token.info().state == entitylock.HELD and token.info().count == 2)
    fence = token.fence
    try:
        domain.acquire(b"b", seconds=0.1)
        check("the deadline", False)
    except OSError as error:
        check("the deadline", error.errno == errno.ETIMEDOUT)
    second = domain.acquire(b"b", wait=False)
    check("pending", second.fence == 0 and not second.wait(0.1))

    async def wait_for(other):
        loop, granted = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(other.fileno(), granted.set)
        loop.call_later(0.1, token.unlock)
        await asyncio.wait_for(granted.wait(), 60)
        loop.remove_reader(other.fileno())

    asyncio.run(wait_for(second))
    check("granted in an event loop, with a later fence", second.fence > fence)
here, there = socket.socketpair()
socket.send_fds(here, [b"x"], [second.fileno()])
second.close()
_, fds, _, _ = socket.recv_fds(there, 1, 1)
with entitylock.Token(fds[0]) as passed:
    check("passed on, and still held", passed.info().state == entitylock.HELD)
robust = domain.acquire(b"c", flags=entitylock.ROBUST)
robust.close()
with domain.acquire(b"c") as token:
    check("abandoned is told", token.result == entitylock.ABANDONED)
EOF2
is 'the program ends well' $? 0
sed 's/^/# /' err
while read -r line; do
	[[ $line = ok* ]]
	result $? "${line#*ok }"
done < said
is 'all of it ran' "$(wc -l < said)" 6
entitylock run --consistent c -- true
finish
