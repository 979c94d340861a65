/* See own_stack.h: finds stacks by the maps and the thread pointer. */
#include "unwind/own_stack.h"

#include <string.h>

#include "arch/regs.h"
#include "target/maps.h"
#include "target/status.h"
#include "target/thread.h"

/* The first thread's stack grows down on use, and the kernel keeps the 8 MB below its end free.
 * Above the start of the program's stack are its arguments and environment. */
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

/* True if M starts right above a guard region: then M holds no other memory below that stack. */
static bool is_guarded(const struct maps *maps, const struct map *m) {
    const struct map *below = m - 1;
    return m > maps->list.at && below->end == m->start && !below->readable && !below->writable;
}

/* The stack around SP. C libraries place a thread's control block at the end of its stack, where it
 * lives as long as the thread. It counts only if the guard that they put below the stack is there:
 * otherwise other memory may have joined the same map, and may be unmapped again. A newborn thread
 * without such a block starts at its stack's end. */
static struct span stack_around(const struct maps *maps, pid_t tid, taddr_t sp, bool newborn) {
    enum { USUAL = 128 << 10 };
    taddr_t end;
    const struct map *m = maps_at(maps, sp - 1); /* a new thread's sp points behind its stack */
    if (!m || !m->readable)
        return (struct span){0, 0};
    if (thread_get_pointer(tid, &end) == 0 && end > sp && end < m->end && is_guarded(maps, m))
        return (struct span){m->start, end};
    if (!newborn)
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
