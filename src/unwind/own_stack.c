#include "unwind/own_stack.h"

#include <string.h>

#include "arch/regs.h"
#include "target/maps.h"
#include "target/status.h"
#include "target/thread.h"

/* The first thread's stack grows down as it is used, and nothing else comes within so much of its
 * end. Above where the program began are its arguments and environment. */
static struct span first_stack(const struct map *m, taddr_t began) {
    enum { GROWS = 8 << 20 };
    taddr_t end = began >= m->start && began < m->end ? began : m->end;
    return (struct span){m->end - GROWS, end};
}

static struct span stack_of_process(const struct maps *maps, pid_t tid) {
    for (const struct map *m = maps->list.at; m < maps->list.at + maps->list.count; m++)
        if (strcmp(m->path, "[stack]") == 0)
            return first_stack(m, status_stack_start(tid));
    return (struct span){0, 0};
}

/* Whether nothing that M maps lies below what was mapped there with a guard at its lower end. */
static bool is_guarded(const struct maps *maps, const struct map *m) {
    const struct map *below = m - 1;
    return m > maps->list.at && below->end == m->start && !below->readable && !below->writable;
}

/* A thread's own control block lies at the end of its stack as the C libraries make it, and lives
 * as long as the thread. (Other memory may have come to be in one map with that, and go away
 * again, so it counts only with the guard that those put below the same stack.) One that was born
 * without stands at its stack's end. */
static struct span stack_around(const struct maps *maps, pid_t tid, taddr_t sp, bool born) {
    enum { USUAL = 128 << 10 };
    taddr_t end;
    const struct map *m = maps_at(maps, sp - 1); /* a new thread's points behind its stack */
    if (!m || !m->readable)
        return (struct span){0, 0};
    if (thread_get_pointer(tid, &end) == 0 && end > sp && end < m->end && is_guarded(maps, m))
        return (struct span){m->start, end};
    if (!born)
        return (struct span){0, 0};
    return (struct span){sp - m->start > USUAL ? sp - USUAL : m->start, sp};
}

struct span own_stack(pid_t tid, enum own_stack_of which, const struct span *given) {
    struct regs regs;
    struct maps maps;
    struct span stack = {0, 0};
    if (thread_get_regs(tid, &regs) < 0)
        return stack;
    if (regs_sp(&regs) - 1 - given->start < given->end - given->start)
        return *given;
    if (maps_read(tid, &maps, NULL) < 0)
        return stack;
    stack = which == OWN_STACK_OF_FIRST
                ? stack_of_process(&maps, tid)
                : stack_around(&maps, tid, regs_sp(&regs), which == OWN_STACK_OF_NEWBORN);
    maps_done(&maps);
    return stack;
}
