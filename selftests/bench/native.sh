#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# native.sh [PARAMETER=VALUE ...]: load the module that measures, as root; what it
# measured as CSV on the output
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# One that looks all the time is to go on looking: nobody has a share of its CPU.
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
for runtime in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
	[ ! -e "$runtime" ] || echo 0 > "$runtime"
done

echo "# $ENTITYLOCK_KERNEL: $(uname -r)"
insmod "$here/../../build/bench/native/$ENTITYLOCK_KERNEL/entitylock-native.ko" "$@"
rmmod entitylock-native
dmesg | sed -n 's/.*native: \([a-z_]*,.*\)/native,\1/p'
