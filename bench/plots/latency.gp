# SPDX-License-Identifier: MIT
# Percentiles of one call, allocate in the producer and free in the consumers; bars from the best to the worst round.
figure_width = 1200
figure_height = 620
load 'common.gp'
set multiplot title title_text."\n".machine font 'DejaVu Sans,13'
set logscale y 10
set xtics ('p50' 0, 'p99' 1, 'p99.9' 2, 'p99.99' 3, 'max' 4)
set xrange [-0.3:4.3]
set yrange [10:*]
set ytics ('10 ns' 10, '100 ns' 100, '1 µs' 1e3, '10 µs' 1e4, '100 µs' 1e5, \
           '1 ms' 1e6, '10 ms' 1e7, '100 ms' 1e8, '1 s' 1e9)
do for [panel = 1:2] {
    file = panel == 1 ? file_1 : file_2
    set title (panel == 1 ? 'allocate (producer)' : 'free (consumers)') font 'DejaVu Sans,11'
    set lmargin at screen (panel == 1 ? 0.085 : 0.5)
    set rmargin at screen (panel == 1 ? 0.44 : 0.86)
    set tmargin at screen 0.84
    set bmargin at screen 0.10
    set xlabel 'percentile of the calls'
    set ylabel (panel == 1 ? 'time of one call, median of the rounds' : '') offset 1, 0
    if (panel == 2) {
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
