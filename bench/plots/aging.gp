# SPDX-License-Identifier: MIT
# The largest free aligned block against operations done, a panel a fill; from the benchmark's own map of the pages.
figure_width = 1200
figure_height = panels > 2 ? 820 : 520
load 'common.gp'
rows = panels > 2 ? 2 : 1
set multiplot title title_text."\n".machine font 'DejaVu Sans,13'
set logscale y 2
set yrange [bytes_min:1.5e9]
set ytics ('4 KiB' 4096, '64 KiB' 65536, '1 MiB' 1048576, '4 MiB' 4194304, '16 MiB' 16777216, \
           '64 MiB' 67108864, '256 MiB' 268435456, '1 GiB' 1073741824)
set xrange [0:*]
set format x '%.0s%c'
set arrow 1 from graph 0, first 4194304 to graph 1, first 4194304 nohead dashtype 3 linecolor '#888888'
do for [panel = 1:panels] {
    file = value('file_'.panel)
    set title value('panel_'.panel) font 'DejaVu Sans,11'
    side = (panel - 1) % 2
    strip = (panel - 1) / 2
    set lmargin at screen (side == 0 ? 0.085 : 0.5)
    set rmargin at screen (side == 0 ? 0.44 : 0.86)
    top = rows == 1 ? 0.82 : (strip == 0 ? 0.87 : 0.445)
    set tmargin at screen top
    set bmargin at screen (rows == 1 ? 0.13 : top - 0.345)
    set xlabel (strip == rows - 1 ? 'operations (dotted: the largest request, 4 MiB)' : '')
    set ylabel (side == 0 ? 'largest free block' : '') offset 1, 0
    if (panel == panels) {
        set key at screen 0.99, 0.84 right top vertical maxcols 1 samplen 2.2 spacing 1.25 width -1
    } else {
        set key off
    }
    plot for [i = words(names):1:-1] file index i - 1 using 1:2 with steps title word(names, i) \
             linecolor rgb colour(i) linewidth word(names, i)[1:4] eq 'lfma' ? 1.2 : 3.0
}
unset multiplot
