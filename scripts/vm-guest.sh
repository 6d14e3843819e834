#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# The virtual machine's init, on the host's root: mounts, the module, the
# command, and an orderly end.  /run/vm is the folder that vm.sh made for the
# run: env and cmd in it are from there, out, err and status are for it.
#
# shellcheck disable=SC1091,SC2154  # made by vm.sh: top, built, cache, module, modules
set -u
. /run/vm/env

# /tmp and /run begin empty, but for this tree and the cache if they are there.
[ -d /run/root ] || { mkdir /run/root && mount --bind / /run/root; }
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
for dir in "$top" "$cache"; do
	[ -d "$dir" ] || { mkdir -p "$dir" && mount --bind "/run/root$dir" "$dir"; }
done
[ "$built" = "$top/build" ] || mount --bind "$built" "$top/build"
if [ -n "$modules" ]; then
	mkdir -p "/lib/modules/$(uname -r)"
	mount --bind "$modules" "/lib/modules/$(uname -r)"
fi
ip link set lo up
hostname entitylock

export HOME=/root TERM=dumb LANG=C.UTF-8
export PATH="$top/build/userspace:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
export LD_LIBRARY_PATH="$top/build/userspace"
cd "$top" || exit

# Through pipes: a program may open /dev/stdout again, which for a file would
# truncate it.  This end stays open until the command is done, or a reader would
# wait for ever for its first writer, or leave with the first to close.
mkfifo /run/out /run/err
cat < /run/out >> /run/vm/out &
cat_out=$!
cat < /run/err >> /run/vm/err &
cat_err=$!
exec 5<> /run/out 6<> /run/err

status=125
if [ -z "$module" ] || insmod "$module" 2>&6; then
	setsid /bin/sh /run/vm/cmd < /dev/null > /run/out 2> /run/err 5>&- 6>&-
	status=$?
fi
exec 5>&- 6>&-

# What still runs would keep the module in use, and its output open.
for pid in /proc/[0-9]*; do
	pid=${pid#/proc/}
	case $pid in
	1 | "$cat_out" | "$cat_err") ;;
	*)	kill -KILL "$pid" ;;
	esac
done 2> /dev/null
wait "$cat_out" "$cat_err"

tries=0
while [ -e /sys/module/entitylock ] && ! rmmod entitylock 2>> /run/vm/err; do
	tries=$((tries + 1))
	if [ $tries = 20 ]; then
		echo "vm: the module cannot be unloaded" >> /run/vm/err
		[ $status != 0 ] || status=125
		break
	fi
	sleep 0.5
done

echo $status > /run/vm/status
# User-mode Linux would begin anew.
[ -z "${hostfs_run:-}" ] || poweroff -f
reboot -f
