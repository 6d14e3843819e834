#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# First program of the virtual machine: the host's root, read-only over 9p,
# under an overlay in memory; the run's own folder on /run/vm.
export PATH=/bin
busybox mkdir -p /bin /dev /proc /host /rw /root
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
# shellcheck disable=SC2013  # one path a line
for module in $(cat /modules); do
	insmod "$module" || exit
done
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host || exit
mount -t tmpfs rw /rw
mkdir /rw/upper /rw/work
mount -t overlay -o lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work root /root || exit
mount -t tmpfs run /root/run
mkdir /root/run/vm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 run /root/run/vm || exit
# What is on /proc so far is the host's: "self" there is QEMU.
mount -t proc proc /root/proc
# Tools in one file in memory: quicker than the host's, through 9p.
cp /bin/busybox /root/run/
exec switch_root /root /run/busybox sh /run/vm/guest
