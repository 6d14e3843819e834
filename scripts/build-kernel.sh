#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-kernel.sh [VARIANT]: build a kernel of our own
#
# VARIANT is debug (the default), which looks for faults, or debug-NAME, which lays
# debug-NAME.config over debug.config, or uml, which is a program of this machine.
# A fragment's lines "# make: ..." are arguments of the kernel's make, "# arch: um" is
# its architecture.
# Made from the newest linux-source, kept in the cache: bzImage or linux, config,
# release, and build, the tree to build modules against.
# Does nothing, and says nothing, while the fragments are as they were.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

variant=${1:-debug}
dir=$(kernel_dir "$variant")
case $variant in
debug-*)	fragments=("$top/scripts/debug.config" "$top/scripts/$variant.config") ;;
*)	fragments=("$top/scripts/$variant.config") ;;
esac
arch=$(sed -n 's/^# arch: //p' "${fragments[@]}")
arch=${arch:-x86_64}

# missing_options CONFIG: lines of the fragments that CONFIG does not have; of
# two lines for one option the later counts
missing_options()
{
	awk '/^CONFIG_/ { name = $0; sub(/=.*/, "", name) }
	     /^# CONFIG_.* is not set$/ { name = $2 }
	     name && FILENAME == ARGV[1] { have[name] = $0 }
	     name && FILENAME != ARGV[1] { want[name] = $0 }
	     { name = "" }
	     END {
		for (name in want)
			if (name in have ? have[name] != want[name] : want[name] !~ /^#/)
				print want[name]
	     }' "$1" "${fragments[@]}"
}

# know_apic_timer FILE: QEMU's APIC timer counts nanoseconds.  A kernel that has
# to find that out by counting ticks of an emulated clock fails on a busy machine,
# and goes on without precise timers, or not at all.
know_apic_timer()
{
	sed -i 's|^\(unsigned int lapic_timer_period\) = 0;|\1 = 1000000000 / HZ;|' "$1"
	grep -q '^unsigned int lapic_timer_period = 1000000000 / HZ;' "$1" || die "$1 has changed"
}

# keep_ipis DIR: with several CPUs user-mode Linux makes a system call whenever it disables
# interrupts, or enables them.  Let it mark what comes meanwhile, as it does with its other
# interrupts, so that its own code has the machine's speed.
keep_ipis()
{
	! grep -q '^static void deliver_ipis(void)$' "$1/smp.c" || return 0
	sed -i -e '/^static void __local_ipi_set(int enable)$/i\
__thread unsigned int pending_ipis;\
static void deliver_ipis(void);\
' -e 's/^\t__local_ipi_set(1);$/\tdeliver_ipis();/' -e '/^\t__local_ipi_set(0);$/d' \
	-e '/^\tsigaddset(&data->sigset, IPI_SIGNAL);$/d' \
	-e '/^static void ipi_sig_handler/,/^}/ {
		s/^\tint save_errno = errno;$/&\
\
\tif (!signals_enabled) {\
\t\tpending_ipis |= 1U << si->si_value.sival_int;\
\t\treturn;\
\t}/
	}' "$1/smp.c"
	# Nor is it blocked where a CPU looks for what has come, and sleeps.
	sed -i -e '/^void os_idle_sleep(void)$/i\
extern __thread unsigned int pending_ipis;\
' -e '/^void os_idle_sleep(void)$/,/^}/ {
		s/^\tsigaddset(&set, SIGALRM);$/&\n\tsigaddset(\&set, IPI_SIGNAL);/
		s/!timer_alarm_pending())$/!pending_ipis \&\& &/
	}' "$1/time.c"
	[ "$(grep -c 'pending_ipis\|deliver_ipis\|, IPI_SIGNAL);' "$1/smp.c" "$1/time.c" |
		cut -d : -f 2 | xargs)" = '5 4' ] || die "$1 has changed"
	cat >> "$1/smp.c" << 'EOF'

static void deliver_ipis(void)
{
	unsigned int vectors, vector;

	while (pending_ipis) {
		__local_ipi_set(0);
		vectors = pending_ipis;
		pending_ipis = 0;
		signals_enabled = 0;
		um_trace_signals_off();
		for (vector = 0; vectors >> vector; vector++)
			if (vectors >> vector & 1)
				uml_ipi_handler(vector);
		um_trace_signals_on();
		signals_enabled = 1;
		__local_ipi_set(1);
	}
}
EOF
}

stamp=$(cat "${fragments[@]}" | sha256sum)
is_built()
{
	[ "$(cat "$dir/stamp" 2> /dev/null)" = "$stamp" ]
}

! is_built || exit 0
mkdir -p "$dir"
exec 9> "$cache/lock.build-kernel"
flock 9
! is_built || exit 0
rm -f "$dir/stamp"

"$top/scripts/setup.sh" source
tarball=$(readlink -f "$cache/source/linux-source.tar.xz")
source=${tarball%.tar.xz}
if [ ! -d "$source" ]; then
	say "unpacking ${tarball##*/}"
	# Left by one that was killed: this is done under the lock only.
	rm -rf "$cache"/source/tmp.*
	unpacked=$(mktemp -d "$cache/source/tmp.XXXXXX")
	tar -xJf "$tarball" -C "$unpacked" --strip-components=1
	know_apic_timer "$unpacked/arch/x86/kernel/apic/apic.c"
	mv "$unpacked" "$source"
fi

[ "$arch" != um ] || keep_ipis "$source/arch/um/os-Linux"

# What the options of a variant do not touch, it need not compile.
debug=$(kernel_dir debug)
reused=
if [ ! -d "$dir/build" ] && [ -e "$debug/stamp" ] && [ "$arch" = x86_64 ]; then
	cp -a "$debug/build" "$dir/"
	reused=1
fi

make=(nice make -C "$source" O="$dir/build" ARCH="$arch")
cat "${fragments[@]}" > "$dir/fragment"
KCONFIG_ALLCONFIG=$dir/fragment "${make[@]}" -s allnoconfig
missing=$(missing_options "$dir/build/.config")
[ -z "$missing" ] || die "options that did not come true:"$'\n'"$missing"

# Tools are built anew for another path, which would be a reason to compile all.
if [ -n "$reused" ]; then
	"${make[@]}" -s prepare
	find "$dir/build/tools" -exec touch -h -r "$debug/build/tools/objtool/objtool" {} +
fi

mapfile -t arguments < <(sed -n 's/^# make: //p' "${fragments[@]}" | tr ' ' '\n')
say "building kernel $variant (up to 15 minutes on 2 cores), log in $dir/log"
"${make[@]}" -j"$(nproc)" "${arguments[@]}" all 2>&1 | tee "$dir/log" |
	awk '/^  (AS|CC) / && ++n % 200 == 0 { print "\t" n " files compiled"; fflush() }' >&2 ||
	die "failed:"$'\n'"$(tail -n 20 "$dir/log")"

if [ "$arch" = um ]; then
	cp "$dir/build/linux" "$dir/"
else
	cc -O2 -o "$dir/tsc-khz" "$top/scripts/tsc-khz.c"
	cp "$dir/build/arch/x86/boot/bzImage" "$dir/"
fi
cp "$dir/build/.config" "$dir/config"
cp "$dir/build/include/config/kernel.release" "$dir/release"
echo "$stamp" > "$dir/stamp"
say "kernel $variant is $(cat "$dir/release")"
