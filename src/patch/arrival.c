#include "patch/arrival.h"

#include "target/thread.h"

/* Where TID returns to from a function that has put nothing on the stack yet. */
static void add_link(struct arrival *a, pid_t tid) {
    struct regs regs;
    uint64_t registers[REGS_DWARF_COUNT], link;
    if (thread_get_regs(tid, &regs) < 0)
        return;
    regs_dwarf(&regs, registers);
    if (regs_link(registers, &link))
        ARRAY_PUSH(&a->pcs, regs_plain_address(link));
}

/* What is called returns to no window's middle, but a handler may have made it seem that a call was
 * made anywhere (goroutines.h). */
void arrival_add(struct arrival *a, int memory_fd, const struct maps *maps, pid_t tid) {
    sigframe_array frames = {0};
    ARRAY_PUSH(&a->tids, tid);
    add_link(a, tid);
    sigframes_find(memory_fd, maps, tid, &frames);
    for (size_t i = 0; i < frames.count; i++) {
        ARRAY_PUSH(&a->pcs, frames.at[i].pc);
        ARRAY_PUSH(&a->pcs, frames.at[i].link);
    }
    ARRAY_FREE(&frames);
}

void arrival_done(struct arrival *a) {
    ARRAY_FREE(&a->tids);
    ARRAY_FREE(&a->pcs);
    ARRAY_FREE(&a->stacks);
    ARRAY_FREE(&a->aside.frames);
}

static void move_in(struct patched *p, pid_t tid) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) < 0 || !patcher_breaks(p, regs_pc(&regs)))
        return;
    taddr_t copy = patcher_copy_of(p, regs_pc(&regs));
    if (!copy) {
        patcher_spare(p, regs_pc(&regs));
        return;
    }
    regs_set_pc(&regs, copy);
    thread_set_regs(tid, &regs);
}

void arrival_settle(const struct arrival *a, int memory_fd, struct patched *p) {
    for (size_t i = 0; i < a->pcs.count; i++)
        if (patcher_breaks(p, a->pcs.at[i]))
            patcher_spare(p, a->pcs.at[i]);
    for (size_t i = 0; i < a->aside.frames.count; i++) {
        const struct aside_frame *f = &a->aside.frames.at[i];
        if (patcher_breaks(p, f->context.pc) &&
            aside_counts(f, memory_fd, a->tids.at, a->tids.count))
            patcher_spare(p, f->context.pc);
    }
    for (size_t i = 0; i < a->tids.count; i++)
        move_in(p, a->tids.at[i]);
}
