/*
 * Writes one T32 instruction anew for another address, and jumps.
 *
 *     b, b.w target              b.w target
 *     b<c> target, cbz           the opposite one over it; b.w target
 *     adr rd, address            movw rd; movt rd; add rd, pc
 *     mov rd, pc                 the same
 *     ldr rt, literal            the same, of rt; ldr rt, [rt]      (also ldrd, ldrh, ldrb …)
 *     vldr dd, literal           vldr dd, copy; b over; copy: …
 *     ldr pc, literal            ldr pc, copy; copy: …
 *     pld, pli of a literal      nop: a hint
 *     add rd, pc                 push {rs}; movw rs; movt rs; add rs, pc; add rd, rs; pop {rs}
 *     bl target                  movw lr; movt lr; add lr, pc; b.w target
 *     blx target                 the same; a far jump, without the state's bit
 *     blx rm                     the same; bx rm
 *
 * If b.w does not reach, a far jump replaces it: `ldr pc, address; address: …`. The address, with
 * the state's bit, is at the next whole word. At the end of a block it is `ldr pc, address; b over;
 * address: …; over:`.
 *
 * movw and movt hold the distance from the add, which reads the pc as its own address plus 4,
 * aligned or not. Before its last instruction each form changes only a register that the original
 * overwrites. So a thread that stands in between can run the original once more. `add rd, pc` has
 * no such register: it pushes another one, and a thread in between has its value there (`pushed`).
 *
 * Blocks are copied; a branch at their end becomes b.w. If an instruction of a block needs several,
 * the block is split: each instruction gets an IT of its own. The effect is the same, as each
 * instruction tests its condition with the flags as they are then. A thread that is moved into a
 * block gets the ITSTATE of its place.
 */
#include <errno.h>

#include "arch/arm/t32.h"

enum {
    LDR_PC = (int)0xf8dff000,
    NOP_W = (int)0xf3af8000,
    LDR_N = 0x6800,
    B_N = 0xe000,
    IT = 0xbf00,
    NOP_N = 0xbf00
};
enum { ADDRESS_BYTES = 10, OPPOSITE_BYTES = 2, JUMP_BYTES = 4, BORROWED_BYTES = 16 };
enum { FAR_BYTES = 10 };

/* ---- encodings ---- */

static void put_half(uint8_t *out, uint32_t half) {
    uint16_t value = (uint16_t)half;
    memcpy(out, &value, sizeof value);
}

static void put_wide(uint8_t *out, uint32_t word) {
    put_half(out, word >> 16);
    put_half(out + T32_HALF, word & 0xffff);
}

static bool fits(int64_t distance, unsigned bits) {
    int64_t half = INT64_C(1) << (bits - 1);
    return distance % 2 == 0 && distance >= -half && distance < half;
}

int t32_jump(uint8_t *out, vaddr_t at, vaddr_t to) {
    int64_t distance = (int64_t)(to - at) - T32_PC;
    uint32_t d = (uint32_t)distance, s = arm_bits(d, 24, 1);
    uint32_t j1 = 1 ^ s ^ arm_bits(d, 23, 1), j2 = 1 ^ s ^ arm_bits(d, 22, 1);
    put_wide(out, 0xf0009000 | s << 26 | arm_bits(d, 12, 10) << 16 | j1 << 13 | j2 << 11 |
                      arm_bits(d, 1, 11));
    return fits(distance, 25) ? 0 : -ERANGE;
}

int t32_hop(uint8_t *out, vaddr_t at, vaddr_t to) {
    int64_t distance = (int64_t)(to - at) - T32_PC;
    put_half(out, (uint32_t)B_N | arm_bits((uint32_t)distance, 1, 11));
    return fits(distance, 12) ? 0 : -ERANGE;
}

/* ldr.w pc from address DATA, a multiple of four. */
static uint32_t load_pc(vaddr_t at, vaddr_t data) {
    return (uint32_t)LDR_PC | (uint32_t)(data - ((at + T32_PC) & ~(vaddr_t)3));
}

static vaddr_t next_word(vaddr_t at) { return (at + 3) & ~(vaddr_t)3; }

uint8_t t32_far_jump(uint8_t *out, vaddr_t at, taddr_t to) {
    const vaddr_t data = next_word(at + JUMP_BYTES);
    const uint32_t address = (uint32_t)to | 1;
    put_wide(out, load_pc(at, data));
    if (data > at + JUMP_BYTES)
        put_half(out + JUMP_BYTES, NOP_N);
    memcpy(out + (data - at), &address, sizeof address);
    return (uint8_t)(data - at + sizeof address);
}

static bool is_near(vaddr_t at, vaddr_t to) { return fits((int64_t)(to - at) - T32_PC, 25); }

/* Size of a jump at AT to TO. */
static uint8_t jump_size(vaddr_t at, vaddr_t to) {
    uint8_t bytes[FAR_BYTES];
    return is_near(at, to) ? JUMP_BYTES : t32_far_jump(bytes, at, 0);
}

/* b<CONDITION>.w over the next DISTANCE bytes. */
static bool put_branch_over(uint8_t *out, uint32_t condition, uint32_t distance) {
    int64_t from_pc = (int64_t)distance + JUMP_BYTES - T32_PC;
    uint32_t d = (uint32_t)from_pc;
    put_wide(out, 0xf0008000 | condition << 22 | arm_bits(d, 12, 6) << 16 |
                      arm_bits(d, 18, 1) << 13 | arm_bits(d, 19, 1) << 11 | arm_bits(d, 1, 11));
    return fits(from_pc, 21);
}

/* The branch IN (b<c> or cbz), or its opposite, as a narrow one over the next DISTANCE bytes. */
static uint32_t short_branch(const struct t32 *in, bool opposite, uint32_t distance) {
    uint32_t d = distance - T32_HALF;
    if (in->row->form == T32_CBZ)
        return ((in->word & 0xfd07) ^ (opposite ? 0x800 : 0)) | arm_bits(d, 6, 1) << 9 |
               arm_bits(d, 1, 5) << 3;
    uint32_t condition = arm_bits(in->word, in->size == T32_HALF ? 8 : 22, 4);
    return 0xd000 | (condition ^ opposite) << 8 | arm_bits(d, 1, 8);
}

/* ---- the writer ---- */

struct writer {
    struct relocated *out;
    vaddr_t to;        /* address of the code */
    vaddr_t target;    /* of the original branch */
    vaddr_t resume;    /* the next instruction's place in the original … */
    uint8_t it;        /* … and its ITSTATE there */
    uint8_t pushed;    /* see struct relocated */
    uint8_t condition; /* of instructions with an IT of their own; ARM_ALWAYS: none */
    int r;
};

static vaddr_t here(const struct writer *w) { return w->to + w->out->size; }

static void begin_part(struct writer *w, vaddr_t resume) {
    struct relocated *out = w->out;
    out->parts[out->part_count].offset = out->size;
    out->parts[out->part_count].through = false;
    out->parts[out->part_count].pushed = w->pushed;
    out->parts[out->part_count].it = w->it;
    out->parts[out->part_count++].resume = resume;
}

static uint8_t *room_for(struct writer *w, uint8_t size) {
    uint8_t *at = w->out->bytes + w->out->size;
    w->out->size += size;
    return at;
}

static void add_half(struct writer *w, uint32_t value) {
    begin_part(w, w->resume);
    put_half(room_for(w, T32_HALF), value);
}

static void add_wide(struct writer *w, uint32_t word) {
    begin_part(w, w->resume);
    put_wide(room_for(w, 2 * T32_HALF), word);
}

static void add_copy(struct writer *w, const struct t32 *in) {
    if (in->size == T32_HALF)
        add_half(w, in->word);
    else
        add_wide(w, in->word);
}

/* ADDRESS has the state's bit. */
static void far_jump(struct writer *w, vaddr_t address) {
    uint8_t bytes[FAR_BYTES];
    const uint8_t size = t32_far_jump(bytes, here(w), 0);
    begin_part(w, w->resume);
    memcpy(room_for(w, size), bytes, size);
    w->out->address_at = (uint8_t)(w->out->size - ARM_WORD);
    w->out->address = address;
}

static void write_jump(struct writer *w, vaddr_t target) {
    const vaddr_t at = here(w);
    if (!is_near(at, target)) {
        far_jump(w, target | 1);
        return;
    }
    begin_part(w, w->resume);
    t32_jump(room_for(w, JUMP_BYTES), at, target);
}

/* A jump that ends a block, of SIZE bytes in the original. Its condition may fail. */
static void jump_or_pass(struct writer *w, uint8_t size, vaddr_t target) {
    if (is_near(here(w), target)) {
        write_jump(w, target);
        return;
    }
    const vaddr_t at = here(w), branch = at + JUMP_BYTES, data = next_word(branch + T32_HALF);
    const uint8_t end = (uint8_t)(data + ARM_WORD - w->to);
    if (end > RELOCATED_MAX_BYTES || w->out->part_count + 2 > RELOCATED_MAX_PARTS) {
        w->r = -ERANGE;
        return;
    }
    add_wide(w, load_pc(at, data));
    w->it = 0;
    w->resume += size;
    add_half(w, (uint32_t)B_N | (uint32_t)(data + ARM_WORD - (branch + T32_PC)) / 2);
    memset(w->out->bytes + w->out->size, 0, (size_t)(end - w->out->size));
    w->out->size = end;
    w->out->address_at = (uint8_t)(end - ARM_WORD);
    w->out->address = target | 1;
}

/* IT's mask for the first COUNT instructions only: a bit for each except the first, then a 1. */
static uint32_t shortened_mask(uint32_t it, unsigned count) {
    uint32_t end = 1U << (4 - count);
    return (it & 15 & ~(2 * end - 1)) | end;
}

/* Puts an IT for the next COUNT instructions, all with w->condition. */
static void put_it(struct writer *w, unsigned count) {
    uint32_t low = w->condition & 1, mask = 1U << (4 - count);
    if (w->condition == ARM_ALWAYS)
        return;
    for (unsigned i = 1; i < count; i++)
        mask |= low << (4 - i);
    add_half(w, (uint32_t)IT | (uint32_t)w->condition << 4 | mask);
}

static uint32_t move_16(uint32_t opcode, uint8_t reg, uint32_t value) {
    return opcode | arm_bits(value, 12, 4) << 16 | arm_bits(value, 11, 1) << 26 |
           arm_bits(value, 8, 3) << 12 | (uint32_t)reg << 8 | (value & 0xff);
}

static uint32_t high(uint32_t opcode, uint8_t reg, uint8_t from) {
    return opcode | (uint32_t)(reg & 8) << 4 | (uint32_t)from << 3 | (reg & 7);
}

/* Makes the address VALUE in REG. */
static void make_address(struct writer *w, uint8_t reg, vaddr_t value) {
    uint32_t distance = (uint32_t)(value - (here(w) + 2 * (vaddr_t)JUMP_BYTES + T32_PC));
    add_wide(w, move_16(0xf2400000, reg, distance & 0xffff));
    add_wide(w, move_16(0xf2c00000, reg, distance >> 16));
    add_half(w, high(0x4400, reg, ARM_PC));
}

/* ---- forms ---- */

static void load_literal(struct writer *w, const struct t32 *in, vaddr_t target) {
    struct t32_access a = {0};
    t32_access_of(in, &a);
    uint8_t reg = a.regs[0];
    if (!a.count) {
        put_it(w, 1);
        add_wide(w, (uint32_t)NOP_W);
        return;
    }
    if (in->row->form == T32_LITERAL_N) { /* one block of 14 bytes: it may be decoded again */
        put_it(w, 4);
        make_address(w, reg, target);
        add_half(w, (uint32_t)LDR_N | (uint32_t)reg << 3 | reg);
        return;
    }
    put_it(w, 3);
    make_address(w, reg, target);
    put_it(w, 1);
    if (in->row->form == T32_DUAL) /* no offset, upwards */
        add_wide(w, (in->word & 0xff50ff00) | 1U << 23 | (uint32_t)reg << 16);
    else
        add_wide(w, (in->word & 0xff70f000) | 1U << 23 | (uint32_t)reg << 16);
}

/* A load of an aligned copy of the constant, which stands behind the code. */
static void load_copy(struct writer *w, const struct t32 *in, vaddr_t target, uint8_t bytes) {
    const bool vector = in->row->form == T32_VECTOR_SINGLE;
    uint8_t code = vector ? 2 * T32_HALF + T32_HALF : 2 * T32_HALF;
    vaddr_t start = here(w), data = (start + code + 3) & ~(vaddr_t)3;
    uint32_t offset = (uint32_t)(data - ((start + T32_PC) & ~(vaddr_t)3));
    if (vector)
        add_wide(w, (in->word & 0xffffff00) | 1U << 23 |
                        (bytes == T32_HALF ? offset / 2 : offset / 4));
    else
        add_wide(w, (in->word & 0xfffff000) | 1U << 23 | offset);
    uint8_t end = (uint8_t)(data - w->to + bytes), at = (uint8_t)(data - w->to);
    if (vector) {
        w->resume += in->size;
        add_half(w, (uint32_t)B_N | (uint32_t)(end - (w->out->size + T32_PC)) / 2);
    }
    memset(w->out->bytes + w->out->size, 0, (size_t)(end - w->out->size));
    w->out->size = end;
    w->out->copy_at = at;
    w->out->copy_bytes = bytes;
    w->out->copy = target;
}

static void add_pc(struct writer *w, uint8_t rd, vaddr_t value) {
    uint8_t saved = rd == 0;
    add_half(w, 0xb400 | 1U << saved);
    w->pushed = saved + 1;
    make_address(w, saved, value);
    add_half(w, high(0x4400, rd, saved));
    w->resume += T32_HALF;
    add_half(w, 0xbc00 | 1U << saved);
    w->pushed = 0;
}

static void write_call(struct writer *w, const struct t32 *in, vaddr_t target) {
    make_address(w, ARM_LR, (w->resume + in->size) | 1);
    if (in->row->form == T32_BX) {
        add_half(w, in->word & ~0x80U);
    } else if (in->row->form == T32_BLX) {
        far_jump(w, target);
    } else {
        w->resume = target;
        write_jump(w, target);
    }
}

/* A copy, with an IT if there is a condition. */
static void write_copy(struct writer *w, const struct t32 *in) {
    put_it(w, 1);
    add_copy(w, in);
}

static void write_branch(struct writer *w, const struct t32 *in, vaddr_t target) {
    add_half(w, short_branch(in, true, jump_size(here(w) + T32_HALF, target)));
    w->resume = target;
    write_jump(w, target);
}

static void write_one(struct writer *w, const struct t32 *in) {
    struct t32_operand operand = t32_operand_of(in, w->resume);
    struct t32_access a;
    const uint32_t word = in->word;
    switch (in->row->form) {
    case T32_B_N:
    case T32_B_W:
        put_it(w, 1);
        if (w->condition == ARM_ALWAYS)
            write_jump(w, w->target);
        else
            jump_or_pass(w, in->size, w->target);
        return;
    case T32_B_COND_N:
    case T32_B_COND_W:
    case T32_CBZ:
        write_branch(w, in, w->target);
        return;
    case T32_ADD_HIGH:
    case T32_MOV_HIGH:
    case T32_ADR_N:
    case T32_ADD_PLAIN:
        break;
    default:
        if (in->kind == INSN_CALL || in->kind == INSN_CALL_INDIRECT)
            write_call(w, in, operand.target);
        else if (operand.kind != OPERAND_PC_MEMORY)
            write_copy(w, in);
        else if (in->row->form == T32_VECTOR_SINGLE || in->kind == INSN_JUMP_INDIRECT)
            load_copy(w, in, operand.target, t32_access_of(in, &a) ? a.bytes : 0);
        else
            load_literal(w, in, operand.target);
        return;
    }
    if (operand.kind == OPERAND_PLAIN) {
        write_copy(w, in);
    } else if (operand.kind == OPERAND_PC_PAGE) {
        add_pc(w, t32_high(word), operand.target);
    } else {
        uint8_t rd = in->row->form == T32_ADR_N       ? t32_low(word, 8)
                     : in->row->form == T32_ADD_PLAIN ? t32_rd(word)
                                                      : t32_high(word);
        put_it(w, 3);
        make_address(w, rd, operand.target);
    }
}

static bool is_pc_relative(const struct t32_block *block) {
    for (uint8_t i = 0; i < block->count; i++) {
        if (t32_operand_of(&block->at[i].in, 0).kind != OPERAND_PLAIN)
            return true;
    }
    return false;
}

/* ITSTATE before instruction I of a block. It begins as the last eight bits of the IT instruction;
 * each instruction shifts the mask by a bit (Arm ARM, ITAdvance). */
static uint8_t state_at(uint32_t it, uint8_t i) {
    return (uint8_t)((it & 0xe0) | (it << i & 0x1f));
}

/* Copies BLOCK, which may have fewer instructions than IT. */
static void whole_block(struct writer *w, const struct t32_block *block, uint32_t it) {
    const vaddr_t start = w->resume;
    add_half(w, (it & ~15U) | shortened_mask(it, block->count));
    for (uint8_t i = 0; i < block->count; i++) {
        const struct t32 *in = &block->at[i].in;
        w->resume = start + block->at[i].offset;
        w->it = state_at(it, i);
        if (in->kind == INSN_JUMP)
            jump_or_pass(w, in->size, w->target);
        else
            add_copy(w, in);
    }
}

static void split_block(struct writer *w, const struct t32_block *block, uint32_t it) {
    const vaddr_t start = w->resume;
    for (uint8_t i = 0; i < block->count; i++) {
        w->resume = start + block->at[i].offset;
        w->condition = block->at[i].condition;
        w->it = state_at(it, i);
        write_one(w, &block->at[i].in);
    }
    w->out->parts[0].resume = start;
    w->out->parts[0].it = 0;
}

static void write_block(struct writer *w, const struct t32_block *block, uint32_t it) {
    if (is_pc_relative(block))
        split_block(w, block, it);
    else
        whole_block(w, block, it);
}

int t32_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret) {
    struct t32 in = t32_classify(bytes, insn->size);
    struct t32_block block;
    struct writer w = {.out = ret,
                       .to = to,
                       .target = insn->target,
                       .resume = insn->addr,
                       .condition = ARM_ALWAYS};
    ret->size = ret->part_count = ret->address_at = ret->copy_bytes = 0;
    if (in.row->form == T32_IT && t32_block_at(bytes, insn->size, &block))
        write_block(&w, &block, in.word);
    else
        write_one(&w, &in);
    return w.r;
}

/* The instructions before the exit keep their conditions; their IT has a shorter mask. */
int t32_split_exit(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                   struct exit_parts *ret) {
    struct t32 in = t32_classify(bytes, insn->size);
    struct t32_block block;
    struct writer w = {
        .out = &ret->before, .to = to, .resume = insn->addr, .condition = ARM_ALWAYS};
    *ret = (struct exit_parts){.last = *insn};
    if (in.row->form != T32_IT || !t32_block_at(bytes, insn->size, &block))
        return 0;
    const struct t32_member *last = t32_last(&block);
    ret->it = state_at(in.word, (uint8_t)(block.count - 1));
    t32_decode(bytes + last->offset, last->in.size, insn->addr + last->offset, &ret->last, NULL);
    if (--block.count)
        write_block(&w, &block, in.word);
    return w.r;
}

/* ---- what can be relocated ---- */

/* In a block at most four instructions can replace one. */
bool t32_can_move(const struct t32 *in, bool in_block) {
    struct t32_access a;
    switch (in->row->form) {
    case T32_TABLE:
        return false;
    case T32_BL:
    case T32_BLX:
        return !in_block;
    case T32_BX:
        return !t32_operand_of(in, 0).target && !(in_block && in->kind == INSN_CALL_INDIRECT);
    case T32_ADD_HIGH:
        return t32_high(in->word) != ARM_PC &&
               !(in_block && t32_operand_of(in, 0).kind != OPERAND_PLAIN);
    case T32_VECTOR_SINGLE:
        return !(in_block && t32_accesses_by_pc(in));
    default:
        break;
    }
    if (!t32_accesses_by_pc(in) || !t32_access_of(in, &a) || !a.count)
        return true;
    return a.regs[0] != ARM_SP && !(in_block && a.regs[0] == ARM_PC);
}

size_t t32_moved_bytes(const struct t32 *in) {
    struct t32_operand operand = t32_operand_of(in, 0);
    if (operand.kind == OPERAND_PC_MEMORY)
        return ADDRESS_BYTES + (size_t)(in->size == T32_HALF ? T32_HALF : 3 * T32_HALF);
    return operand.kind == OPERAND_PC_ADDRESS ? ADDRESS_BYTES : in->size;
}

bool t32_can_call(const struct insn *insn, const uint8_t *bytes) {
    struct t32 in = t32_classify(bytes, insn->size);
    if (insn->kind == INSN_CALL)
        return in.row->form == T32_BL || in.row->form == T32_BLX;
    return insn->kind == INSN_CALL_INDIRECT && in.row->form == T32_BX &&
           t32_reg(in.word, 3) != ARM_LR;
}

size_t t32_relocated_bytes(const struct insn *insn) {
    if (insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT)
        return ADDRESS_BYTES + FAR_BYTES;
    if (insn->operand == OPERAND_PLAIN)
        return insn->size + (size_t)(insn->target ? FAR_BYTES + T32_HALF : JUMP_BYTES);
    return insn->size > 2 * T32_HALF ? RELOCATED_MAX_BYTES : BORROWED_BYTES;
}

/* A block has the condition of its last instruction. */
size_t t32_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]) {
    enum { CBZ_REACH = 126, CBZ_OVER = 6 };
    struct t32 in = t32_classify(bytes, insn->size);
    struct t32_block block;
    uint32_t condition;
    if ((insn->kind != INSN_BRANCH && insn->kind != INSN_LOOP && !insn->goes_on) || skip % T32_HALF)
        return 0;
    if (in.row->form == T32_CBZ && skip >= T32_HALF && skip <= CBZ_REACH + T32_HALF) {
        put_half(out, short_branch(&in, true, skip));
        return T32_HALF;
    }
    if (in.row->form == T32_CBZ) {
        put_half(out, short_branch(&in, false, JUMP_BYTES));
        return t32_jump(out + T32_HALF, T32_HALF, (vaddr_t)CBZ_OVER + skip) ? 0 : CBZ_OVER;
    }
    if (in.row->form == T32_IT && t32_block_at(bytes, insn->size, &block))
        condition = t32_last(&block)->condition;
    else
        condition = arm_bits(in.word, in.size == T32_HALF ? 8 : 22, 4);
    return put_branch_over(out, condition ^ 1, skip) ? JUMP_BYTES : 0;
}
