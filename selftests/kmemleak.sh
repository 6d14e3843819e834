#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kmemleak.sh [TEST ...]: run self-tests and look for memory that nothing refers
# to any more, on the debug kernel booted for it, as root (make test-leaks)
#
# By default those tests that between them take every path which allocates.
#
# kmemleak=on is not enough: the arrays of free objects that the allocator keeps
# for each CPU (sheaves) still have the addresses of those it gave out last, and
# kmemleak takes these for references.  With slab_debug there are no such arrays.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
leaks=/sys/kernel/debug/kmemleak

[ $# -gt 0 ] || set -- failnth convert sets death module
if ! grep -q 'slab_debug=' /proc/cmdline || ! echo scan=off > $leaks; then
	echo "kmemleak.sh: boot the debug kernel with kmemleak=on slab_debug=F" >&2
	exit 1
fi
# What the boot has left is not ours.
echo scan > $leaks
echo clear > $leaks

status=0
"$here/run.sh" "$@" || status=$?

# It believes in a leak that is 5 s old, and seen twice: a pointer may have been
# in a register, and an RCU callback under way.
sleep 10
echo scan > $leaks
echo scan > $leaks
cat $leaks
if grep -q '^unreferenced object' $leaks; then
	echo "not ok kmemleak: $(grep -c '^unreferenced object' $leaks) objects that nothing refers to"
	exit 1
fi
echo "ok kmemleak: nothing leaked"
exit $status
