#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tests of the command share: a line of TAP a test, in a directory of
# their own.  To be sourced; "finish" ends the test.
# shellcheck disable=SC2034  # variables are used by those who source this
set -u
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/../build/userspace:$PATH
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
number=0 failed=0

# result STATUS WHAT: a line of TAP
result()
{
	number=$((number + 1))
	[ "$1" -eq 0 ] && echo "ok $number $2" && return
	echo "not ok $number $2"
	failed=1
}

# is WHAT GOT EXPECTED
is()
{
	[ "$2" = "$3" ] || echo "# got '$2', expected '$3'"
	[ "$2" = "$3" ]
	result $? "$1"
}

# matches WHAT GOT PATTERN
matches()
{
	[[ $2 =~ $3 ]] || echo "# got '$2', expected '$3'"
	[[ $2 =~ $3 ]]
	result $? "$1"
}

# says WHAT PATTERN: the file err, in which status leaves stderr, does
says()
{
	grep -q -e "$2" err || sed 's/^/# /' err
	grep -q -e "$2" err
	result $? "$1"
}

# status COMMAND...: prints the exit status; stderr goes to the file err
status()
{
	local status=0

	"$@" > /dev/null 2> err || status=$?
	echo $status
}

# soon COMMAND...: it succeeds within a minute
soon()
{
	local last=$((SECONDS + 60))

	until "$@"; do
		[ $SECONDS -lt $last ] || return 1
		sleep 0.05
	done
}

# A column of the kernel's line for an entity.
cell()
{
	entitylock ls --raw | awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $column }'
}

waiters_are()	{ [ "$(cell "$1" 5)" = "$2" ]; }
is_refused()	{ [ "$(status entitylock run -n "$1" -- true)" = 124 ]; }
exists()	{ [ -n "$(cell "$1" 1)" ]; }
is_gone()	{ [ -z "$(cell "$1" 1)" ]; }
state_is()	{ [ "$(awk '/^State/ { print $2 }' "/proc/$1/status")" = "$2" ]; }

# Take "x" until "release"; the command's id is $holder, its child's in pid.
hold()
{
	rm -f pid
	mkfifo gate
	entitylock run "$@" x -- sh -c 'echo $$ > pid; read -r line' < gate &
	holder=$!
	exec 3> gate
	rm gate
	soon test -s pid
}

release()
{
	echo >&3
	exec 3>&-
	wait "$holder"
}

# The daemon with no rule but those named, as it is on a machine that was started.
start_udevd()
{
	local rules

	mkdir -p /run/udev/rules.d
	for rules in /lib/udev/rules.d/*; do
		ln -sf /dev/null "/run/udev/rules.d/${rules##*/}"
	done
	for rules; do
		ln -sf "$(realpath "$rules")" "/run/udev/rules.d/${rules##*/}"
	done
	/lib/systemd/systemd-udevd --daemon 2> /dev/null
	soon test -S /run/udev/control
	udevd=$(pidof systemd-udevd)
}

stop_udevd()
{
	kill "$udevd"
	rm -r /run/udev
}

# set_parameter NAME VALUE: of the module; prints the former value
set_parameter()
{
	local file=/sys/module/entitylock/parameters/$1

	cat "$file"
	echo "$2" > "$file"
}

# own_failure WHAT PATTERN ARGUMENT...: exit status 125 and a message
own_failure()
{
	local what=$1 pattern=$2
	shift 2
	is "$what: status" "$(status entitylock "$@")" 125
	says "$what: message" "$pattern"
}

finish()
{
	echo "1..$number"
	exit $failed
}
