# SPDX-License-Identifier: GPL-2.0
# For the given number of rows, against the number of workers, a line a way: changes,
# wasted work, waiting, and what the luckiest worker had beside the unluckiest.
set datafile separator ","
set terminal svg size 760,460 dynamic font "sans,11"
set logscale x 2
set xlabel "workers"
set xrange [0.9:70]
set xtics 2
set grid
set key below noenhanced
ways = "version3 version2 column4 column2 token unchanged"
titles = "'1: version column, 3 statements' '1: version column, 2 statements' ".\
	"'2: locked column, 4 statements' '2: locked column, 2 statements' ".\
	"'3: entitylock' '4: entitylock, IF\_UNCHANGED'"
of(way) = sprintf("< grep '^cell,%s,%d,' '%s'", way, rows, csv)
on = rows == 1 ? "one row" : sprintf("%d rows", rows)

set output sprintf("%s-changes-%d.svg", base, rows)
set title "changes a second, ".on
set yrange [0:*]
plot for [i=1:6] of(word(ways, i)) using 4:($6/$5) title word(titles, i) with linespoints

set output sprintf("%s-wasted-%d.svg", base, rows)
set title "seconds of thinking wasted, in each second, ".on
plot for [i=1:6] of(word(ways, i)) using 4:($8/$5) title word(titles, i) with linespoints

set output sprintf("%s-wait-%d.svg", base, rows)
set title "waiting in ms: p50 (dotted) and p99, ".on
set logscale y
set yrange [1:*]
plot for [i=1:6] of(word(ways, i)) using 4:11 title word(titles, i) with linespoints lt i, \
	for [i=1:6] of(word(ways, i)) using 4:10 notitle with lines lt i dashtype 3

set output sprintf("%s-fair-%d.svg", base, rows)
set title "changes by a worker, most and least, ".on
unset logscale y
set yrange [0:*]
plot for [i=1:6] of(word(ways, i)) using 4:12 title word(titles, i) with linespoints lt i, \
	for [i=1:6] of(word(ways, i)) using 4:13 notitle with linespoints lt i dashtype 3
