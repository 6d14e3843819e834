#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# models.sh [--all | MODEL PLAN [FAULT]]: check the models in Documentation/models
#
# Each plan of a model must hold in all of its states, and each fault that can be
# planted there must be found; of an error where none should be, the last steps
# are shown.  What was found, and on which way, is in build/models: see
# Documentation/models/README.rst.  --all: plans that take minutes, too.
# Needs "setup.sh base check".
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# model, plan, faults
all='queue SETS GRANT ORPHAN STACK
queue STEPS STEP FLAG
queue BATCH FIFO LEAVE
queue RAISE ORDER UPGRADE
queue AGAIN
queue BREAK
queue LOSE DOOMED
queue TAKE NUMBER
queue ETIME ETIME
queue RENEW
queue NEXT NOTICE TODO REST
queue LEASE NEXT
gate ORDER A B C D R BOUNCE
gate PHASES
gate ABORT GRANT GIVEUP OPEN FIRST ARRIVE
gate BREAK'

# Of these only the faults are looked for, but with --all.
long='queue-LEASE'

passed=0 failed=0

# check MODEL PLAN [FAULT]
check()
{
	name=$1-$2${3:+-$3}
	trail=$1.pml.trail
	rm -rf "${out:?}/$name"
	mkdir -p "$out/$name"
	cd "$out/$name"
	# A fault is found soon; to look at everything is worth some optimising.
	optimise=-Og
	[ $# = 2 ] || optimise=-O0
	set -- ${3:+"-DBROKEN_$3"} "-DPLAN_$2" "$top/Documentation/models/$1.pml"

	spin -a "$@"
	gcc -w "$optimise" -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c
	nice ./pan -m1000000 > result
	errors=$(sed -n 's/.* errors: //p' result)
	states=$(sed -n 's/^ *\([0-9]*\) states, stored$/\1/p' result)
	[ ! -e "$trail" ] || spin -k "$trail" -p "$@" > trace

	if [ $# = 3 ] && [ "$errors" != 0 ]; then
		echo "ok $name: found after $states states"
	elif [ $# = 2 ] && [ "$errors" = 0 ] && ! grep -E 'not completed|too small' result; then
		echo "ok $name: holds in $states states"
	else
		grep '^pan:1' result || :
		[ ! -e trace ] || tail -n 60 trace
		echo "FAILED $name"
		failed=$((failed + 1))
		return
	fi
	passed=$((passed + 1))
}

out=$top/build/models
mkdir -p "$out"
exec 9> "$out/.lock"
flock 9

if [ $# -gt 1 ]; then
	check "$@"
else
	while read -r model plan faults; do
		if [ "$model-$plan" != "$long" ] || [ "${1-}" = --all ]; then
			check "$model" "$plan"
		fi
		for fault in $faults; do
			check "$model" "$plan" "$fault"
		done
	done <<-END
		$all
	END
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
