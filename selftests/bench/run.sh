#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [--short] [GROUP ...]: measure, on the loaded module, as root; CSV on the output
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=$here/../../build/bench/bench

# The package redis-server would start one on this machine; its program, by another
# name, is in redis-tools.
# with_servers COMMAND...: two that keep locks run meanwhile, beyond a Unix socket each
with_servers()
{
	dir=$(mktemp -d)
	export BENCH_REDIS="$dir/redis.sock"
	ln -s "$(command -v redis-check-rdb)" "$dir/redis-server"
	"$dir/redis-server" --port 0 --unixsocket "$BENCH_REDIS" --save '' --appendonly no \
		--dir "$dir" > "$dir/log" 2>&1 &
	redis=$!
	status=0
	until [ -S "$BENCH_REDIS" ]; do
		kill -0 $redis || { cat "$dir/log" >&2; exit 1; }
		sleep 0.1
	done
	"$here/../../userspace/examples/offline/database.sh" "$@" || status=$?
	kill $redis
	wait
	rm -r "$dir"
	return $status
}

# A peer, where the kernel has it.
modprobe -q ntsync || :
echo "# $ENTITYLOCK_KERNEL: $(uname -r)"
case " $* " in
'  ' | ' --short ' | *' servers '*)
	with_servers "$bench" "$@" ;;
*)
	exec "$bench" "$@" ;;
esac
