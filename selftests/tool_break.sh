#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock break" (D3): TAP, a test a line.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

both_hold()	{ [ "$(cell x 4)" = 2 ]; }
is_no_process()	{ ! kill -0 "$1" 2> err; }
is_marked()	{ [ "$(cell "$1" 8)" = abandoned ]; }
as_nobody()	{ setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# held OPTION...: runs a command that holds x until it is ended
held()
{
	rm -f ready
	entitylock run "$@" x -- sh -c 'echo > ready; exec sleep 1000' 2> lost &
	holder=$!
	soon test -e ready
}

names()
{
	local fence second

	held
	is 'taken' "$(status entitylock break x)" 0
	wait $holder
	is 'the command is ended' $? 123
	grep -q 'run: the lock is lost: it was broken' lost
	result $? 'and its user told'
	is 'free' "$(cell x 1)" ''

	held
	fence=$(cell x 3)
	own_failure 'another fence' 'has it no more' break --fence $((fence - 1)) x
	is 'another fence: untouched' "$(cell x 4)" 1
	is 'its fence' "$(status entitylock break --fence "$fence" x)" 0
	wait $holder
	is 'its fence: ended' $? 123
	held
	own_failure 'a later holder' 'has it no more' break --fence "$fence" x
	kill $holder
	wait $holder
	is 'a later holder is untouched' $? 143

	held y
	is 'one of a set' "$(status entitylock break --name y)" 0
	wait $holder
	is 'one of a set: all is lost' "$?$(cell x 1)" 123

	held -s
	entitylock run -s x -- sleep 1000 2> err &
	second=$!
	soon both_hold
	is 'shared holders' "$(entitylock break x; echo $?)" 0
	wait $holder
	is 'one of them' $? 123
	wait $second
	is 'and the other' $? 123

	entitylock run --robust x -- false 2> err
	is 'a mark' "$(status entitylock break x)" 0
	is 'a mark: gone' "$(cell x 1)" ''
	held --robust
	entitylock break x
	wait $holder
	is 'broken, a robust lock leaves a mark' "$(cell x 2)" abandoned
	entitylock break x
}

gate()
{
	local fence

	own_failure 'the gate, free' 'nobody holds it' break --gate
	entitylock gate -- sh -c 'echo "$ENTITYLOCK_FENCE" > fence; exec sleep 1000' 2> lost &
	holder=$!
	soon test -s fence
	fence=$(cat fence)
	own_failure 'the gate, another fence' 'has it no more' break --gate --fence $((fence - 1))
	is 'the gate' "$(status entitylock break --gate --fence "$fence")" 0
	wait $holder
	is 'the gate: the command is ended' $? 123
	is 'the gate: free' "$(status entitylock run -n x -- true)" 0
	entitylock gate --robust -- false 2> err
	is 'the mark of the gate' "$(status entitylock break --gate)" 0
}

# Whoever reads the messages may be gone, or busy: the command is ended all the same.
nobody_reads()
{
	rm -f pid
	{ entitylock run x -- sh -c 'exec 2> /dev/null; echo $$ > pid; exec sleep 1000'; echo $? > status; } 2>&1 |
		(exec 0<&-; touch closed; soon test -s status) &
	soon test -e closed -a -s pid
	entitylock break x
	soon test -s status
	is 'a dead pipe for messages: status' "$(cat status)" 123
	! kill -0 "$(cat pid)" 2> err
	result $? 'a dead pipe: the command is ended'
	wait

	mkfifo full
	exec 4<> full
	head -c 65536 /dev/zero >&4
	rm pid
	entitylock run --grace 0.1 x -- \
		sh -c 'exec 2> /dev/null; trap "" TERM; echo $$ > pid; exec sleep 1000' 2>&4 &
	holder=$!
	soon test -s pid
	entitylock break x
	soon is_no_process "$(cat pid)"
	result $? 'a full pipe: the command is killed'
	entitylock run --robust y -- sh -c 'exec 2> /dev/null; exit 1' 2>&4 &
	soon is_marked y
	result $? 'a full pipe: what a command leaves is free'
	head -c 65536 <&4 > /dev/null
	wait $holder
	is 'a full pipe: status' $? 123
	wait $!
	head -n 3 <&4 > err
	says 'a full pipe: what was said when' 'the lock is lost'
	says 'a full pipe: what was said then' 'did not end; killing it'
	exec 4>&-
	entitylock break y

	is 'SIGPIPE is not ignored by the command' "$(entitylock run x -- grep SigIgn /proc/self/status)" \
		"$(grep SigIgn /proc/self/status)"
	is 'SIGPIPE ignored from the start' "$(trap '' PIPE; entitylock run x -- grep SigIgn /proc/self/status)" \
		"$(trap '' PIPE; grep SigIgn /proc/self/status)"
}

bad_input()
{
	local n

	own_failure 'nobody' 'nobody holds it, and it bears no mark' break x
	own_failure 'no name' 'no name to break' break
	own_failure 'two names' 'one at a time' break x y
	own_failure 'empty name' 'empty' break ''
	own_failure 'a name and the gate' 'the gate has no name' break --gate x
	own_failure 'a mode' "'-s' is not known" break -s x
	for n in '' 0 00 -1 0x1 1.0 18446744073709551616; do
		own_failure "fence '$n'" 'no fence' break --fence "$n" x
	done
	is 'a name like an option' "$(status entitylock break -- --gate)" 125
	says 'a name like an option: message' 'nobody holds it'

	# Whoever may use the device, and is not the domain's owner.
	chmod 666 /dev/entitylock
	held
	is 'no right' "$(as_nobody entitylock break x 2> err; echo $?)" 125
	says 'no right: message' "only the domain's owner"
	kill $holder
	wait $holder
	chmod 660 /dev/entitylock
}

names
gate
nobody_reads
bad_input
finish
