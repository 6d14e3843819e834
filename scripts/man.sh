#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# man.sh: what the manual pages lack or have wrong, a line each; silent if nothing
#
# Needs mandoc, and the command in build/userspace.
set -eu
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
cd "$top/Documentation/man"
header=$top/userspace/lib/include/entitylock.h
uapi=$top/uapi/linux/entitylock.h
command=$top/build/userspace/entitylock

# page_of FUNCTION: where it is described
page_of()
{
	target=$(sed -n 's/^\.so man3\///p' "$1.3")
	echo "${target:-$1.3}"
}

lint()
{
	for page in *.[1-9]; do
		if grep -q '^\.so ' "$page"; then
			target=$(sed -n 's/^\.so man[1-9]\///p' "$page")
			grep -qs "^\.Nm ${page%.*}\>" "$target" || echo "$page: $target does not name it"
		else
			mandoc -Tlint -Wstyle "$page" 2> /dev/null |
				grep -v 'referenced manual not found' || :
		fi
	done
	# Those of ours that are referred to.
	sed -n 's/^\.Xr \([a-z_]*entitylock[a-z_]*\) \([1-9]\).*/\1.\2/p' ./*.[1-9] | sort -u |
	while read -r page; do
		[ -e "$page" ] || echo "there is no $page, which others refer to"
	done
}

# Prints "function errno" for all that the header's comments name; "as f()" stands for
# all that are f's.
named_errors()
{
	awk 'function result(text) { sub(/.* Return: /, "", text); return text }
	     /^ \* entitylock_[a-z_]*\(\) - / { sub(/\(\).*/, "", $2); name = $2 }
	     name { text = text " " $0 }
	     /^ \*\// { if (name) comment[name] = text; name = text = "" }
	     END {
		     for (name in comment) {
			     text = " " result(comment[name])
			     while (match(text, / as entitylock_[a-z_]*\(\)/)) {
				     other = substr(text, RSTART + 4, RLENGTH - 6)
				     text = substr(text, 1, RSTART) substr(text, RSTART + RLENGTH) \
					     result(comment[other])
			     }
			     while (match(text, /-E[A-Z0-9]+/)) {
				     print name, substr(text, RSTART + 1, RLENGTH - 1)
				     text = substr(text, RSTART + RLENGTH)
			     }
		     }
	     }' "$header" | sort -u
}

functions()
{
	grep -oE '\<entitylock_[a-z_]+\(' "$header" | grep -vE '\*' | tr -d '(' | sort -u
}

library()
{
	for function in $(functions); do
		[ -e "$function.3" ] || echo "$function() has no page"
	done
	named_errors | while read -r function error; do
		[ -e "$function.3" ] || continue
		page=$(page_of "$function")
		grep -qE "^\.It.* Er $error\>" "$page" || echo "$page: no $error, which $function() can return"
	done
}

# The verbs, and the structs as they are in the header.
interface()
{
	sed -n 's/^#define \(ENTITYLOCK_IOC_[A-Z]*\)\t_IO.*/\1/p' "$uapi" | while read -r verb; do
		grep -q "^\.Ss $verb\$" entitylock_ioctl.2 || echo "entitylock_ioctl.2: no $verb"
	done
	sed -n 's/^struct \(entitylock_[a-z]*\) {$/\1/p' "$uapi" | while read -r struct; do
		[ "$(sed -n "/^struct $struct {/,/^};/p" "$uapi")" = \
			"$(sed -n "/^struct $struct {/,/^};/p" entitylock_ioctl.2)" ] ||
			echo "entitylock_ioctl.2: struct $struct is another one in the header"
	done
}

# verbs SUBCOMMAND...: below it
verbs()
{
	"$command" "$@" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p'
}

options_of()
{
	"$command" "$@" --help | sed -nE 's/^ +(-[^ ,]+)(, (--[^ ]+))?.*/\1 \3/p' | tr ' ' '\n'
}

program()
{
	{
		options_of
		for verb in $(verbs); do
			grep -q "^\.Ss $verb\$" entitylock.1 || echo "entitylock.1: no $verb" >&2
			options_of "$verb"
			[ "$verb" != domain ] || for sub in $(verbs domain); do
				options_of domain "$sub"
			done
		done
	} 2>&1 | sort -u | while read -r option; do
		case $option in
		'')		;;
		-*)		grep -qE "^\.It.* Fl ${option#-}(\$| )" entitylock.1 ||
					echo "entitylock.1: no $option" ;;
		*)		echo "$option" ;;
		esac
	done
}

lint
library
interface
program
