#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command "entitylock who": owners, and who has the descriptor: TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

node=/dev/entitylock

holds()		{ exists "$1" && [ "$(cell "$1" 4)" = 1 ]; }
is_called()	{ [ "$(cat "/proc/$1/comm" 2> err)" = "$2" ]; }
is_free()	{ is_gone "$1"; }

owner_has_it()
{
	is 'nobody' "$(entitylock who x)" 'x  free, fence 0'
	hold --label 'say "hi"' --lease 600
	entitylock who x > out
	matches 'the name' "$(sed -n 1p out)" '^x  held-exclusive, fence [0-9]+$'
	matches 'the holder' "$(sed -n 2p out)" '^holder  token [0-9]+, exclusive, [0-9.]+ m?s, lease [0-9]+ min, "say .x22hi.x22"$'
	is 'the owner' "$(sed -n 3p out)" "        owner $holder entitylock: has it"
	matches 'its descriptor' "$(sed -n 4p out)" "^        has it: $holder entitylock, descriptor [0-9]+$"
	is 'nobody else' "$(wc -l < out)" 4
	entitylock run x -- true &
	soon waiters_are x 1
	matches 'the waiter' "$(entitylock who x)" "waiter  token [0-9]+, exclusive, .*, \"true\".        owner $! entitylock: has it"
	release
	wait $!
}

# The owner ends, its child has the lock; then another process gets the owner's id.
owner_gone_and_reused()
{
	local child

	hold --inherit
	child=$(cat pid)
	matches 'a child' "$(entitylock who x)" "has it: $child sh, descriptor [0-9]+"
	kill -KILL "$holder"
	wait "$holder" 2> /dev/null
	entitylock who x > out
	is 'owner gone' "$(grep -c "owner $holder entitylock: has ended$" out)" 1
	is 'the child still has it' "$(grep -c 'has it:' out)" 1

	"$here/holder.py" reuse "$holder" sleep &
	soon is_called "$holder" sleep
	result $? 'the id is used again'
	matches 'owner reused' "$(entitylock who x)" "owner $holder entitylock: has ended; another process has its id"
	kill "$holder" "$child" $!
	exec 3>&-
	soon is_free x
	result $? 'nobody has it any more'
}

pid_namespaces()
{
	unshare -pf --mount-proc entitylock run x -- sleep 1000 &
	soon holds x
	entitylock who x > out
	matches 'holder in another namespace' "$(cat out)" 'owner ([0-9]+) entitylock: has it.        has it: ([0-9]+) entitylock, descriptor'
	kill "$(awk '/owner/ { print $2 }' out)"
	wait
	hold
	matches 'holder outside of this namespace' "$(unshare -pf --mount-proc entitylock who x)" \
		'owner entitylock: cannot be seen from here.        no process that can be seen from here has it$'
	release
}

elsewhere()
{
	local cookie sender

	"$here/holder.py" lock x send touch sent sleep &
	sender=$!
	soon test -e sent
	entitylock who x > out
	matches 'in flight' "$(cat out)" "owner $sender holder.py: runs, and does not have it.        no process has it: it is in flight in a socket"
	matches 'in which socket' "$(cat out)" "perhaps in a socket, descriptor [0-9]+ of $sender holder.py, with 1 in it"
	kill $sender
	wait $sender
	soon is_free x

	cookie=$(entitylock park --lease 600 x)
	matches 'parked' "$(entitylock who x)" 'owner [0-9]+ entitylock: has ended.        no process has it: it is parked'
	entitylock claim --unlock "$cookie"
}

gate_and_marks()
{
	entitylock gate --label reset -- sleep 1000 &
	soon holds '#gate'
	matches 'the gate' "$(entitylock who --gate)" "^#gate  held-exclusive, fence [0-9]+.holder .*\"reset\".        owner $! entitylock: has it"
	kill $!
	wait
	is 'the gate, free' "$(entitylock who --gate)" '#gate  free, fence 0'
	entitylock run --robust x -- false 2> err
	matches 'abandoned' "$(entitylock who x)" '^x  abandoned, fence [0-9]+$'
	entitylock break x
}

# Who is not root does not see all, and is told so.
not_root()
{
	hold
	chmod 666 $node
	setpriv --reuid 1001 --regid 1001 --clear-groups entitylock who x > out 2> err
	chmod 660 $node
	says 'not root' 'processes may not be looked at; become root'
	matches 'not root: what is known' "$(cat out)" "owner $holder entitylock: .*no process that may be looked at has it"
	release
}

bad_input()
{
	own_failure 'no name' 'no name to look for' who
	own_failure 'empty' 'empty' who ''
	own_failure 'two names' 'one at a time' who x y
	own_failure 'a name and the gate' 'the gate has no name' who --gate x
	own_failure 'unknown option' 'not known' who --raw x
	own_failure 'no such domain' 'no domain' who --domain none x
	is 'full disk' "$(entitylock who x 2> err > /dev/full; echo $?)" 125
	is 'no proc' "$(unshare -m sh -c 'mount -t tmpfs none /proc; entitylock who x' 2> err; echo $?)" 125
	says 'no proc: what to do' 'mount /proc'
}

owner_has_it
owner_gone_and_reused
pid_namespaces
elsewhere
gate_and_marks
not_root
bad_input
finish
