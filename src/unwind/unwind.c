/* See unwind.h: chooses the way to each caller, and keeps the rows that were read. */
#include "unwind/unwind.h"

#include <string.h>

#include "arch/arch.h"
#include "unwind/by_code.h"
#include "unwind/images.h"
#include "unwind/rows.h"

enum { FIRST_TABLE_SIZE = 256, WORD = REGS_WORD_BYTES };
#define SP_BIT (UINT64_C(1) << REGS_DWARF_SP)

struct known { /* a cached row */
    taddr_t pc;
    struct row *row; /* NULL: the entry is free */
    unsigned lost;   /* how often step_by_code() failed here */
};

struct walk { /* through one stack */
    struct unwind_stack stack;
    struct machine machine;    /* the registers of `frame` */
    struct unwind_frame frame; /* the next one; only pc and exact are known */
    size_t frames;
};

struct unwinder {
    struct images images;
    struct walk walk;
    struct known *table; /* by pc, open addressing, at most half full */
    size_t room, count;
};

struct unwinder *unwinder_new(const struct maps *maps, const struct unwind_files *files) {
    struct unwinder *u = mem_alloc(sizeof *u);
    images_init(&u->images, maps, files);
    u->room = FIRST_TABLE_SIZE;
    u->table = mem_alloc(u->room * sizeof *u->table);
    return u;
}

void unwinder_free(struct unwinder *u) {
    if (!u)
        return;
    for (size_t i = 0; i < u->room; i++)
        free(u->table[i].row);
    free(u->table);
    images_done(&u->images);
    free(u);
}

void unwinder_open_files(struct unwinder *u) { images_open(&u->images); }

/* ---- rows ---- */

static struct known *entry_of(const struct unwinder *u, taddr_t pc) {
    size_t i = (pc * 0x9e3779b97f4a7c15u) >> 32 & (u->room - 1);
    while (u->table[i].row && u->table[i].pc != pc)
        i = (i + 1) & (u->room - 1);
    return &u->table[i];
}

static void grow(struct unwinder *u) {
    struct known *old = u->table;
    size_t had = u->room;
    u->room *= 2;
    u->table = mem_alloc(u->room * sizeof *u->table);
    for (size_t i = 0; i < had; i++)
        if (old[i].row)
            *entry_of(u, old[i].pc) = old[i];
    free(old);
}

/* The cache entry of PC, which is in CODE. Valid until the next call. */
static struct known *known_at(struct unwinder *u, struct code *code, taddr_t pc) {
    struct known *k = entry_of(u, pc);
    if (k->row)
        return k;
    if (++u->count > u->room / 2) {
        grow(u);
        k = entry_of(u, pc);
    }
    struct row *row = mem_alloc(sizeof *row);
    *k = (struct known){.pc = pc, .row = row};
    for (int second = 0; second < 2 && !row->known; second++) {
        vaddr_t addr;
        Dwarf_CFI *cfi = images_cfi(&u->images, code, pc, second, &addr);
        row_read(cfi, addr, REGS_DWARF_COUNT, row);
    }
    return k;
}

/* ---- from a frame to its caller ---- */

/* Each step function replaces M's registers by the caller's and fills in FRAME. False: *RET_END
 * says why there is no caller. */

static bool step_by_row(struct machine *m, const struct row *row, struct unwind_frame *frame,
                        enum unwind_end *ret_end) {
    struct machine caller = *m;
    *ret_end = UNWIND_LOST;
    if (!rule_apply(m, &row->cfa, 0, &frame->cfa))
        return false;
    frame->how = row->signal ? UNWIND_SIGNAL : UNWIND_CFI;
    for (int i = 0; i < REGS_DWARF_COUNT; i++) {
        const struct rule *rule = &row->registers[i];
        if (rule->kind == RULE_SAME)
            continue;
        bool undefined = rule->kind == RULE_UNDEFINED;
        if (!undefined && rule_apply(m, rule, frame->cfa, &caller.registers[i]))
            continue;
        caller.registers[i] = 0;
        if (i != row->return_register)
            continue;
        *ret_end = undefined ? UNWIND_BOTTOM : UNWIND_LOST;
        return false;
    }
    if (row->registers[REGS_DWARF_SP].kind == RULE_SAME)
        caller.registers[REGS_DWARF_SP] = frame->cfa;
    caller.known |= SP_BIT;
    caller.registers[REGS_DWARF_PC] = regs_kept_address(caller.registers[row->return_register]);
    *m = caller;
    return true;
}

/* For code that returns from signal handlers and has no call-frame information (musl's): such code
 * is recognized by its instructions. AT: offset of the saved registers from the stack pointer. */
static bool step_by_signal_return(struct machine *m, size_t at, struct unwind_frame *frame,
                                  enum unwind_end *ret_end) {
    uint64_t registers[REGS_DWARF_COUNT], state;
    taddr_t from = m->registers[REGS_DWARF_SP] + at;
    *ret_end = UNWIND_LOST;
    for (int i = 0; i < REGS_DWARF_COUNT; i++)
        if (!machine_read(m, from + regs_signal_offset(i), &registers[i]))
            return false;
    if (!machine_read(m, from + regs_signal_offset(REGS_SIGNAL_STATE), &state))
        return false;
    memcpy(m->registers, registers, sizeof registers);
    m->registers[REGS_DWARF_PC] = regs_in_state(registers[REGS_DWARF_PC], state);
    m->known = UINT64_MAX;
    frame->cfa = registers[REGS_DWARF_SP];
    frame->how = UNWIND_SIGNAL;
    return true;
}

/* By the chain of frame pointers: each points to the caller's, with the return address above it. On
 * machines where this pair need not stand at the frame's end, the caller's stack pointer is only
 * known to be above. */
static bool step_by_frame_pointer(struct machine *m, struct unwind_frame *frame,
                                  enum unwind_end *ret_end) {
    taddr_t fp = m->registers[REGS_DWARF_FP], above, pc;
    *ret_end = fp ? UNWIND_LOST : UNWIND_BOTTOM;
    if (fp < m->registers[REGS_DWARF_SP] || fp % WORD || !machine_read(m, fp, &above) ||
        !machine_read(m, fp + WORD, &pc))
        return false;
    frame->cfa = REGS_FRAME_BYTES ? fp + REGS_FRAME_BYTES : 0;
    frame->how = UNWIND_FRAME_POINTER;
    m->registers[REGS_DWARF_FP] = above;
    m->registers[REGS_DWARF_SP] = fp + 2 * WORD;
    m->registers[REGS_DWARF_PC] = regs_kept_address(pc);
    if (!REGS_FRAME_BYTES)
        m->known &= ~SP_BIT;
    return true;
}

/* True if PC follows a call. *RET_TARGET: its target; 0 if the call is indirect. */
static bool follows_call(struct unwinder *u, taddr_t pc, taddr_t *ret_target) {
    enum { LEAST = 2, MOST = 7 };
    const struct arch *arch = arch_host();
    struct code *code = images_at(&u->images, pc - 1);
    uint8_t bytes[MOST];
    struct insn insn;
    for (size_t size = MOST; code && size >= LEAST; size--) {
        if (!images_bytes(&u->images, code, pc - size, bytes, size) ||
            !arch->decode(bytes, size, pc - size, &insn, NULL) || insn.size != size)
            continue;
        *ret_target = insn.kind == INSN_CALL ? insn.target : 0;
        if (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT)
            return true;
    }
    return false;
}

/* FRAME, the innermost, may have pushed nothing (assembly, as in the C library's clone()). SURE:
 * the return address must follow a direct call to at most FUNCTION_BYTES before the pc. */
static bool step_from_leaf(struct unwinder *u, struct machine *m, struct unwind_frame *frame,
                           bool sure) {
    enum { FUNCTION_BYTES = 4096 };
    taddr_t sp = m->registers[REGS_DWARF_SP], target;
    uint64_t kept;
    if (!frame->exact || (!regs_link(m->registers, &kept) && !machine_read(m, sp, &kept)))
        return false;
    taddr_t pc = regs_plain_address(kept);
    if (!follows_call(u, pc, &target) || (sure && frame->pc - target >= FUNCTION_BYTES))
        return false;
    frame->cfa = sp + (taddr_t)arch_host()->entry_cfa;
    frame->how = UNWIND_RETURN_ADDRESS;
    m->registers[REGS_DWARF_SP] = frame->cfa;
    m->registers[REGS_DWARF_PC] = pc;
    return true;
}

/* For 32-bit Arm. Call-frame information of interrupted code is right in prologues only: there the
 * code decides first. If neither works, step_by_code() searches the whole stack above, for example
 * at a C library's start of threads. That takes long, so it is not done again for each of a hundred
 * threads. */
static bool step_by_row_or_code(struct unwinder *u, struct code *code, struct machine *m,
                                struct unwind_frame *frame, enum unwind_end *ret_end) {
    enum { ATTEMPTS = 2 };
    struct known *k = known_at(u, code, frame->pc - !frame->exact);
    if (frame->exact && step_by_code(&u->images, code, m, frame, ret_end))
        return true;
    if (k->row->known)
        return step_by_row(m, k->row, frame, ret_end);
    *ret_end = UNWIND_LOST;
    if (frame->exact || k->lost == ATTEMPTS)
        return false;
    bool leads_on = step_by_code(&u->images, code, m, frame, ret_end);
    k->lost += !leads_on && *ret_end == UNWIND_LOST && !m->missed;
    return leads_on;
}

static bool step_any_way(struct unwinder *u, struct machine *m, struct unwind_frame *frame,
                         enum unwind_end *ret_end) {
    taddr_t lookup = frame->pc - !frame->exact;
    struct code *code = images_at(&u->images, lookup);
    if (!code)
        code = images_at(&u->images, frame->pc);
    const struct row *row = REGS_CALLERS_BY_CODE ? NULL : known_at(u, code, lookup)->row;
    if (row && row->known) {
        bool found = step_by_row(m, row, frame, ret_end);
        if (found || frame->how != UNWIND_UNKNOWN || m->known & SP_BIT)
            return found;
    }
    uint8_t bytes[REGS_SIGNAL_RETURN_BYTES];
    size_t at;
    if (images_bytes(&u->images, code, frame->pc, bytes, sizeof bytes) &&
        regs_is_signal_return(bytes, &at))
        return step_by_signal_return(m, at, frame, ret_end);
    if (REGS_CALLERS_BY_CODE)
        return step_by_row_or_code(u, code, m, frame, ret_end);
    return step_from_leaf(u, m, frame, true) || step_by_frame_pointer(m, frame, ret_end) ||
           step_from_leaf(u, m, frame, false);
}

/* True if the way to the caller leads up the stack. Exceptions: the kernel changed the stack; FRAME
 * was interrupted and has pushed nothing. */
static bool leads_up(const struct unwind_frame *frame, taddr_t sp, taddr_t caller_sp) {
    taddr_t end = frame->cfa ? frame->cfa : caller_sp;
    bool has_nothing = frame->exact && end == sp && !arch_host()->entry_cfa;
    return frame->how == UNWIND_SIGNAL || end > sp || has_nothing;
}

static bool step(struct unwinder *u, struct machine *m, struct unwind_frame *frame,
                 enum unwind_end *ret_end) {
    taddr_t sp = m->registers[REGS_DWARF_SP];
    bool found = step_any_way(u, m, frame, ret_end);
    if (!leads_up(frame, sp, m->registers[REGS_DWARF_SP])) {
        frame->cfa = 0;
        frame->how = UNWIND_UNKNOWN;
    }
    if (!found && m->missed && *ret_end == UNWIND_LOST)
        *ret_end = UNWIND_CUT;
    if (!found || frame->how == UNWIND_UNKNOWN)
        return false;
    taddr_t pc = regs_plain_address(m->registers[REGS_DWARF_PC]);
    if (images_at(&u->images, pc))
        return true;
    *ret_end = pc ? UNWIND_LOST : UNWIND_BOTTOM;
    return false;
}

void unwind_begin(struct unwinder *u, const struct unwind_stack *stack) {
    struct walk *w = &u->walk;
    w->stack = *stack;
    w->machine.known = UINT64_MAX;
    w->machine.count = REGS_DWARF_COUNT;
    w->machine.word = WORD;
    w->machine.pieces = stack->pieces;
    w->machine.piece_count = stack->count;
    w->frames = 0;
    regs_dwarf(&stack->regs, w->machine.registers);
    w->frame = (struct unwind_frame){.pc = regs_pc(&stack->regs), .exact = !stack->returned};
}

bool unwind_next(struct unwinder *u, struct unwind_frame *ret, enum unwind_end *ret_end) {
    struct walk *w = &u->walk;
    const size_t most = w->stack.most ? w->stack.most : UNWIND_MAX;
    w->machine.missed = false;
    bool goes_on = step(u, &w->machine, &w->frame, ret_end);
    *ret = w->frame;
    if (goes_on && ++w->frames == most) {
        *ret_end = UNWIND_DEEP;
        return false;
    }
    w->frame = (struct unwind_frame){.pc = regs_plain_address(w->machine.registers[REGS_DWARF_PC]),
                                     .exact = ret->how == UNWIND_SIGNAL};
    return goes_on;
}

const uint64_t *unwind_registers(const struct unwinder *u) { return u->walk.machine.registers; }

bool unwind_is_possible(const struct unwinder *u, taddr_t pc) { return images_at(&u->images, pc); }

enum unwind_end unwind_stack(struct unwinder *u, const struct unwind_stack *stack,
                             unwind_frames *ret) {
    enum unwind_end end = UNWIND_LOST;
    struct unwind_frame frame;
    unwind_begin(u, stack);
    if (!images_at(&u->images, u->walk.frame.pc))
        return UNWIND_LOST;
    for (bool goes_on = true; goes_on;) {
        goes_on = unwind_next(u, &frame, &end);
        ARRAY_PUSH(ret, frame);
    }
    return end;
}
