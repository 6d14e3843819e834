#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# prove.sh CHECK [HISTORY]: show that the checker of histories finds what is wrong
#
# CHECK is the program.  It must say of each case by hand (cases) that it is sound,
# or which rule is violated by which lines; that HISTORY, a recorded one, is sound;
# and what is violated when each rule is broken in it, in several places.
#
# Ends with "N passed, N failed".
set -eu
check=$1 history=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
log=$dir/out
# shellcheck source=selftests/result.sh
. "$here/../result.sh"

# finds NAME RULE [LINE ...]: of the history in $dir/history
finds()
{
	name=$1 rule=$2
	shift 2
	status=0 missed=0
	"$check" "$dir/history" > "$log" 2>&1 || status=$?
	if [ "$rule" = sound ]; then
		result "$name" $status
		return
	fi
	[ $status = 1 ] && grep -q "^not ok [0-9]* $rule " "$log" || missed=1
	# The calls below the rule's violations.
	awk -v rule="# $rule:" '/^#/ && $0 !~ /^#  / { on = index($0, rule) == 1 } on' \
		"$log" > "$dir/named"
	for line; do
		grep -q "^#   line $line: " "$dir/named" || missed=1
	done
	result "$name" $missed
}

awk -v dir="$dir" '/^= / { file = sprintf("%s/case%02d", dir, ++n) }
	file != "" { print > file }' "$here/cases"
for case in "$dir"/case*; do
	title=$(sed -n '1s/^= //p' "$case")
	sed 1d "$case" > "$dir/history"
	# shellcheck disable=SC2086  # the rule, and lines
	finds "$(echo "${title%: *}" | tr ' ' _)" ${title##*: }
done

rules=
if [ -n "$history" ]; then
	cp "$history" "$dir/history"
	finds the_recorded_history_is_sound sound
	cat "$log"
	rules=$(sed -n 's/^\(not \)\{0,1\}ok [0-9]* \([^ ]*\) .*/\2/p' "$log")
	missed=0
	! grep 'looked at 0,' "$log" || missed=1
	result the_recorded_history_has_something_for_each_rule $missed
fi
for rule in $rules; do
	for nth in 0 1 7 20; do
		if ! "$check" --break "$rule" --nth $nth "$history" > "$dir/history" \
			2> "$log"; then
			result "a_recorded_history_with_${rule}_broken_$nth" 1
			continue
		fi
		lines=$(sed 's/.*: lines //' "$log")
		# shellcheck disable=SC2086  # two lines
		finds "a_recorded_history_with_${rule}_broken_$nth" "$rule" $lines
	done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
