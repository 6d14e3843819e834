#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [FAULT ...]: show that what looks for faults finds them
#
# Builds the module with each fault of module/breakage.h that is for this,
# boots the debug kernel with it, and runs the smallest test that reaches it.
# That run must fail, with the report that is expected; but with what is no fault
# (dawdle) it must pass.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)

# What runs, and what it must report, in its output or in the kernel's log.
declare -A command=(
	[uaf]='selftests/run.sh acquire'
	[inversion]='selftests/run.sh acquire async'
	[leak]='selftests/kmemleak.sh fdinfo'
	[entityleak]='selftests/run.sh fdinfo'
	[unwind]='selftests/run.sh failnth'
	[dawdle]='selftests/run.sh robust info gate lease_gate fifo'
)
declare -A report=(
	[uaf]='KASAN: slab-use-after-free in el_token_put'
	[inversion]='possible circular locking dependency detected'
	[leak]='el_label_read'
	[entityleak]='entitylock: an entity leaked'
	[unwind]='changed reserved fds'
)
declare -A append=([leak]='kmemleak=on slab_debug=F')

# caught FAULT: build, boot, run; the output goes to build/planted/FAULT.log
caught()
{
	local dir=$top/build/planted/$1 status=0

	"$top/scripts/module.sh" --out "$dir" debug EL_BREAK="$1"
	ENTITYLOCK_KO=$dir/entitylock.ko "$top/scripts/vm.sh" --kernel debug --no-module \
		--timeout "${TIMEOUT:-600}" --append "${append[$1]:-}" -- \
		"insmod $dir/entitylock.ko && ${command[$1]}" > "$dir.log" 2>&1 || status=$?
	cat "$top/build/vm/debug.log" >> "$dir.log"
	if [ -z "${report[$1]:-}" ]; then
		return $status
	fi
	[ $status != 0 ] && grep -qE "${report[$1]}" "$dir.log"
}

[ $# -gt 0 ] || set -- uaf inversion leak entityleak unwind dawdle
echo "1..$#"
missed=0 number=0
for fault; do
	number=$((number + 1))
	if caught "$fault"; then
		echo "ok $number $fault: ${report[$fault]:-no fault}"
	else
		echo "not ok $number $fault: see build/planted/$fault.log"
		missed=1
	fi
done
exit $missed
