#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock run" and "gate" for owners that vanish (V1, V2), but for lost leases,
# which are tool_lease.c's: what the command is told, marks, bad input.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

is_marked()	{ [ "$(cell "$1" 8)" = abandoned ]; }
marked()	{ is_marked "$1"; result $? "$2"; }
unmarked()	{ ! is_marked "$1"; result $? "$2"; }

# L10, D5: the numbers are those of the listing.
environment()
{
	local sub

	for sub in 'run x' gate 'run --lease 60 --robust x' 'gate --lease 60 --robust'; do
		# shellcheck disable=SC2086  # several words
		matches "$sub: told" "$(entitylock $sub -- sh -c 'echo "$ENTITYLOCK_FENCE $ENTITYLOCK_TOKEN $ENTITYLOCK_LABEL"')" \
			'^[1-9][0-9]* [1-9][0-9]* sh -c echo '
	done
	is 'fence' "$(entitylock run x -- sh -c 'entitylock ls --raw; echo "fence $ENTITYLOCK_FENCE"' |
		awk '/^x/ { fence = $3 } /^fence/ { print $2 == fence }')" 1
	is 'token' "$(entitylock run x -- sh -c 'entitylock ls --raw; echo "token $ENTITYLOCK_TOKEN"' |
		awk '/^x/ { split($6, holder, ":") } /^token/ { print $2 == holder[1] }')" 1
	is 'label' "$(entitylock run --label 'a b' x -- sh -c 'echo "$ENTITYLOCK_LABEL"')" 'a b'
	is 'not abandoned' "$(entitylock run x -- sh -c 'echo "${ENTITYLOCK_ABANDONED-none}"')" none
	# Of two around each other the inner one counts, in all that is told.
	entitylock run --robust x -- false 2> err
	is 'inner and outer' "$(entitylock run --inherit x -- entitylock run --label inner y -- sh -c \
		'echo "${ENTITYLOCK_ABANDONED-none} ${ENTITYLOCK_FD-none} $ENTITYLOCK_LABEL"' 2> err)" 'none none inner'
	entitylock break x
}

# V1: status 0 is an orderly end, and nothing else is.
marks()
{
	is 'robust, status 0' "$(status entitylock run --robust x -- true)" 0
	unmarked x 'robust, status 0: no mark'
	is 'robust, status 3' "$(status entitylock run --robust x -- sh -c 'exit 3')" 3
	says 'robust, status 3: told' 'marked as abandoned'
	marked x 'robust, status 3: a mark'
	entitylock break x
	is 'robust, signal' "$(status entitylock run --robust x -- sh -c 'kill -KILL $$')" 137
	marked x 'robust, signal: a mark'
	entitylock break x
	is 'robust, not executed' "$(status entitylock run --robust x -- ./nonexistent)" 127
	unmarked x 'robust, not executed: no mark'
	is 'not robust, status 3' "$(status entitylock run x -- sh -c 'exit 3')" 3
	is 'not robust, status 3: nothing is left' "$(cell x 1)" ''

	hold --robust
	kill -KILL "$holder"
	wait "$holder" 2> /dev/null
	soon is_marked x
	result $? 'robust, killed itself: a mark'
	exec 3>&-
	entitylock break x

	entitylock run --robust -s x -x y -- false 2> err
	unmarked x 'robust, shared: no mark'
	marked y 'robust, of a set: a mark'
	entitylock break y
}

# V1: told to each until one says that it is in order.
consistent()
{
	entitylock run --robust x $'y\n' -- false 2> err
	is 'abandoned: exported' "$(entitylock run x -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2> err)" 1
	says 'abandoned: told which' "'x' is abandoned"
	says 'abandoned: told what to do' 'say so by --consistent'
	is 'abandoned: told again' "$(entitylock run z $'y\n' -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2> err)" 1
	says 'abandoned: a name that is no text' "'y.x0a' is abandoned"
	! grep -q "'z'" err
	result $? 'abandoned: the others are not named'

	is 'consistent, status 1' "$(status entitylock run --consistent x -- false)" 1
	marked x 'consistent, status 1: the mark stays'
	is 'consistent, not executed' "$(status entitylock run --consistent x -- /)" 126
	marked x 'consistent, not executed: the mark stays'
	is 'consistent, status 0' "$(status entitylock run --consistent x -- true)" 0
	says 'consistent: told what was found' "'x' is abandoned"
	! grep -q 'by --consistent' err
	result $? 'consistent: not told what is done already'
	unmarked x 'consistent, status 0: the mark is gone'
	is 'then nothing is told' "$(entitylock run x -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2>&1)" ''
	entitylock break $'y\n'

	entitylock run --robust {1..20} -- false 2> err
	entitylock run --consistent {1..20} -- true 2> err
	is 'many abandoned: 16 named' "$(grep -c "' is abandoned" err)" 16
	says 'many abandoned: the others counted' '4 more are abandoned'
	is 'many consistent' "$(entitylock ls --raw | wc -l)" 1
}

gate()
{
	is 'gate, robust' "$(status entitylock gate --robust -- false)" 1
	is 'gate, abandoned: exported' "$(entitylock gate -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2> err)" 1
	says 'gate, abandoned: told' 'the gate is abandoned'
	is 'gate, consistent' "$(status entitylock gate --consistent -- true)" 0
	is 'gate, then nothing is told' "$(entitylock gate -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2>&1)" ''
	is 'gate, with a lease' "$(status entitylock gate --lease 60 --grace 5 -- sh -c 'exit 7')" 7
	entitylock gate -- sh -c 'echo > ready; exec sleep 1000' 2> err &
	soon test -e ready
	entitylock break --gate
	wait $!
	is 'gate, broken' $? 123
	says 'gate, broken: told' 'the lock is lost'
}

bad_input()
{
	local time max

	for time in '' . -1 1s inf 18446744073; do
		own_failure "lease '$time'" 'no time' run --lease "$time" x -- true
		own_failure "grace '$time'" 'no time' run --grace "$time" x -- true
	done
	for time in 0 0.0 .0000000001; do
		own_failure "lease '$time'" 'lease of 0 is none' run --lease "$time" x -- true
	done
	own_failure 'lease too long' 'at most 2592000 seconds' run --lease 2592000.1 x -- true
	is 'longest lease' "$(status entitylock run --lease 2592000 x -- true)" 0
	is 'shortest lease' "$(status entitylock run --lease .000000001 x -- true)" 0
	is 'grace of 0' "$(status entitylock run --grace 0 x -- true)" 0
	is 'longest grace' "$(status entitylock run --grace 18446744072 x -- true)" 0
	own_failure '--inherit and --robust' 'leave out --robust' run --inherit --robust x -- true
	own_failure '--inherit and --consistent' 'and --consistent' run --inherit --consistent x -- true
	own_failure 'a value too many' 'takes no value' run --robust=1 x -- true
	own_failure 'an option of another' "'--fence' is not known" run --fence 1 x -- true
	is 'with --inherit' "$(status entitylock run --inherit --lease 60 x -- sh -c 'exit 7')" 7
	max=$(set_parameter marks_max 0)
	own_failure 'quota' 'too many robust locks' run --robust x -- true
	set_parameter marks_max "$max" > quota
}

environment
marks
consistent
gate
bad_input
finish
