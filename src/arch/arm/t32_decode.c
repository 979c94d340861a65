/*
 * Decodes T32 instructions, and follows addresses along straight code.
 *
 * An IT and the up to four instructions that it makes conditional are one instruction to planning,
 * so that no window divides them. The last of them decides the kind:
 *
 *     it eq; popeq {r4, pc}        an INSN_BRANCH without a target: a return with a condition
 *     it ne; bxne r3               the same, a tail call
 *     itt ne; teqne …; bxne lr     the same, by the flags at the exit: t32_split_exit()
 *     it ne; bne.w target          an INSN_BRANCH
 *     ite eq; moveq …; bne.w …     an INSN_LOOP: a jump alone cannot replace it
 *     it ne; blne function         an INSN_CALL with a condition
 *     it eq; moveq r0, #1          an INSN_OTHER
 *
 * Addresses are made by
 *
 *     movw r0, #low; movt r0, #high                 a number
 *     ldr r0, [pc, #n]; add r0, pc                  an address, and with
 *     ldr r1, [pc, #m]; ldr r0, [r0, r1]            the memory there
 */
#include "arch/arm/t32.h"

static vaddr_t sum(vaddr_t base, int64_t distance) { return (uint32_t)(base + (vaddr_t)distance); }

/* The distance of wide branches, with bits S, J1 and J2. */
static int64_t wide_distance(uint32_t word) {
    uint32_t s = arm_bits(word, 26, 1), j1 = arm_bits(word, 13, 1), j2 = arm_bits(word, 11, 1);
    uint32_t value = s << 24 | (1 ^ j1 ^ s) << 23 | (1 ^ j2 ^ s) << 22 |
                     arm_bits(word, 16, 10) << 12 | arm_bits(word, 0, 11) << 1;
    return arm_signed(value, 0, 25);
}

static int64_t condition_distance(uint32_t word) {
    uint32_t value = arm_bits(word, 26, 1) << 20 | arm_bits(word, 11, 1) << 19 |
                     arm_bits(word, 13, 1) << 18 | arm_bits(word, 16, 6) << 12 |
                     arm_bits(word, 0, 11) << 1;
    return arm_signed(value, 0, 21);
}

static struct t32_operand branch_operand(vaddr_t target) {
    return (struct t32_operand){OPERAND_PLAIN, target};
}

static struct t32_operand memory_by_pc(const struct t32 *in, vaddr_t aligned) {
    struct t32_access a;
    if (!t32_accesses_by_pc(in) || !t32_access_of(in, &a))
        return branch_operand(0);
    return (struct t32_operand){OPERAND_PC_MEMORY, sum(aligned, a.offset)};
}

/* `mov` or `add` of the pc to a high register. */
static struct t32_operand pc_itself(const struct t32 *in, vaddr_t pc) {
    if (t32_reg(in->word, 3) != ARM_PC || t32_high(in->word) == ARM_PC)
        return branch_operand(0);
    bool moves = in->row->form == T32_MOV_HIGH;
    return (struct t32_operand){moves ? OPERAND_PC_ADDRESS : OPERAND_PC_PAGE, pc};
}

struct t32_operand t32_operand_of(const struct t32 *in, vaddr_t addr) {
    const uint32_t word = in->word;
    const vaddr_t pc = sum(addr, T32_PC), aligned = pc & ~(vaddr_t)3;
    switch (in->row->form) {
    case T32_B_N:
        return branch_operand(sum(pc, (int64_t)arm_signed(word, 0, 11) * 2));
    case T32_B_COND_N:
        return branch_operand(sum(pc, (int64_t)arm_signed(word, 0, 8) * 2));
    case T32_CBZ:
        return branch_operand(sum(pc, arm_bits(word, 9, 1) << 6 | arm_bits(word, 3, 5) << 1));
    case T32_B_W:
    case T32_BL:
        return branch_operand(sum(pc, wide_distance(word)));
    case T32_BLX:
        return branch_operand(sum(aligned, wide_distance(word)));
    case T32_B_COND_W:
        return branch_operand(sum(pc, condition_distance(word)));
    case T32_BX: /* bx pc: to the code behind it, in A32 */
        return branch_operand(t32_reg(word, 3) == ARM_PC ? aligned : 0);
    case T32_TABLE:
        if (t32_rn(word) != ARM_PC)
            return branch_operand(0);
        return (struct t32_operand){OPERAND_PC_MEMORY, pc};
    case T32_ADR_N:
        return (struct t32_operand){OPERAND_PC_ADDRESS, sum(aligned, t32_addend(in))};
    case T32_ADD_PLAIN:
        if (t32_rn(word) != ARM_PC)
            return branch_operand(0);
        return (struct t32_operand){OPERAND_PC_ADDRESS, sum(aligned, t32_addend(in))};
    case T32_ADD_HIGH:
    case T32_MOV_HIGH:
        return pc_itself(in, pc);
    default:
        return memory_by_pc(in, aligned);
    }
}

/* vldr (F6.1) and `ldr pc` have no register in which the address could be computed. */
static uint8_t copied_bytes(const struct t32 *in) {
    struct t32_access a;
    if (!t32_accesses_by_pc(in) || !t32_access_of(in, &a))
        return 0;
    if (in->row->form == T32_VECTOR_SINGLE)
        return a.bytes;
    return a.count && a.regs[0] == ARM_PC ? a.bytes : 0;
}

static uint8_t table_entry_bytes(const struct t32 *in) {
    return (uint8_t)(1U << arm_bits(in->word, 4, 1));
}

/* The size of IN's access A: more than a word for ldrd, ldm and vldr of a double. 0: not known. */
static uint8_t accessed_bytes(const struct t32 *in, const struct t32_access *a) {
    bool lane = in->row->form == T32_VECTOR_ELEMENTS && arm_bits(in->word, 23, 1);
    return lane ? 0 : (uint8_t)(a->count * a->bytes);
}

static uint8_t loaded_bytes(const struct t32 *in) {
    struct t32_access a;
    if (in->row->form == T32_TABLE)
        return table_entry_bytes(in);
    return t32_accesses(in) && t32_access_of(in, &a) ? accessed_bytes(in, &a) : 0;
}

/* clrex, ldrex and strex: bit 20 is set in loads. */
static uint8_t exclusive_of(const struct t32 *in) {
    if (in->word == 0xf3bf8f2f)
        return EXCLUSIVE_ENDS;
    if (in->row->kind != INSN_EXCLUSIVE)
        return EXCLUSIVE_NO;
    return arm_bits(in->word, 20, 1) ? EXCLUSIVE_BEGINS : EXCLUSIVE_ENDS;
}

/* Most instructions neither read the pc nor write it, except by loading it. */
static bool is_pc_independent(const struct t32 *in) {
    return in->row->form == T32_PLAIN || (t32_accesses(in) && !t32_accesses_by_pc(in));
}

/* All other instructions. */
static void decode_relative(const struct t32 *in, struct insn *ret) {
    struct t32_operand operand = t32_operand_of(in, ret->addr);
    bool to_a32 = in->row->form == T32_BX && operand.target; /* as linkers' stubs do */
    if (to_a32)
        ret->kind = in->kind == INSN_JUMP_INDIRECT ? INSN_JUMP : INSN_FIXED;
    ret->target = operand.target;
    ret->operand = operand.kind;
    ret->turns = to_a32 || in->row->form == T32_BLX;
    ret->copies = copied_bytes(in);
    ret->loads = operand.kind == OPERAND_PC_MEMORY ? loaded_bytes(in) : 0;
    ret->stays = !t32_can_move(in, false);
}

static void decode_one(const struct t32 *in, struct insn *ret) {
    struct flags_use flags = t32_flags_of(in, false);
    ret->size = in->size ? in->size : T32_HALF;
    ret->kind = in->kind;
    ret->exclusive = exclusive_of(in);
    ret->reads_flags = flags.tested != 0;
    ret->writes_flags = flags.written != 0;
    if (!is_pc_independent(in))
        decode_relative(in, ret);
}

/* ---- blocks ---- */

static bool changes_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_BRANCH ||
           kind == INSN_JUMP_INDIRECT || kind == INSN_CALL || kind == INSN_CALL_INDIRECT;
}

/* Does this indirect jump have the form of a switch? */
static bool is_switch(const struct t32 *in) {
    struct t32_access a;
    bool indexed = t32_access_of(in, &a) && (a.indexed || a.base == ARM_PC);
    return indexed || in->row->form == T32_TABLE || in->row->form == T32_ADD_HIGH ||
           t32_operand_of(in, 0).target;
}

/* The kind that the last instruction gives its block. Only the last one may branch. */
static uint8_t kind_by_last(const struct t32_block *block) {
    const struct t32_member *last = t32_last(block);
    switch (last->in.kind) {
    case INSN_JUMP:
        return block->count == 1 ? INSN_BRANCH : INSN_LOOP;
    case INSN_RETURN:
        return INSN_BRANCH;
    case INSN_JUMP_INDIRECT:
        return is_switch(&last->in) ? INSN_JUMP_INDIRECT : INSN_BRANCH;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return last->in.kind;
    default:
        return INSN_OTHER;
    }
}

/* The kind that M gives its block; INSN_OTHER: M does not decide. */
static uint8_t kind_by_member(const struct t32_member *m, bool last) {
    uint8_t kind = m->in.kind, form = m->in.row->form;
    if (kind == INSN_BAD || (changes_flow(kind) && !last) || kind == INSN_BRANCH || form == T32_IT)
        return INSN_BAD; /* unpredictable */
    if (kind == INSN_FIXED || kind == INSN_BREAK || kind == INSN_LANDING)
        return INSN_FIXED;
    if (kind == INSN_SYSCALL || kind == INSN_EXCLUSIVE)
        return kind;
    return INSN_OTHER;
}

/* Instructions that run if the block is not left must not change the frame. Effects are known for
 * one outcome only. */
static bool keeps_frame(const struct t32_block *block) {
    const struct t32_member *last = t32_last(block);
    for (uint8_t i = 0; i + 1 < block->count; i++) {
        bool same = block->at[i].condition == last->condition;
        if (!same && t32_written(&block->at[i].in) >> ARM_SP & 1)
            return false;
    }
    return true;
}

/* Whether the flags at the block's end show what has run. If all instructions have one condition,
 * they do, even if the block writes flags: once the condition fails, no later one writes any. */
static bool flags_show_what_ran(const struct t32_block *block, bool writes_flags) {
    for (uint8_t i = 0; writes_flags && i < block->count; i++)
        if (block->at[i].condition != t32_last(block)->condition)
            return false;
    return true;
}

static uint8_t block_kind(const struct t32_block *block, bool writes_flags) {
    uint8_t kind = kind_by_last(block);
    const bool exits = kind == INSN_BRANCH || kind == INSN_LOOP;
    /* No compiler writes the condition "always". */
    const bool strange =
        (exits && !(flags_show_what_ran(block, writes_flags) && keeps_frame(block))) ||
        t32_last(block)->condition >= ARM_ALWAYS;
    for (uint8_t i = 0; i < block->count; i++) {
        bool last = i + 1 == block->count;
        uint8_t other = kind_by_member(&block->at[i], last);
        if (other == INSN_BAD || (strange && changes_flow(block->at[i].in.kind)))
            return INSN_BAD;
        if (other != INSN_OTHER)
            kind =
                changes_flow(kind) || kind == INSN_LOOP || kind == INSN_FIXED ? INSN_FIXED : other;
    }
    return kind;
}

static bool block_can_move(const struct t32_block *block) {
    size_t size = 0;
    bool plain = true;
    for (uint8_t i = 0; i < block->count; i++) {
        const struct t32 *in = &block->at[i].in;
        if (!t32_can_move(in, true))
            return false;
        plain &= t32_operand_of(in, 0).kind == OPERAND_PLAIN;
        size += T32_HALF + t32_moved_bytes(in);
    }
    return plain || size <= RELOCATED_MAX_BYTES;
}

static void take_operand(struct insn *ret, const struct t32_member *m) {
    struct t32_operand operand = t32_operand_of(&m->in, ret->addr + m->offset);
    if (operand.target && (!ret->target || operand.kind == OPERAND_PLAIN)) {
        ret->operand = operand.kind;
        ret->target = operand.target;
    }
}

/* The target is that of a branch, else the first operand's. (Not inlined: few instructions are
 * blocks.) */
static __attribute__((noinline)) bool decode_block(const uint8_t *bytes, size_t room,
                                                   struct insn *ret) {
    struct t32_block block;
    struct flags_use all = {0};
    bool pc_relative = false;
    if (!t32_block_at(bytes, room, &block) || block.size > UNIT_MAX_BYTES)
        return false;
    for (uint8_t i = 0; i < block.count; i++) {
        const struct t32_member *m = &block.at[i];
        struct flags_use use = t32_flags_of(&m->in, true);
        all.tested |= use.tested | arm_tested_by(m->condition);
        all.written |= use.written;
        take_operand(ret, m);
        pc_relative |= t32_operand_of(&m->in, 0).kind != OPERAND_PLAIN;
        if (exclusive_of(&m->in))
            ret->exclusive = exclusive_of(&m->in);
    }
    const struct t32 *last = &t32_last(&block)->in;
    ret->size = block.size;
    ret->kind = block_kind(&block, all.written);
    ret->turns = last->row->form == T32_BLX;
    ret->tails = ret->kind == INSN_BRANCH && last->kind == INSN_JUMP_INDIRECT;
    ret->goes_on = ret->kind == INSN_JUMP_INDIRECT || ret->kind == INSN_CALL ||
                   ret->kind == INSN_CALL_INDIRECT;
    ret->reads_flags = all.tested != 0;
    ret->writes_flags = all.written != 0;
    ret->stays = !block_can_move(&block);
    bool exits = ret->kind == INSN_BRANCH || ret->kind == INSN_LOOP;
    if (exits && last->kind != INSN_JUMP)
        ret->target = 0;
    if (pc_relative && (exits || ret->operand == OPERAND_PLAIN))
        ret->operand = OPERAND_PC_PAGE; /* the target is another instruction's */
    return ret->kind != INSN_BAD;
}

bool t32_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants) {
    *ret = (struct insn){.addr = addr, .size = 1, .kind = INSN_BAD};
    if (constants)
        *constants = (struct insn_constants){0};
    if (room < T32_HALF || addr % T32_HALF)
        return false;
    struct t32 in = t32_classify(bytes, room);
    if (in.row->form != T32_IT)
        decode_one(&in, ret);
    else if (!decode_block(bytes, room, ret))
        *ret = (struct insn){.addr = addr, .size = T32_HALF, .kind = INSN_BAD};
    return ret->kind != INSN_BAD;
}

/* ---- addresses along straight code ---- */

static void set(struct trail *trail, uint8_t reg, vaddr_t value) {
    if (reg == ARM_PC)
        return;
    trail->at[reg] = (uint32_t)value;
    trail->known |= UINT32_C(1) << reg;
}

static bool knows(const struct trail *trail, uint8_t reg) { return trail->known >> reg & 1; }

static bool with_operand(const struct insn *insn, uint8_t operand, vaddr_t target,
                         struct insn *ret) {
    *ret = *insn;
    ret->operand = operand;
    ret->target = target;
    return true;
}

static uint32_t literal_in(const struct trail *trail) {
    return t32_half(trail->literal) | (uint32_t)t32_half(trail->literal + T32_HALF) << 16;
}

/* A load or store. Its address may be known; a literal load sets a register. */
static bool follow_access(struct trail *trail, const struct insn *insn, const struct t32 *in,
                          struct insn *ret) {
    struct t32_access a = {0};
    vaddr_t value = 0;
    t32_access_of(in, &a);
    uint8_t index = in->size == T32_HALF ? t32_low(in->word, 6) : t32_rm(in->word);
    bool shifted = in->size != T32_HALF && arm_bits(in->word, 4, 2);
    bool word = a.load && a.general && a.bytes == 4 && a.count == 1;
    bool found = false;
    if (a.base == ARM_PC)
        found = false;
    else if (a.indexed)
        found = !shifted && knows(trail, a.base) && knows(trail, index);
    else
        found = knows(trail, a.base);
    if (found)
        value = sum(trail->at[a.base], a.indexed ? (int64_t)trail->at[index] : a.offset);
    trail->known &= ~t32_written_by(in, &a);
    if (a.base == ARM_PC && word && trail->literal)
        set(trail, a.regs[0], literal_in(trail));
    if (!found)
        return false;
    with_operand(insn, OPERAND_PC_MEMORY, value, ret);
    ret->loads = accessed_bytes(in, &a);
    return true;
}

/* `movt`, behind `movw`. */
static bool follow_movt(struct trail *trail, const struct insn *insn, uint32_t word,
                        struct insn *ret) {
    uint8_t rd = t32_rd(word);
    if (!knows(trail, rd))
        return false;
    set(trail, rd, (trail->at[rd] & 0xffff) | (vaddr_t)t32_immediate_16(word) << 16);
    return with_operand(insn, OPERAND_ABSOLUTE, trail->at[rd], ret);
}

/* `mov` and `add` of any registers. */
static bool follow_high(struct trail *trail, const struct insn *insn, const struct t32 *in,
                        struct insn *ret) {
    uint8_t rd = t32_high(in->word), rm = t32_reg(in->word, 3);
    bool adds = in->row->form == T32_ADD_HIGH, by_pc = rm == ARM_PC;
    bool known = (by_pc || knows(trail, rm)) && (!adds || knows(trail, rd));
    vaddr_t value = by_pc ? insn->addr + T32_PC : trail->at[rm];
    if (adds)
        value += trail->at[rd];
    trail->known &= ~t32_written(in);
    if (!known)
        return false;
    set(trail, rd, value);
    return adds && by_pc && with_operand(insn, OPERAND_PC_ADDRESS, (uint32_t)value, ret);
}

/* The target of a jump, if registers or a literal hold it. Jumps other than `bx` and loads stay in
 * T32. */
static bool jumps_to(const struct trail *trail, const struct insn *insn, const struct t32 *in,
                     struct insn *ret) {
    uint8_t rm = t32_reg(in->word, 3);
    switch (in->row->form) {
    case T32_BX:
        return knows(trail, rm) && with_operand(insn, OPERAND_PC_ADDRESS, trail->at[rm], ret);
    case T32_MOV_HIGH:
        return knows(trail, rm) && with_operand(insn, OPERAND_PC_ADDRESS, trail->at[rm] | 1, ret);
    case T32_ADD_HIGH:
        return knows(trail, rm) &&
               with_operand(insn, OPERAND_PC_ADDRESS,
                            (uint32_t)(insn->addr + T32_PC + trail->at[rm]) | 1, ret);
    case T32_TABLE: /* loads one of several distances */
        return false;
    default:
        return insn->operand == OPERAND_PC_MEMORY && trail->literal &&
               with_operand(insn, OPERAND_ABSOLUTE, literal_in(trail), ret);
    }
}

static void forget_block(struct trail *trail, const struct insn *insn, const uint8_t *bytes) {
    struct t32_block block;
    t32_block_at(bytes, insn->size, &block);
    for (uint8_t i = 0; i < block.count; i++)
        trail->known &= ~t32_written(&block.at[i].in);
}

bool t32_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret) {
    struct t32 in = t32_classify(bytes, insn->size);
    if (insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT)
        trail->known &= ~(uint32_t)ARM_CHANGED_BY_CALLS;
    if (insn->kind == INSN_JUMP_INDIRECT && !insn->goes_on && jumps_to(trail, insn, &in, ret))
        return true;
    switch (in.row->form) {
    case T32_IT:
        forget_block(trail, insn, bytes);
        return false;
    case T32_ADR_N:
    case T32_ADD_PLAIN:
        trail->known &= ~t32_written(&in);
        if (insn->operand == OPERAND_PC_ADDRESS)
            set(trail, in.size == T32_HALF ? t32_low(in.word, 8) : t32_rd(in.word), insn->target);
        return false;
    case T32_MOVW:
        set(trail, t32_rd(in.word), t32_immediate_16(in.word));
        return false;
    case T32_MOVT:
        return follow_movt(trail, insn, in.word, ret);
    case T32_ADD_HIGH:
    case T32_MOV_HIGH:
        return follow_high(trail, insn, &in, ret);
    default:
        if (t32_accesses(&in))
            return follow_access(trail, insn, &in, ret);
        trail->known &= ~t32_written(&in);
        return false;
    }
}
