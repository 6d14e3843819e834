#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# report.sh FILE.csv: what run.sh has measured, beside what is aimed at
#
# Prints tables, and draws FILE-<what>-<rows>.svg.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
csv=$1
base=${csv%.csv}

grep '^# ' "$csv" | grep -v '^# way\|^# [a-z]*,' | sed 's/^# //'

awk -F , '
function title(way) { return way in titles ? titles[way] : way }
function ratio(most, least) { return least > 0 ? sprintf("%.2f", most / least) : "-" }
function smaller(a, b) { return a < b ? a : b }

/^# way / {
	sub(/^# way /, "")
	way = $0
	sub(/:.*/, "", way)
	sub(/^[^:]*: /, "")
	titles[way] = $0
	next
}
/^# think / {
	split($0, word, " ")
	think = word[3] / 1000
	rest = word[6] / 1000
	next
}
/^#/ { next }

$1 == "vanish" {
	key = $2 "," $3 "," $4
	ms = $5 / 1000
	if (!(key in times))
		keys[++nr_keys] = key
	# Negative: before that moment.
	if (!times[key]++ || ms > worst[key])
		worst[key] = ms
	if (times[key] == 1 || ms < best[key])
		best[key] = ms
	next
}

$1 != "cell" { next }
$3 != rows || $4 != workers {
	rows = $3
	workers = $4
	serial = rows * $5 / think
	demand = workers * $5 / (think + rest)
	bound = smaller(serial, demand)
	printf "\n%d row%s, %d worker%s, %g s: %.1f changes to be had (the row%s bound %.1f, " \
	       "the workers\047 demand %.1f)\n", rows, (rows > 1 ? "s" : ""), workers,
	       (workers > 1 ? "s" : ""), $5, bound, (rows > 1 ? "s\047" : "\047s"), serial,
	       demand
	printf "%-52s %7s %5s %6s %7s %5s %7s %7s %6s\n", "", "changes", "of", "wasted",
	       "seconds", "stmts", "wait", "p99", "most/"
	printf "%-52s %7s %5s %6s %7s %5s %7s %7s %6s\n", "", "", "these", "edits", "wasted",
	       "each", "p50 ms", "ms", "least"
}
{
	printf "%-52s %7d %5.2f %6d %7.1f %5.1f %7d %7d %6s\n", title($2), $6, $6 / bound,
	       $7, $8, ($14 ? $9 / $14 : 0), $10, $11, ratio($12, $13)
	lost += $15 < 0 ? -$15 : $15
	cells++
	saved += $14
	if ($2 == "token" && rows == 1)
		all_vain += $7
	if ($2 == "token" && rows == 1 && workers == 16) {
		made = $6 / bound
		fair = $13 > 0 ? $12 / $13 : 1000000
		p99 = $11
		measured = 1
	}
}

function target(what, is, limit, met, how)
{
	printf "%-62s %9.2f  %s %-6g %s\n", what, is, how, limit, met ? "met" : "MISSED"
	targets++
	missed += !met
}

function at_most(what, is, limit) { target(what, is, limit, is <= limit, "<=") }

END {
	printf "\n%-14s %-52s %s\n", "an editor was", "", "another can edit"
	for (i = 1; i <= nr_keys; i++) {
		split(keys[i], part, ",")
		says = sprintf("after %.1f ms at the most", worst[keys[i]])
		if (part[3] == "never")
			says = "not in " worst[keys[i]] / 1000 " s, nor ever: an administrator must"
		if (part[3] == "free" && worst[keys[i]] < 0)
			says = "at any time: nothing was locked"
		if (part[3] == "saved")
			says = sprintf("(the second process has saved it, after %.1f ms)", worst[keys[i]])
		if (part[1] == "parked" || part[1] == "paused")
			says = says (part[3] == "free" ? ", from the end of its lease" : "")
		if (part[3] == "refused" || part[3] == "accepted")
			says = "(and what it wrote later was " part[3] " by the fence)"
		printf "%-14s %-52s %s\n", part[1], title(part[2]), says
	}
	printf "\n%d changes in %d cells, %d lost\n\n", saved, cells, lost

	printf "%-62s %9s  %s\n", "way 3 on one row", "is", "aim"
	if (measured) {
		target("changes / min(serial bound, demand), 16 workers", made, 0.9, made >= 0.9, ">=")
		at_most("most / least by a worker, of 16", fair, 1.2)
		at_most("p99 wait / (16 workers * think time)", p99 / 1000 / 16 / think, 1.5)
	} else {
		print "(what 16 workers make of it is only in the whole)"
	}
	at_most("edits wasted", all_vain, 0)
	at_most("killed without a lease: free after, ms", worst["killed,token,free"], 50)
	at_most("killed when parked: free after the end of the lease, ms",
		worst["parked,parked,free"], 50)
	target("and not before it", best["parked,parked,free"], 0,
	       best["parked,parked,free"] >= 0, ">=")
	printf "\n%d of %d targets missed\n", missed, targets
	if (lost)
		exit 1
}' "$csv"

sed -n 's/^cell,[^,]*,\([0-9]*\),.*/\1/p' "$csv" | sort -nu | while read -r rows; do
	gnuplot -e "csv='$csv'; base='$base'; rows=$rows" "$here/plot.gp"
done
echo "plots: $base-*.svg"
