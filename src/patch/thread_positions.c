/* Collects where threads are and return to, and moves them out of future windows. */
#include "patch/thread_positions.h"

#include "target/thread.h"

/* Adds where TID returns to from a function that has not saved its return address yet. */
static void add_link(struct thread_positions *a, pid_t tid) {
    struct regs regs;
    uint64_t registers[REGS_DWARF_COUNT], link;
    if (thread_get_regs(tid, &regs) < 0)
        return;
    regs_dwarf(&regs, registers);
    if (regs_link(registers, &link))
        ARRAY_PUSH(&a->pcs, regs_plain_address(link));
}

/* No ordinary call returns into a window's middle. But a handler may have made it look as if a call
 * was made anywhere (goroutines.h). */
void thread_positions_add(struct thread_positions *a, int memory_fd, const struct maps *maps,
                          pid_t tid) {
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

void thread_positions_done(struct thread_positions *a) {
    ARRAY_FREE(&a->tids);
    ARRAY_FREE(&a->pcs);
    ARRAY_FREE(&a->stacks);
    ARRAY_FREE(&a->parked.frames);
}

static void move_in(struct patched *p, pid_t tid) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) < 0 || !patched_is_inside_window(p, regs_pc(&regs)) ||
        patched_is_spared(p, patched_window_at(p, regs_pc(&regs))))
        return;
    taddr_t copy = patched_copy_of(p, regs_pc(&regs));
    if (!copy) {
        patched_spare(p, regs_pc(&regs));
        return;
    }
    regs_set_pc(&regs, copy);
    thread_set_regs(tid, &regs);
}

void thread_positions_resolve(const struct thread_positions *a, int memory_fd, struct patched *p) {
    for (size_t i = 0; i < a->pcs.count; i++)
        if (patched_is_inside_window(p, a->pcs.at[i]))
            patched_spare(p, a->pcs.at[i]);
    for (size_t i = 0; i < a->parked.frames.count; i++) {
        const struct parked_sigframe *f = &a->parked.frames.at[i];
        if (patched_is_inside_window(p, f->context.pc) &&
            parked_sigframe_counts(f, memory_fd, a->tids.at, a->tids.count))
            patched_spare(p, f->context.pc);
    }
    for (size_t i = 0; i < a->tids.count; i++)
        move_in(p, a->tids.at[i]);
}
