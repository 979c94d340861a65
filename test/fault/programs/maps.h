/*
 * Tells which addresses hold code of files, from /proc/self/maps. Other executable memory is not
 * the program's.
 */
#pragma once

#include <inttypes.h>
#include <ucontext.h>

#include "self_check.h"

enum { MOST_MAPS = 200 };

static struct { uintptr_t start, end; } maps_code[MOST_MAPS];
static int maps_count;

static void maps_read_code(void) {
    char line[4096], flags[8], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    check(maps != NULL, "the memory map");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        int got = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %*s %4095s", &start, &end,
                         flags, path);
        if (got < 4 || flags[2] != 'x' || (path[0] != '/' && strcmp(path, "[vdso]") != 0))
            continue;
        check(maps_count < MOST_MAPS, "few maps");
        maps_code[maps_count].start = start;
        maps_code[maps_count++].end = end;
    }
    fclose(maps);
}

/* A pc where a handler interrupted its thread, and the stack pointer there. */
struct place {
    uintptr_t pc, sp;
};
static inline struct place maps_place(const void *context) {
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
#if defined __x86_64__
    return (struct place){(uintptr_t)m->gregs[REG_RIP], (uintptr_t)m->gregs[REG_RSP]};
#elif defined __aarch64__
    return (struct place){m->pc, m->sp};
#else
    return (struct place){m->arm_pc, m->arm_sp};
#endif
}

static int maps_is_code(uintptr_t pc) {
    for (int i = 0; i < maps_count; i++)
        if (pc >= maps_code[i].start && pc < maps_code[i].end)
            return 1;
    return 0;
}
