#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kcsan.sh MINUTES [TEST ...]: look for data races: self-tests, and so many minutes of
# the torture, on the debug-kcsan kernel, as root (make test-kcsan)
#
# By default the tests in which several threads or processes act on the same things.
#
# Only accesses of the module are watched.  One in WATCH_EVERY is, for up to DELAY
# microseconds, in which an emulated CPU must get far enough to race with it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
parameters=/sys/module/kcsan/parameters

minutes=${1:?minutes}
shift
if [ ! -d $parameters ]; then
	echo "kcsan.sh: boot the debug-kcsan kernel" >&2
	exit 1
fi
echo "${WATCH_EVERY:-100}" > $parameters/skip_watch
echo "${DELAY:-1000}" > $parameters/udelay_task

[ $# -gt 0 ] || set -- cancel_race lease_race results_race fd_races handover fence gate \
	lease_gate fifo churn sets poll_ends domain killstorm tracing_load stats listing \
	version_changes park break uring pollpri epoll death
status=0
"$here/run.sh" "$@" || status=$?
[ "$minutes" = 0 ] || "$here/torture.sh" "$minutes" || status=$?

watched=$(sed -n 's/^setup_watchpoints: //p' /sys/kernel/debug/kcsan)
echo "# $watched accesses of the module were watched"
if [ "$watched" = 0 ]; then
	echo "not ok kcsan: nothing was watched"
	exit 1
fi
# Each once: the kernel tells of a race again after an hour only.
dmesg | sed -n 's/.*BUG: KCSAN: //p' > /tmp/races
sed 's/^/# /' /tmp/races
if [ -s /tmp/races ]; then
	echo "not ok kcsan: $(wc -l < /tmp/races) data races"
	exit 1
fi
echo "ok kcsan: no data race"
exit $status
