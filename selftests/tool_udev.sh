#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The udev rule (D2): the device node's mode and group are the door: TAP, a test a
# line.  The daemon runs in this machine, with no rule but ours.
# shellcheck disable=SC2317  # called by soon
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

packaging=$here/../packaging
node=/dev/entitylock

access()	{ stat -c '%a %U %G' $node; }
access_is()	{ [ "$(access)" = "$1" ]; }
as()		{ status setpriv --reuid "$1" --regid "$2" --clear-groups entitylock run x -- true; }

before=$(access)
is 'before' "$before" '660 root root'
systemd-sysusers "$packaging/entitylock.sysusers"
group=$(awk -F : '$1 == "entitylock" { print $3 }' /etc/group)
matches 'there is a group' "$group" '^[0-9]+$'

start_udevd "$packaging/60-entitylock.rules"
udevadm trigger --action=add /sys/class/misc/entitylock
soon access_is '660 root entitylock'
is 'the rule has been applied' "$(access)" '660 root entitylock'

is 'who is in the group may lock' "$(as 1001 "$group")" 0
is 'who is not may not' "$(as 1001 1001)" 125
says 'who is not is told what to do' 'entitylock'

stop_udevd
chown root:root $node
chmod "${before%% *}" $node
finish
