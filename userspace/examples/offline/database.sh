#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# database.sh COMMAND...: run a command with a PostgreSQL server of its own
#
# As root.  The server is Debian's, runs as the user postgres, keeps its data in a
# temporary directory with the settings of the file beside this one, and has no
# port.  It ends with the command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
caller=$PWD
cache=${ENTITYLOCK_CACHE:-/var/cache/entitylock}

fail()
{
	echo "database.sh: $*" >&2
	exit 125
}

[ $# -gt 0 ] || fail "no command to run"
[ "$(id -u)" = 0 ] || fail "run as root: the server runs as the user postgres"
for bin in /usr/lib/postgresql/*/bin; do :; done
[ -x "$bin/initdb" ] || fail "there is no PostgreSQL: run scripts/setup.sh offline"
version=${bin%/bin}
ready=$cache/cluster-${version##*/}.tar

as_postgres()
{
	setpriv --reuid postgres --regid postgres --init-groups "$@"
}

# Where the user postgres may be.
dir=$(as_postgres mktemp -d)
cd "$dir"
stop()
{
	cd "$dir"
	as_postgres "$bin/pg_ctl" -D data -m immediate stop > /dev/null 2>&1 || :
	cd /
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# To make a cluster takes a minute in an emulated machine: set-up has made one.
if [ -e "$ready" ]; then
	tar -xf "$ready"
else
	as_postgres "$bin/initdb" -D data -A trust -N --no-locale -E UTF8 > log 2>&1 ||
		{ cat log >&2; fail "no database could be made"; }
fi
cat "$here/settings" >> data/postgresql.conf
echo "unix_socket_directories = '$dir'" >> data/postgresql.conf
as_postgres "$bin/pg_ctl" -D data -l log -w -t 120 start > started 2>&1 ||
	{ cat started log >&2; fail "the server does not start"; }

export PGHOST="$dir" PGUSER=postgres PGDATABASE=postgres
cd "$caller"
status=0
"$@" || status=$?
exit $status
