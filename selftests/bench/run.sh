#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [GROUP ...]: measure, on the loaded module, as root; CSV on the output
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# A peer, where the kernel has it.
modprobe -q ntsync || :
echo "# $ENTITYLOCK_KERNEL: $(uname -r)"
exec "$here/../../build/bench/bench" "$@"
