#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [TEST ...]: run self-tests on the loaded module, all or those named
# (fifo, 32/fifo, tool_run.sh), as root
#
# Prints each program's TAP, its time, and at the end "N passed, N failed".
# A program that ends early, or leaves an entity behind, is a failure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${ENTITYLOCK_SELFTESTS:-$here/../build/selftests}
export ENTITYLOCK_KO="${ENTITYLOCK_KO:-$here/../build/modules/$(uname -r)/entitylock.ko}"

# failnth is for kernels that can inject faults; the scripts are for a root that has
# bash, which another architecture's has not; module unloads it, so it comes last.
programs()
{
	(cd "$out" && find . -maxdepth 2 -type f -perm -100 | sed 's,^\./,,' | sort |
		grep -vE '(module|failnth)$')
	[ ! -e /sys/kernel/debug/failslab ] || echo failnth
	! command -v bash > /dev/null ||
		(cd "$here" && find . -maxdepth 1 -name 'tool_*.sh' | sed 's,^\./,,' | sort)
	(cd "$out" && find module 32/module 2> /dev/null)
}

command_of()
{
	case $1 in
	*.sh)	echo "$here/$1" ;;
	*)	echo "$out/$1" ;;
	esac
}

live_entities()
{
	# shellcheck disable=SC3023  # dash and bash: any single digit
	exec 9< /dev/entitylock
	sed -n 's/^entities:[[:space:]]*//p' /proc/self/fdinfo/9
	exec 9<&-
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0
complain()
{
	echo "not ok $1"
	failed=$((failed + 1))
}

# shellcheck disable=SC2046  # one word a name
[ $# -gt 0 ] || set -- $(programs)
for name; do
	echo "# $name"
	start=$(date +%s.%N)
	status=0
	"$(command_of "$name")" > "$log" 2>&1 || status=$?
	cat "$log"
	ok=$(grep -c '^ok ' "$log" || :)
	bad=$(grep -c '^not ok ' "$log" || :)
	planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$log")
	passed=$((passed + ok)) failed=$((failed + bad))
	[ "${planned:-none}" = $((ok + bad)) ] || complain "$name: ran $((ok + bad)) of ${planned:-?} tests"
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || complain "$name: exit status $status"
	left=$(live_entities)
	[ "$left" = 0 ] || complain "$name: $left entities left"
	echo "# $name: $(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }') s"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
