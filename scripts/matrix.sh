#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# matrix.sh: the self-tests, all or those of $TESTS, on each kernel of $MATRIX
#
# Goes on where a kernel fails.  Says how long each program took, and what fails;
# all else is in build/matrix/KERNEL.log.  Ends with a table, kept in
# build/matrix/table.rst, and "N passed, N failed".
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$top"

kernels=${MATRIX:-6.1 6.1-rt 6.12 6.12-rt 6.12-arm64 7.2}
TESTS=${TESTS:-}
out=$top/build/matrix
mkdir -p "$out"
exec 9> "$out/.lock"
flock 9
rm -f "$out"/*.log "$out/rows"

for kernel in $kernels; do
	scripts/setup.sh "kernel-$kernel"
done

# tests_on KERNEL TEST...: those that there are for it
tests_on()
{
	on=$1
	shift
	for name; do
		case $on/$name in
		*-arm64/32/* | *-arm64/*.sh)	;;
		*)	echo "$name" ;;
		esac
	done
}

# rows KERNEL STATUS: of its log, one for the programs of each size.  A machine that
# failed as a whole has failed, whatever was counted.
rows()
{
	awk -v kernel="$1" -v release="$(cat "$(kernel_dir "$1")/release")" -v status="$2" '
		function row(bits)
		{
			printf "%s %s %s-bit %d %d %.1f\n", kernel, release, bits, passed[bits],
				failed[bits], seconds[bits] / 60
		}
		BEGIN				{ bits = 64 }
		/^# 32\/[a-z0-9_]+$/		{ bits = 32 }
		/^ok /				{ passed[bits]++ }
		/^not ok /			{ failed[bits]++ }
		/^# [a-z0-9_\/.]+: [0-9.]+ s$/	{ seconds[bits] += $(NF - 1); bits = 64 }
		END {
			if (status && !(failed[64] + failed[32]))
				failed[64] = 1
			row(64)
			if (passed[32] + failed[32])
				row(32)
		}' "$out/$1.log"
}

# test_on KERNEL TEST...: all if none is named
test_on()
{
	kernel=$1
	shift
	say "$kernel: all that it says is in build/matrix/$kernel.log"
	{
		status=0
		make --no-print-directory test KERNEL="$kernel" TESTS="$*" 2>&1 || status=$?
		echo $status > "$out/status"
	} | tee "$out/$kernel.log" |
		grep --line-buffered -E '^(not ok .*|# [a-z0-9_/.]+: [0-9.]+ s)$' || :
	rows "$kernel" "$(cat "$out/status")" >> "$out/rows"
}

table()
{
	awk '
		function rule()
		{
			print "==========  =====================  ========  ======  ======  ======="
		}
		function row(kernel, release, programs, passed, failed, minutes)
		{
			printf "%-10s  %-21s  %-8s  %6s  %6s  %7s\n", kernel, release, programs,
				passed, failed, minutes
		}
		BEGIN {
			rule()
			row("kernel", "release", "programs", "passed", "failed", "minutes")
			rule()
		}
		{ row($1, $2, $3, $4, $5, $6) }
		END { rule() }' "$out/rows"
}

for kernel in $kernels; do
	# shellcheck disable=SC2046,SC2086  # one argument a test
	set -- $(tests_on "$kernel" $TESTS)
	if [ $# = 0 ] && [ -n "$TESTS" ]; then
		say "$kernel: none of these tests is for it"
	else
		test_on "$kernel" "$@"
	fi
done
[ -s "$out/rows" ] || die "no test was run"
table | tee "$out/table.rst"
awk '
	{ passed += $4; failed += $5 }
	END { print passed " passed, " failed + 0 " failed"; exit failed > 0 }' "$out/rows"
