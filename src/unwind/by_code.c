/* Finds callers on 32-bit Arm by the library in backtrace/: spoor_backtrace.c describes its methods
 * and what proves them. Its text is all executable memory. It reads nothing else but tables and the
 * copied pieces of stacks. */
#include "unwind/by_code.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/regs.h"
#include "unwind/code.h"

enum {
    ROOM_ABOVE = 1 << 20, /* above a piece: a frame may end there, but not its caller */
    START_BYTES = 64,     /* of a program's start-up code */
    SCRATCH = 0x500f      /* registers that calls do not keep: r0 to r3, ip, lr */
};

struct context { /* passed to the library's callbacks */
    struct images *images;
    struct code *code; /* of the frame */
    struct machine *m;
    bool searches; /* reads may fail without ending the walk as cut */
};

static bool is_in_piece(const struct unwind_piece *p, taddr_t at, size_t room) {
    return at - p->at <= p->size + room;
}

static bool read_stack(const struct machine *m, taddr_t from, void *to, size_t size) {
    for (size_t i = 0; i < m->piece_count; i++) {
        const struct unwind_piece *p = &m->pieces[i];
        if (from - p->at < p->size && p->size - (from - p->at) >= size) {
            memcpy(to, p->bytes + (from - p->at), size);
            return true;
        }
    }
    return false;
}

/* CODE around AT. Most of the thousands of reads for a frame are in its own map. */
static struct code *code_at(const struct context *v, taddr_t at) {
    const struct map *map = v->code->map;
    return at - map->start < map->end - map->start ? v->code : images_at(v->images, at);
}

static int read_memory(void *arg, spoor_word from, void *to, size_t size) {
    const struct context *v = arg;
    struct machine *m = v->m;
    struct code *code = code_at(v, from);
    if (code && images_bytes(v->images, code, from, to, size))
        return 0;
    if (read_stack(m, from, to, size) || images_constants(v->images, v->code, from, to, size))
        return 0;
    for (size_t i = 0; i < m->piece_count && !v->searches && !m->missed; i++)
        m->missed = is_in_piece(&m->pieces[i], from, ROOM_ABOVE);
    return -1;
}

static bool is_signal_return(struct images *images, taddr_t pc) {
    uint8_t bytes[REGS_SIGNAL_RETURN_BYTES];
    size_t at;
    struct code *code = images_at(images, pc);
    return code && images_bytes(images, code, pc, bytes, sizeof bytes) &&
           regs_is_signal_return(bytes, &at);
}

/* True if ADDRESS is where a coroutine ends (makecontext()). Unwinders look a return address up by
 * the byte before it, so code that is returned to without a call has a nop there. */
static bool is_coroutine_end(struct images *images, uint64_t address) {
    taddr_t pc = regs_plain_address(address);
    struct code *code = images_at(images, pc);
    const struct arch *arch = arch_host();
    uint8_t bytes[4];
    struct insn insn;
    if (arch->other && address != pc)
        arch = arch->other;
    for (size_t size = arch->insn_bytes; code && size <= sizeof bytes; size *= 2)
        if (images_bytes(images, code, pc - size, bytes, size) &&
            arch->decode(bytes, size, pc - size, &insn, NULL) && insn.size == size)
            return insn.kind == INSN_NOP;
    return false;
}

static int goes_back(void *arg, spoor_word address) {
    const struct context *v = arg;
    return is_signal_return(v->images, regs_plain_address(address)) ||
           is_coroutine_end(v->images, address);
}

static struct span stack_of(const struct machine *m) {
    taddr_t sp = m->registers[REGS_DWARF_SP];
    for (size_t i = 0; i < m->piece_count; i++)
        if (is_in_piece(&m->pieces[i], sp, 0))
            return (struct span){m->pieces[i].at, m->pieces[i].at + m->pieces[i].size + ROOM_ABOVE};
    return (struct span){0, 0};
}

/* ---- ends ---- */

/* True if PC follows the first call in the straight line with which V's program begins: that code
 * has no caller. */
static bool is_program_start(struct context *v, taddr_t pc) {
    taddr_t entry = images_facts(v->images, v->code).entry, at = regs_plain_address(entry);
    const struct arch *arch = arch_host();
    struct insn insn = {.kind = INSN_OTHER};
    if (arch->other && entry != at)
        arch = arch->other;
    if (!entry || pc - at > START_BYTES)
        return false;
    for (; at < pc; at += insn.size) {
        uint8_t bytes[8];
        size_t room = sizeof bytes;
        while (room && !images_bytes(v->images, v->code, at, bytes, room))
            room -= 2;
        bool goes_on = arch->decode(bytes, room, at, &insn, NULL);
        if (!goes_on || insn.kind == INSN_RETURN || insn.kind == INSN_JUMP ||
            insn.kind == INSN_JUMP_INDIRECT)
            return false;
    }
    return at == pc && (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT);
}

/* True if the code at ADDRESS ends the thread or coroutine, or the program began there. */
static bool is_bottom(struct context *v, uint64_t address) {
    taddr_t pc = regs_plain_address(address);
    uint8_t bytes[REGS_SIGNAL_RETURN_BYTES];
    bool ends =
        images_bytes(v->images, v->code, pc, bytes, sizeof bytes) && regs_is_thread_end(bytes);
    return ends || is_program_start(v, pc) || is_coroutine_end(v->images, address);
}

/* ---- the step ---- */

/* SPOOR_BY_PROLOGUE searches the stack for the function's call. So it comes last. */
static bool step_any_way(struct context *context, struct spoor_image *image, struct machine *caller,
                         struct code_frame *frame) {
    static const uint8_t ways[] = {SPOOR_BY_TABLE | SPOOR_BY_RETURN, SPOOR_BY_PROLOGUE};
    for (size_t i = 0; i < sizeof ways; i++) {
        context->searches = i > 0 || frame->exact; /* an exact frame tries all methods at once */
        image->walkers = ways[i];
        if (code_step(image, caller, 0, frame))
            return true;
    }
    return false;
}

bool step_by_code(struct images *images, struct code *code, struct machine *m,
                  struct unwind_frame *frame, enum unwind_end *ret_end) {
    struct context context = {images, code, m, false};
    struct span tables = images_facts(images, code).exidx, stack = stack_of(m);
    size_t last = images->code.count - 1;
    struct spoor_image image = {.text_low = images->code.at[0].map->start,
                                .text_high = images->code.at[last].map->end,
                                .exidx_low = tables.start,
                                .exidx_high = tables.end,
                                .stacks[0] = {stack.start, stack.end},
                                .isa = SPOOR_ISA_ARM,
                                .read = read_memory,
                                .goes_back = goes_back,
                                .arg = &context};
    struct code_frame found = {.pc = m->registers[REGS_DWARF_PC], .exact = frame->exact};
    struct machine caller = *m;
    *ret_end = UNWIND_BOTTOM;
    if (!frame->exact && is_bottom(&context, found.pc))
        return false;
    *ret_end = UNWIND_LOST;
    if (!frame->exact)
        caller.known &= ~(uint64_t)SCRATCH;
    m->missed |= !stack.end;
    if (!step_any_way(&context, &image, &caller, &found))
        return false;
    for (int i = 0; i < m->count; i++)
        m->registers[i] = caller.known >> i & 1 ? caller.registers[i] : 0;
    m->known = caller.known;
    m->registers[REGS_DWARF_PC] = found.pc;
    frame->cfa = m->registers[REGS_DWARF_SP];
    frame->how = UNWIND_CODE;
    return true;
}
