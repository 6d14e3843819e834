#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# setup.sh [PART ...]: install and fetch what is missing; default: base kernel-6.1
#
#   base          to build, and to boot a virtual machine
#   kernel-NAME   a kernel to boot and its headers: 6.1 6.1-rt 6.12 6.12-rt 7.2
#                 6.12-arm64 (with what its programs are built with)
#   source        the newest kernel source
#   debug         the sanitised kernel; debug-NAME: with scripts/debug-NAME.config
#   uml           user-mode Linux, for what needs the machine's own speed
#   check         what "make check" needs
#   bench         what "make bench" needs, beside offline's server
#   offline       what "make offline" needs: a database server, and a cluster for it
#   install-module, install-utils, headers (of the running kernel)
#                 what these targets need, where packages are Debian's
#   deb           what "make deb" needs
#   all           everything but the -rt and -arm64 kernels
#
# Kernels, sources and the sid chroot are kept in $ENTITYLOCK_CACHE
# (/var/cache/entitylock).  A part that is there costs next to nothing.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

base_packages='
	bash-completion
	bc
	busybox-static
	g++
	gcc
	gcc-i686-linux-gnu
	kmod
	libc6-dev
	libc6-dev-i386-cross
	libpq-dev
	libsystemd-dev
	liburing-dev
	libuv1-dev
	make
	pkg-config
	procps
	python3
	qemu-system-x86
	systemd
	tmux
	udev
	xz-utils
	zsh
	zstd'
arm64_packages='
	gcc-aarch64-linux-gnu
	libc6-dev-arm64-cross
	qemu-system-arm'
bench_packages='
	gnuplot-nox
	redis-tools'
offline_packages='
	gnuplot-nox
	postgresql
	python3'
module_packages='
	gcc
	kmod
	make'
utils_packages='
	gcc
	libc6-dev
	make'
deb_packages='
	debhelper
	dh-dkms
	dkms
	dpkg-dev
	lintian'
debug_packages='
	bison
	flex
	libelf-dev'
check_packages='
	coccinelle
	mandoc
	perl
	shellcheck
	sparse
	spin'

export DEBIAN_FRONTEND=noninteractive

# once FILE FUNCTION ARG...: run it if FILE is missing.  Two set-ups at a time
# do not do the same thing twice, and wait for nothing else.
once()
{
	[ ! -e "$1" ] || return 0
	(
		flock 9
		[ -e "$1" ] || { shift && "$@"; }
	) 9> "$cache/lock.$2"
}

# quietly COMMAND...: show its output only if it fails.
quietly()
{
	if ! "$@" > "$tmp/log" 2>&1; then
		cat "$tmp/log" >&2
		die "failed: $*"
	fi
}

apt()
{
	quietly flock "$cache/lock.apt" apt-get "$@"
}

update()
{
	[ ! -e "$tmp/updated" ] || return 0
	[ "$(id -u)" = 0 ] || die "packages are missing: run as root"
	say "reading the package lists"
	apt update
	: > "$tmp/updated"
}

# packages NAME...: install those that are missing
packages()
{
	# shellcheck disable=SC2046  # one argument a package
	set -- $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		awk -v want="$*" '
			$1 == "installed" { have[$2] }
			END {
				n = split(want, name)
				for (i = 1; i <= n; i++)
					if (!(name[i] in have))
						print name[i]
			}')
	[ $# -gt 0 ] || return 0
	update
	say "installing $*"
	apt install -y --no-install-recommends "$@"
}

# For what is installed elsewhere, too: there it is up to the user.
packages_of_debian()
{
	! command -v apt-get > /dev/null || packages "$@"
}

# unpack_source DEB: the source archive in a linux-source package
unpack_source()
{
	dpkg-deb --fsys-tarfile "$1" | tar -x -C "$tmp" --wildcards --strip-components=3 \
		'./usr/src/linux-source-*.tar.xz'
	rm "$1"
}

# kselftest's harness is two headers of the kernel's source.
kselftest()
{
	update
	say "fetching kselftest's headers (linux-source, 1 minute)"
	(cd "$tmp" && apt download linux-source-6.1)
	unpack_source "$tmp"/linux-source-6.1_*.deb
	mkdir "$tmp/kselftest"
	tar -xJf "$tmp/linux-source-6.1.tar.xz" -C "$tmp/kselftest" --strip-components=4 \
		linux-source-6.1/tools/testing/selftests/kselftest.h \
		linux-source-6.1/tools/testing/selftests/kselftest_harness.h
	rm -rf "$cache/kselftest" "$tmp/linux-source-6.1.tar.xz"
	mv "$tmp/kselftest" "$cache/"
}

# unpack_image VMLINUZ: what is compressed in it.  To unpack itself takes the kernel
# 10 s under emulation.  Offsets: the kernel's Documentation/arch/{x86/boot,arm64/booting}.rst.
unpack_image()
{
	# arm64's is not compressed.
	if [ "$(tail -c +57 "$1" | head -c 4)" = ARMd ]; then
		cat "$1"
		return
	fi
	setup=$(od -An -tu1 -j0x1f1 -N1 "$1")
	offset=$(od -An -tu4 -j0x248 -N4 "$1")
	length=$(od -An -tu4 -j0x24c -N4 "$1")
	tail -c +$(((setup + 1) * 512 + offset + 1)) "$1" | head -c "$length" > "$tmp/payload"
	case $(od -An -tx1 -N4 "$tmp/payload") in
	' fd 37 7a 58')	unpack='xz --single-stream' ;;
	' 28 b5 2f fd')	unpack=zstd ;;
	*)		die "$1: compressed in an unknown way" ;;
	esac
	# The payload ends with its unpacked size, which is not part of the stream.
	head -c -4 "$tmp/payload" | $unpack -dc
	rm "$tmp/payload"
}

# keep_kernel RELEASE BUILD: unpack the packages in $tmp/debs, take $name into the cache
keep_kernel()
{
	dir=$(kernel_dir "$name")
	root=$tmp/kernel/root
	mkdir -p "$root"
	for deb in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	rm -r "$tmp/debs" "${root:?}/usr/share"
	[ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
	depmod -b "$root" "$1"
	ln -s "root/lib/modules/$1" "$tmp/kernel/modules"
	ln -s "$2" "$tmp/kernel/build"
	unpack_image "$(ls "$root/boot/vmlinuz-$1" "$root/lib/modules/$1/vmlinuz" 2>/dev/null)" \
		> "$tmp/kernel/vmlinux"
	echo "$1" > "$tmp/kernel/release"
	rm -rf "$dir"
	mkdir -p "${dir%/*}"
	mv "$tmp/kernel" "$dir"
	say "kernel $name is $1"
}

# a_kernel NAME FUNCTION ARG...: its headers may be the machine's, and gone with it
a_kernel()
{
	name=$1
	shift
	once "$(kernel_dir "$name")/build/scripts/Makefile.build" "$@"
}

# kernel FLAVOUR: the kernel $name of this Debian release
kernel()
{
	update
	release=$(apt-cache depends "linux-image-$1" | sed -n 's/.*Depends: linux-image-//p')
	say "fetching kernel $name ($release)"
	packages "linux-headers-$release"
	mkdir "$tmp/debs"
	(cd "$tmp/debs" && apt download "linux-image-$release")
	keep_kernel "$release" "/usr/src/linux-headers-$release"
}

# arm64 COMMAND ARG...: of apt, for that architecture, with lists of its own: this
# machine's packages stay of one architecture
arm64()
{
	command=$1
	shift
	"$command" -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
		-o Dir::State="$tmp/arm64" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$tmp/arm64" -o APT::Sandbox::User=root "$@"
}

# arm64_download PACKAGE...: into $tmp/debs
arm64_download()
{
	mkdir "$tmp/debs"
	(cd "$tmp/debs" && quietly arm64 apt-get download "$@")
}

# With the headers of all architectures, and the programs among them for this one.
kernel_arm64()
{
	update
	mkdir -p "$tmp/arm64/lists/partial" "$tmp/arm64/archives/partial"
	quietly arm64 apt-get update
	release=$(arm64 apt-cache depends "linux-image-$1-arm64" | sed -n 's/.*Depends: linux-image-//p')
	version=${release%-arm64}
	say "fetching kernel $name ($release)"
	packages "linux-headers-$version-common" "linux-kbuild-$version"
	arm64_download busybox-static liburing-dev
	rm -rf "$cache/arm64"
	for deb in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$deb" "$cache/arm64"
	done
	rm -r "$tmp/debs"
	arm64_download "linux-image-$release" "linux-headers-$release"
	mkdir -p "$tmp/kernel/root/usr/lib"
	ln -s "/usr/lib/linux-kbuild-$version" "$tmp/kernel/root/usr/lib/"
	keep_kernel "$release" "root/usr/src/linux-headers-$release"
}

# The programs in newer headers need a newer libc: they run in a chroot.
sid()
{
	packages mmdebstrap
	update
	say "making a chroot of Debian sid (1 to 2 minutes)"
	mirror=$(. /etc/os-release && apt-get indextargets \
		--format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$VERSION_CODENAME //p" | head -n 1)
	quietly mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
		--skip=cleanup/apt/lists --include=gcc,make,libc6-dev,linux-headers-amd64 \
		sid "$tmp/sid" "$mirror"
	rm -rf "$cache/sid"
	mv "$tmp/sid" "$cache/sid"
}

# sid_download PACKAGE...: into $tmp/debs
sid_download()
{
	rm -rf "$cache/sid/tmp/debs"
	mkdir "$cache/sid/tmp/debs"
	quietly in_sid sh -c 'cd /tmp/debs && apt-get -o APT::Sandbox::User=root download "$@"' sh "$@"
	mv "$cache/sid/tmp/debs" "$tmp/"
}

# sid moves: take what it has on the day, and keep it.
kernel_sid()
{
	once "$cache/sid/etc/debian_version" sid
	release=$(cd "$cache/sid/lib/modules" && echo *)
	say "fetching kernel $name ($release)"
	# shellcheck disable=SC2046  # one argument a package
	sid_download $(in_sid apt-cache depends --important --recurse "linux-image-$release" |
		grep -E '^linux-(base|image|binary|modules)-[0-9]')
	keep_kernel "$release" "$cache/sid/usr/src/linux-headers-$release"
}

source_newest()
{
	once "$cache/sid/etc/debian_version" sid
	package=$(in_sid apt-cache depends linux-source | sed -n 's/.*Depends: //p')
	say "fetching $package"
	sid_download "$package"
	unpack_source "$tmp/debs/$package"_*.deb
	mkdir -p "$cache/source"
	mv "$tmp/$package.tar.xz" "$cache/source/"
	ln -sf "$package.tar.xz" "$cache/source/linux-source.tar.xz"
}

checkers()
{
	once "$cache/source/linux-source.tar.xz" source_newest
	say "unpacking the kernel's own checkers"
	mkdir "$tmp/kernel-scripts"
	tar -xJf "$cache/source/linux-source.tar.xz" -C "$tmp/kernel-scripts" --strip-components=2 \
		--wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' '*/scripts/coccinelle'
	rm -rf "$cache/kernel-scripts"
	mv "$tmp/kernel-scripts" "$cache/"
}

# An empty one, ready to be unpacked: to make it takes a minute in an emulated machine.
cluster()
{
	dir=$(setpriv --reuid postgres --regid postgres --init-groups mktemp -d)
	cd "$dir"
	quietly setpriv --reuid postgres --regid postgres --init-groups \
		"$bin/initdb" -D data -A trust -N --no-locale -E UTF8
	tar -cf "$tmp/cluster.tar" data
	cd "$top"
	rm -rf "$dir"
	mv "$tmp/cluster.tar" "$1"
}

# No server is to run on this machine: it would begin with a cluster of its own.
server()
{
	conf=/etc/postgresql-common/createcluster.conf
	if [ ! -e $conf ]; then
		mkdir -p ${conf%/*}
		echo 'create_main_cluster = false' > $conf
	fi
	# shellcheck disable=SC2086
	packages $offline_packages
	for bin in /usr/lib/postgresql/*/bin; do :; done
	version=${bin%/bin}
	file=$cache/cluster-${version##*/}.tar
	once "$file" cluster "$file"
}

part()
{
	case $1 in
	base)
		# shellcheck disable=SC2086
		packages $base_packages
		once "$cache/kselftest/kselftest_harness.h" kselftest ;;
	kernel-6.1)	a_kernel 6.1 kernel amd64 ;;
	kernel-6.1-rt)	a_kernel 6.1-rt kernel rt-amd64 ;;
	kernel-6.12)	a_kernel 6.12 kernel 6.12-amd64 ;;
	kernel-6.12-rt)	a_kernel 6.12-rt kernel 6.12-rt-amd64 ;;
	kernel-6.12-arm64)
		# shellcheck disable=SC2086
		packages $arm64_packages
		a_kernel 6.12-arm64 kernel_arm64 6.12 ;;
	kernel-7.2)	a_kernel 7.2 kernel_sid ;;
	source)		once "$cache/source/linux-source.tar.xz" source_newest ;;
	debug | debug-* | uml)
		# shellcheck disable=SC2086
		packages $debug_packages
		"$top/scripts/build-kernel.sh" "$1" ;;
	kernel-debug* | kernel-uml)	part "${1#kernel-}" ;;
	check)
		# shellcheck disable=SC2086
		packages $check_packages
		once "$cache/kernel-scripts/checkpatch.pl" checkers ;;
	bench)
		# shellcheck disable=SC2086
		packages $bench_packages ;;
	offline)	server ;;
	install-module)
		# shellcheck disable=SC2086
		packages_of_debian $module_packages ;;
	install-utils)
		# shellcheck disable=SC2086
		packages_of_debian $utils_packages ;;
	headers)
		[ -e "/lib/modules/$(uname -r)/build/Makefile" ] ||
			packages_of_debian "linux-headers-$(uname -r)" ;;
	deb)
		# shellcheck disable=SC2086
		packages $deb_packages ;;
	all)
		for each in base kernel-6.1 kernel-6.12 kernel-7.2 debug check bench offline deb; do
			part "$each"
		done ;;
	*)		die "no such part: $1 (see the top of $0)" ;;
	esac
}

if ! mkdir -p "$cache" || [ ! -w "$cache" ]; then
	die "$cache cannot be written: run as root"
fi
# Within the cache, so that what is ready is moved to its place by a rename.  It is locked
# while it is used; what one that was killed has left is not.
make_tmp()
{
	exec 7> "$cache/lock.setup"
	flock 7
	for left in "$cache"/setup.*; do
		[ ! -d "$left" ] || flock -n "$left" rm -rf --one-file-system "$left" || :
	done
	tmp=$(mktemp -d "$cache/setup.XXXXXX")
	exec 8< "$tmp"
	flock 8
	exec 7>&-
}
make_tmp
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

[ $# -gt 0 ] || set -- base kernel-6.1
for each; do
	part "$each"
done
