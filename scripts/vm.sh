#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# vm.sh [OPTION ...] -- COMMAND: run a shell command as root in a virtual machine
#
#   --kernel NAME    6.1 (default), 6.1-rt, 6.12, 6.12-rt, 6.12-arm64, 7.2, debug,
#                    debug-gcov, debug-kcsan, or uml
#   --timeout N      seconds until the machine is killed (600)
#   --append ARGS    more kernel arguments
#   --debug-opts     what a stock kernel has to find memory faults, switched on
#   --no-module      do not load the module
#   --accel NAME     tcg or kvm, instead of finding out
#   --keep FILE      have what the command leaves in /run/vm/keep, also if the machine dies
#   --icount         a nanosecond of the guest is an instruction; one CPU
#
# The machine has this host's root, read-only under an overlay in memory: what
# the command writes is gone afterwards.  The module is loaded, library and
# command are on the path, the directory is this tree.  MEM=2G, CPUS=2 and
# every ENTITYLOCK_* variable are passed on.  On arm64, whose programs are not
# those of this host, the root is busybox, this tree, and the C library.  "uml" is no
# machine but a program: its kernel's own code has this machine's speed, its system
# calls are slow.
#
# The exit status is the command's; 124: the time was up; 125: the machine
# failed, or the command succeeded but the kernel log, kept in
# build/vm/<kernel>.log, has a complaint.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

kernel=6.1 seconds=600 append='' debug_opts='' load=1 accel='' icount='' keep=''
while [ $# -gt 0 ]; do
	case $1 in
	--kernel)	kernel=$2; shift ;;
	--timeout)	seconds=$2; shift ;;
	--append)	append=$2; shift ;;
	--debug-opts)	debug_opts=1 ;;
	--no-module)	load= ;;
	--accel)	accel=$2; shift ;;
	--keep)		keep=$2; shift ;;
	--icount)	icount=1 accel=tcg,thread=single CPUS=1 ;;
	--)		shift; break ;;
	*)		die "unknown option $1 (see the top of $0)" ;;
	esac
	shift
done
[ -n "$*" ] || die "no command to run (make vm CMD='...')"
case $seconds in
*[!0-9]* | '' | 0)	die "--timeout $seconds: not a number of seconds" ;;
esac

dir=$(kernel_dir "$kernel")
[ -e "$dir/release" ] || die "no kernel $kernel: run scripts/setup.sh kernel-$kernel"
release=$(cat "$dir/release")
built=$(built_dir "$kernel")
module=
if [ -n "$load" ]; then
	module=$built/modules/$release/entitylock.ko
	[ -e "$module" ] || die "no module for $kernel: run make module KERNEL=$kernel"
fi

case $kernel in
*-arm64)	arch=aarch64 busybox=$cache/arm64/bin/busybox libc=/usr/aarch64-linux-gnu/lib ;;
*)	arch=x86_64 busybox=/bin/busybox libc= ;;
esac

run=$(mktemp -d "${TMPDIR:-/tmp}/entitylock-vm.XXXXXX")
pids=
cleanup()
{
	# shellcheck disable=SC2086  # several
	[ -z "$pids" ] || kill $pids 2> /dev/null || :
	wait
	rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# /dev/kvm may be there and not work, or hang: believe a machine that booted.
probe_kvm()
{
	if "$0" --kernel "$kernel" --accel kvm --timeout 15 --no-module -- true > /dev/null 2>&1; then
		echo kvm
	else
		echo tcg
	fi
}

# Of two at a time the second waits for what the first finds out.
find_accel()
{
	[ "$kernel" != uml ] || return 0
	[ -w /dev/kvm ] || { echo tcg; return; }
	[ $arch = x86_64 ] || { echo tcg; return; }
	verdict=$cache/accel-$(uname -r)
	if [ ! -e "$verdict" ]; then
		(
			flock 9
			[ -e "$verdict" ] || {
				probe_kvm > "$verdict.new" 9>&-
				mv "$verdict.new" "$verdict"
			}
		) 9> "$cache/lock.accel"
	fi
	cat "$verdict"
}
accel=${accel:-$(find_accel)}

# What the kernel starts with: busybox, and the modules that its root needs.
initramfs()
{
	mkdir -p "$run/cpio/bin"
	cp "$busybox" "$run/cpio/bin/"
	cp "$top/scripts/vm-initramfs.sh" "$run/cpio/init"
	: > "$run/cpio/modules"
	if [ -e "$dir/modules" ]; then
		for name in virtio_pci 9pnet_virtio 9p overlay; do
			modprobe -d "$dir/root" -S "$release" --show-depends "$name"
		done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
		while read -r file; do
			name=${file##*/}
			case $name in
			*.xz)	name=${name%.xz}; xz -dc "$file" > "$run/cpio/$name" ;;
			*)	cp "$file" "$run/cpio/" ;;
			esac
			echo "/$name" >> "$run/cpio/modules"
		done
	fi
	(cd "$run/cpio" && find . | busybox cpio --quiet -o -H newc) > "$run/initramfs"
}
initramfs

{
	export -p | grep '^export ENTITYLOCK_' || :
	echo "top='$top' cache='$cache' built='$built' libc='$libc'"
	echo "module='${module:+$top/build${module#"$built"}}'"
	echo "modules='$([ ! -e "$dir/modules" ] || readlink -f "$dir/modules")'"
	echo "export ENTITYLOCK_KERNEL=$kernel"
} > "$run/env"
printf '%s\n' "$*" > "$run/cmd"
cp "$top/scripts/vm-guest.sh" "$run/guest"
: > "$run/out"
: > "$run/err"

bus=pci image=vmlinux cpu=max console=ttyS0
case $kernel in
*-arm64)	machine=virt cpu=max,pauth-impdef=on console=ttyAMA0 ;;
debug*)	machine=microvm,acpi=off bus=device image=bzImage
	# Nothing in that machine tells its kernel how fast the clock is.
	append="tsc_early_khz=$("$dir/tsc-khz") $append"
	# The first fault is the last, but of data races all are to be seen.
	[ "$kernel" = debug-kcsan ] || append="panic_on_warn=1 $append" ;;
*)	machine=pc ;;
esac
if [ -n "$debug_opts" ]; then
	case $kernel in
	debug*)	;;
	6.1*)	append="slub_debug=FZPU $append" ;;
	*)	append="kfence.sample_interval=1 $append" ;;
	esac
fi

# Emulated CPUs share one time stamp counter, and stall when this machine is
# busy: that is no lock-up.
case $kernel in
*-arm64 | uml)	;;
*)	append="tsc=reliable $append" ;;
esac
[ "$kernel" = uml ] || append="watchdog_thresh=60 $append"
append="rcupdate.rcu_cpu_stall_timeout=120 $append"

# The host's files are another's there, by another way: see vm-initramfs.sh.  Its console
# is its output, but must not be a file.
output=$run/qemu
if [ "$kernel" = uml ]; then
	[ -z "$icount" ] || die "no instructions are counted in user-mode Linux"
	output=$run/console
	mkfifo "$output"
	cat "$output" > "$run/log" &
	# shellcheck disable=SC2086  # several
	set -- "$dir/linux" seccomp=on "ncpus=${CPUS:-2}" "mem=${MEM:-2G}" \
		"initrd=$run/initramfs" "hostfs_run=$run" con=null con0=null,fd:1 \
		ignore_loglevel panic=-1 $append
else
	set -- "qemu-system-$arch" \
		-M "$machine" \
		-accel "$([ "$accel" = tcg ] && echo tcg,thread=multi || echo "$accel")" \
		${icount:+-icount shift=0,sleep=off} \
		-cpu "$cpu" -smp "${CPUS:-2}" -m "${MEM:-2G}" \
		-nodefaults -no-user-config -no-reboot -display none -serial "file:$run/log" \
		-kernel "$dir/$image" -initrd "$run/initramfs" \
		-append "console=$console ignore_loglevel mitigations=off panic=-1 reboot=t $append" \
		-fsdev local,id=host,path=/,readonly=on,multidevs=remap,security_model=none \
		-device "virtio-9p-$bus,fsdev=host,mount_tag=host" \
		-fsdev "local,id=run,path=$run,security_model=none" \
		-device "virtio-9p-$bus,fsdev=run,mount_tag=run"
fi

# Its own death signal: also if this script is killed, nothing is left running.
setpriv --pdeathsig TERM timeout -k 5 "$seconds" "$@" < /dev/null > "$output" 2>&1 &
qemu=$!
tail -s 0.1 --pid=$qemu -n +1 -f "$run/out" &
tail_out=$!
tail -s 0.1 --pid=$qemu -n +1 -f "$run/err" >&2 &
pids="$qemu $tail_out $!"

status=0
wait $qemu || status=$?
wait
pids=

log=$top/build/vm/$kernel.log
mkdir -p "${log%/*}"
mv "$run/log" "$log"
[ -z "$keep" ] || [ ! -e "$run/keep" ] || mv "$run/keep" "$keep"

bad='\<BUG\>|WARNING:|\<Oops\>|[Kk]ernel panic|general protection fault,|UBSAN:|KFENCE:|KCSAN:'
bad="$bad"'|INFO: |DEBUG_LOCKS_WARN|suspicious RCU|inconsistent lock state|refcount_t:'
bad="$bad"'|kmemleak: [0-9]+ new|(list_add|list_del) corruption'
complaint=$(grep -nE -m 1 -B 3 -A 40 "$bad" "$log") || :

if [ -e "$run/status" ]; then
	status=$(cat "$run/status")
elif [ $status = 124 ]; then
	tail -n 5 "$log" >&2
	say "killed after $seconds s"
else
	[ ! -e "$run/qemu" ] || cat "$run/qemu" >&2
	[ -n "$complaint" ] || tail -n 20 "$log" >&2
	say "the machine died"
	status=125
fi
if [ -n "$complaint" ]; then
	echo "$complaint" >&2
	say "the kernel complained"
	[ "$status" != 0 ] || status=125
fi
[ "$status" = 0 ] || say "the kernel log is ${log#"$top/"}"
exit "$status"
