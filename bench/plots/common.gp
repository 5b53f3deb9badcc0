# SPDX-License-Identifier: MIT
# Looks that all figures share. Set by the caller: kind (png or svg), output_file, title_text, machine,
# names, colours, points (words, one an allocator). Set before loading: figure_width, figure_height.
set encoding utf8
if (kind eq 'png') {
    set terminal pngcairo size figure_width, figure_height font 'DejaVu Sans,11' linewidth 1.2 noenhanced
} else {
    set terminal svg size figure_width, figure_height font 'DejaVu Sans,11' \
        linewidth 1.2 noenhanced background '#ffffff'
}
set output output_file
set border 3 linecolor '#555555' linewidth 0.8
set tics nomirror textcolor '#333333'
set grid ytics linetype 1 linecolor '#e6e6e6' linewidth 0.7
set key off
colour(i) = word(colours, i)
point_of(i) = word(points, i) + 0 # -1: none
# The floor is a dashed line without points; LFMA is drawn a little bolder than its rivals.
dash(i) = word(names, i) eq 'floor' ? 2 : 1
width(i) = word(names, i)[1:4] eq 'lfma' ? 2.2 : 1.4
size_of(i) = word(names, i) eq 'floor' ? 0 : 0.9
