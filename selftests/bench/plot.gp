# SPDX-License-Identifier: GPL-2.0
# The medians of all rows that are times, from min to max, on one logarithmic axis.
set datafile separator ","
set datafile commentschars "#"
height = 150 + 14 * int(system(sprintf("grep -c ',ns,' '%s'", csv)))
set terminal svg size 900,height dynamic font "sans,11"
set output svg
set title kernel noenhanced
set xlabel strstrt(kernel, "-icount") ? "instructions" : "ns"
set logscale x
set grid x
set yrange [*:*] reverse
set ytics noenhanced
unset key
name(row, param) = param > 0 ? sprintf("%s %d", row, param) : row
plot sprintf("< grep ',ns,' '%s'", csv) using 5:0:6:7:ytic(name(strcol(2), $3)) \
	with xerrorbars pointtype 7
