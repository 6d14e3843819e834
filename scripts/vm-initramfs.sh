#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# First program of the virtual machine: the host's root, read-only over 9p (user-mode
# Linux: hostfs), under an overlay in memory; the run's own folder on /run/vm.  A host of another
# architecture is not under the root but on /run/root, and the root is busybox
# and the libraries for this one.
#
# shellcheck disable=SC1091,SC2154  # made by vm.sh: libc
export PATH=/bin
busybox mkdir -p /bin /dev /proc /host /vm /rw /root
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
# shellcheck disable=SC2013  # one path a line
for module in $(cat /modules); do
	insmod "$module" || exit
done
# From the kernel's command line, where the host's files have their own names.
if [ -n "${hostfs_run:-}" ]; then
	mount -t hostfs -o ro host /host || exit
	mount -t hostfs -o "$hostfs_run" run /vm || exit
else
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host || exit
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 run /vm || exit
fi
. /vm/env
if [ -n "$libc" ]; then
	mount -t tmpfs root /root
	(cd /root && mkdir -p bin dev etc lib proc run sys tmp usr/bin)
	cp /bin/busybox /root/bin/
	/bin/busybox --install -s /root/bin
	ln -s /bin/env /root/usr/bin/
	for file in "/host$libc"/*; do
		ln -s "/run/root$libc/${file##*/}" /root/lib/
	done
else
	mount -t tmpfs rw /rw
	mkdir /rw/upper /rw/work
	mount -t overlay -o lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work root /root || exit
fi
mount -t tmpfs run /root/run
mkdir /root/run/vm
mount --move /vm /root/run/vm
[ -z "$libc" ] || { mkdir /root/run/root && mount --move /host /root/run/root; }
# What is on /proc so far is the host's: "self" there is QEMU.
mount -t proc proc /root/proc
# Tools in one file in memory: quicker than the host's, through 9p.
cp /bin/busybox /root/run/
exec switch_root /root /run/busybox sh /run/vm/guest
