#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands "entitylock stat" and "doctor": TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

number_of()	{ entitylock stat | awk -v key="$1" '$1 == key { print $2 }'; }

has_lines()	{ [ "$(wc -l < out)" -ge "$1" ]; }

numbers()
{
	local grants contended

	hold --label held
	is 'entities' "$(number_of entities)" 1
	is 'tokens' "$(number_of tokens)" 1
	grants=$(number_of grants)
	contended=$(number_of contended)
	entitylock run x -- true &
	soon waiters_are x 1
	is 'waiters' "$(number_of waiters)" 1
	sleep 0.3
	release
	wait
	is 'grants' $(($(number_of grants) - grants)) 1
	is 'contended' $(($(number_of contended) - contended)) 1
	is 'nothing is left' "$(number_of entities) $(number_of tokens) $(number_of waiters)" '0 0 0'
	matches 'a bar' "$(entitylock stat)" $'\nwaited\n(.*\n)*  < [0-9.]+ m?s +[0-9]+ #+'
	is 'holds are not counted' "$(entitylock stat | grep -c '^held')" 0
	set_parameter hold_times Y > was
	entitylock run x -- true
	is 'holds are counted' "$(entitylock stat | grep -c '^held')" 1
	is 'JSON with holds' "$(entitylock stat --json | "$here/schema.py" stat)" 1
	set_parameter hold_times "$(cat was)" > /dev/null
	is 'JSON' "$(entitylock stat --json | "$here/schema.py" stat)" 1
}

rates()
{
	entitylock stat -i 0.3 -n 4 > out &
	local stat=$!
	for _ in {1..8}; do
		entitylock run x -- true
	done
	wait $stat
	is 'a title and rows' "$(wc -l < out)" 5
	[ "$(awk 'NR > 1 && $5 > 0' out | wc -l)" -ge 1 ]
	result $? 'grants a second'
	is 'JSON rounds' "$(entitylock stat -i 0.2 -n 2 --json | "$here/schema.py" stat)" 2
	rm out
	# A shell's background commands ignore INT.
	env --default-signal=INT entitylock stat -i 0.1 > out &
	stat=$!
	soon test -s out
	kill -INT $stat
	wait $stat
	is 'ended by INT' $? 0

	rm out
	(trap '' HUP; exec entitylock stat -i 0.1 > out) &
	stat=$!
	soon test -s out
	kill -HUP $stat
	soon has_lines $(($(wc -l < out) + 3))
	result $? 'under nohup it goes on'
	kill $stat
	wait $stat
	is 'and is ended by TERM' $? 0
}

# A named domain has numbers of its own.
domains()
{
	is 'of a domain' "$(entitylock domain create numbers -- sh -c 'entitylock stat | head -n 1')" 'entities   0'
	own_failure 'no such domain' 'no domain' stat --domain none
}

doctor()
{
	entitylock doctor > out
	is 'well' $? 0
	is 'well: says so' "$(tail -n 1 out)" 'locking works'
	matches 'module' "$(cat out)" 'fine +module +version [0-9.]+, source [0-9A-F]+,? .*is loaded'
	is 'the command is of the same version' "$(grep -c ' command ' out)" 0
	matches 'device' "$(cat out)" 'fine +device +/dev/entitylock, mode 0660, owner 0, group root'
	matches 'interface' "$(cat out)" 'fine +interface +1, with shared async .* domain'
	matches 'lock' "$(cat out)" 'fine +lock '
	matches 'tracing' "$(cat out)" 'fine +tracing +/sys/kernel/tracing/events/entitylock'
	is 'JSON' "$(entitylock doctor --json | "$here/schema.py" doctor)" 1

	is 'no node' "$(unshare -m sh -c 'mount -t tmpfs none /dev; entitylock doctor' > out; echo $?)" 1
	matches 'no node: what to do' "$(cat out)" 'wrong +device .*-> let udev, or devtmpfs, make it'
	is 'another device' "$(unshare -m sh -c 'mount --bind /dev/null /dev/entitylock; entitylock doctor' > out; echo $?)" 1
	matches 'another device: what to do' "$(cat out)" 'wrong +interface .*not of the module'
	is 'no device' "$(unshare -m sh -c 'mount --bind /etc/passwd /dev/entitylock; entitylock doctor' > out; echo $?)" 1
	matches 'no device: what to do' "$(cat out)" 'wrong +device .*is no device'
	is 'not in the group' "$(setpriv --reuid 1001 --regid 1001 --clear-groups entitylock doctor > out; echo $?)" 1
	matches 'not in the group: what to do' "$(cat out)" 'wrong +access +user 1001 may not open it.*-> join the device.s group'
	is 'no module' "$(unshare -m sh -c 'mount -t tmpfs none /dev; mount -t tmpfs none /sys; entitylock doctor' > out; echo $?)" 1
	matches 'no module: what to do' "$(cat out)" 'wrong +module +it is not loaded.*-> load it: modprobe entitylock'
	was=$(set_parameter default_mode 0)
	chmod 666 /dev/entitylock
	is 'no right' "$(setpriv --reuid 1001 --regid 1001 --clear-groups entitylock doctor > out; echo $?)" 1
	matches 'no right: what to do' "$(cat out)" 'wrong +(domain|access) '
	chmod 660 /dev/entitylock
	set_parameter default_mode "$was" > /dev/null
	matches 'no tracefs' "$(unshare -m sh -c 'umount /sys/kernel/tracing; umount /sys/kernel/debug/tracing; entitylock doctor' 2> err)" 'note +tracing +tracefs is not mounted'
}

bad_input()
{
	own_failure 'an argument too many' 'too many' stat x
	own_failure 'rounds without an interval' 'needs an interval' stat -n 2
	own_failure 'no interval' 'is no time' stat -i x
	is 'full disk' "$(entitylock stat 2> err > /dev/full; echo $?)" 125
	own_failure 'doctor: an argument' 'too many' doctor x
	is 'doctor: full disk' "$(entitylock doctor 2> err > /dev/full; echo $?)" 125
}

# A domain that nobody refers to is gone, and its numbers with it.
exec 4< /dev/entitylock
numbers
rates
domains
doctor
bad_input
finish
