#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh: separate processes coordinating over entity names, told step by step
#
# Runs as root where the module is loaded ("make demo" boots such a machine).
# All is done by the command and by the library's example programs; beside each
# step stands the kernel's listing.  The exit status is 1 if a step did not do
# what it says.
#
# To start a process takes a tenth of a second in an emulated machine: the shell
# does itself what it can.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
PATH=$top/build/userspace:$top/build/userspace/examples:$PATH
dir=$(mktemp -d)
pause=${DEMO_PAUSE:-0.3}
tab=$(printf '\t')
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

# indent PREFIX: standard input, each line after the prefix
indent()
{
	while IFS= read -r line; do
		printf '%s%s\n' "$1" "$line"
	done
}

# show COMMAND...: print a command, and what it prints
show()
{
	prompt "$@"
	"$@" 2>&1 | indent '  '
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
}

# soon COMMAND...: the command must succeed in a while
soon()
{
	tries=200
	until "$@"; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			say "${red}FAILED$plain  waited in vain for: $*"
			exit 1
		fi
		sleep 0.05
	done
}

# look NAME: what the kernel's listing says of an entity, in $its_state,
# $its_waiters and $its_holder; false if it is not in it
look()
{
	listed=$(entitylock ls --raw)
	while IFS=$tab read -r entity its_state _ _ its_waiters its_holder _; do
		[ "$entity" != "$1" ] || return 0
	done <<-END
	$listed
	END
	return 1
}

is_held()	{ look "$1" && [ "$its_state" = held-exclusive ]; }
is_gone()	{ ! look "$1"; }
has_waiters()	{ look "$1" && [ "$its_waiters" = "$2" ]; }
is_refused()	{ status=0; entitylock run -n "$1" -- true || status=$?; [ $status -eq 124 ]; }

is_held_by()
{
	look "$1" || return
	case $its_holder in *":x:$2:"*) ;; *) return 1 ;; esac
}

# says FILE TEXT: it is in it
says()
{
	while IFS= read -r line; do
		case $line in *"$2"*) return 0 ;; esac
	done < "$1"
	return 1
}

is_balanced()
{
	read -r alice < bank/alice
	read -r bob < bank/bob
	[ "$alice" -eq 1000 ] && [ "$bob" -eq 1000 ]
}

hand_over()
{
	title '1. An operation begins in one process and ends in another'
	say 'The lock is a file descriptor, and a descriptor can be sent through a socket.' ''
	start_reader second handover finish socket
	second=$pid
	soon says second waiting
	show handover begin socket volume/7
	soon says second 'goes on'
	say '' 'The first process has ended.  The lock has not been free for a moment:' ''
	listing
	check 'the process that received it holds it' is_held_by volume/7 "$second"
	check 'nobody else gets it' is_refused volume/7
	release
	check 'the second process has finished the operation' end "$second"
	indent '  | ' < second
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
	indent '  | ' < waiter
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
	read -r granted_first < ./first
	read -r granted_second < ./second
	waited=$(((granted_first - killed) / 1000000))
	say "The first had it, and its command was running, $waited ms after the kill."
	check 'they were served in the order they came' test "$granted_first" -lt "$granted_second"
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
	indent '  | ' < gate
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
	prompt churn 100
	churn 100 > counts
	after=$(slab)
	indent '  ' < counts
	{ read -r _; read -r most; read -r least; } < counts
	listing
	check 'all of them lived at a time' test "$most" = '100000 entities live, held by 100 tokens'
	check 'none is left' test "$least" = '0 entities live'
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
