/* Moves threads on whose reads of values have faulted. */
#include "patch/value_faults.h"

#include "arch/arch.h"
#include "target/thread.h"

/* Whether AT is in the stub of a capture, behind its begin. */
static bool is_in_capture(const struct patched *p, taddr_t at) {
    const struct mark *m = at - p->area < p->area_size ? patched_mark_at(p, at - p->area) : NULL;
    return m && m->kind == MARK_STUB && stub_captures(m->variant) && at != p->area + m->offset;
}

bool value_fault_pass(const struct space *space, pid_t tid) {
    struct regs regs;
    taddr_t back;
    if (thread_get_regs(tid, &regs) < 0)
        return false;
    const taddr_t pc = regs_pc(&regs);
    const struct patched *p = space_area_at(space, pc);
    if (!p || !p->code || !p->code->emitted.mark_count)
        return false;
    const bool in_agent = regs_read_fault(&regs, p->area, &back);
    if (!is_in_capture(p, back) || (!in_agent && !is_in_capture(p, pc)))
        return false;
    regs_set_pc(&regs, back);
    return thread_set_regs(tid, &regs) == 0;
}
