#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make install and uninstall: TAP, a test a line.  Staged, nothing of the machine is
# touched; installed, it works as that of a package; uninstalled, nothing is left.
# shellcheck source=selftests/tool.sh
. "$(dirname "$0")/tool.sh"

top=$(realpath "$here/..")
release=$(uname -r)
# Programs shall find what is installed.
unset LD_LIBRARY_PATH MAKEFLAGS
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Other tests need the module that was there.
trap 'rmmod entitylock 2> /dev/null; insmod "$ENTITYLOCK_KO"; umount "/lib/modules/$release"; rm -rf "$dir"' EXIT

# The module is up to date; to see that would take minutes here.
make_()		{ make -s -C "$top" KERNEL="$ENTITYLOCK_KERNEL" BUILT=1 "$@"; }

# Everything but folders, where installing could leave something.
files()
{
	find /etc /usr/local/bin /usr/local/lib /usr/local/include /usr/local/share /usr/src/entitylock* \
		"/lib/modules/$release" -maxdepth 5 ! -type d ! -name 'modules.*' 2> /dev/null | sort
}

staged()
{
	local stage=$dir/stage missing=0 file

	is 'staged' "$(status make_ install PREFIX=/usr DESTDIR="$stage")" 0
	for file in "lib/modules/$release/updates/entitylock.ko" \
		usr/bin/entitylock usr/include/entitylock.h usr/include/linux/entitylock.h \
		usr/lib/libentitylock.a usr/lib/libentitylock.so usr/lib/libentitylock.so.0 \
		usr/lib/pkgconfig/libentitylock.pc \
		usr/lib/udev/rules.d/60-entitylock.rules usr/lib/sysusers.d/entitylock.conf \
		usr/lib/modules-load.d/entitylock.conf \
		usr/share/man/man{1/entitylock.1,2/entitylock_ioctl.2,3/libentitylock.3,4/entitylock.4,7/entitylock.7} \
		usr/share/bash-completion/completions/entitylock usr/share/zsh/site-functions/_entitylock; do
		[ -e "$stage/$file" ] || { echo "# no $file"; missing=1; }
	done
	result $missing 'staged: all of it'
	is 'staged: the folder is in no file' "$(grep -rlI "$stage" "$stage")" ''
	is 'staged: prefix' "$(PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig pkg-config --variable=prefix libentitylock)" /usr
	files > after
	is 'staged: nothing of the machine is touched' "$(diff before after)" ''

	is 'staged source for DKMS' "$(status make_ install-dkms DESTDIR="$stage")" 0
	grep -q '^PACKAGE_VERSION="[0-9.]*"$' "$stage"/usr/src/entitylock-*/dkms.conf
	result $? 'staged source for DKMS: its version'
	is 'unstaged' "$(status make_ uninstall PREFIX=/usr DESTDIR="$stage")" 0
	is 'unstaged: nothing is left' "$(find "$stage" ! -type d)" ''
}

bad_input()
{
	is 'no such tree' "$(status make -s -C "$top" install-module KDIR=/none)" 2
	says 'no such tree: message' 'no headers in /none'
	is 'no such key' "$(status make_ install-module SIGN_KEY=/none)" 2
	says 'no such key: message' 'SIGN_KEY=/none: no file'
	is 'no such certificate' "$(status make_ install-module SIGN_KEY=/etc/passwd)" 2
	says 'no such certificate: message' 'SIGN_CERT=: no file'
	mkdir -p tree/include/generated
	: > tree/Makefile
	echo '#define UTS_RELEASE "0.0.0"' > tree/include/generated/utsrelease.h
	is 'not built before' "$(status make_ install-module KDIR="$dir/tree")" 2
	says 'not built before: message' 'no module was built for 0.0.0'
	files > after
	is 'nothing is installed' "$(diff before after)" ''
}

installed()
{
	local module=/lib/modules/$release/updates/entitylock.ko

	openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=local modules/' \
		-keyout key -outform DER -out certificate 2> /dev/null
	is 'installed' "$(status make_ install SIGN_KEY="$dir/key" SIGN_CERT="$dir/certificate")" 0
	is 'installed: found by name' "$(modinfo -n entitylock)" "$module"
	is 'installed: signed' "$(modinfo -F signer entitylock)" 'local modules'
	getent group entitylock > /dev/null
	result $? 'installed: there is a group'

	rmmod entitylock
	modprobe entitylock 2> err
	result $? 'installed: the module is loaded by name'
	is 'installed: the command' "$(command -v entitylock)" /usr/local/bin/entitylock
	is 'installed: it works' "$(status entitylock run x -- true)" 0
	is 'installed: pages' "$(man -w 1 entitylock 3 entitylock_claim 4 entitylock | sed 's,.*/,,' | tr '\n' ' ')" \
		'entitylock.1 entitylock_park.3 entitylock.4 '

	cat > program.c << 'END'
#include <fcntl.h>
#include <entitylock.h>
int main(void)
{
	int domain = entitylock_open(NULL, O_RDWR);

	return entitylock_acquire(domain, "x", 1, ENTITYLOCK_SHARED, NULL, NULL) < 0;
}
END
	# shellcheck disable=SC2046  # one argument a flag
	gcc -o program program.c $(pkg-config --cflags --libs libentitylock)
	result $? 'installed: a program can be built'
	is 'installed: it finds the library' "$(ldd program | sed -n 's/.*libentitylock.so.0 => \([^ ]*\).*/\1/p')" \
		/usr/local/lib/libentitylock.so.0
	is 'installed: it runs' "$(status ./program)" 0
}

uninstalled()
{
	is 'uninstalled, while loaded' "$(status make_ uninstall)" 0
	says 'uninstalled, while loaded: message' 'still loaded'
	getent group entitylock > /dev/null
	result $? 'uninstalled, while loaded: the group stays'
	rmmod entitylock
	useradd --system -g entitylock first
	is 'uninstalled, the group in use' "$(status make_ uninstall)" 0
	says 'uninstalled, the group in use: message' 'the group entitylock stays'
	userdel first
	is 'uninstalled' "$(status make_ uninstall)" 0
	is 'uninstalled: no group' "$(getent group entitylock)" ''
	is 'uninstalled: not found by name' "$(status modinfo -n entitylock)" 1
	files > after
	is 'uninstalled: nothing is left' "$(diff before after)" ''
}

# All of this kernel's modules would keep depmod busy for minutes.
mkdir -p "/lib/modules/$release"
mount -t tmpfs tmpfs "/lib/modules/$release"
files > before
[ "$(wc -l < before)" -gt 100 ]
result $? 'there are files to compare'
staged
bad_input
installed
uninstalled
finish
