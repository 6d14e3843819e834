#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# packages.sh ARCHIVE: the Debian packages as packages_install.sh has installed them,
# on a machine that was started since: from loading to their purge.  TAP, a test a line.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

archive=$1
release=$(uname -r)
unset LD_LIBRARY_PATH
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive
names='entitylock-dkms entitylock-tools libentitylock0 libentitylock-dev'

as()		{ status runuser -u "$1" -- entitylock run x -- true; }
access_is()	{ [ "$(stat -c '%a %U %G' /dev/entitylock)" = "$1" ]; }

prepare()
{
	[ ! -e /dev/entitylock ] && ! command -v entitylock > /dev/null
	result $? 'there is nothing of it'
	# All of this kernel's modules would keep depmod busy for minutes.
	mount -t tmpfs tmpfs "/lib/modules/$release"
	# So would the index of all pages.
	rm -f /var/lib/man-db/auto-update
	tar -x -C / -f "$archive"
	# shellcheck disable=SC2086  # several
	dpkg -L $names | sort -u | while read -r file; do
		[ -d "$file" ] || echo "$file"
	done > files
	[ "$(wc -l < files)" -gt 100 ]
	result $? 'there are files'
}

load()
{
	local file

	start_udevd /lib/udev/rules.d/60-entitylock.rules
	modprobe entitylock 2> err
	result $? 'loaded by name'
	file=$(modinfo -n entitylock)
	# It may be compressed.
	is 'from where DKMS puts it' "${file%.ko*}" "/lib/modules/$release/updates/dkms/entitylock"
	is 'at boot it is named' "$(grep -v '^#' /usr/lib/modules-load.d/entitylock.conf)" entitylock
	soon access_is '660 root entitylock'
	result $? 'the node is for the group'
}

use_it()
{
	useradd -G entitylock alice
	useradd bob
	is 'who is in the group can lock' "$(as alice)" 0
	is 'who is not cannot' "$(as bob)" 125
	says 'who is not is told what to do' group
}

# Documentation/install.rst: what keeps the module, and how it is found.
drain()
{
	local cookie user

	entitylock run x -- sleep 1000 &
	user=$!
	soon exists x
	cookie=$(entitylock park --lease 1000 y)
	is 'in use it is not unloaded' "$(status modprobe -r entitylock)" 1
	find /proc/[0-9]*/fd -lname /dev/entitylock -o -lname 'anon_inode:\[entitylock\]' 2> /dev/null |
		grep -q "^/proc/$user/"
	result $? 'who uses it is found'
	kill $user
	wait $user
	is 'nor while a token is parked' "$(status modprobe -r entitylock)" 1
	entitylock claim --unlock "$cookie"
	modprobe -r entitylock && modprobe entitylock
	result $? 'drained it is reloaded'
	soon access_is '660 root entitylock'
	result $? 'the new node is for the group'
}

purge()
{
	# shellcheck disable=SC2086  # several
	dpkg -P $names > log 2>&1 || { sed 's/^/# /' log; false; }
	result $? 'purged'
	[ ! -e /sys/module/entitylock ] && [ ! -e /dev/entitylock ]
	result $? 'nothing is loaded'
	is 'no file is left' "$(xargs ls -d < files 2> /dev/null)" ''
	is 'no module is left' "$(find /lib/modules/*/updates /var/lib/dkms -name '*entitylock*' 2> /dev/null)" ''
	is 'no group is left' "$(getent group entitylock)" ''
	# shellcheck disable=SC2086  # several
	is 'no package is left' "$(dpkg-query -W -f '${Package}\n' $names 2> /dev/null)" ''
}

prepare
load
use_it
drain
stop_udevd
purge
finish
