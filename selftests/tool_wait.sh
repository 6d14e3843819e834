#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "entitylock wait" (L3, V3): TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

# L3: in the queue, and free afterwards.
until_free()
{
	local waiter

	is 'free' "$(status entitylock wait x y)" 0
	is 'free: says nothing' "$(entitylock wait x 2>&1)" ''
	is 'free: and is' "$(cell x 1)" ''
	is 'the gate is free' "$(status entitylock wait --gate)" 0

	hold
	is '-n' "$(status entitylock wait -n x)" 124
	is '-n -E' "$(status entitylock wait -n -E 9 x)" 9
	is '-w' "$(status entitylock wait -w 0.1 x)" 124
	is '-w is silent' "$(cat err)" ''
	is '-w -v' "$(entitylock wait -v -w .1 x 2>&1 | grep -c 'wait: gave up: ')" 1
	is 'one of a set' "$(status entitylock wait -n a x)" 124
	is 'another' "$(status entitylock wait -n y)" 0
	is 'the gate, -n' "$(status entitylock wait -n --gate)" 124
	entitylock wait x &
	waiter=$!
	soon waiters_are x 1
	result $? 'stands in the queue'
	matches 'is shown there' "$(cell x 7)" ':wait$'
	release
	wait $waiter
	is 'until free' $? 0
	is 'then all is free' "$(status entitylock run -n x -- true)" 0

	hold -s
	is 'shared beside shared' "$(status entitylock wait -n -s x)" 0
	is 'exclusive beside shared' "$(status entitylock wait -n -x x)" 124
	release
}

version_of()	{ entitylock wait --changed --since 0 "$1"; }

# V3: the end of an exclusive hold is a change; neither a shared one nor a wait is.
until_changed()
{
	local version waiter new

	# The name lives, so that its version stays.
	entitylock run -s x -- sleep 1000 &
	waiter=$!
	soon exists x
	version=$(version_of x)
	matches 'since 0: the version now' "$version" '^[1-9][0-9]*$'
	is 'since 0: again the same' "$(version_of x)" "$version"
	is '-n' "$(status entitylock wait --changed -n --since "$version" x)" 124
	is '-w -E' "$(status entitylock wait --changed -w 0.1 -E 9 --since "$version" x)" 9
	is '-w -v' "$(entitylock wait --changed -v -w 0.1 x 2>&1 | grep -c 'gave up: nothing has changed')" 1
	is 'a change before it is called' "$(entitylock wait --changed --since 1 x)" "$version"
	kill $waiter
	wait $waiter

	entitylock wait --changed x > changed &
	waiter=$!
	soon exists x
	version=$(version_of x)
	entitylock run -s x -- true
	entitylock wait x
	entitylock wait -s x
	is 'no change by reading, nor by waiting' "$(version_of x)" "$version"
	state_is $waiter S
	result $? 'so it waits on'
	entitylock run x -- true
	wait $waiter
	is 'a change while it waits' $? 0
	new=$(cat changed)
	[ "$new" -gt "$version" ]
	result $? 'and the version is a new one'

	entitylock wait --changed a x b > changed &
	waiter=$!
	soon exists a
	entitylock gate -- true
	wait $waiter
	is 'the end of a gate is a change of each' "$?$(wc -l < changed)" 03

	# Nothing that happens between two calls is missed.
	entitylock run -s x -- sleep 1000 &
	waiter=$!
	soon exists x
	version=$(version_of x)
	kill $waiter
	wait $waiter
	entitylock run x -- true
	is 'a change between two calls' "$(status entitylock wait --changed -n --since "$version" x)" 0
}

bad_input()
{
	local n

	own_failure 'no name' 'no name to wait for' wait
	own_failure 'empty name' 'empty' wait ''
	own_failure 'a name and the gate' 'the gate has no name' wait --gate x
	own_failure '-n and -w' 'exclude each other' wait -n -w 1 x
	own_failure '-s too late' 'after the last name' wait x -s
	own_failure 'the version of the gate' 'no version' wait --changed --gate
	own_failure 'since without changed' 'goes with --changed' wait --since 1 x
	own_failure 'since for two' 'one name' wait --changed --since 1 x y
	for n in '' -1 1.0 x 18446744073709551616; do
		own_failure "version '$n'" 'no version' wait --changed --since "$n" x
	done
	own_failure 'unknown option' "'--robust' is not known" wait --robust x
	is 'a name like an option' "$(status entitylock wait -- -n)" 0
	is 'full disk' "$(entitylock wait --changed --since 0 x 2> err > /dev/full; echo $?)" 125
	is 'no module' "$(unshare -m sh -c 'mount -t tmpfs none /dev; entitylock wait x' 2> err; echo $?)" 125
	says 'no module: what to do' modprobe
}

until_free
until_changed
bad_input
finish
