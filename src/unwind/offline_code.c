/* See offline_code.h. */
#include "unwind/offline_code.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "unwind/code.h"
#include "unwind/offline_machine.h"

struct context { /* passed to the library's callbacks */
    const struct offline_program *program;
    const struct machine *m;
};

static int read_memory(void *arg, spoor_word from, void *to, size_t size) {
    const struct context *v = arg;
    size_t left;
    for (size_t i = 0; i < v->m->piece_count; i++) {
        const struct unwind_piece *p = &v->m->pieces[i];
        if (from - p->at < p->size && p->size - (from - p->at) >= size) {
            memcpy(to, p->bytes + (from - p->at), size);
            return 0;
        }
    }
    const uint8_t *bytes = lineinfo_bytes(v->program->info, from - v->program->bias, &left);
    if (!bytes || left < size)
        return -1;
    memcpy(to, bytes, size);
    return 0;
}

static spoor_word find_start(void *arg, spoor_word address) {
    const struct context *v = arg;
    vaddr_t start = lineinfo_function_start(v->program->info, address - v->program->bias);
    return start ? start + v->program->bias : 0;
}

static struct spoor_stack stack_at(const struct context *v, uint64_t sp) {
    for (size_t i = 0; i < v->m->piece_count; i++) {
        const struct unwind_piece *piece = &v->m->pieces[i];
        if (sp && sp - piece->at <= piece->size)
            return (struct spoor_stack){piece->at, piece->at + piece->size};
    }
    return (struct spoor_stack){0, 0};
}

static struct spoor_image image_of(struct context *v, uint64_t sp, uint64_t psp) {
    const struct offline_program *p = v->program;
    struct span text = lineinfo_text(p->info), exidx = lineinfo_exidx(p->info);
    struct spoor_image image = {.text_low = text.start + p->bias,
                                .text_high = text.end + p->bias,
                                .exidx_low = exidx.start + p->bias,
                                .exidx_high = exidx.end + p->bias,
                                .walkers = SPOOR_BY_TABLE | SPOOR_BY_RETURN | SPOOR_BY_PROLOGUE,
                                .read = read_memory,
                                .start = find_start,
                                .arg = v};
    image.isa = SPOOR_ISA_ARM;
    if (lineinfo_machine(p->info) == EM_AARCH64)
        image.isa = SPOOR_ISA_A64;
    else if (lineinfo_is_m_profile(p->info))
        image.isa = SPOOR_ISA_M;
    image.stacks[0] = stack_at(v, sp);
    image.stacks[1] = stack_at(v, psp);
    return image;
}

/* FRAME's pc with the Thumb bit. An interrupted pc has none: it is in the processor's state, and so
 * comes from the symbol. */
static uint64_t with_thumb(const struct offline_program *p, const struct offline_frame *frame) {
    vaddr_t start = lineinfo_function_start(p->info, frame->addr);
    return frame->exact ? frame->addr + p->bias + (start & 1) : frame->pc;
}

static enum offline_how how_of(uint8_t by) {
    switch (by) {
    case SPOOR_BY_EXCEPTION:
        return OFFLINE_EXCEPTION;
    case SPOOR_BY_TABLE:
        return OFFLINE_EXIDX;
    case SPOOR_BY_PROLOGUE:
        return OFFLINE_PROLOGUE;
    default:
        return OFFLINE_CODE;
    }
}

/*
 * Handles the end of Thumb-1 functions that saved arguments: "pop {r3}; add sp, #16; bx r3". The
 * return address is already in a low register. The register counts if nothing changes it up to the
 * `bx`, and if a call stands before the address that it holds. A tail call's target is a function's
 * start and has no call before it.
 */
static bool step_by_bx(const struct context *v, const struct offline_frame *frame,
                       struct machine *m, struct offline_frame *ret) {
    enum { MOST = 4, PC = 15, BX_MASK = 0xff87, BX = 0x4700, LR = 14 };
    uint64_t sp = m->registers[SPOOR_SP];
    for (unsigned i = 0; i < MOST; i++) {
        uint16_t insn;
        if (read_memory((void *)v, frame->addr + v->program->bias + 2 * i, &insn, sizeof insn) != 0)
            return false;
        unsigned reg = insn >> 3 & 15;
        if ((insn & BX_MASK) == BX && reg < 8 && m->known >> reg & 1) {
            *ret = (struct offline_frame){.pc = m->registers[reg], .how = OFFLINE_CODE};
            m->registers[SPOOR_SP] = sp;
            m->known &= ~(uint64_t)0x500f; /* call-clobbered registers */
            return offline_is_return(v->program, ret->pc);
        }
        if ((insn & 0xff80) != 0xb000) /* add sp, #n */
            return false;
        sp += (insn & 0x7fu) * 4;
    }
    return false;
}

bool offline_step_by_code(const struct offline_program *program, const struct offline_frame *frame,
                          struct machine *m, uint64_t psp, struct offline_frame *ret) {
    uint16_t machine = lineinfo_machine(program->info);
    bool is_arm = machine == EM_ARM;
    unsigned sp = is_arm ? SPOOR_SP : SPOOR_A64_SP;
    if (!is_arm && machine != EM_AARCH64)
        return false;
    struct context context = {program, m};
    struct machine before = *m;
    if (is_arm && frame->exact && with_thumb(program, frame) & 1 &&
        step_by_bx(&context, frame, m, ret))
        return true;
    *m = before;
    struct spoor_image image = image_of(&context, m->registers[sp], psp);
    struct code_frame found = {.exact = frame->exact};
    found.pc = is_arm ? with_thumb(program, frame) : frame->addr + program->bias;
    if (!code_step(&image, m, psp, &found) || !found.sure) {
        *m = before;
        return false;
    }
    *ret = (struct offline_frame){.pc = found.pc, .exact = found.exact, .how = how_of(found.by)};
    return true;
}

/* ---- return addresses in registers ---- */

bool offline_has_call(const struct offline_program *program, const struct span *code) {
    vaddr_t thumb = lineinfo_function_start(program->info, code->start) & 1;
    vaddr_t step = thumb ? 2 : 4;
    for (vaddr_t at = code->start + step; at <= code->end; at += step)
        if (offline_is_return(program, at + thumb + program->bias))
            return true;
    return false;
}

/* ---- straight lines ---- */

struct line {
    const struct arch *arch; /* NULL: the machine is not known */
    struct insn insn;
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count; /* of effects */
};

/* Decodes the instruction at ADDR. False: there is none. */
static bool line_step(struct line *line, const struct offline_program *program, vaddr_t addr) {
    size_t room;
    const uint8_t *bytes = lineinfo_bytes(program->info, addr, &room);
    if (!line->arch || !bytes || !line->arch->decode(bytes, room, addr, &line->insn, NULL))
        return false;
    line->count = line->arch->stack(bytes, line->insn.size, line->effects);
    return true;
}

static bool line_goes_on(const struct line *line) {
    return line->insn.kind == INSN_OTHER || line->insn.kind == INSN_NOP ||
           line->insn.kind == INSN_LANDING;
}

/* The registers that the instruction writes. */
static uint64_t line_writes(const struct line *line) {
    uint64_t all = 0;
    for (size_t i = 0; i < line->count; i++) {
        const struct stack_effect *e = &line->effects[i];
        bool writes = e->op != STACK_NONE && e->op != STACK_STORE && e->op != STACK_PUSH;
        all |= e->changed;
        if (writes && e->reg != STACK_NO_REGISTER)
            all |= (uint64_t)1 << e->reg;
    }
    return all;
}

uint64_t offline_kept_to_return(const struct offline_program *program, vaddr_t addr) {
    enum { MOST = 64 };
    struct line line = {.arch = arch_for_machine(lineinfo_machine(program->info))};
    uint64_t kept = line.arch && line.arch->other ? 0 : UINT64_MAX;
    for (unsigned i = 0; i < MOST && kept && line_step(&line, program, addr); i++) {
        addr += line.insn.size;
        if (line.insn.kind == INSN_RETURN)
            return kept;
        if (line.insn.kind == INSN_JUMP) {
            addr = line.insn.target;
            if (lineinfo_function_start(program->info, addr) == addr)
                return kept;
        } else if (!line_goes_on(&line)) {
            return 0;
        }
        kept &= ~line_writes(&line);
    }
    return 0;
}
