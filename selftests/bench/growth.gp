# SPDX-License-Identifier: GPL-2.0
# How cost grows, of what was measured: medians from min to max, a curve a row.
set datafile separator ","
set datafile commentschars "#"
set terminal svg size 1000,900 dynamic font "sans,11"
set output svg
unit = strstrt(kernel, "-icount") ? "instructions" : "ns"
set logscale xy
set grid
unset mxtics
unset mytics
set key left top noenhanced
set style data yerrorlines

array titles[6] = [ "entities that live: acquire and release", \
	"waiters: the UNLOCK that grants to the first", \
	"entities in a set: acquire and close", \
	"in flight when a gate comes: the end of one", \
	"processes, each a thing of its own: a pair", \
	"processes, one thing, shared: a pair" ]
array rows[6] = [ "acquire_among acquire_live acquire_new", "release", "acquire_set", \
	"gate_drain", "own_token own_flock own_ofd", "same_token same_flock same_ofd" ]

measured(rows) = system(sprintf( \
	"for row in %s; do ! grep -q \"^[a-z]*,$row,\" '%s' || echo $row; done", rows, csv))
points(row) = sprintf("< grep '^[a-z]*,%s,' '%s'", row, csv)

set multiplot layout 3,2 title \
	sprintf("%s: %s, by how many there are", kernel, unit) noenhanced
do for [i = 1:6] {
	there = measured(rows[i])
	set title titles[i]
	set format x (i > 4 ? "%g" : "10^{%T}")
	if (i > 4) { set xtics (1, 2, 4, 16, 64) }
	if (strlen(there)) {
		plot for [row in there] points(row) using 3:5:6:7 title row \
			pointtype 7 pointsize 0.5
	} else {
		set multiplot next
	}
}
unset multiplot
