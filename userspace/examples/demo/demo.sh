#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh: separate processes coordinating over entity names, told step by step
#
# Runs as root where the module is loaded ("make demo" boots such a machine).
# All is done by the command and by the library's example programs; beside each
# step stands the kernel's listing.  The exit status is 1 if a step did not do
# what it says.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
PATH=$top/build/userspace:$top/build/userspace/examples:$PATH
dir=$(mktemp -d)
pause=${DEMO_PAUSE:-0.2}
children=''
failures=0

if [ -t 1 ]; then
	bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
	green=$(printf '\033[32m') red=$(printf '\033[31m')
else
	bold='' dim='' plain='' green='' red=''
fi

cleanup()
{
	# Those that have ended were waited for: nobody else has their id.
	for pid in $children; do
		kill -9 "$pid" 2> /dev/null || :
	done
	rm -rf "$dir"
}
trap cleanup EXIT

title()
{
	printf '\n%s%s%s\n\n' "$bold" "$*" "$plain"
	sleep "$pause"
}

say()
{
	printf '  %s\n' "$@"
}

prompt()
{
	printf '  %s$ %s%s\n' "$dim" "$*" "$plain"
}

# show COMMAND...: print a command, and what it prints
show()
{
	prompt "$@"
	"$@" 2>&1 | sed 's/^/  /'
}

listing()
{
	show entitylock ls
	sleep "$pause"
}

# start NAME COMMAND...: in the background, with its output in the file NAME; $pid
# is the one started last
start()
{
	name=$1
	shift
	prompt "$@" "&"
	"$@" < /dev/null > "$name" 2>&1 3>&- &
	pid=$!
	children="$children $pid"
}

# start_reader NAME COMMAND...: the same, and it can read until "release"
start_reader()
{
	name=$1
	shift
	prompt "$@" "&"
	mkfifo "$name.in"
	"$@" < "$name.in" > "$name" 2>&1 &
	pid=$!
	children="$children $pid"
	exec 3> "$name.in"
	rm "$name.in"
}

release()
{
	echo >&3
	exec 3>&-
}

# end PID: wait for a process to end; returns its exit status
end()
{
	status=0
	wait "$1" 2> /dev/null || status=$?
	rest=''
	for child in $children; do
		[ "$child" = "$1" ] || rest="$rest $child"
	done
	children=$rest
	return $status
}

# check WHAT COMMAND...: the command must succeed
check()
{
	what=$1
	shift
	if "$@"; then
		printf '  %sok%s      %s\n' "$green" "$plain" "$what"
	else
		printf '  %sFAILED%s  %s\n' "$red" "$plain" "$what"
		failures=$((failures + 1))
	fi
	sleep "$pause"
}

# soon COMMAND...: the command must succeed within 20 seconds
soon()
{
	last=$(($(date +%s) + 20))
	until "$@"; do
		if [ "$(date +%s)" -ge $last ]; then
			say "${red}FAILED$plain  waited in vain for: $*"
			exit 1
		fi
		sleep 0.05
	done
}

# cell NAME COLUMN: of the kernel's listing, nothing if the entity is not in it
cell()
{
	entitylock ls --raw | awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $column }'
}

is_held()	{ [ "$(cell "$1" 2)" = held-exclusive ]; }
is_held_by()	{ cell "$1" 6 | grep -q "^[0-9]*:x:$2:"; }
has_waiters()	{ [ "$(cell "$1" 5)" = "$2" ]; }
is_gone()	{ [ -z "$(cell "$1" 1)" ]; }
is_refused()	{ status=0; entitylock run -n "$1" -- true || status=$?; [ $status -eq 124 ]; }

is_balanced()
{
	[ "$(cat bank/alice)" -eq 1000 ] && [ "$(cat bank/bob)" -eq 1000 ]
}

hand_over()
{
	title '1. An operation begins in one process and ends in another'
	say 'The lock is a file descriptor, and a descriptor can be sent through a socket.' ''
	start_reader second handover finish socket
	second=$pid
	soon grep -q waiting second
	show handover begin socket volume/7
	soon grep -q 'goes on' second
	say '' 'The first process has ended.  The lock has not been free for a moment:' ''
	listing
	check 'the process that received it holds it' is_held_by volume/7 "$second"
	check 'nobody else gets it' is_refused volume/7
	release
	check 'the second process has finished the operation' end "$second"
	sed 's/^/  | /' second
	check 'nothing is left of the entity' is_gone volume/7
}

wait_and_be_granted()
{
	title '2. One waits until the other has done'
	start_reader holder entitylock run --label report account/1 -- cat
	holder=$pid
	soon is_held account/1
	start waiter entitylock run account/1 -- echo granted
	waiter=$pid
	soon has_waiters account/1 1
	listing
	check 'one holds it, one waits' has_waiters account/1 1
	say '' 'The holder ends:' ''
	release
	end "$holder"
	check 'the lock was handed to the waiter' end "$waiter"
	sed 's/^/  | /' waiter
}

opposite_orders()
{
	title '3. {alice, bob} against {bob, alice}'
	say 'Two processes move money in opposite directions; each needs both accounts.'
	say 'A third has them at first, so that the two begin at the same moment.' ''
	mkdir bank
	echo 1000 > bank/alice
	echo 1000 > bank/bob
	start_reader third entitylock run alice bob -- cat
	third=$pid
	soon is_held bob
	start one timeout 120 transfer bank alice bob 500
	one=$pid
	start two timeout 120 transfer bank bob alice 500
	two=$pid
	soon has_waiters alice 2
	listing
	release
	end "$third"
	check 'the one came to its end' end "$one"
	check 'the other did, too: no deadlock' end "$two"
	show cat bank/alice bank/bob
	check '1,000 transfers, and no penny was lost' is_balanced
}

killed_holder()
{
	title '4. A holder is killed while others wait'
	start_reader victim entitylock run job/1 -- cat
	victim=$pid
	soon is_held job/1
	start first entitylock run job/1 -- date +%s%N
	first=$pid
	soon has_waiters job/1 1
	start second entitylock run job/1 -- date +%s%N
	second=$pid
	soon has_waiters job/1 2
	listing
	prompt kill -9 "$victim"
	killed=$(date +%s%N)
	kill -9 "$victim"
	end "$victim" || :
	check 'the first waiter was granted' end "$first"
	check 'the second waiter was granted' end "$second"
	release
	waited=$((($(cat first) - killed) / 1000000))
	say "The first had it, and its command was running, $waited ms after the kill."
	check 'they were served in the order they came' test "$(cat first)" -lt "$(cat second)"
	check 'nobody had to clean up' is_gone job/1
}

close_the_gate()
{
	title '5. The gate: nobody else, on anything'
	say 'It excludes every name, also those that do not exist yet.' ''
	start_reader holder entitylock run order/1 -- cat
	holder=$pid
	soon is_held order/1
	start gate entitylock gate -- echo 'all is mine'
	gate=$pid
	say '' 'While the gate waits for those that run, it lets nobody new in:' ''
	soon is_refused order/2
	check 'order/2, which nobody has ever locked, is refused' is_refused order/2
	listing
	say '' 'The last one leaves:' ''
	release
	end "$holder"
	check 'the gate was granted' end "$gate"
	sed 's/^/  | /' gate
	check 'then the others go on' entitylock run -n order/2 -- true
}

# Kilobytes in the kernel's slab caches after one shrink of all of them.
slab()
{
	for shrink in /sys/kernel/slab/*/shrink; do
		echo 1 > "$shrink"
	done
	awk '$1 == "Slab:" { print $2 }' /proc/meminfo
}

come_and_go()
{
	title '6. 100,000 entities come and go'
	say 'An entity exists while somebody has a descriptor for it, and no longer.' ''
	# One leaked byte of each would be 100 kB; other parts of the kernel keep
	# a few hundred kB that come and go.
	tolerance=1024
	churn 1 > /dev/null	# from now on the program's own file is cached
	before=$(slab)
	show churn 100 | tee churn
	after=$(slab)
	listing
	check 'all of them lived at a time' grep -q '100000 entities live, held' churn
	check 'none is left' test "$(tail -n 1 churn)" = '  0 entities live'
	say '' "slab caches, shrunk: $before kB before, $after kB after"
	check "memory is back to within $tolerance kB" test $((after - before)) -lt $tolerance
}

cd "$dir"
show entitylock --version
hand_over
wait_and_be_granted
opposite_orders
killed_holder
close_the_gate
come_and_go

echo
if [ $failures -gt 0 ]; then
	say "$failures of the checks failed."
	exit 1
fi
say 'All of this was real: processes, the module, a kernel.'
