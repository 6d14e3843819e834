#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library's example programs do what they say (userspace/examples): TAP, a
# test a line.  The demo runs them as well, but for people.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
PATH=$here/../build/userspace/examples:$PATH

listed()
{
	entitylock ls | grep -q "$1"
}

# L9: the lock goes from process to process.
mkfifo go
handover finish socket < go > finisher &
finisher=$!
exec 3> go
soon grep -q waiting finisher
handover begin socket volume > beginner
result $? 'handover: the first process passes the lock on'
soon grep -q 'goes on with volume' finisher
listed "volume .* x $finisher handover \"second half\""
result $? 'handover: the second is listed as the holder'
echo >&3
wait $finisher
result $? 'handover: the second finishes'
exec 3>&-
[ "$(entitylock ls | wc -l)" -eq 1 ]
result $? 'handover: nothing is left'

# L1: opposite orders.
mkdir bank
echo 100 > bank/a
echo 100 > bank/b
transfer bank a b 300 &
transfer bank b a 200 &
wait
[ "$(cat bank/a)" -eq 0 ] && [ "$(cat bank/b)" -eq 200 ]
result $? 'transfer: opposite orders, the sum is right'

# L6: many waits in one thread.
mkfifo gate
entitylock run y -- sh -c 'read -r line' < gate &
exec 3> gate
soon listed '^y'
uring 60 y w > granted
is 'uring: the first that is free is taken' "$(cut -d , -f 1 granted | tr '\n' ' ')" \
	'w: granted y: given up '
is 'uring: time-out' "$(status uring 1 y y)" 1
says 'uring: it says so' 'time is over'
is 'uring: nobody waits any more' "$(cell y 5)" 0
epoll 60 x y z > granted &
waiter=$!
soon grep -q z granted
[ "$(cut -d : -f 1 granted | tr '\n' ' ')" = 'x z ' ]
result $? 'epoll: those that are free are granted at once'
! epoll 1 y 2> err && grep -q 'time is over' err
result $? 'epoll: the time ends'
libuv 60 w y > granted.libuv &
uv=$!
soon grep -q w granted.libuv
result $? 'libuv: what is free is granted at once'
is 'libuv: time-out' "$(status libuv 1 y)" 1
says 'libuv: it says so' 'time is over'
echo >&3
exec 3>&-
wait $waiter
result $? 'epoll: then the last is granted'
wait $uv
result $? 'libuv: then the last is granted'

# V2: paused past the end of its lease, with and without somebody who came.
mkfifo work
lease 0.2 z < work > steps 2> err &
worker=$!
exec 3> work
soon grep -q begins steps
kill -STOP $worker
soon state_is $worker T
sleep 0.5
kill -CONT $worker
echo one >&3
soon grep -q one steps
[ "$(cut -d : -f 1 steps | sort -u | wc -l)" -eq 1 ]
result $? 'lease: late and not missed, it goes on with its fence'
kill -STOP $worker
soon state_is $worker T
entitylock run z -- true
result $? 'lease: another has it when the lease has run out'
kill -CONT $worker
! wait $worker && grep -q 'the lock is lost' err
result $? 'lease: then it is told'
exec 3>&-

[ "$(churn 10 | cut -d ' ' -f 1 | tr '\n' ' ')" = '0 10000 0 ' ]
result $? 'churn: entities come and go'

finish
