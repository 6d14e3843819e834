#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [TEST ...]: run self-tests, and write to stdout an archive of how often each
# line of the module was reached, on the debug-gcov kernel, as root (make coverage)
#
# By default all that call the module directly: those for 32-bit userspace, and those of
# the command, reach nothing that these do not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$here/../.." && pwd)/build
objects=modules/$(uname -r)/module
counts=/sys/kernel/debug/gcov$build/$objects

if [ ! -d "$counts" ]; then
	echo "coverage/run.sh: nothing is counted: boot the debug-gcov kernel" >&2
	exit 1
fi
# module comes last: it unloads what the others need.
# shellcheck disable=SC2046  # one word a name
[ $# -gt 0 ] || set -- $(find "$build/selftests" -maxdepth 1 -type f -perm -100 \
	! -name module -printf '%f\n' | sort) module

status=0
"$here/../run.sh" "$@" >&2 || status=$?

# How the module ends counts, too; the kernel keeps the counts.
rmmod entitylock
dir=$(mktemp -d)
mkdir -p "$dir/$objects"
# They have no size: what copies files as they are finds nothing in them.
for file in "$counts"/*.gcda; do
	cat "$file" > "$dir/$objects/${file##*/}"
done
tar -cf - -C "$dir" "$objects"
exit $status
