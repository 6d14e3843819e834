#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock break" (D3): TAP, a test a line.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

both_hold()	{ [ "$(cell x 4)" = 2 ]; }
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

bad_input()
{
	local n

	own_failure 'nobody' 'nobody holds it, and it bears no mark' break x
	own_failure 'no name' 'no name to break' break
	own_failure 'two names' 'one at a time' break x y
	own_failure 'empty name' 'empty' break ''
	own_failure 'a name and the gate' 'the gate has no name' break --gate x
	own_failure 'a mode' "'-s' is not known" break -s x
	for n in '' -1 0x1 1.0 18446744073709551616; do
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
bad_input
finish
