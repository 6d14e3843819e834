# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Sourced by scripts that show that something finds faults: results, and their count
passed=0 failed=0

# result NAME OK: OK is 0 or not; what $log has is told if not
result()
{
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) $1"
	else
		failed=$((failed + 1))
		# shellcheck disable=SC2154  # of whoever sources this
		sed 's/^/# /' "$log"
		echo "not ok $((passed + failed)) $1"
	fi
}
