#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Light threads never block the OS threads that run them (L6, userspace/examples/fibers):
# TAP, a test a line.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"
PATH=$here/../build/userspace/examples:$PATH

# run ARGUMENT...: leaves its exit status in $status, its output in the files out and
# err, and the most OS threads that were seen in $seen
run()
{
	local last=$((SECONDS + 300)) pid

	fibers "$@" > out 2> err &
	pid=$! seen=0 status=0
	while kill -0 "$pid" 2> /dev/null; do
		set -- "/proc/$pid/task/"*
		[ $# -le "$seen" ] || seen=$#
		[ $SECONDS -lt $last ] || kill -KILL "$pid"
		sleep 0.1
	done
	wait "$pid" || status=$?
	sed 's/^/# /' out err
}

value()
{
	sed -n "s/^ *$1: //p" out
}

right()
{
	[ $status = 0 ] && grep -q '^consistent, and no entity is left' out
	result $? "$1: all invariants hold"
}

# As the documentation says; a kernel full of checks takes its time.
many=10000
case ${ENTITYLOCK_KERNEL:-} in
debug*)	many=1000 ;;
esac

run --fibers $many --operations 1
right "$many on one OS thread"
is "$many wait at once" "$(value 'most that waited at once')" $many
is 'while there is one OS thread' "$(value 'OS threads')" 1
is 'as others see it, too' "$seen" 1

run --fibers 500 --entities 50 --os-threads 2
right 'on two OS threads'
is 'there are two' "$(value 'OS threads')" 2
moved=$(value 'begun on one OS thread and ended on another')
[ "${moved:-0}" -gt 0 ]
result $? "operations begin on one and end on another ($moved)"

# Each stall doubles their number, until each fiber has its own.
run --fibers 20 --entities 50 --os-threads 2 --blocking --stall 300
right 'in calls that block'
grep -q '^stalled, as expected: all of 2 OS threads wait' out
result $? 'it stalls when all OS threads wait'
# And one to open the gate, and one that watches.
is 'it takes an OS thread for each that waits' "$(value 'OS threads')" 22

# The check can fail.
run --fibers 100 --entities 10 --unlocked
is 'without locks the invariants are broken' $status 1
says 'and it is told how' 'broken: .* two operations at once'

finish
