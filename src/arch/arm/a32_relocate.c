/*
 * Writes one A32 instruction anew for another address, and jumps.
 *
 *     b, b<c> target          b, b<c> target
 *     add rd, pc, #n          add rd, pc, #n1; add rd, rd, #n2; …    up to four; or sub
 *     mov rd, pc              the same
 *     add rd, pc, rm          add rd, pc, rm; add rd, rd, #n1; …     if rd is not rm
 *     ldr rd, literal         add rd, pc, #n1; …; ldr rd, [rd, #low]
 *     ldr rd, [pc, rm]        add rd, pc, rm; add rd, rd, #n1; …; ldr rd, [rd, #low]
 *     vldr dd, literal        vldr dd, copy; b over; copy: …
 *     ldr pc, literal         ldr pc, copy; copy: …
 *     pld literal             nop: a hint
 *     bl target               add lr, pc, #n1; add lr, lr, #n2; …; b target
 *
 * If `b` does not reach, a far jump replaces it: `ldr pc, address; address: …`, or with a condition
 * `ldr<c> pc, address; b over; address: …; over:`.
 *
 * All written instructions have the original's condition, as no flag changes between them.
 * Constants are added eight bits at a time, as immediates have eight. So only far jumps depend on
 * where the module is loaded. Before its last instruction each form changes only a register that
 * the original overwrites and does not read. So a thread that stands in between can run the
 * original once more. Otherwise the instruction `stays`: `add r3, pc, r3` has no register for half
 * of the sum.
 */
#include <errno.h>

#include "arch/arm/a32.h"

enum { B = 0x0a000000, NOP = (int)0xe1a00000 };
enum { LDR_PC_UP = 0x059ff000, LDR_PC_DOWN = 0x051ff000 };
enum { ADD_IMMEDIATE = 0x02800000, SUB_IMMEDIATE = 0x02400000, UP = 0x00800000 };

static void put(struct relocated *ret, uint32_t word) {
    memcpy(ret->bytes + ret->size, &word, sizeof word);
    ret->size += A32_BYTES;
}

/* A thread at the next instruction stands, in the original code, at RESUME. */
static void begin_part(struct relocated *ret, vaddr_t resume) {
    ret->parts[ret->part_count].offset = ret->size;
    ret->parts[ret->part_count].through = false;
    ret->parts[ret->part_count++].resume = resume;
}

/* Puts WORD, as a part that resumes at INSN. The part of the first instruction exists already. */
static void put_next(struct relocated *ret, const struct insn *insn, uint32_t word) {
    if (ret->size)
        begin_part(ret, insn->addr);
    put(ret, word);
}

static int branch_word(uint32_t condition, vaddr_t at, vaddr_t to, uint32_t *ret) {
    const int64_t half = 0x2000000;
    int64_t distance = (int64_t)(to - at) - A32_AHEAD;
    if (distance % A32_BYTES || distance < -half || distance >= half)
        return -ERANGE;
    *ret = condition << 28 | B | ((uint32_t)(distance / A32_BYTES) & 0xffffff);
    return 0;
}

int a32_jump(uint8_t *out, vaddr_t at, vaddr_t to) {
    uint32_t word;
    int r = branch_word(ARM_ALWAYS, at, to, &word);
    if (!r)
        memcpy(out, &word, sizeof word);
    return r;
}

static uint32_t load_pc(uint32_t condition, bool over) {
    return condition << 28 | (uint32_t)(over ? LDR_PC_UP : LDR_PC_DOWN) | (over ? 0 : A32_BYTES);
}

uint8_t a32_far_jump(uint8_t *out, vaddr_t at, taddr_t to) {
    (void)at;
    const uint32_t words[] = {load_pc(ARM_ALWAYS, false), (uint32_t)to};
    memcpy(out, words, sizeof words);
    return sizeof words;
}

/* If the condition does not hold, the thread goes on behind the original instruction. */
static void put_far(struct relocated *ret, uint32_t condition, vaddr_t target) {
    const bool over = condition != ARM_ALWAYS;
    const vaddr_t behind = ret->parts[ret->part_count - 1].resume + A32_BYTES;
    put(ret, load_pc(condition, over));
    if (over) {
        begin_part(ret, behind);
        put(ret, (uint32_t)ARM_ALWAYS << 28 | (uint32_t)B); /* over one word */
    }
    ret->address_at = ret->size;
    ret->address = target;
    put(ret, 0);
}

/* Its part exists already. */
static void put_branch(struct relocated *ret, uint32_t condition, vaddr_t to, vaddr_t target) {
    uint32_t word;
    if (branch_word(condition, to + ret->size, target, &word))
        put_far(ret, condition, target);
    else
        put(ret, word);
}

/* ---- sums ---- */

/* Eight bits of VALUE from its lowest set bit, at an even position: what one instruction adds. */
static uint32_t piece_of(uint32_t value) {
    unsigned low = (unsigned)__builtin_ctz(value) & ~1U;
    return value & UINT32_C(0xff) << low;
}

static unsigned count_pieces(uint32_t value) {
    unsigned count = 0;
    for (; value; value -= piece_of(value))
        count++;
    return count;
}

/* How many instructions add VALUE to a register, by additions or by subtractions. */
static unsigned sum_length(uint32_t value) {
    unsigned up = count_pieces(value), down = count_pieces(-value);
    return down < up ? down : up;
}

struct sum { /* rd = base + value */
    uint32_t condition;
    uint8_t rd, base;
    uint32_t value;
};

/* Puts no instruction if nothing is to be added to rd itself. */
static void put_sum(struct relocated *ret, const struct insn *insn, struct sum s) {
    bool down = count_pieces(-s.value) < count_pieces(s.value);
    uint32_t left = down ? -s.value : s.value, opcode = down ? SUB_IMMEDIATE : ADD_IMMEDIATE;
    while (left || s.base != s.rd) {
        uint32_t piece = left ? piece_of(left) : 0, encoded = 0;
        a32_encode_immediate(piece, &encoded);
        put_next(ret, insn,
                 s.condition << 28 | opcode | (uint32_t)s.base << 16 | (uint32_t)s.rd << 12 |
                     encoded);
        left -= piece;
        s.base = s.rd;
    }
}

/* The distance of ADDRESS from the pc of an instruction at TO. */
static uint32_t from_pc(vaddr_t to, vaddr_t address) {
    return (uint32_t)(address - to) - A32_AHEAD;
}

static void address_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    put_sum(ret, insn,
            (struct sum){a32_condition(word), a32_rd(word), ARM_PC, from_pc(to, insn->target)});
}

/* The sum of the pc and a register: the original, then the difference of the two pcs is added. */
static void sum_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    put(ret, word);
    uint8_t rd = a32_rd(word);
    put_sum(ret, insn, (struct sum){a32_condition(word), rd, rd, (uint32_t)(insn->addr - to)});
}

/* ---- loads ---- */

/* The part of DISTANCE that the load itself adds, at most MOST, so that few pieces are left. */
static uint32_t low_of(uint32_t distance, uint32_t most, bool *ret_down) {
    uint32_t up = distance & most, down = -distance & most;
    *ret_down = sum_length(distance + down) < sum_length(distance - up);
    return *ret_down ? down : up;
}

/* The load WORD with another base, and LOW as its offset. */
static uint32_t with_offset(uint32_t word, uint8_t base, bool down, uint32_t low) {
    bool extra = !arm_bits(word, 26, 1); /* two groups of four bits, and bit 22 for an immediate */
    word &= extra ? ~UINT32_C(0x008f0f0f) : ~UINT32_C(0x028f0fff);
    word |= (uint32_t)base << 16 | (down ? 0 : UP);
    return word | (extra ? 0x00400000 | (low >> 4) << 8 | (low & 15) : low);
}

static uint32_t most_of(uint32_t word) { return arm_bits(word, 26, 1) ? 0xfff : 0xff; }

static void literal_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    bool down;
    uint8_t rd = a32_rd(word);
    uint32_t distance = from_pc(to, insn->target), low = low_of(distance, most_of(word), &down);
    uint32_t rest = down ? distance + low : distance - low;
    if (rest)
        put_sum(ret, insn, (struct sum){a32_condition(word), rd, ARM_PC, rest});
    put_next(ret, insn, with_offset(word, rest ? rd : ARM_PC, down, low));
}

/* ldr rd, [pc, rm]: the sum, by add or sub with rm's shift, then the difference of the pcs. */
static void indexed_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    enum { ADD = 0x008f0000, SUBTRACT = 0x004f0000 };
    bool down, up = arm_bits(word, 23, 1), extra = !arm_bits(word, 26, 1);
    uint8_t rd = a32_rd(word);
    uint32_t condition = a32_condition(word) << 28;
    uint32_t shifted = word & (extra ? 0xf : 0xfff);
    uint32_t distance = (uint32_t)(insn->addr - to), low = low_of(distance, most_of(word), &down);
    put(ret, condition | (uint32_t)(up ? ADD : SUBTRACT) | (uint32_t)rd << 12 | shifted);
    put_sum(ret, insn,
            (struct sum){condition >> 28, rd, rd, down ? distance + low : distance - low});
    put_next(ret, insn, with_offset(word, rd, down, low));
}

/* Makes room for the constants behind the code. */
static void put_copy(struct relocated *ret, const struct insn *insn) {
    ret->copy_at = ret->size;
    ret->copy_bytes = insn->copies;
    ret->copy = insn->target;
    memset(ret->bytes + ret->size, 0, insn->copies);
    ret->size += insn->copies;
}

static void vector_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    put(ret, (word & ~UINT32_C(0xff)) | UP); /* at the pc: two words on */
    begin_part(ret, insn->addr + insn->size);
    put_branch(ret, ARM_ALWAYS, to, to + 2 * (vaddr_t)A32_BYTES + insn->copies);
    put_copy(ret, insn);
}

static void jump_to_literal(const struct insn *insn, uint32_t word, struct relocated *ret) {
    put(ret, (word & ~UINT32_C(0x00800fff)) | A32_BYTES); /* one word on: the pc minus four */
    put_copy(ret, insn);
}

static void access_to(const struct insn *insn, uint32_t word, enum a32_form form, vaddr_t to,
                      struct relocated *ret) {
    struct a32_access a = a32_access_of(word, form);
    if (a.base != ARM_PC)
        put(ret, word);
    else if (form == A32_PRELOAD)
        put(ret, (uint32_t)NOP);
    else if (form == A32_VECTOR)
        vector_to(insn, word, to, ret);
    else if (insn->kind == INSN_JUMP_INDIRECT)
        jump_to_literal(insn, word, ret);
    else if (a.indexed)
        indexed_to(insn, word, to, ret);
    else
        literal_to(insn, word, to, ret);
}

/* ---- all ---- */

static void call_to(const struct insn *insn, vaddr_t to, struct relocated *ret) {
    vaddr_t back = insn->addr + insn->size;
    put_sum(ret, insn, (struct sum){ARM_ALWAYS, ARM_LR, ARM_PC, from_pc(to, back)});
    begin_part(ret, insn->target);
    put_branch(ret, ARM_ALWAYS, to, insn->target);
}

static void branch_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    if (insn->kind == INSN_CALL)
        call_to(insn, to, ret);
    else
        put_branch(ret, a32_condition(word), to, insn->target);
}

bool a32_can_call(const struct insn *insn, const uint8_t *bytes) {
    (void)bytes;
    return insn->kind == INSN_CALL && !insn->goes_on && !insn->turns;
}

static void data_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    struct a32_data d = a32_data_of(word);
    bool first = d.has_first && d.rn == ARM_PC;
    bool second = d.form != A32_FORM_IMMEDIATE && d.rm == ARM_PC;
    if (insn->operand == OPERAND_PC_ADDRESS)
        address_to(insn, word, to, ret);
    else if (first || second)
        sum_to(insn, word, to, ret);
    else
        put(ret, word);
}

int a32_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret) {
    uint32_t word = a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    ret->size = ret->part_count = ret->address_at = ret->copy_bytes = 0;
    begin_part(ret, insn->addr);
    switch (in.form) {
    case A32_BRANCH:
        branch_to(insn, word, to, ret);
        break;
    case A32_DATA:
        if (insn->kind == INSN_JUMP || (insn->kind == INSN_BRANCH && insn->target))
            branch_to(insn, word, to, ret);
        else
            data_to(insn, word, to, ret);
        break;
    case A32_SINGLE:
    case A32_EXTRA:
    case A32_VECTOR:
    case A32_PRELOAD:
        access_to(insn, word, (enum a32_form)in.form, to, ret);
        break;
    default:
        put(ret, word);
    }
    return 0;
}

size_t a32_relocated_bytes(const struct insn *insn) {
    enum { PIECES = 4, FAR_WORDS = 2 };
    bool plain = insn->operand == OPERAND_PLAIN && insn->kind != INSN_CALL;
    /* INSN_OTHER may be a sum of the pc and a register; insn does not show this. */
    bool short_form = plain && insn->kind != INSN_OTHER;
    /* A far jump needs a branch over its address, a call one more word. */
    size_t far = insn->target && (insn->kind == INSN_CALL || plain) ? FAR_WORDS : 0;
    return (short_form ? A32_BYTES : (PIECES + 1) * (size_t)A32_BYTES) + far * A32_BYTES;
}

size_t a32_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]) {
    uint32_t word = a32_word(bytes), over;
    if ((insn->kind != INSN_BRANCH && !insn->goes_on) || !a32_is_conditional(word) ||
        branch_word(a32_condition(word) ^ 1, 0, A32_BYTES + skip, &over))
        return 0;
    memcpy(out, &over, sizeof over);
    return A32_BYTES;
}
