# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Sourced by the tests of what pages show.

# literals PAGE: its literal blocks, one after the other, an empty line between
literals()
{
	case $1 in
	*.rst)
		# What is indented belongs to the block, also after an empty line.
		sed -n 's/^  //p; /^$/p' "$1" ;;
	*)
		awk '/^\.Ed/ { inside = 0; print "" }
		     inside { gsub(/\\e/, "\\"); sub(/^\\&/, ""); print }
		     /^\.Bd -literal/ { inside = 1 }' "$1" ;;
	esac
}
