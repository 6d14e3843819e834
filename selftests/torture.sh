#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# torture.sh MINUTES [OPTION ...]: random verbs from many processes that check
# each other, on the loaded module, as root; options are those of torture.c
#
# torture.sh --prove DIR: show that it finds faults.  It must pass with the
# module in DIR/sound and fail, for the right reason, with the broken ones beside.
#
# Ends with "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
torture=${ENTITYLOCK_TORTURE:-$here/../build/torture/torture}

if [ "${1:-}" != --prove ]; then
	seconds=$((${1:?minutes} * 60))
	shift
	exec "$torture" --seconds $seconds "$@"
fi

dir=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck source=selftests/result.sh
. "$here/result.sh"

# run MODULE SECONDS [OPTION ...]: load it, torture it for so long at most, unload it
run()
{
	insmod "$dir/$1/entitylock.ko"
	seconds=$2
	shift 2
	status=0
	"$torture" --seconds "$seconds" "$@" > "$log" 2>&1 || status=$?
	rmmod entitylock
}

# finds FAULT CHECK [OPTION ...]: the check fails that is there for it
finds()
{
	fault=$1 check=$2
	shift 2
	run "$fault" 60 "$@"
	sed -n "s/^# \(.* times, first: .*\)/# $fault: \1/p" "$log"
	missed=0
	[ $status = 1 ] && grep -q "^not ok [0-9]* $check\$" "$log" || missed=1
	result "the_torture_finds_${fault}${*:+_$*}" $missed
}

[ ! -e /sys/module/entitylock ] || rmmod entitylock
run sound 30
result the_torture_passes $status
finds nolock L3_exclusive_is_alone
finds lostwake L4_no_wake_up_is_lost
finds lostwake L4_no_wake_up_is_lost --blind
finds gateleak L5_the_gate_excludes_all
echo "$passed passed, $failed failed"
[ $failed = 0 ]
