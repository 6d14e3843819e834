#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# report.sh FILE.csv: what a bench has measured, beside what is aimed at
#
# Prints tables, and makes FILE.json, FILE.svg, and FILE-growth.svg.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
csv=$1
base=${csv%.csv}

awk -v json="$base.json" '
function number(row) { return row in median ? median[row] : row }
function product(times, row)
{
	return times == 1 ? row : row == 1 ? times : times " * " row
}
function quoted(text) { return "\"" text "\"" }
function meets(ratio, aim)
{
	return aim ~ /^>/ ? ratio >= substr(aim, 2) + 0 : ratio <= aim + 0
}

FILENAME == ARGV[1] && /^# / && !kernel {
	kernel = $2
	sub(/:$/, "", kernel)
	release = $3
	next
}
/^#/ || /^$/ || /^group,/ { next }

FILENAME == ARGV[1] {
	split($0, f, ",")
	row = f[1] "." f[2] (f[3] ? "." f[3] : "")
	median[row] = f[5]
	if (!rows++) {
		printf "%s (%s)\n\n%-34s %6s %12s %12s %12s %12s %12s\n", kernel, release, "", "unit",
		       "median", "min", "max", "p99", "p99.9"
		printf "{\n\"kernel\": %s, \"release\": %s,\n\"rows\": [", quoted(kernel),
		       quoted(release) > json
	}
	printf "%-34s %6s %12.1f %12.1f %12.1f %12.1f %12.1f\n", row, f[4], f[5], f[6], f[7], f[8],
	       f[9]
	printf "%s\n{\"row\": %s, \"unit\": %s, \"median\": %s, \"min\": %s, \"max\": %s, " \
	       "\"p99\": %s, \"p999\": %s, \"samples\": %s}", (rows > 1 ? "," : ""), quoted(row),
	       quoted(f[4]), f[5], f[6], f[7], f[8], f[9], f[10] > json
	next
}

{
	aim = kernel ~ /^6\.1(-|$)/ ? $4 : $5
	than = number($3)
	if (!($1 in median) || than !~ /^[0-9.]+$/)
		next
	ratio = median[$1] / ($2 * than)
	if (!targets++) {
		printf "\n%-66s %8s %8s\n", "ratio of medians", "is", "aim"
		printf "\n],\n\"targets\": [" > json
	}
	verdict = aim == "-" ? "" : meets(ratio, aim) ? "met" : "MISSED"
	missed += verdict == "MISSED"
	printf "%-66s %8.3f %8s  %s\n", $1 " / " product($2, $3), ratio,
	       (aim == "-" ? "" : aim ~ /^>/ ? aim : "< " aim), verdict
	printf "%s\n{\"row\": %s, \"times\": %s, \"than\": %s, \"ratio\": %.4f, \"aim\": %s, " \
	       "\"at_least\": %s}", (targets > 1 ? "," : ""), quoted($1), $2, quoted($3), ratio,
	       (aim == "-" ? "null" : aim ~ /^>/ ? substr(aim, 2) : aim),
	       (aim ~ /^>/ ? "true" : "false") > json
}

END {
	printf "\n]\n}\n" > json
	printf "\n%d of the ratios with an aim missed\n", missed
}' "$csv" "$here/targets"

# What there is no time of is not drawn.
grep -q ',ns,' "$csv" || exit 0
name=$(basename "$base")
gnuplot -e "csv='$csv'; svg='$base.svg'; kernel='$name'" "$here/plot.gp"
gnuplot -e "csv='$csv'; svg='$base-growth.svg'; kernel='$name'" "$here/growth.gp"
