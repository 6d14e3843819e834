#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh: Debian packages, source and binary, into build/deb
#
# dpkg-buildpackage wants a debian folder at the top of the source: it is there in
# the copy that is built.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' "$top/module/main.c")
out=$top/build/deb
source=$out/entitylock-$version
mkdir -p "$out"
exec 9> "$out/.lock"
flock 9

rm -rf "${out:?}"/*
mkdir "$source"
# Not what a build of the module in the tree itself has left there.
tar -c -C "$top" --exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' \
	--exclude='.*.cmd' Kbuild README.md Documentation module packaging uapi userspace |
	tar -x -C "$source"
mv "$source/packaging/debian" "$source/debian"

cd "$source"
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-noautodbgsym}"
if ! dpkg-buildpackage -us -uc "$@" > "$out/log" 2>&1; then
	tail -n 30 "$out/log" >&2
	die "the packages cannot be built; all of it is in ${out#"$top/"}/log"
fi
rm -r "$source"
cd "$out"
say "in ${out#"$top/"}:" ./*.deb
