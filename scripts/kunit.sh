#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kunit.sh: run the KUnit suites on a kernel that has KUnit, in the virtual
# machine; the last line counts their cases
set -eu
cd "$(dirname "$0")/.."

ko=build/modules/$(uname -r)/entitylock-kunit.ko
[ -e "$ko" ] || {
	echo "kunit: this kernel has no KUnit: run it with KERNEL=debug" >&2
	exit 1
}
insmod "$ko"
# A suite's cases are indented once, its own result is not.
results=$(cat /sys/kernel/debug/kunit/entitylock_*/results)
rmmod entitylock-kunit
echo "$results"
passed=$(echo "$results" | grep -c '^ \{4\}ok ') || true
failed=$(echo "$results" | grep -c '^ \{4\}not ok ') || true
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
