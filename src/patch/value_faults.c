/* Moves threads on whose reads of values have faulted, and withdraws reads. */
#include "patch/value_faults.h"

#include "arch/arch.h"
#include "select/read_limit.h"
#include "target/memory.h"
#include "target/thread.h"

struct read { /* of a value, in a stub or the agent */
    const struct patched *patched;
    const struct mark *stub;
    uint32_t at;  /* an offset in the stub: the read, or what follows its value */
    taddr_t back; /* where the thread goes on after a fault */
};

static const struct arch *arch_of(const struct mark *m) {
    return m->other ? arch_host()->other : arch_host();
}

/* The stub with a capture at whose code AT is, or right behind that; else NULL. */
static const struct mark *capture_at(const struct patched *p, taddr_t at) {
    const struct mark *m = at - p->area < p->area_size ? patched_mark_at(p, at - p->area) : NULL;
    const bool captures = m && m->kind == MARK_STUB && stub_captures(m->variant);
    return captures && at - p->area - m->offset >=
                           arch_of(m)->stub_capture_at(m->variant, p->code->emitted.overflow)
               ? m
               : NULL;
}

/* Whether a thread with REGS may be at a read. */
static bool find_read(const struct space *space, const struct regs *regs, struct read *ret) {
    const taddr_t pc = regs_pc(regs);
    const struct patched *p = space_area_at(space, pc);
    if (!p || !p->code || !p->code->emitted.mark_count)
        return false;
    const bool in_agent = regs_read_fault(regs, p->area, &ret->back);
    ret->patched = p;
    ret->stub = capture_at(p, ret->back);
    if (!ret->stub || (!in_agent && capture_at(p, pc) != ret->stub))
        return false;
    ret->at = (uint32_t)((in_agent ? ret->back : pc) - p->area) - ret->stub->offset;
    return true;
}

bool value_fault_is_at(const struct space *space, const struct regs *regs) {
    struct read read;
    return find_read(space, regs, &read);
}

/* Another thread may have come to the read before, and may have withdrawn it. False: it stays. */
static bool withdraw(const struct read *r, int memory_fd) {
    uint8_t stub[STUB_MAX_BYTES + STUB_CAPTURE_BYTES], byte;
    const taddr_t start = r->patched->area + r->stub->offset;
    const struct arch *arch = arch_of(r->stub);
    if (!arch->stub_read_switch || r->at > sizeof stub ||
        memory_read(memory_fd, start, stub, r->at, NULL) < 0)
        return false;
    const uint32_t at = arch->stub_read_switch(stub, r->at, &byte);
    if (!at)
        return false;
    if (stub[at] == byte)
        return true;
    if (memory_write(memory_fd, start + at, &byte, 1, NULL) < 0)
        return false;
    r->patched->traced_module->withdrawn_reads++;
    return true;
}

static void count(struct space *space, const struct read *r) {
    struct traced_module *m = r->patched->traced_module;
    const uint32_t function = plan_function_at(m->plan, r->stub->orig);
    if (function == UINT32_MAX || !read_limit_count(m, function))
        return;
    if (withdraw(r, space->remote.memory_fd))
        read_limit_withdrawn(m, function);
    else
        space->reads.stay = true;
}

bool value_fault_pass(struct space *space, pid_t tid) {
    struct regs regs;
    struct read read;
    if (thread_get_regs(tid, &regs) < 0 || !find_read(space, &regs, &read))
        return false;
    regs_set_pc(&regs, read.back);
    regs_set_state(&regs, read.stub->other, 0);
    if (thread_set_regs(tid, &regs) < 0)
        return false;
    count(space, &read);
    return true;
}

bool value_faults_are_left(const struct space *space) {
    for (size_t i = 0; i < space->modules.count; i++)
        if (space->modules.at[i].traced_module && space->modules.at[i].traced_module->faulting)
            return true;
    return space->reads.stay;
}
