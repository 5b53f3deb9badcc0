/* SPDX-License-Identifier: MIT */
/* One line for each operation of a run that is replayed: who, what, where in the sources, and for which edge. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explore/door.h"
#include "explore/explore.h"
#include "explore/internal.h"

const char *explore_file = "";
unsigned explore_line;

#define COMMENT_LINES 4u /* an edge is named on the operation's line or at most three above it */

/* The last edge named in a line, such as E4.release; false if there is none. */
static bool edge_in(const char *line, char *edge, size_t size)
{
    bool found = false;
    for (const char *at = line; (at = strchr(at, 'E')) != NULL; at++) {
        if (at[1] < '0' || at[1] > '9' || (at > line && isalnum((unsigned char)at[-1])))
            continue;
        size_t length = 2;
        if (at[2] == '.') {
            length++;
            while (isalpha((unsigned char)at[length]))
                length++;
        }
        snprintf(edge, size, "%.*s", (int)length, at);
        found = true;
    }
    return found;
}

static void find_edge(char *edge, size_t size)
{
    char line[256];
    snprintf(edge, size, "-");
    FILE *const source = fopen(explore_file, "r");
    if (source == NULL)
        return;
    for (unsigned number = 1; fgets(line, sizeof line, source) && number <= explore_line; number++) {
        if (number + COMMENT_LINES > explore_line)
            (void)edge_in(line, edge, size);
    }
    fclose(source);
}

void explore_trace(const char *operation, const void *cell, enum explore_order order, uint64_t value, uint64_t more)
{
    static const char *const orders[] = { "relaxed", "acquire", "release", "acqrel", "sc" };
    char name[48], edge[16], place[48];
    explore_name_of(cell, name, sizeof name);
    find_edge(edge, sizeof edge);
    const char *file = explore_file;
    for (const char *at = file; (at = strchr(at, '/')) != NULL; at++) {
        if (at[1] && strchr(at + 1, '/'))
            file = at + 1; /* the last folder and the file */
    }
    snprintf(place, sizeof place, "%s:%u", file, explore_line);
    printf("  %s %u  %-8s %-8s %-10s %-22s %016" PRIx64 " %s %016" PRIx64 "  %s\n",
           explore_actor() == EXPLORE_HANDLER ? "handler of" : "thread", explore_self(), operation, orders[order],
           edge, name, value, strcmp(operation, "load") == 0 ? "of" : "->", more, place);
}
