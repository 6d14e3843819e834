#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command "entitylock trace": TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

tracing=/sys/kernel/tracing
instances()	{ find $tracing/instances -mindepth 1 -maxdepth 1 | wc -l; }
enabled()	{ grep -qs 1 "$tracing/instances/entitylock-$1/events/entitylock/"*/enable; }

has_lines()	{ [ "$(wc -l < out)" = "$1" ]; }

# trace OPTION...: in the background, until it does; its id is $tracer
trace()
{
	env --default-signal=INT entitylock trace "$@" > out 2> err &
	tracer=$!
	soon enabled $tracer
}

end_trace()
{
	kill "-${1:-INT}" $tracer
	wait $tracer
	ended=$?
}

# block NAME: a process that has blocked in the call for it; its id is $blocked
block()
{
	"$here/holder.py" call "$1" &
	blocked=$!
	soon waiters_are "$1" 1
	sleep 0.3
}

blocked_threads()
{
	hold --label held
	trace
	block x
	release
	wait $blocked
	soon grep -q holder.py out
	end_trace
	is 'ended by INT' $ended 0
	is 'the instance is gone' "$(instances)" 0
	matches 'what it says' "$(cat out)" "[0-9]{2}:[0-9:.]+ +$blocked +[0-9.]+ m?s  entity   holder.py, x, $holder .* \(token [0-9]+\)"
	is 'one row' "$(wc -l < out)" 2

	# Only what took longer; the filter is the kernel's.
	hold
	trace --longer-than 100s
	block x
	release
	wait $blocked
	sleep 0.5
	end_trace TERM
	is 'ended by TERM' $ended 0
	is 'none took that long' "$(wc -l < out)" 1
}

waits_of_the_library()
{
	hold
	trace --waits --json
	entitylock run x -- true &
	local waiter=$!
	soon waiters_are x 1
	release
	wait $waiter
	soon test -s out
	end_trace
	is 'waits, JSON' "$("$here/schema.py" trace < out)" 1
	matches 'who has waited' "$(cat out)" "\"thread\": $waiter, \"command\": \"entitylock\", \"cause\": \"entity\", \"domain\": \"default\", \"name\": \"x\""
	matches 'whose release has ended it' "$(cat out)" "\"holder_pid\": $holder"
}

# Commands that look like what the kernel prints between them.
hostile_commands()
{
	local name waiters=()

	hold
	trace --waits --json
	for name in ': entitylock_' $'\nCPU: [LOST 9' $'\nCPU:1 [LOST 9'; do
		ln -s "$(command -v entitylock)" "$name"
		"./$name" run -s x -- true &
		waiters+=($!)
	done
	soon waiters_are x 3
	release
	wait "${waiters[@]}"
	soon has_lines 3
	end_trace
	is 'hostile commands: each wait is told' "$("$here/schema.py" trace < out)" 3
	is 'hostile commands: nothing was lost' "$(cat err)" ''
}

# Two traces at a time, which do not disturb each other.
sums()
{
	local other

	env --default-signal=INT entitylock trace --by process --json > processes &
	other=$!
	trace --by entity --json
	soon enabled $other
	for name in a a b; do
		entitylock run $name -- sleep 1000 &
		holder=$!
		soon exists $name
		block $name
		kill $holder
		wait $blocked
		soon is_gone $name
	done
	sleep 0.5
	end_trace
	kill -INT $other
	wait $other
	is 'by entity' "$("$here/schema.py" 'trace --by entity' < out)" 2
	matches 'by entity: the most first' "$(cat out)" '^[{]"schema": 1, "entity": "a", "count": 2, '
	sed -i 's/"process"/"entity"/' processes
	is 'by process' "$("$here/schema.py" 'trace --by entity' < processes)" 3
	trace --by entity
	end_trace
	matches 'nothing to sum up' "$(cat out)" '^COUNT +TOTAL +LONGEST +ENTITY$'
}

# Much happens at a time.
load()
{
	local workers=()

	trace --waits --json
	for _ in 1 2 3; do
		(for _ in {1..15}; do entitylock run hot -- true; done) &
		workers+=($!)
	done
	wait "${workers[@]}"
	sleep 0.5
	end_trace
	[ "$("$here/schema.py" trace < out)" -ge 5 ]
	result $? 'under load'
	is 'nothing was lost' "$(cat err)" ''
}

leftovers()
{
	trace
	kill -KILL $tracer
	wait $tracer 2> /dev/null
	is 'what a killed one leaves' "$(instances)" 1
	entitylock trace --for 0.1 > out
	is 'is removed by the next' "$(instances)" 0
	entitylock trace --for 1 2> err > /dev/full
	is 'full disk' $? 125
	is 'full disk: the instance is gone' "$(instances)" 0
	entitylock trace --for 1 2> err | true
	is 'nobody reads: the instance is gone' "$(instances)" 0
	is 'it ends in time' "$(status entitylock trace --for 0.2)" 0
}

bad_input()
{
	own_failure 'no unit' 'a number and a unit' trace --longer-than 20
	own_failure 'no number' 'a number and a unit' trace --longer-than ms
	own_failure 'no group' "'entity' or 'process'" trace --by name
	own_failure 'no time' 'is no time' trace --for x
	own_failure 'an argument' 'too many' trace x
	is 'not root' "$(status setpriv --reuid 1001 --regid 1001 --clear-groups entitylock trace)" 125
	says 'not root: what to do' 'root'
	is 'no tracefs' "$(unshare -m sh -c 'umount /sys/kernel/tracing; umount /sys/kernel/debug/tracing; exec entitylock trace' 2> err; echo $?)" 125
	says 'no tracefs: what to do' 'mount -t tracefs'
	is 'nothing is left' "$(instances)" 0
}

blocked_threads
waits_of_the_library
hostile_commands
sums
load
leftovers
bad_input
finish
