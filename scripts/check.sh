#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [CHECK ...]: what can be said about the source without running it
#
# One line a check, and what it found if it failed; at the end the count.
# Needs "setup.sh base check kernel-6.1 kernel-6.12 kernel-7.2".
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$top"
renice -n 10 $$ > /dev/null

out=$top/build/check
mkdir -p "$out"
exec 9> "$out/.lock"
flock 9

# files PATTERN...: of the source, committed or not yet
files()
{
	git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done
}

# Other checks pass if they succeed, these if they are silent as well.
silent()
{
	"$@" > "$out/said" 2>&1 && [ ! -s "$out/said" ] && return
	cat "$out/said"
	return 1
}

# checkpatch FILES IGNORED: the newest kernel's style, lines up to 100.  It looks
# for headers below its root, and keeps what it finds in the current directory.
checkpatch()
{
	mkdir -p "$out/include"
	cd "$out"
	echo "$1" | sed "s,^,$top/," | silent xargs -n 8 -P "$(nproc)" \
		"$cache/kernel-scripts/checkpatch.pl" --no-tree --root="$out" --strict --terse \
		--show-types --quiet --no-summary --ignore "$2" -f
}

# kzalloc_obj (ALLOC_WITH_SIZEOF) is newer than two of our three kernels; a loop over
# a set names its arguments more than once, as those of the kernel do (MACRO_ARG_REUSE).
check_style_module()
{
	checkpatch "$(files 'module/*.[ch]' | grep -v -e compat.h -e trace.h)" \
		ALLOC_WITH_SIZEOF,MACRO_ARG_REUSE
}

# Macros that are read as a language of their own: fields, assignments, a format.
check_style_trace()
{
	checkpatch module/trace.h \
		COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
}

# Exported headers cannot use BIT.
check_style_uapi()
{
	checkpatch "$(files 'uapi/*.h')" BIT_MACRO
}

# The one place for the version.
check_style_compat()
{
	checkpatch module/compat.h LINUX_VERSION_CODE,CONSTANT_COMPARISON
}

# Userspace has no BIT, u32, fallthrough, strscpy or __printf (the first five);
# a signal handler's variable is volatile, _Atomic is a keyword of C, and the
# name of a file in /proc may be a function's.
userspace='BIT_MACRO,PREFER_KERNEL_TYPES,PREFER_FALLTHROUGH,STRCPY,PREFER_DEFINED_ATTRIBUTE_MACRO'
userspace="$userspace,VOLATILE,CAMELCASE,EMBEDDED_FUNCTION_NAME"

check_style_userspace()
{
	checkpatch "$(files 'userspace/*.[ch]')" "$userspace"
}

# Tests are tables and macros that look like functions; FIXTURE_DATA(x) *self is
# no product (SPACING).
check_style_selftests()
{
	checkpatch "$(files 'selftests/*.[ch]')" \
		"$userspace,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_WITH_FLOW_CONTROL,SPACING"
}

# build KERNEL VARIABLE=VALUE...: from nothing, or what is up to date says nothing
build()
{
	rm -rf "$out/module-$1"
	silent scripts/module.sh --out "$out/module-$1" "$@"
}

# Bookworm's sparse cannot parse 7.2's headers.
check_build_6_1()
{
	build 6.1 W=1 C=2
}

check_build_6_12()
{
	build 6.12 W=1 C=2
}

check_build_7_2()
{
	build 7.2 W=1
}

# Those of the kernel's scripts that report, but for one that needs a compiler
# for OCaml.  What is left out is what spatch thinks of the scripts.
check_coccinelle()
{
	find "$cache/kernel-scripts/coccinelle" -name '*.cocci' -exec grep -q '^virtual report' {} \; \
		! -exec grep -q 'script:ocaml' {} \; -print0 |
	xargs -0 -n 1 -P "$(nproc)" sh -c '
		spatch -D report --very-quiet $(sed -n "s,^// Options: ,,p" "$1") \
			--sp-file "$1" --dir module -I uapi 2>&1 || echo "$1: failed"' sh > "$out/said"
	! grep -v '^warning: line [0-9]*: should ' "$out/said" || return
}

check_analyzer()
{
	rm -rf "$out/userspace"
	silent make -s -C userspace O="$out/userspace" ANALYZE=1 WERROR=1
}

# Quotes of another shell's text (SC2016) and functions that a trap or a loop
# calls by name (SC2317) are no mistakes.
check_shellcheck()
{
	files 'scripts/*.sh' 'selftests/*.sh' 'userspace/*.sh' 'packaging/*.bash' \
		'packaging/debian/*.p*' .ci/run |
		silent xargs shellcheck -x --exclude=SC2016,SC2317 --source-path="$top"
}

# What the Makefile says to vm.sh, vm.sh understands.
check_options()
{
	sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join' -e '}' Makefile |
		sed -n -e '/scripts\/vm\.sh\|(vm_run)\|(native_vm)/ { s/ -- .*//; p' -e '}' |
		grep -o -e ' --[a-z][a-z-]*' | sort -u | while read -r option; do
			grep -q -e "^	$option)" scripts/vm.sh || echo "vm.sh has no $option"
		done > "$out/unknown"
	cat "$out/unknown"
	[ ! -s "$out/unknown" ]
}

# The layout of the structs is what userspace compiled against.
check_layout()
{
	for compiler in 'gcc -std=c11' 'i686-linux-gnu-gcc -std=c11' 'g++ -x c++ -std=c++11'; do
		# shellcheck disable=SC2086  # with its options
		silent $compiler -Wall -Wextra -pedantic -fsyntax-only -isystem uapi \
			selftests/uapi_layout.c || return
	done
	check_syzkaller
}

# fields FILE: of each struct of the interface, in order
fields()
{
	sed -n -e 's/^struct \(entitylock_.*{\)/\1/p' -e '/^entitylock_[a-z]* {/p' -e 's/^}.*/}/p' \
		-e 's/^\t__[a-z0-9_]* \([a-z_]*\)[;[].*/\1/p' -e 's/^\t\([a-z_]*\)\t.*/\1/p' "$1" |
		awk '$2 == "{" { name = $1; next } $1 == "}" { name = ""; next } name { print name, $1 }' |
		sort -s -k 1,1
}

# syzkaller's description has the header's fields, and every constant that is for a caller.
check_syzkaller()
{
	header=uapi/linux/entitylock.h description=selftests/fuzz/entitylock.txt
	fields "$header" > "$out/fields"
	fields "$description" | diff "$out/fields" - || return
	sed -n 's/^#define \(ENTITYLOCK_[A-Z_]*\)\t.*/\1/p' "$header" |
		grep -vE '_(ABI|FEATURE_.*|IOC_TYPE|IDLE|PENDING|HELD|LOST|HOLDING|ABANDONED|CHANGED)$' |
		while read -r constant; do
			grep -qw "$constant" "$description" || echo "$description: no $constant"
		done > "$out/missing"
	cat "$out/missing"
	[ ! -s "$out/missing" ]
}

# The manual pages are in order and name all that there is.
check_man()
{
	silent scripts/man.sh
}

# What the library exports is what the header declares, and the packages know.
check_symbols()
{
	library=build/userspace/libentitylock.so
	grep -oE '\<entitylock_[a-z_]+\(' userspace/lib/include/entitylock.h | tr -d '(' | sort -u > "$out/declared"
	sed -n 's/^\t\t\(entitylock_.*\);$/\1/p' userspace/lib/libentitylock.map | sort > "$out/mapped"
	nm -D --defined-only "$library" | sed -n 's/.* T \(.*\)@@.*/\1/p' | sort > "$out/exported"
	sed -n 's/^ \([a-z_]*\)@.*/\1/p' packaging/debian/libentitylock0.symbols | sort > "$out/packaged"
	for list in mapped exported packaged; do
		diff "$out/declared" "$out/$list" || return
	done
}

# Versions agree, and DKMS builds for all kernels that the tests have, and no newer one.
check_packaging()
{
	version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)
	grep -q "^entitylock ($version)" packaging/debian/changelog || {
		echo "packaging/debian/changelog does not begin with $version"
		return 1
	}
	range=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"/\1/p' packaging/dkms.conf)
	for kernel in 6.1 6.12 7.2; do
		grep -qE "$range" "$cache/kernels/$kernel/release" || {
			echo "packaging/dkms.conf leaves out $kernel"
			return 1
		}
	done
	for release in 6.0.19-1-amd64 5.10.0-9-amd64 7.3.1-amd64 7.20.0 8.0; do
		! echo "$release" | grep -E "$range" || return
	done
}

# Every rule that is built is proved by a test that has its number in its name.
check_rules()
{
	missing=$(sed -e '/^#/d' -e 's/ .*//' selftests/rules | while read -r rule; do
		grep -qE "\<${rule}_[A-Za-z0-9_]+\)" selftests/*.c ||
			echo "rule $rule: no test in selftests/ has ${rule}_ in its name"
	done)
	[ -z "$missing" ] || { echo "$missing"; return 1; }
}

# The Promela models hold, and their broken twins do not.
check_models()
{
	scripts/models.sh
}

[ $# -gt 0 ] || set -- style_module style_trace style_compat style_uapi style_userspace \
	style_selftests build_6_1 build_6_12 build_7_2 coccinelle analyzer shellcheck options layout \
	rules man symbols packaging models
passed=0 failed=0
for check; do
	if ("check_$check") > "$out/result" 2>&1; then
		echo "ok $check"
		passed=$((passed + 1))
	else
		cat "$out/result"
		echo "FAILED $check"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
