#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [small]: measure the ways of keeping edits apart, as root where the module is
# loaded; parameters and CSV on the output
#
# small takes a minute, for a first look; the whole takes 6.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
offline=$here/../../../build/userspace/examples/offline

case ${1:-} in
small)
	vanish='--repeats 2 --limit 2000'
	measure='measure 1x1x9 1x4x9 64x4x6' ;;
'')
	vanish=
	# With 16 workers on one row seven turns for each, to see what each gets.
	measure='measure 1x1x9 1x2x9 1x4x9 1x8x12 1x16x36 1x32x10 1x64x10'
	measure="$measure 64x1x9 64x2x9 64x4x9 64x8x9 64x16x6 64x32x4 64x64x4" ;;
*)
	echo "usage: run.sh [small]" >&2
	exit 2 ;;
esac

echo "# Linux $(uname -r), $(nproc) processors"
for server in /usr/lib/postgresql/*/bin/postgres; do :; done
echo "# $("$server" --version)"
grep -v '^#' "$here/settings" | sed 's/^/# postgresql: /'
status=0
for arguments in "$vanish vanish" "$measure"; do
	# shellcheck disable=SC2086  # several
	"$here/database.sh" "$offline" $arguments || status=$?
done
exit $status
