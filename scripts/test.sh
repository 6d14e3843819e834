#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test.sh [VM-OPTION ...]: run all self-tests, half of them in each of two virtual
# machines, which keeps two CPUs busy: most tests use one
#
# Prints what the first prints, then what the second has printed and prints; at
# the end "N passed, N failed" for both.  The options are those of vm.sh.
set -u
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

second=$(mktemp) first=$(mktemp)
trap 'rm -f "$first" "$second"' EXIT
# Its own death signal: also if this script is killed, nothing is left running.
setpriv --pdeathsig TERM "$top/scripts/vm.sh" "$@" --log second -- selftests/run.sh --half 2 \
	> "$second" 2>&1 &
pid=$!
{
	"$top/scripts/vm.sh" "$@" -- selftests/run.sh --half 1
	echo $? > "$first.status"
} 2>&1 | tee "$first"
status=$(cat "$first.status")
rm "$first.status"
tail -s 0.5 --pid=$pid -n +1 -f "$second"
wait $pid || [ "$status" != 0 ] || status=$?

cat "$first" "$second" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' |
	awk '{ passed += $1; failed += $2 } END { print passed + 0 " passed, " failed + 0 " failed" }'
exit "$status"
