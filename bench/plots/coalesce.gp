# SPDX-License-Identifier: MIT
# Above: how far a call passes its budget, beside the time of joining one block. Below: pages joined a microsecond.
figure_width = 1200
figure_height = 760
load 'common.gp'
blue = '#0072B2'; orange = '#E69F00'; red = '#D55E00'; green = '#009E73'
set multiplot title title_text."\n".machine font 'DejaVu Sans,13'
set logscale x 10
set xrange [700:1.5e7]
set xtics ('1 µs' 1e3, '10 µs' 1e4, '100 µs' 1e5, '1 ms' 1e6, '10 ms' 1e7)
do for [panel = 1:panels] {
    file = value('file_'.panel)
    set lmargin at screen (panel == 1 ? 0.085 : 0.475)
    set rmargin at screen (panel == 1 ? 0.42 : 0.815)
    join_p50 = value('join_p50_'.panel); join_max = value('join_max_'.panel)

    set title value('panel_'.panel) font 'DejaVu Sans,11'
    set tmargin at screen 0.86
    set bmargin at screen 0.45
    set logscale y 10
    set yrange [10:*]
    set ytics ('10 ns' 10, '100 ns' 100, '1 µs' 1e3, '10 µs' 1e4, '100 µs' 1e5, '1 ms' 1e6, '10 ms' 1e7)
    set xlabel ''
    set ylabel (panel == 1 ? 'overrun: time beyond the budget' : '') offset 1, 0
    if (panel == panels) {
        set key at screen 0.99, 0.84 right top vertical maxcols 1 samplen 2 spacing 1.3 width -1
    } else {
        set key off
    }
    plot join_max with lines title 'one join, max, median' \
             linecolor rgb '#999999' dashtype 1 linewidth 1.5, \
         join_p50 with lines title 'one join, p50, median' \
             linecolor rgb '#999999' dashtype 3 linewidth 1.5, \
         file using 1:5 with points title 'max of all rounds' \
             linecolor rgb red pointtype 2 pointsize 1.1, \
         file using 1:4 with linespoints title 'max, median' \
             linecolor rgb red pointtype 5 pointsize 0.9 linewidth 1.6, \
         file using 1:3 with linespoints title 'p99.9, median' \
             linecolor rgb orange pointtype 9 pointsize 1 linewidth 1.6, \
         file using 1:2 with linespoints title 'p50, median' \
             linecolor rgb blue pointtype 7 pointsize 0.9 linewidth 1.6

    set title ''
    set tmargin at screen 0.38
    set bmargin at screen 0.09
    unset logscale y
    set yrange [0:*]
    set ytics autofreq
    set xlabel 'budget of a call (from 1 ms in arenas above 1 GiB)'
    set ylabel (panel == 1 ? 'pages joined a µs' : '') offset 1, 0
    set key off
    plot file using 1:6 with linespoints notitle linecolor rgb green pointtype 7 pointsize 0.9 linewidth 1.6
}
unset multiplot
