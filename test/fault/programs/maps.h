/* Which addresses hold code of files, as /proc/self/maps says: what else is executable is none of a
 * program's. */
#ifndef MAPS_H
#define MAPS_H

#include "story.h"

enum { MOST_MAPS = 200 };

static struct { uintptr_t start, end; } maps_code[MOST_MAPS];
static int maps_count;

static void maps_read_code(void) {
    char line[4096], flags[8], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    check(maps != NULL, "the memory map");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        int got = sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &start, &end, flags, path);
        if (got < 4 || flags[2] != 'x' || (path[0] != '/' && strcmp(path, "[vdso]") != 0))
            continue;
        check(maps_count < MOST_MAPS, "few maps");
        maps_code[maps_count].start = start;
        maps_code[maps_count++].end = end;
    }
    fclose(maps);
}

static int maps_is_code(uintptr_t pc) {
    for (int i = 0; i < maps_count; i++)
        if (pc >= maps_code[i].start && pc < maps_code[i].end)
            return 1;
    return 0;
}

#endif
