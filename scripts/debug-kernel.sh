#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel.sh [VARIANT]: build a kernel that looks for faults
#
# VARIANT is debug (the default), or debug-NAME, which lays debug-NAME.config
# over debug.config; its lines "# make: ..." are arguments of the kernel's make.
# Made from the newest linux-source, kept in the cache: bzImage, config, release,
# and build, the tree to build modules against.
# Does nothing, and says nothing, while the fragments are as they were.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

variant=${1:-debug}
dir=$(kernel_dir "$variant")
fragments=("$top/scripts/debug.config")
[ "$variant" = debug ] || fragments+=("$top/scripts/$variant.config")

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

stamp=$(cat "${fragments[@]}" | sha256sum)
is_built()
{
	[ "$(cat "$dir/stamp" 2> /dev/null)" = "$stamp" ]
}

! is_built || exit 0
mkdir -p "$dir"
exec 9> "$cache/lock.debug-kernel"
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

# What the options of a variant do not touch, it need not compile.
debug=$(kernel_dir debug)
reused=
if [ ! -d "$dir/build" ] && [ -e "$debug/stamp" ]; then
	cp -a "$debug/build" "$dir/"
	reused=1
fi

make=(nice make -C "$source" O="$dir/build" ARCH=x86_64)
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
say "building kernel $variant (15 minutes on 2 cores), log in $dir/log"
"${make[@]}" -j"$(nproc)" "${arguments[@]}" all 2>&1 | tee "$dir/log" |
	awk '/^  (AS|CC) / && ++n % 200 == 0 { print "\t" n " files compiled"; fflush() }' >&2 ||
	die "failed:"$'\n'"$(tail -n 20 "$dir/log")"

cc -O2 -o "$dir/tsc-khz" "$top/scripts/tsc-khz.c"
cp "$dir/build/arch/x86/boot/bzImage" "$dir/bzImage"
cp "$dir/build/.config" "$dir/config"
cp "$dir/build/include/config/kernel.release" "$dir/release"
echo "$stamp" > "$dir/stamp"
say "kernel $variant is $(cat "$dir/release")"
