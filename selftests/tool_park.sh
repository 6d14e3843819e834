#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock park" and "entitylock claim" (V4): TAP, a test a line.
# shellcheck disable=SC2016,SC2317  # text for other shells; called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

park()
{
	local cookie

	cookie=$(entitylock park --lease 1000 --label edit x y)
	matches 'a cookie' "$cookie" '^[0-9a-f]{32}$'
	is 'held without a process' "$(status entitylock run -n y -- true)" 124
	is 'a label of its own' "$(cell x 6 | cut -d : -f 5)" edit
	is 'claimed' "$(entitylock claim "$cookie" -- sh -c 'echo "$ENTITYLOCK_LABEL"; entitylock ls --raw' | cut -f 1,4 | sort)" \
		"$(printf '#name\tholders\nedit\nx\t1\ny\t1')"
	is 'free when the command has ended' "$(status entitylock run -n x y -- true)" 0
	own_failure 'claimed twice' 'works once' claim "$cookie" -- true

	cookie=$(entitylock park --lease 1000 x)
	is 'status of the command' "$(status entitylock claim "$cookie" -- sh -c 'exit 7')" 7
	is 'a label by default' "$(cookie=$(entitylock park --lease 1000 x)
		cell x 6 | cut -d : -f 5; entitylock claim --unlock "$cookie")" parked
	cookie=$(entitylock park --lease 1000 x)
	is 'a label when claimed' "$(entitylock claim --label two "$cookie" -- sh -c 'echo "$ENTITYLOCK_LABEL"')" two

	cookie=$(entitylock park --lease 1000 x)
	is 'the fence stays' "$(cell x 3)" "$(entitylock claim "$cookie" -- sh -c 'echo "$ENTITYLOCK_FENCE"')"
	cookie=$(entitylock park --lease 1000 x)
	is 'from standard input' "$( (echo "$cookie"; echo rest) | entitylock claim - -- cat)" rest
	cookie=$(entitylock park --lease 1000 x)
	is 'command not found' "$(status entitylock claim "$cookie" -- ./nonexistent)" 127
	is 'then it is free, too' "$(cell x 1)" ''

	cookie=$(entitylock park --lease 1000 --gate)
	is 'the gate' "$(status entitylock run -n x -- true)" 124
	is 'the gate, given back' "$(status entitylock claim --unlock "$cookie")" 0
	is 'the gate, free' "$(status entitylock run -n x -- true)" 0

	cookie=$(entitylock park --lease 1000 -s x)
	is 'shared' "$(status entitylock run -n -s x -- true)" 0
	is 'given back' "$(status entitylock claim --unlock "$cookie")" 0
	is 'gone' "$(cell x 1)" ''
	own_failure 'given back twice' 'works once' claim --unlock "$cookie"

	hold -x
	is '-n' "$(status entitylock park --lease 1000 -n x)" 124
	is '-w -E' "$(status entitylock park --lease 1000 -w 0.1 -E 9 x)" 9
	release
	is 'nobody learns of the cookie' "$(entitylock park --lease 1000 x 2> err > /dev/full; echo $?)" 125
	is 'nobody learns of the cookie: nothing stays parked' "$(cell x 1)" ''
	{ soon test -e closed; entitylock park --lease 1000 x 2> err; echo $? > left; } |
		(exec 0<&-; touch closed; soon test -s left)
	is 'nobody reads the cookie' "$(cat left)" 125
	is 'nobody reads the cookie: nothing stays parked' "$(cell x 1)" ''
}

# What the one who has parked it has tried before does not matter, nor what cannot be done.
nothing_is_lost()
{
	local cookie fence other

	entitylock run y -- sleep 1000 &
	other=$!
	soon exists y
	cookie=$("$here/holder.py" lock x extend y park)
	fence=$(cell x 3)
	is 'waited in vain for more before: claimed' \
		"$(entitylock claim "$cookie" -- sh -c 'echo "$ENTITYLOCK_FENCE"')" "$fence"
	cookie=$("$here/holder.py" lock x extend y park)
	is 'waited in vain for more before: given back' "$(status entitylock claim --unlock "$cookie")" 0
	kill $other
	wait $other

	cookie=$(entitylock park --lease 1000 x)
	own_failure 'a lease too long' 'at most 2592000 seconds' claim --lease 2592001 "$cookie" -- true
	own_failure 'parked again, a lease too long' 'at most 2592000 seconds' \
		claim --park --lease 2592001 "$cookie"
	is 'neither uses the cookie up' "$(status entitylock claim --unlock "$cookie")" 0
}

# V4: here a lease ends without anybody asking.
lease_ends()
{
	local cookie new

	cookie=$(entitylock park --lease 0.2 --robust x)
	soon abandoned
	result $? 'its lease ends by itself, and leaves a mark'
	own_failure 'then there is nothing to claim' 'until the lease ends' claim "$cookie" -- true
	entitylock break x

	cookie=$(entitylock park --lease 1000 x)
	new=$(entitylock claim --park --lease 0.2 "$cookie")
	matches 'parked again' "$new" '^[0-9a-f]{32}$'
	[ "$new" != "$cookie" ]
	result $? 'under a new cookie'
	own_failure 'the old one is used up' 'works once' claim "$cookie" -- true
	soon is_gone x
	result $? 'and with a new lease'

	cookie=$(entitylock park --lease 1000 x)
	new=$(entitylock claim --park "$cookie")
	is 'parked again with the lease that runs' "$(status entitylock claim --unlock "$new")" 0
}

abandoned()	{ [ "$(cell x 2)" = abandoned ]; }

# V1: marks, as for run.
marks()
{
	local cookie

	cookie=$(entitylock park --lease 1000 --robust x)
	is 'robust, status 1' "$(status entitylock claim "$cookie" -- false)" 1
	soon abandoned
	result $? 'robust, status 1: a mark'
	cookie=$(entitylock park --lease 1000 x 2> err)
	says 'park: told' "'x' is abandoned"
	is 'claim: exported' "$(entitylock claim "$cookie" -- sh -c 'echo "$ENTITYLOCK_ABANDONED"' 2> err)" 1
	says 'claim: told' "'x' is abandoned"
	cookie=$(entitylock park --lease 1000 x 2> err)
	is 'consistent, status 0' "$(status entitylock claim --consistent "$cookie" -- true)" 0
	is 'consistent: the mark is gone' "$(cell x 1)" ''
	cookie=$(entitylock park --lease 1000 --robust x)
	is 'robust, given back' "$(status entitylock claim --unlock "$cookie")" 0
	is 'robust, given back: no mark' "$(cell x 1)" ''
	cookie=$(entitylock park --lease 1000 --robust x)
	is 'robust, inherited' "$(status entitylock claim --inherit "$cookie" -- true)" 0
	is 'robust, inherited: no mark' "$(cell x 1)" ''
	entitylock run --robust x -- false 2> err
	cookie=$(entitylock park --lease 1000 x 2> err)
	is 'given back as consistent' "$(status entitylock claim --unlock --consistent "$cookie")" 0
	is 'given back as consistent: the mark is gone' "$(cell x 1)" ''
}

# D3: what is parked can be broken; and the command that claimed it is ended.
broken()
{
	local cookie

	cookie=$(entitylock park --lease 1000 x)
	entitylock break x
	own_failure 'broken while parked' 'works once' claim "$cookie" -- true
	cookie=$(entitylock park --lease 1000 x)
	entitylock claim "$cookie" -- sh -c 'echo > ready; exec sleep 1000' 2> err &
	soon test -e ready
	entitylock break x
	wait $!
	is 'broken while it runs' $? 123
	says 'broken while it runs: told' 'the lock is lost'
}

bad_input()
{
	local cookie max

	own_failure 'no lease' 'no --lease' park x
	own_failure 'lease of 0' 'lease of 0 is none' park --lease 0 x
	own_failure 'lease too long' 'at most 2592000 seconds' park --lease 2592001 x
	own_failure 'no name' 'no name to lock' park --lease 1
	own_failure 'a name and the gate' 'the gate has no name' park --lease 1 --gate x
	own_failure 'an option of another' "'--grace' is not known" park --lease 1 --grace 1 x
	own_failure 'no cookie' 'no cookie' claim -- true
	own_failure 'no cookie, --unlock' 'no cookie' claim --unlock
	own_failure 'two cookies' 'more than one cookie' claim x y -- true
	own_failure 'no command' 'no command' claim 00000000000000000000000000000000 --
	own_failure 'no --' "no '--'" claim 00000000000000000000000000000000
	own_failure '--unlock and --park' 'exclude each other' claim --unlock --park 00000000000000000000000000000000
	own_failure 'cookie of zeros' 'nothing is parked' claim 00000000000000000000000000000000 -- true
	for cookie in '' x 0000000000000000000000000000000 000000000000000000000000000000000 \
		0000000000000000000000000000000g; do
		own_failure "cookie '$cookie'" 'no cookie' claim "$cookie" -- true
	done
	is 'cookie from nothing' "$(entitylock claim - -- true 2> err < /dev/null; echo $?)" 125
	says 'cookie from nothing: message' 'no cookie'
	max=$(set_parameter parked_max 0)
	own_failure 'quota' 'too many tokens are parked' park --lease 1000 x
	set_parameter parked_max "$max" > quota
	is 'quota: it is free' "$(cell x 1)" ''
}

park
nothing_is_lost
lease_ends
marks
broken
bad_input
finish
