/* Moves threads on whose reads of values have faulted. */
#include "patch/value_faults.h"

#include "arch/arch.h"
#include "target/thread.h"

/* Whether AT is in the code of a capture, or right behind it. */
static bool is_in_capture(const struct patched *p, taddr_t at) {
    const struct mark *m = at - p->area < p->area_size ? patched_mark_at(p, at - p->area) : NULL;
    if (!m || m->kind != MARK_STUB || !stub_captures(m->variant))
        return false;
    const struct arch *arch = m->other ? arch_host()->other : arch_host();
    return at - p->area - m->offset >= arch->stub_capture_at(m->variant, p->code->emitted.overflow);
}

/* Whether a thread with REGS may be at a read of a value. *RET_BACK: where it goes on after a
 * fault. */
static bool is_at_read(const struct space *space, const struct regs *regs, taddr_t *ret_back) {
    const struct patched *p = space_area_at(space, regs_pc(regs));
    if (!p || !p->code || !p->code->emitted.mark_count)
        return false;
    const bool in_agent = regs_read_fault(regs, p->area, ret_back);
    return is_in_capture(p, *ret_back) && (in_agent || is_in_capture(p, regs_pc(regs)));
}

bool value_fault_is_at(const struct space *space, const struct regs *regs) {
    taddr_t back;
    return is_at_read(space, regs, &back);
}

bool value_fault_pass(const struct space *space, pid_t tid) {
    struct regs regs;
    taddr_t back;
    if (thread_get_regs(tid, &regs) < 0 || !is_at_read(space, &regs, &back))
        return false;
    regs_set_pc(&regs, back);
    return thread_set_regs(tid, &regs) == 0;
}
