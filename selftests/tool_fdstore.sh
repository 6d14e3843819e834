#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A service keeps its locks over its own restart (L9, userspace/examples/fdstore): TAP, a
# test a line.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
PATH=$here/../build/userspace/examples:$PATH
manager=$here/../userspace/examples/fdstore/manager.py

# say COMMAND: to the service; prints its answer
say()
{
	python3 -c '
import socket, sys
service = socket.socket(socket.AF_UNIX)
service.connect("control")
service.sendall(sys.argv[1].encode() + b"\n")
print(service.makefile().read(), end="")' "$1"
}

# The nth that said that it is ready.
ready()	{ [ "$(grep -c ready started)" -ge "$1" ]; }
pid()	{ sed -n "$1s/ready //p" started; }
stored()	{ find "/proc/$manager_pid/fd" -lname 'anon_inode:\[entitylock\]' | wc -l; }
stored_are()	{ [ "$(stored)" = "$1" ]; }

"$manager" control fdstore > started 2> errors &
manager_pid=$!
soon ready 1
first=$(pid 1)
matches 'lock' "$(say 'lock volume:7')" '^locked volume:7, fence [0-9]+$'
matches 'another one' "$(say 'lock a b')" '^locked a b, fence '
is 'twice' "$(say 'lock volume:7')" 'volume:7 is locked already'
matches 'no name' "$(say 'lock ')" '^not locked: .*name'
matches 'no command' "$(say 'help')" 'is needed$'
soon stored_are 2
result $? 'the manager has the tokens'
before=$(say list)
is_refused volume:7
result $? 'nobody else gets the lock'

# L9: the one who waits does not get it between the two instances.
entitylock run volume:7 -- date > granted &
waiter=$!
soon waiters_are volume:7 1
kill -KILL "$first"
soon ready 2
is 'killed and started again: it has the same locks, with their fences' "$(say list)" "$before"
second=$(pid 2)
entitylock ls | grep -q "volume:7 .* $second "
result $? 'it is the owner in listings'
[ ! -s granted ]
result $? 'who waits has waited on'

is 'unlock' "$(say 'unlock volume:7')" 'unlocked volume:7'
wait $waiter
result $? 'then the one who waited has it'
is 'unlock what is not locked' "$(say 'unlock volume:7')" 'volume:7 is not locked'
soon stored_are 1
result $? 'the manager has forgotten it'

# D3: what is lost does not come back.
entitylock break 'a b'
soon stored_are 0
result $? 'a lock that is broken leaves the store'
kill -KILL "$second"
soon ready 3
is 'the next instance has nothing' "$(say list)" ''

kill "$manager_pid"
wait "$manager_pid"
result $? 'the manager ends in order'
fdstore > out 2> err
is 'without a manager' $? 1
says 'it says so' 'start it by systemd'
is 'nothing is left' "$(entitylock ls --raw | wc -l)" 1
finish
