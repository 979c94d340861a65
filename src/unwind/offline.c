/* See offline.h: walks from frame to frame until no caller is proven. */
#include "unwind/offline.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "unwind/offline_code.h"
#include "unwind/offline_machine.h"
#include "unwind/rows.h"

_Static_assert((int)OFFLINE_REGISTERS_MOST == (int)REGISTERS_MOST, "the same registers");

struct walk {
    const struct offline_program *program;
    const struct offline_machine *machine;
    struct machine m;
    struct offline_frame frame; /* the current frame, whose registers are in `m` */
    uint64_t psp;
    bool psp_is_known;
    struct err *end;
};

/* Ends the walk: sets the reason and is false. */
#define END(w, tag, ...) (err_set((w)->end, ENODATA, tag, __VA_ARGS__), false)

const char *offline_how_name(enum offline_how how) {
    static const char *const names[] = {[OFFLINE_REGISTERS] = "registers",
                                        [OFFLINE_CFI] = "call-frame information",
                                        [OFFLINE_LINK_REGISTER] = "link register",
                                        [OFFLINE_EXCEPTION] = "exception frame",
                                        [OFFLINE_SIGNAL] = "signal frame",
                                        [OFFLINE_RETURN_ADDRESS] = "return address",
                                        [OFFLINE_CODE] = "code",
                                        [OFFLINE_PROLOGUE] = "prologue",
                                        [OFFLINE_EXIDX] = "exidx"};
    return names[how];
}

static int digits(const struct walk *w) { return w->machine->word * 2; }

/* ---- what is not known ---- */

static bool end_for_missing(struct walk *w, const char *tag, const char *why) {
    if (w->m.missed)
        return END(w, "cut", "the dump has no memory at 0x%0*" PRIx64, digits(w), w->m.missed_at);
    for (int i = 0; i < w->machine->count; i++)
        if (w->m.missing_registers >> i & 1) {
            const char *name = w->machine->names[i];
            return END(w, "no-register", "the value of %.*s is not known there",
                       (int)strcspn(name, " "), name);
        }
    return END(w, tag, "%s", why);
}

/* ---- addresses of code ---- */

static bool find_code(const struct offline_program *p, uint64_t pc, bool exact, vaddr_t *ret) {
    uint64_t at = pc - p->bias;
    if (p->machine->word == 4)
        at = (uint32_t)at;
    return exact ? lineinfo_find_code(p->info, at, ret) : lineinfo_find_return(p->info, at, ret);
}

/* The bytes before ADDR, at most as many as a call instruction has. */
static const uint8_t *code_before(const struct offline_program *p, vaddr_t addr, size_t *ret_size) {
    size_t size = OFFLINE_CALL_BYTES, left;
    const uint8_t *before = lineinfo_bytes(p->info, addr - size, &left);
    while (size && (!before || left < size))
        before = lineinfo_bytes(p->info, addr - --size, &left);
    *ret_size = size;
    return before;
}

static bool follows_call(const struct offline_program *p, uint64_t pc, vaddr_t addr,
                         bool *ret_indirect) {
    size_t size;
    const uint8_t *before = code_before(p, addr, &size);
    return size && p->machine->follows_call(pc, before, size, ret_indirect);
}

/* True if the call before PC is a direct call of the function at START. */
static bool follows_call_of(const struct offline_program *p, uint64_t pc, vaddr_t start) {
    bool indirect;
    size_t size;
    vaddr_t addr;
    if (!find_code(p, pc, false, &addr) || !follows_call(p, pc, addr, &indirect) || indirect)
        return false;
    const uint8_t *before = code_before(p, addr, &size);
    uint64_t thumb = p->machine->word == 4 ? pc & 1 : 0;
    return (p->machine->called(addr | thumb, before, size) & ~(uint64_t)1) == start;
}

bool offline_is_return(const struct offline_program *program, uint64_t pc) {
    bool indirect;
    vaddr_t addr;
    return find_code(program, pc, false, &addr) && follows_call(program, pc, addr, &indirect);
}

/* ---- exceptions of Cortex-M ---- */

/* Armv7-M, B1.5.8, Armv8-M, "EXC_RETURN": all ones above bit 6, but not the reset value of lr. */
static bool is_exc_return(const struct walk *w, uint64_t pc) {
    return w->machine->stacks_exceptions && pc >= 0xffffff80 && pc != UINT32_MAX;
}

enum {
    EXC_RETURN_PROCESS_STACK = 1 << 2,
    EXC_RETURN_BASIC_FRAME = 1 << 4,
    EXC_RETURN_CALLEE_REGISTERS = 1 << 5, /* 0: they are stacked, too (Armv8-M) */
    EXC_RETURN_V7 = 0xffffffe0,           /* the bits that are set before Armv8-M */
    XPSR_PADDING = 1 << 9,
    XPSR_THUMB = 1 << 24,
    BASIC_FRAME = 0x20,
    EXTENDED_FRAME = 0x68,
    CALLEE_REGISTERS = 0x28,
};

/* Finds the address at which r0 is stacked. */
static bool exception_stack(struct walk *w, uint32_t how, uint64_t *ret) {
    *ret = w->m.registers[w->machine->sp];
    if (how & EXC_RETURN_PROCESS_STACK) {
        if (!w->psp_is_known)
            return END(w, "no-register",
                       "an exception has interrupted the process stack, whose pointer is not "
                       "known: give psp=VALUE");
        *ret = w->psp;
    }
    return true;
}

/* Reads r4 to r11, which stand behind a mark and a word where an exception took secure code to a
 * non-secure handler. */
static bool skip_callee_registers(struct walk *w, uint32_t how, uint64_t *at) {
    static const uint32_t mark = 0xfefa125a;
    uint64_t word;
    if ((how & EXC_RETURN_V7) == EXC_RETURN_V7 || how & EXC_RETURN_CALLEE_REGISTERS)
        return true;
    if (!machine_read(&w->m, *at, &word) || (word & ~(uint64_t)1) != (mark & ~1u))
        return end_for_missing(w, "bad-exception",
                               "the exception's record on the stack is damaged");
    for (unsigned i = 0; i < 8; i++)
        if (!machine_read(&w->m, *at + 8 + 4 * (uint64_t)i, &w->m.registers[4 + i]))
            return end_for_missing(w, "cut", "");
    *at += CALLEE_REGISTERS;
    return true;
}

/* Replaces the registers by those of the code that the exception interrupted. */
static bool step_by_exception(struct walk *w, uint32_t how) {
    enum { R0, R1, R2, R3, R12, LR, PC, XPSR, WORDS };
    static const uint8_t numbers[] = {0, 1, 2, 3, 12, 14, 15};
    uint64_t at, words[WORDS];
    if (!exception_stack(w, how, &at) || !skip_callee_registers(w, how, &at))
        return false;
    for (unsigned i = 0; i < WORDS; i++)
        if (!machine_read(&w->m, at + 4 * (uint64_t)i, &words[i]))
            return end_for_missing(w, "cut", "");
    if (at % 4 || !(words[XPSR] & XPSR_THUMB))
        return END(w, "bad-exception", "the memory at 0x%08" PRIx64 " holds no exception frame",
                   at);
    for (unsigned i = 0; i < sizeof numbers; i++)
        w->m.registers[numbers[i]] = words[i];
    w->m.known |= 0x5000 | 0xf | 1u << w->machine->pc;
    at += how & EXC_RETURN_BASIC_FRAME ? BASIC_FRAME : EXTENDED_FRAME;
    w->m.registers[w->machine->sp] = at + (words[XPSR] & XPSR_PADDING ? 4 : 0);
    if (how & EXC_RETURN_PROCESS_STACK)
        w->psp_is_known = false; /* it is sp now */
    w->frame = (struct offline_frame){.pc = words[PC], .exact = true, .how = OFFLINE_EXCEPTION};
    return true;
}

/* ---- calls ---- */

static void read_row(const struct walk *w, vaddr_t addr, struct row *ret) {
    *ret = (struct row){0};
    for (int second = 0; second < 2 && !ret->known; second++)
        row_read(lineinfo_cfi(w->program->info, second), addr, w->machine->count, ret);
}

/* The pc is outside the code: a call by a bad pointer led there and has run no instruction yet. So
 * its return address is still in place. */
static bool step_from_nowhere(struct walk *w) {
    unsigned lr = w->machine->machine == EM_ARM ? 14 : 30;
    bool indirect = false;
    vaddr_t addr;
    uint64_t pc, sp = w->m.registers[w->machine->sp];
    bool on_stack = w->machine->machine == EM_X86_64;
    bool known = on_stack ? machine_read(&w->m, sp, &pc) : machine_register(&w->m, lr, &pc);
    if (!known || !find_code(w->program, pc, false, &addr) ||
        !follows_call(w->program, pc, addr, &indirect) || !indirect)
        return END(w, "no-code", "the pc is not in the image's code, and no call led there");
    if (on_stack)
        w->m.registers[w->machine->sp] = sp + w->machine->word;
    w->m.registers[w->machine->pc] = pc;
    w->m.known &= ~w->machine->scratch;
    w->frame = (struct offline_frame){.pc = pc, .how = OFFLINE_LINK_REGISTER};
    if (on_stack)
        w->frame.how = OFFLINE_RETURN_ADDRESS;
    return true;
}

/* Computes the caller's registers except the pc. GCC's rows say that the frame pointer is saved on
 * the stack even after it was popped. Between pop and return the register already has the caller's
 * value; the stack word may be overwritten, or missing in the dump. */
static void apply_rules(struct walk *w, const struct row *row, uint64_t cfa,
                        struct machine *caller) {
    uint64_t sp = w->m.registers[w->machine->sp];
    uint64_t restored = w->frame.exact ? offline_kept_to_return(w->program, w->frame.addr) : 0;
    caller->known &= ~w->machine->scratch;
    for (unsigned i = 0; i < w->machine->count; i++) {
        const struct rule *rule = &row->registers[i];
        uint64_t bit = (uint64_t)1 << i;
        bool popped = rule->kind == RULE_AT && cfa + (uint64_t)rule->offset < sp;
        if (rule->kind == RULE_SAME || (popped && restored & bit))
            continue;
        caller->known |= bit;
        if (rule->kind == RULE_UNDEFINED || !rule_apply(&w->m, rule, cfa, &caller->registers[i]))
            caller->known &= ~bit;
    }
    if (row->registers[w->machine->sp].kind == RULE_SAME)
        caller->registers[w->machine->sp] = cfa;
    caller->known |= (uint64_t)1 << w->machine->sp;
}

/* ADDR has its return address in the register. True if the function around it never saves that
 * register, by its call-frame information. *RET: the function, as far as it is known. */
static bool never_saves_return(const struct walk *w, vaddr_t addr, struct span *ret) {
    struct lineinfo *info = w->program->info;
    vaddr_t start = lineinfo_function_start(info, addr);
    struct row row;
    read_row(w, addr, &row);
    *ret = (struct span){start ? start & ~(vaddr_t)1 : row.start, row.end};
    for (vaddr_t at = ret->start; start && lineinfo_function_start(info, at) == start;
         at = row.end) {
        read_row(w, at, &row);
        if (!row.known)
            break;
        if (row.registers[row.return_register].kind != RULE_SAME)
            return false;
        ret->end = row.end > ret->end ? row.end : ret->end;
    }
    return true;
}

/* True if the register does not hold the return address although call-frame information says so.
 * Compilers (Clang, GCC for Arm) do not save it in functions that never return, and their rows say
 * so for the whole function. After the function's first call the register holds what that call, or
 * one made inside it, left there. It is still valid if it leads behind a call of this very
 * function: such a call cannot have returned. */
static bool is_overwritten(const struct walk *w, const struct row *row) {
    unsigned reg = row->return_register;
    struct span function;
    return w->machine->called && w->m.known >> reg & 1 &&
           never_saves_return(w, w->frame.addr, &function) &&
           offline_has_call(w->program, &function) &&
           !follows_call_of(w->program, w->m.registers[reg], function.start);
}

static bool has_caller(struct walk *w, const struct row *row) {
    const struct rule *rule = &row->registers[row->return_register];
    if (rule->kind == RULE_UNDEFINED)
        return END(w, "bottom", "nothing has called it");
    if (rule->kind == RULE_SAME && (!w->frame.exact || is_overwritten(w, row)))
        return END(w, "no-return",
                   "it never returns, and its calls have overwritten its return address");
    return true;
}

static bool find_return(struct walk *w, const struct row *row, uint64_t cfa, uint64_t *ret) {
    const struct rule *rule = &row->registers[row->return_register];
    w->m.missed = false;
    w->m.missing_registers = 0;
    bool known = rule->kind == RULE_SAME ? machine_register(&w->m, row->return_register, ret)
                                         : rule_apply(&w->m, rule, cfa, ret);
    return known || end_for_missing(w, "no-stack", "its return address cannot be found");
}

static bool step_by_row(struct walk *w, const struct row *row) {
    struct machine caller = w->m;
    uint64_t cfa, pc, sp = w->m.registers[w->machine->sp];
    w->m.missed = false;
    w->m.missing_registers = 0;
    if (!rule_apply(&w->m, &row->cfa, 0, &cfa))
        return end_for_missing(w, "no-stack", "its frame cannot be found");
    if (!row->signal && (cfa < sp || (cfa == sp && !w->frame.exact)))
        return END(w, "loop", "the stack gets no shorter");
    if (!find_return(w, row, cfa, &pc))
        return false;
    apply_rules(w, row, cfa, &caller);
    bool in_register = row->registers[row->return_register].kind == RULE_SAME;
    w->m = caller;
    w->m.registers[w->machine->pc] = pc;
    w->frame = (struct offline_frame){.pc = pc, .exact = row->signal};
    w->frame.how = in_register ? OFFLINE_LINK_REGISTER : OFFLINE_CFI;
    if (row->signal)
        w->frame.how = OFFLINE_SIGNAL;
    return true;
}

/* Checks the return address. The first function has no caller: its return address is a value that
 * start-up code or the processor left there. */
static bool check_return(struct walk *w, bool *ret_exception) {
    uint64_t pc = w->frame.pc;
    bool indirect;
    vaddr_t addr;
    *ret_exception = is_exc_return(w, pc);
    if (*ret_exception || w->frame.exact)
        return true;
    if (pc == 0 || (w->machine->stacks_exceptions && pc == UINT32_MAX))
        return END(w, "bottom", "nothing has called it");
    if (!find_code(w->program, pc, false, &addr))
        return END(w, "no-code", "its return address 0x%0*" PRIx64 " is not in the image's code",
                   digits(w), pc);
    if (!follows_call(w->program, pc, addr, &indirect))
        return END(w, "no-call", "no call stands before its return address 0x%0*" PRIx64, digits(w),
                   pc);
    return true;
}

/* ---- the walk ---- */

/* Compilers describe prologues; some do not describe epilogues (GCC for Thumb-1, Clang for Arm). So
 * an interrupted function is unwound by its code first. Behind a call the function's body holds the
 * stack, and call-frame information is right. */
static bool step_in_code(struct walk *w) {
    struct row row;
    struct offline_frame next;
    read_row(w, w->frame.addr - !w->frame.exact, &row);
    if (row.known && !has_caller(w, &row))
        return false;
    if ((w->frame.exact || !row.known) &&
        offline_step_by_code(w->program, &w->frame, &w->m, w->psp_is_known ? w->psp : 0, &next)) {
        w->frame = next;
        return true;
    }
    if (!row.known)
        return END(w, "no-cfi", "the image has no call-frame information of it");
    return step_by_row(w, &row);
}

/* Moves from a frame to its caller. */
static bool step(struct walk *w) {
    bool exception = false;
    if (w->frame.is_code) {
        if (!step_in_code(w))
            return false;
    } else if (!w->frame.exact || !step_from_nowhere(w)) {
        return false;
    }
    if (!check_return(w, &exception))
        return false;
    return !exception || step_by_exception(w, (uint32_t)w->frame.pc);
}

static void add_frame(struct walk *w, offline_frames *ret) {
    w->frame.is_code = find_code(w->program, w->frame.pc, w->frame.exact, &w->frame.addr);
    ARRAY_PUSH(ret, w->frame);
}

void offline_unwind(const struct offline_program *program, const struct offline_registers *from,
                    offline_frames *ret, struct err *ret_end) {
    const struct offline_machine *machine = program->machine;
    struct walk w = {.program = program,
                     .machine = machine,
                     .m = {.known = from->known,
                           .count = machine->count,
                           .word = machine->word,
                           .pieces = program->pieces,
                           .piece_count = program->piece_count},
                     .frame = {.pc = from->value[machine->pc], .exact = true},
                     .psp = from->psp,
                     .psp_is_known = from->psp_is_known,
                     .end = ret_end};
    memcpy(w.m.registers, from->value, sizeof w.m.registers);
    if (is_exc_return(&w, w.frame.pc) && !step_by_exception(&w, (uint32_t)w.frame.pc))
        return;
    add_frame(&w, ret);
    for (int i = 1; step(&w); i++) {
        if (i == OFFLINE_MOST) {
            err_set(ret_end, ENODATA, "deep", "there are more than %d frames", OFFLINE_MOST);
            return;
        }
        add_frame(&w, ret);
    }
}
