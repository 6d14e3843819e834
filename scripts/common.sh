# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Sourced by the other scripts: where things are, and how to enter the sid chroot.

# shellcheck disable=SC2034  # for whoever sources this
top=$(cd "$(dirname "$0")/.." && pwd)
cache=${ENTITYLOCK_CACHE:-/var/cache/entitylock}

say()
{
	echo "${0##*/}: $*" >&2
}

die()
{
	say "$*"
	exit 125
}

# kernel_dir NAME: where a kernel's release, image (vmlinux, bzImage, linux) and build
# (the tree to build modules against) are; of a packaged one also its modules.
kernel_dir()
{
	case $1 in
	debug* | uml)	echo "$cache/$1" ;;
	*)	echo "$cache/kernels/$1" ;;
	esac
}

# built_dir KERNEL: where what runs on it is built; in its machine that is build/
built_dir()
{
	case $1 in
	*-arm64)	echo "$top/build/arm64" ;;
	*)	echo "$top/build" ;;
	esac
}

# build_dir KERNEL|KDIR: the tree to build modules against
build_dir()
{
	case $1 in
	/*)	dir=$1
		[ -e "$dir/Makefile" ] || die "no headers in $dir: install those of that kernel, or say KDIR=" ;;
	*)	dir=$(kernel_dir "$1")/build
		[ -e "$dir/Makefile" ] || die "no kernel $1: run scripts/setup.sh kernel-$1" ;;
	esac
	echo "$dir"
}

# release_of KDIR: of the kernel that the modules will be for
release_of()
{
	sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' "$1/include/generated/utsrelease.h" ||
		die "$1 is no configured kernel tree"
}

# in_sid COMMAND...: in the chroot, with /proc and this tree at its own path.
# The mounts are in a namespace of their own, so nothing stays behind.
in_sid()
{
	mkdir -p "$cache/sid$top"
	unshare --mount sh -euc '
		sid=$1 top=$2
		shift 2
		mount -t proc proc "$sid/proc"
		mount --bind "$top" "$sid$top"
		exec chroot "$sid" "$@"' sh "$cache/sid" "$top" "$@"
}
