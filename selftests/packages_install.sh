#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# packages_install.sh OUT: the Debian packages in build/deb install, and DKMS builds
# the module for a kernel that is there, and for one that comes later: TAP, a test a
# line.  What the machine then has in addition is put into OUT, for packages.sh.
#
# All of it happens on a copy of this machine's root, in a mount namespace: compilers
# are too slow in the virtual machine.
if [ "${2-}" != --inside ]; then
	exec unshare --mount "$0" "$1" --inside
fi
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

# Nothing is removed below a mount: /dev is among them.
trap 'cd / && umount -R "$dir" && rmdir "$dir"' EXIT
out=$1
debs=$(realpath "$here/../build/deb")
kernels=${ENTITYLOCK_CACHE:-/var/cache/entitylock}/kernels
first=$(cat "$kernels/6.1/release")
second=$(cat "$kernels/6.12/release")

mount -t tmpfs tmpfs "$dir"
cd "$dir" || exit 1
lintian --allow-root --fail-on error,warning "$debs"/*.changes > log 2>&1 || { sed 's/^/# /' log; false; }
result $? 'lintian has nothing against them'

mkdir upper work root
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/tmp
cp "$debs"/*.deb root/tmp/
# The second kernel is not there yet.
mount -t tmpfs tmpfs "root/lib/modules/$second"

in_root()	{ DEBIAN_FRONTEND=noninteractive chroot root "$@"; }

in_root sh -c 'dpkg -i /tmp/entitylock-dkms_*.deb /tmp/entitylock-tools_*.deb /tmp/libentitylock*_*.deb' > log 2>&1 ||
	{ sed 's/^/# /' log; false; }
result $? 'installed'
is 'DKMS has built it' "$(in_root dkms status entitylock | grep -c "$first.*: installed")" 1
is 'not yet for the second kernel' "$(in_root dkms status entitylock | grep "$second")" ''

# As a kernel's package tells DKMS.
umount "root/lib/modules/$second"
in_root /etc/kernel/postinst.d/dkms "$second" > log 2>&1 || sed 's/^/# /' log
is 'DKMS builds it for a second kernel' "$(in_root dkms status entitylock | grep -c "$second.*: installed")" 1
for release in "$first" "$second"; do
	is "for $release: it is of that kernel" \
		"$(in_root modinfo -k "$release" -F vermagic entitylock | cut -d ' ' -f 1)" "$release"
	[ -n "$(in_root modinfo -k "$release" -F signer entitylock)" ]
	result $? "for $release: it is signed"
done

# One that is newer than those that were tried is left out.  (The status is dkms's own
# affair: 3.0.10 calls that a failure.)
mkdir -p root/lib/modules/8.0.0-1-amd64
ln -s "$(readlink -f "$kernels/6.1/build")" root/lib/modules/8.0.0-1-amd64/build
in_root /etc/kernel/postinst.d/dkms 8.0.0-1-amd64 > err 2>&1
says 'a kernel out of range is told of' 'BUILD_EXCLUSIVE directive which does not match this kernel'
is 'and has no module' "$(in_root dkms status entitylock | grep -c 8.0.0)" 0
rm -r root/lib/modules/8.0.0-1-amd64

# shellcheck disable=SC2046  # one argument a flag
in_root gcc -D_GNU_SOURCE -o /tmp/example /usr/share/doc/libentitylock-dev/examples/handover.c \
	$(in_root pkg-config --cflags --libs libentitylock)
result $? 'an example can be built'
is 'the command uses the library' "$(in_root ldd /usr/bin/entitylock | grep -c 'libentitylock.so.0 => /')" 1
is 'pages' "$(in_root man -w 1 entitylock 2 entitylock_ioctl 3 entitylock_claim 4 entitylock 7 entitylock | wc -l)" 5

# Without what stands for a file that is gone.
(cd upper && find . ! -type c -print0 | tar -c --no-recursion --null -T - -f "$out")
result $? 'kept for the virtual machine'
finish
