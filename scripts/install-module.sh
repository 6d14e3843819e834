#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# install-module.sh KERNEL|KDIR: build the module, and install it; with BUILT=1 as it
#                                was built before
# install-module.sh --remove: remove it, from all kernels
#
# Into $DESTDIR, for what packages it; without that, also tell depmod, udev and the
# group of it.  SIGN_KEY=, SIGN_CERT=: sign it with these (Documentation/install.rst).
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
DESTDIR=${DESTDIR-}

remove()
{
	for module in "$DESTDIR"/lib/modules/*/updates/entitylock.ko; do
		[ -e "$module" ] || continue
		rm "$module"
		dir=${module%/*}
		rmdir --ignore-fail-on-non-empty "$dir"
		[ -n "$DESTDIR" ] || depmod "$(basename "${dir%/updates}")"
	done
	[ -z "$DESTDIR" ] || return 0
	if [ -e /sys/module/entitylock ]; then
		say "the module is still loaded, and its group stays: modprobe -r entitylock, and again"
	elif getent group entitylock > /dev/null; then
		groupdel entitylock || say "the group entitylock stays: it is a user's first"
	fi
}

# What is wrong with the key is said before anything is built.
check_key()
{
	[ -n "${SIGN_KEY-}${SIGN_CERT-}" ] || return 0
	[ -r "${SIGN_KEY-}" ] || die "SIGN_KEY=${SIGN_KEY-}: no file that can be read; give both, key and certificate"
	[ -r "${SIGN_CERT-}" ] || die "SIGN_CERT=${SIGN_CERT-}: no file that can be read; give both, key and certificate"
	[ -x "$kdir/scripts/sign-file" ] || die "$kdir has no scripts/sign-file"
}

make_group()
{
	if command -v systemd-sysusers > /dev/null; then
		systemd-sysusers "$top/packaging/entitylock.sysusers"
	else
		getent group entitylock > /dev/null || groupadd --system entitylock
	fi
}

if [ "$1" = --remove ]; then
	remove
	exit
fi
kdir=$(build_dir "$1")
release=$(release_of "$kdir")
check_key
built=$top/build/modules/$release/entitylock.ko
if [ -z "${BUILT-}" ]; then
	"$top/scripts/module.sh" "$@"
elif [ ! -e "$built" ]; then
	die "no module was built for $release: leave BUILT=1 out"
fi

installed=$DESTDIR/lib/modules/$release/updates/entitylock.ko
install -D -m 644 "$built" "$installed"
# Signatures are of the whole file: strip first.
strip --strip-debug "$installed"
[ -z "${SIGN_KEY-}" ] || "$kdir/scripts/sign-file" sha256 "$SIGN_KEY" "$SIGN_CERT" "$installed"
say "installed $installed"
[ -z "$DESTDIR" ] || exit 0

depmod "$release"
make_group
[ ! -S /run/udev/control ] || udevadm control --reload
