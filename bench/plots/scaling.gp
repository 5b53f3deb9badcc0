# SPDX-License-Identifier: MIT
# Time a pair against the number of consumers; bars from the fastest to the slowest round.
figure_width = 1200
figure_height = 620
load 'common.gp'
set multiplot title title_text."\n".machine font 'DejaVu Sans,13'
set logscale x 2
set logscale y 10
set xlabel 'consumers'
eval "set xtics (".ticks.")"
set xrange [0.85:*]
set yrange [5:ns_max * 1.5]
set ytics ('10 ns' 10, '100 ns' 100, '1 µs' 1e3, '10 µs' 1e4, '100 µs' 1e5, '1 ms' 1e6)
set mytics 10
set offsets graph 0, graph 0.05, 0, 0
do for [panel = 1:panels] {
    file = panel == 1 ? file_1 : file_2
    set title (panel == 1 ? panel_1 : panel_2) font 'DejaVu Sans,11'
    set lmargin at screen (panel == 1 ? 0.08 : 0.5)
    set rmargin at screen (panel == 1 ? (panels == 1 ? 0.85 : 0.44) : 0.86)
    set tmargin at screen 0.84
    set bmargin at screen 0.11
    set ylabel (panel == 1 ? 'time a pair (allocate + free), median' : '') offset 1, 0
    if (panel == panels) {
        set key at screen 0.99, 0.82 right top vertical maxcols 1 samplen 2.2 spacing 1.25 width -1
    } else {
        set key off
    }
    plot for [i = 1:words(names)] file index i - 1 using 1:2:3:4 with yerrorbars notitle \
             linecolor rgb colour(i) pointtype -1 linewidth 0.8, \
         for [i = 1:words(names)] file index i - 1 using 1:2 with linespoints title word(names, i) \
             linecolor rgb colour(i) dashtype dash(i) pointtype point_of(i) pointsize size_of(i) linewidth width(i)
}
unset multiplot
