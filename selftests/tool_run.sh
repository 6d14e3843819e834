#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands "entitylock run" and "entitylock gate", driven as their users do:
# TAP, a test a line.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

statuses()
{
	is 'status of the command' "$(status entitylock run x -- sh -c 'exit 7')" 7
	is 'success of the command' "$(status entitylock run x -- true)" 0
	is 'command ended by a signal' "$(status entitylock run x -- sh -c 'kill -USR1 $$')" 138
	is 'command not found' "$(status entitylock run x -- ./nonexistent)" 127
	is 'command not executable' "$(status entitylock run x -- /)" 126
	is 'nothing is held afterwards' "$(cell x 1)" ''
	is 'arguments and output' "$(entitylock run x y -- printf '%s|' a '' '-n' --)" 'a||-n|--|'
	is 'standard input' "$(echo text | entitylock run x -- cat)" text
	is 'SIGCHLD ignored from the start' "$(status sh -c 'trap "" CHLD; exec entitylock run x -- sh -c "exit 7"')" 7
}

conflicts()
{
	hold
	is '-n' "$(status entitylock run -n x -- true)" 124
	is '-n is silent' "$(cat err)" ''
	is '-n -E' "$(status entitylock run -n -E 9 x -- true)" 9
	is '-n -E 0' "$(status entitylock run -n -E 0 x -- touch ran)" 0
	is '-n -v' "$(entitylock run -nv x -- true 2>&1 | grep -c 'run: gave up: ')" 1
	is '-w' "$(status entitylock run -w 0.1 x -- true)" 124
	is '-w 0' "$(status entitylock run -w 0 x -- true)" 124
	is '-w .1 -E 255' "$(status entitylock run --timeout=.1 --conflict-exit-code=255 x -- true)" 255
	is 'shared against exclusive' "$(status entitylock run -ns x -- true)" 124
	is 'one of a set' "$(status entitylock run -n a x y -- touch ran)" 124
	test ! -e ran
	result $? 'the command did not run'
	is 'others are free' "$(status entitylock run -n a y -- true)" 0
	release
	is '-n, free' "$(status entitylock run -n x -- true)" 0
	is '-w, free' "$(status entitylock run -w 18446744072.999999999 x -- true)" 0

	hold -s
	is 'shared with shared' "$(status entitylock run -ns x -- true)" 0
	is 'exclusive against shared' "$(status entitylock run -nx x -- true)" 124
	is 'modes of a set, exclusive' "$(status entitylock run -n -s y -x x -- true)" 124
	is 'modes of a set, shared' "$(status entitylock run -n -x y -s x -- true)" 0
	is 'a name twice counts once, exclusive' "$(status entitylock run -n -s x -x x -- true)" 124
	release
}

names()
{
	local long

	long=$(printf 'n%.0s' {1..255})
	is 'longest name' "$(entitylock run "$long" -- entitylock ls --raw | tail -n 1 | cut -f 1)" "$long"
	is 'name that begins with -' "$(entitylock run --name=-n -- entitylock ls --raw | tail -n 1 | cut -f 1)" -n
	is 'name with bytes of all kinds' \
		"$(entitylock run $'a b\t\\\xff\n' -- entitylock ls --raw | tail -n 1 | cut -f 1)" \
		'a\x20b\x09\x5c\xff\x0a'
	is '1024 names' "$(entitylock run {1..1024} -- entitylock ls --raw | wc -l)" 1025
	is 'a name twice' "$(entitylock run a a -- entitylock ls --raw | wc -l)" 2
	is 'label' "$(entitylock run --label 'a b' x -- entitylock ls --raw | tail -n 1 | cut -f 6 | cut -d : -f 5)" 'a\x20b'
	is 'label by default' "$(entitylock run x -- entitylock ls --raw | tail -n 1 | cut -f 6 | cut -d : -f 5)" \
		'entitylock\x20ls\x20--raw'
}

bad_input()
{
	own_failure 'no arguments' 'no name' run
	own_failure 'no names' 'no name' run -- true
	own_failure 'no --' "no '--'" run x true
	own_failure 'no command' 'no command' run x --
	own_failure 'empty name' 'empty' run '' -- true
	own_failure 'name too long' '256 bytes' run "$(printf 'n%.0s' {1..256})" -- true
	own_failure '1025 names' 'more than 1024' run {1..1025} -- true
	own_failure 'label too long' '64 bytes' run --label "$(printf 'l%.0s' {1..64})" x -- true
	own_failure '-n and -w' 'exclude each other' run -n -w 1 x -- true
	own_failure '-s too late' 'after the last name' run x -s -- true
	own_failure 'unknown option' "'--foo' is not known" run --foo x -- true
	own_failure 'unknown letter' "'-z' is not known" run -nz x -- true
	own_failure 'value lacking' "'--label' lacks" run x --label
	own_failure 'value too many' 'takes no value' run --nonblock=1 x -- true
	own_failure 'unknown subcommand' 'no such subcommand' walk
	own_failure 'no subcommand' Usage
	local time code
	for time in '' . 1e3 -1 +1 ' 1' 1s inf nan 0x1 1,5 18446744073 99999999999999999999; do
		own_failure "time '$time'" 'no time' run -w "$time" x -- true
	done
	for code in '' -1 256 4294967296 1.0 a; do
		own_failure "status '$code'" 'no*t* an exit status' run -E "$code" x -- true
	done
	is '--help to a full disk' "$(entitylock run --help 2> err > /dev/full; echo $?)" 125
}

# What is given back in a message cannot harm a terminal.
escaped()
{
	local e=$'\e[31m' n=0 arguments

	for arguments in "run -w $e x -- true" "run -E $e x -- true" "run $e$(printf 'n%.0s' {1..300}) -- true" \
		"run x -- $e" "run --$e x -- true" "run -$e x -- true" "wait --since $e x" \
		"ls $e" "$e" "domain $e" "domain create --mode $e x -- true" "top -n $e" "top --sort $e" \
		"trace --longer-than $e" "ls --domain-fd $e" "break --fence $e x" "ls --domain $e"; do
		# shellcheck disable=SC2086  # several words
		entitylock $arguments > out 2> err
		says "escaped: entitylock ${arguments//$'\e'/ESC}" '.x1b'
		! grep -q $'\e' err || n=$((n + 1))
	done
	is 'no message has a control byte' $n 0
	is 'what is too long is cut' "$(entitylock run -w "$(printf 'n%.0s' {1..300})" x -- true 2>&1 | grep -o 'n*\.\.\.')" \
		"$(printf 'n%.0s' {1..255})..."
}

# In a mount namespace of its own, where the device is something else.
device()
{
	local in_place='mount --bind'

	is 'no device' "$(unshare -m sh -c 'mount -t tmpfs none /dev; entitylock run x -- true' 2> err; echo $?)" 125
	says 'no device: what to do' modprobe
	is 'another device' "$(unshare -m sh -c "$in_place /dev/null /dev/entitylock; entitylock run x -- true" 2> err; echo $?)" 125
	is 'no permission' "$(setpriv --reuid 65534 --regid 65534 --clear-groups entitylock run x -- true 2> err; echo $?)" 125
	says 'no permission: what to do' group
}

descriptors()
{
	is 'no descriptor for the command' \
		"$(entitylock run x -- sh -c 'ls -l /proc/$$/fd' | grep -c entitylock)" 0
	is 'no number for the command' "$(entitylock run x -- sh -c 'echo "$ENTITYLOCK_FD"')" ''
	is 'inherited' "$(entitylock run --inherit x -- sh -c 'readlink /proc/$$/fd/$ENTITYLOCK_FD')" \
		'anon_inode:[entitylock]'
	# The lock outlives the command as long as somebody has the descriptor.
	entitylock run --inherit x -- sh -c 'sleep 60 > /dev/null & echo $! > pid'
	is 'held by what the command left behind' "$(status entitylock run -n x -- true)" 124
	kill "$(cat pid)"
	soon is_gone x
	result $? 'free when that has ended'
}

# Of all threads of a process, in hundredths of a second.
ticks()	{ awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# The token reports POLLERR then, and goes on to.
inherited_and_waited_in_vain()
{
	local other holder before

	entitylock run y -- sleep 1000 &
	other=$!
	soon exists y
	entitylock run --inherit x -- "$here/holder.py" inherit extend y touch failed sleep 2> err &
	holder=$!
	soon test -e failed
	before=$(ticks $holder)
	sleep 2
	[ $(($(ticks $holder) - before)) -lt 50 ]
	result $? 'what failed for a command that has inherited the lock costs no time'
	entitylock break x
	wait $holder
	is 'and a loss is found still' $? 123
	kill $other
	wait $other
}

# Signals to the command itself, while its child runs.
signals()
{
	local sig

	for sig in HUP INT QUIT ALRM TERM USR1 USR2; do
		rm -f ready
		# A shell's background commands ignore INT and QUIT.
		env --default-signal=INT,QUIT entitylock run x -- \
			bash -c "trap 'exit 33' $sig; touch ready; while :; do sleep 0.05; done" &
		soon test -e ready
		kill -$sig $!
		wait $!
		is "SIG$sig reaches the command" $? 33
	done

	hold
	kill -TERM $holder
	wait $holder
	is 'command that a passed signal ends' $? 143
	is 'then all is free' "$(cell x 1)" ''
	exec 3>&-

	hold
	kill -KILL $holder
	wait $holder 2> /dev/null
	soon is_gone x
	result $? 'killed itself: free at once'
	exec 3>&-
}

# What the kernel sends to entitylock alone: its session's terminal is gone, or a timer
# that it was started with has run down.
signals_of_the_kernel()
{
	local leader='
import os, pty, sys, time
pid, terminal = pty.fork()
if not pid:
    os.execvp("entitylock", ["entitylock", "run", "x", "--"] + sys.argv[1:])
while not os.path.exists("ready"):
    time.sleep(0.05)
os.close(terminal)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
	local timer='
import os, signal, sys
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
os.execvp("entitylock", ["entitylock", "run", "x", "--"] + sys.argv[2:])'
	local seconds got

	rm -f ready
	is 'a terminal that hangs up' "$(status timeout 60 python3 -c "$leader" \
		bash -c 'trap "exit 33" HUP; touch ready; while :; do sleep 0.05; done')" 33
	soon is_gone x
	result $? 'then all is free'
	# It may come before the command is ready.
	for seconds in 1 4 16; do
		got=$(status timeout 60 python3 -c "$timer" $seconds \
			bash -c 'trap "exit 33" ALRM; while :; do sleep 0.05; done')
		[ "$got" = 142 ] || break
	done
	is 'an alarm from before' "$got" 33
	soon is_gone x
}

# Signals while it waits for the lock.
signals_in_wait()
{
	local sig waiter

	hold
	for sig in HUP TERM USR1 KILL; do
		entitylock run x -- touch ran &
		waiter=$!
		soon waiters_are x 1
		kill -$sig $waiter
		wait $waiter 2> /dev/null
		is "SIG$sig ends the wait" $? $((128 + $(kill -l $sig)))
		soon waiters_are x 0
		result $? "SIG$sig: the request is gone"
	done
	test ! -e ran
	result $? 'the command did not run'

	# Stopped and continued, it is still the first of the two.
	entitylock run x -- sh -c 'echo first >> order' &
	waiter=$!
	soon waiters_are x 1
	entitylock run x -- sh -c 'echo second >> order' &
	soon waiters_are x 2
	kill -STOP $waiter
	soon state_is $waiter T
	kill -CONT $waiter
	release
	wait
	is 'stopped and continued, it keeps its place' "$(tr '\n' ' ' < order)" 'first second '
}

job_control()
{
	local pid

	# In a process group with a parent outside: others SIGTSTP does not stop.
	set -m
	hold
	set +m
	pid=$(cat pid)
	kill -TSTP $holder
	soon state_is "$pid" T && soon state_is $holder T
	result $? 'SIGTSTP stops command and child'
	is 'the lock stays' "$(status entitylock run -n x -- true)" 124
	kill -CONT $holder
	soon state_is "$pid" S && soon state_is $holder S
	result $? 'SIGCONT continues both'
	release
	is 'and the end is as usual' $? 0
}

gate()
{
	local gate

	is 'gate: status of the command' "$(status entitylock gate -- sh -c 'exit 7')" 7
	is 'gate: excludes every name' "$(status entitylock gate -- entitylock run -n x -- true)" 124
	is 'gate: afterwards all is free' "$(status entitylock run -n x -- true)" 0
	own_failure 'gate: no command' 'no command' gate --
	own_failure 'gate: a name' 'no name and no mode' gate x -- true
	own_failure 'gate: a mode' "'-s' is not known" gate -s -- true

	hold
	is 'gate: -n' "$(status entitylock gate -n -- touch ran)" 124
	is 'gate: -w -E' "$(status entitylock gate -w 0.1 -E 9 -- touch ran)" 9
	test ! -e ran
	result $? 'gate: the command did not run'
	entitylock gate -- touch ran &
	gate=$!
	soon is_refused y
	result $? 'gate: awaited, it lets nobody in'
	release
	wait $gate
	is 'gate: granted when the last has gone' "$?$(ls ran)" 0ran
	is 'gate: then all is free' "$(status entitylock run -n y -- true)" 0
}

statuses
conflicts
names
bad_input
escaped
device
descriptors
inherited_and_waited_in_vain
signals
signals_of_the_kernel
signals_in_wait
job_control
gate
finish
