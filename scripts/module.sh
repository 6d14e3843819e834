#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module.sh [--out DIR] KERNEL|KDIR [VARIABLE=VALUE ...]: build the module
#
# KERNEL is a kernel that setup.sh knows, KDIR any tree to build modules
# against.  The objects go to DIR (build/modules/<release>), to a farm of links
# to the source, so that one source serves all kernels.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

out=
if [ "$1" = --out ]; then
	out=$2
	shift 2
fi
kernel=$1
shift

kdir=$(build_dir "$kernel")
release=$(release_of "$kdir")
out=${out:-$(built_dir "$kernel")/modules/$release}

mkdir -p "$out"
exec 9> "$out/.lock"
flock 9

cd "$top"
find "$out" -xtype l -delete
find Kbuild module uapi selftests/bench/native \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c' |
while read -r file; do
	[ ! -L "$out/$file" ] || continue
	mkdir -p "$out/$(dirname "$file")"
	ln -s "$top/$file" "$out/$file"
done

case $kernel in
uml)	set -- ARCH=um "$@" ;;
esac

# No BTF: it wants a vmlinux, which headers do not have, and says so each time.
set -- M="$out" CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
kdir=$(readlink -f "$kdir")
case $kdir in
"$cache"/sid/*)
	in_sid make -s -j"$(nproc)" -C "${kdir#"$cache/sid"}" "$@" ;;
*)
	make -s -j"$(nproc)" -C "$kdir" "$@" ;;
esac
