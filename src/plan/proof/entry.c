/* Follows values from a function's first instruction to its frame. */
#include "plan/origins.h"

#include "arch/arch.h"
#include "base/mem.h"
#include "plan/depth/frame.h"

enum { MOST_INSTRUCTIONS = 400, ROUNDED = BASE_ROUNDED, WIDEST = 16 };

struct held { /* the lower bytes of a register, or bytes in memory */
    struct origin origin;
    uint8_t bytes; /* of these the origin is known; 0: of none */
};
struct entry_store {
    int32_t at;    /* relative to the CFA */
    uint8_t bytes; /* that were written */
    struct held value;
};
struct entry_code {
    const struct module *module;
    const struct arch *arch;
    struct frame frame;
    struct frame body; /* `frame`, where the stack pointer was lowest: not in the epilogue */
    struct held registers[DATA_REGISTERS];
    ARRAY(struct entry_store) stores;
    int32_t frame_bytes; /* the most that the CFA is above the stack pointer; 0: not known */
};

/* ---- memory ---- */

static bool place_in(const struct frame *frame, uint8_t base, int64_t displacement, int32_t *ret) {
    const struct frame_place nowhere = {BASE_UNKNOWN, 0};
    const struct frame_place place = base < STACK_REGISTERS ? frame->regs[base] : nowhere;
    const int64_t at = place.offset + displacement;
    if (place.base != BASE_CFA || at != (int32_t)at)
        return false;
    *ret = (int32_t)at;
    return true;
}

static bool place_of(const struct entry_code *e, const struct data_use *use, int32_t *ret) {
    return place_in(&e->frame, use->base, use->displacement, ret);
}

/* VALUE without its first bytes. */
static struct held without(struct held value, int32_t bytes) {
    if (bytes >= value.bytes || value.origin.bit)
        return (struct held){0};
    value.origin.at += bytes;
    value.bytes = (uint8_t)(value.bytes - bytes);
    return value;
}

static bool overlaps(const struct entry_store *s, int32_t at, int32_t bytes) {
    return s->at < at + bytes && at < s->at + s->bytes;
}

/* What a load of BYTES at CFA + AT gives. */
static struct held loaded(const struct entry_code *e, int32_t at, uint8_t bytes) {
    for (size_t i = e->stores.count; i-- > 0;) {
        const struct entry_store *s = &e->stores.at[i];
        if (!overlaps(s, at, bytes))
            continue;
        bool inside = s->at <= at && at + bytes <= s->at + s->bytes;
        return inside ? without(s->value, at - s->at) : (struct held){0};
    }
    if (at < 0) /* an earlier function's */
        return (struct held){0};
    return (struct held){{.kind = ORIGIN_STACK, .at = at}, bytes};
}

/* ---- instructions ---- */

static struct held at_most(struct held value, uint8_t bytes) {
    value.bytes = value.bytes < bytes ? value.bytes : bytes;
    return value;
}

static struct held value_of(const struct entry_code *e, const struct data_use *use) {
    int32_t at;
    struct held none = {0}, from = use->from < DATA_REGISTERS ? e->registers[use->from] : none;
    switch ((enum data_op)use->op) {
    case DATA_COPY:
        return at_most(from, use->bytes);
    case DATA_BIT:
        from.origin.bit = true;
        return at_most(from, 1);
    case DATA_LOAD:
        return place_of(e, use, &at) ? at_most(loaded(e, at, use->bytes), use->bytes) : none;
    case DATA_STORE:
        return use->reg < DATA_REGISTERS ? at_most(e->registers[use->reg], use->bytes) : none;
    case DATA_OTHER:
        break;
    }
    return none;
}

/* A store to an unknown place goes to memory of the caller: no address of this frame is anywhere
 * but in registers, whose places are known. */
static void step_data(struct entry_code *e, const struct data_use *use) {
    struct held value = value_of(e, use);
    int32_t at;
    for (unsigned reg = 0; reg < DATA_REGISTERS; reg++)
        if (use->written >> reg & 1)
            e->registers[reg] = (struct held){0};
    if (use->op == DATA_STORE && place_of(e, use, &at)) {
        struct entry_store s = {at, use->bytes, value};
        ARRAY_PUSH(&e->stores, s);
    } else if (use->op != DATA_STORE && use->op != DATA_OTHER) {
        e->registers[use->reg] = value;
    }
}

static void step_frame(struct entry_code *e, const uint8_t *bytes, size_t size) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    const uint8_t sp = (uint8_t)e->arch->sp_register;
    int32_t now, lowest;
    const size_t count = e->arch->stack(bytes, size, effects);
    for (size_t i = 0; i < count; i++)
        frame_step(&e->frame, e->arch, &effects[i], ROUNDED);
    if (place_in(&e->frame, sp, 0, &now) && place_in(&e->body, sp, 0, &lowest) && now <= lowest)
        e->body = e->frame;
}

/* Runs one instruction. False: the straight code ends before it. */
static bool step(struct entry_code *e, vaddr_t *pc) {
    const struct segment *segment = module_segment_at(e->module, *pc);
    struct data_use use;
    struct insn in;
    if (!segment || !segment->executable || *pc - segment->start >= segment->file_size)
        return false;
    const uint8_t *bytes = segment->bytes + (*pc - segment->start);
    const size_t room = segment->file_size - (*pc - segment->start);
    if (!e->arch->decode(bytes, room, *pc, &in, NULL) ||
        (in.kind != INSN_OTHER && in.kind != INSN_NOP && in.kind != INSN_LANDING) ||
        !e->arch->data(bytes, in.size, &use) || use.writes_anywhere)
        return false;
    step_data(e, &use);
    step_frame(e, bytes, in.size);
    *pc += in.size;
    return true;
}

/* ---- all of it ---- */

static int32_t frame_bytes_of(const struct entry_code *e, vaddr_t start) {
    int32_t most = 0;
    module_complete(e->module);
    const struct unwind_range *range = module_range_at(e->module, start);
    for (uint32_t i = 0; range && i < range->row_count; i++) {
        const struct cfa_row *row = &e->module->rows[range->first_row + i];
        if (row->reg == e->arch->sp_register && row->offset > most)
            most = row->offset;
    }
    return most;
}

static void enter(struct entry_code *e, vaddr_t start) {
    frame_enter(&e->frame, e->arch);
    e->body = e->frame;
    for (unsigned reg = 0; reg < DATA_REGISTERS; reg++)
        e->registers[reg] = (struct held){{.kind = ORIGIN_REGISTER, .reg = (uint8_t)reg},
                                          reg < DATA_VECTOR ? e->arch->word_bytes : WIDEST};
    e->registers[e->arch->sp_register] = (struct held){0};
    e->frame_bytes = frame_bytes_of(e, start);
}

struct entry_code *entry_code_read(const struct module *m, vaddr_t start, vaddr_t until) {
    const struct arch *arch = arch_for_machine(m->machine);
    if (!arch || !arch->data)
        return NULL;
    struct entry_code *e = mem_alloc(sizeof *e);
    vaddr_t pc = start;
    *e = (struct entry_code){.module = m, .arch = arch};
    enter(e, start);
    for (unsigned i = 0; i < MOST_INSTRUCTIONS && (!until || pc < until) && step(e, &pc); i++)
        ;
    if (!until || pc == until)
        return e;
    entry_code_free(e);
    return NULL;
}

void entry_code_free(struct entry_code *e) {
    if (e)
        ARRAY_FREE(&e->stores);
    free(e);
}

/* ---- questions ---- */

bool entry_code_place(const struct entry_code *e, struct entry_memory at, bool whole,
                      int32_t *ret) {
    int32_t base = 0;
    const struct frame *frame = whole ? &e->body : &e->frame;
    if (at.offset != (int32_t)at.offset)
        return false;
    if (at.base != ENTRY_CFA &&
        (at.base < 0 || at.base >= STACK_REGISTERS || !place_in(frame, (uint8_t)at.base, 0, &base)))
        return false;
    /* The code may have ended within the prologue. */
    if (whole && at.base == e->arch->sp_register && base != -e->frame_bytes)
        return false;
    return !__builtin_add_overflow(base, (int32_t)at.offset, ret);
}

/* Byte BYTE of VALUE. */
static struct origin byte_of(struct held value, int32_t byte) {
    if (byte >= value.bytes)
        return (struct origin){.kind = ORIGIN_UNKNOWN};
    value.origin.at += byte;
    return value.origin;
}

struct origin entry_code_first(const struct entry_code *e, int32_t at) {
    if (at >= 0)
        return (struct origin){.kind = ORIGIN_STACK, .at = at};
    for (size_t i = 0; i < e->stores.count; i++)
        if (overlaps(&e->stores.at[i], at, 1))
            return byte_of(e->stores.at[i].value, at - e->stores.at[i].at);
    return (struct origin){.kind = ORIGIN_UNKNOWN};
}

struct origin entry_code_register(const struct entry_code *e, unsigned reg, unsigned byte) {
    return reg < DATA_REGISTERS && byte < WIDEST ? byte_of(e->registers[reg], (int32_t)byte)
                                                 : (struct origin){.kind = ORIGIN_UNKNOWN};
}
