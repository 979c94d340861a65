/*
 * Guesses the state of code to which only unwind tables, and words without the bit of T32, refer.
 * Files with both states are common: the start code of Debian's programs for armhf is T32, and
 * Rust compiles to A32.
 *
 * Also guesses whether the target of a word is code at all. Tables stand between hand-written
 * functions (libgcrypt's constants of SHA-1), and code finds them by words in GOTs.
 */
#include <string.h>

#include "plan/stripped/inference.h"

uint8_t state_near(const struct inference *inf, const struct text *t, vaddr_t addr) {
    enum { FAR = 1 << 16 };
    const struct section *s = text_section_at(inf->texts, addr);
    vaddr_t start = s && s->start > t->start ? s->start : t->start;
    vaddr_t end = s ? s->start + s->size : t->start + t->size;
    for (vaddr_t at = addr; text_holds(t, at) && at >= start && addr - at < FAR;
         at -= STATE_BYTES) {
        if (found_state(inf, t, at) < CODE_DATA)
            return found_state(inf, t, at);
    }
    for (vaddr_t at = addr; at < end && text_holds(t, at) && at - addr < FAR; at += STATE_BYTES) {
        if (found_state(inf, t, at) < CODE_DATA)
            return found_state(inf, t, at);
    }
    return CODE_A32;
}

/* The state of a function in [START, END), by the pattern of its words. In A32 nearly all
 * instructions, and always the first one, are unconditional: 0xe in the upper four bits. Most of
 * these compute, load or store, which fixes one more bit (Arm ARM, F4.1). T32 words look so if a
 * short jump is in the upper half. Tables may follow soon. CODE_UNKNOWN: it may be either, or is
 * too short to tell. */
static uint8_t state_by_words(const struct text *t, vaddr_t start, vaddr_t end) {
    enum { WORD = 4, FEWEST = 8, MOST = 16 };
    size_t words = 0, always = 0, plain = 0;
    bool first = false;
    for (vaddr_t at = (start + WORD - 1) & ~(vaddr_t)(WORD - 1);
         words < MOST && at + WORD <= end && text_holds(t, at + WORD - 1); at += WORD) {
        uint8_t top = text_bytes(t, at)[WORD - 1];
        first |= !words && top >> 4 == 0xe;
        words++;
        always += top >> 4 == 0xe;
        plain += top >> 3 == 0xe0 >> 3;
        if (words >= FEWEST && first && 5 * plain > 2 * words)
            return CODE_A32;
    }
    return words >= FEWEST && !first && 4 * always < words ? CODE_T32 : CODE_UNKNOWN;
}

uint8_t state_likely(const struct inference *inf, const struct text *t, vaddr_t start,
                     vaddr_t end) {
    uint8_t state = found_state(inf, t, start);
    if (state == CODE_UNKNOWN)
        state = state_by_words(t, start, end);
    return state < CODE_DATA ? state : state_near(inf, t, start);
}

/* IN is code in STATE. True if its target is code in the right state, or unknown so far. */
static bool leads_to_code(const struct inference *inf, const struct insn *in, uint8_t state) {
    const struct text *t = text_at(inf->texts, in->target);
    const struct section *section = text_section_at(inf->texts, in->target);
    const uint8_t there = in->turns ? state ^ CODE_A32 ^ CODE_T32 : state;
    if (!t || !section || !text_holds(t, in->target))
        return false;
    const uint8_t known = found_state(inf, t, in->target);
    return section->plt || known == CODE_UNKNOWN ||
           (known == there && found_begins(inf, t, in->target));
}

static bool leads_away(const struct insn *in) {
    return in->operand == OPERAND_PLAIN && in->target &&
           (in->kind == INSN_JUMP || in->kind == INSN_BRANCH || in->kind == INSN_LOOP ||
            in->kind == INSN_CALL);
}

/* Most instructions of A32 are unconditional, or are vector instructions, which cannot have a
 * condition. One number in eight looks so. */
static bool is_always(const uint8_t *bytes, uint8_t state) {
    return state == CODE_T32 || bytes[3] >> 4 >= 0xe;
}

/* In T32 zeros are `movs r0, r0`, which compilers do not use, and the upper half of small numbers.
 * In A32 the first instruction of a function is unconditional: no flags are set yet. */
static bool looks_like_number(const uint8_t *bytes, uint8_t state, bool first) {
    return state == CODE_T32 ? !bytes[0] && !bytes[1] : first && !is_always(bytes, state);
}

/* Registers that functions preserve (AAPCS32, 6.1.1): r4 to r11. */
enum { KEPT_REGISTERS = 0xff0, LINK_REGISTER = 14 };

/* Effects of a function's first instructions. */
struct opening {
    const struct arch *arch;
    uint32_t saved; /* registers that are stored */
    bool spoils;    /* a preserved register was written before it was stored */
};

/* A conditional block may have written every register that it names. */
static void apply_insn(struct opening *o, const struct text *t, const struct insn *in) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = o->arch->stack(text_bytes(t, in->addr), in->size, effects);
    for (size_t i = 0; i < count; i++) {
        const struct stack_effect *e = &effects[i];
        uint32_t reg = e->reg < STACK_REGISTERS ? UINT32_C(1) << e->reg : 0, writes = e->changed;
        if (e->op == STACK_STORE || e->op == STACK_PUSH)
            o->saved |= reg;
        else if (e->op == STACK_SET || e->op == STACK_ALIGN || e->op == STACK_LOAD ||
                 e->op == STACK_POP)
            writes |= reg;
        o->spoils |= (writes & KEPT_REGISTERS & ~o->saved) != 0;
    }
}

static bool saves_return(const struct opening *o) { return o->saved >> LINK_REGISTER & 1; }

static bool is_called(const struct inference *inf, vaddr_t addr) {
    for (size_t i = 0; i < inf->states.starts.count; i++) {
        if (inf->states.starts.at[i].addr == addr && inf->states.starts.at[i].called)
            return true;
    }
    return false;
}

enum reading {
    READ_LABEL,    /* any code */
    READ_FUNCTION, /* a function begins here */
    READ_NUMBER,   /* only a number says that a function begins here */
};

/* True if the bytes at ADDR read as code in STATE, up to an end of flow or to known code. A
 * function must preserve registers. This is checked until it saves its return address, since
 * functions that never return preserve nothing else. It is checked up to the first call at most:
 * constants may stand behind. Few functions run into others; many have constants before them. */
static bool reads_as(const struct inference *inf, const struct text *t, vaddr_t addr, uint8_t state,
                     enum reading reading) {
    enum { MOST = 64 };
    int always = 0;
    bool begin = reading != READ_LABEL;
    const struct arch *arch = state == CODE_T32 ? inf->arch->other : inf->arch;
    const struct section *s = text_section_at(inf->texts, addr);
    const vaddr_t start = addr, end = s->start + s->size;
    struct opening opening = {.arch = arch};
    struct insn in = {.size = 0};
    for (int i = 0; i < MOST; i++, addr += in.size) {
        if (addr >= end || !text_holds(t, addr) || addr % arch->insn_bytes)
            return false;
        const uint8_t known = found_state(inf, t, addr);
        if (known == CODE_DATA) /* constants, which control never reaches: see depth/walk.c */
            return addr > start && 3 * always > i;
        if (known != CODE_UNKNOWN)
            return known == state && found_begins(inf, t, addr) && 3 * always >= i &&
                   !(reading == READ_NUMBER && is_called(inf, addr));
        size_t room = end - addr < UNIT_MAX_BYTES ? end - addr : UNIT_MAX_BYTES;
        if (!arch->decode(text_bytes(t, addr), room, addr, &in, NULL) ||
            (leads_away(&in) && !leads_to_code(inf, &in, state)) ||
            (reading == READ_NUMBER && looks_like_number(text_bytes(t, addr), state, i == 0)))
            return false;
        always += is_always(text_bytes(t, addr), state);
        if (in.kind == INSN_RETURN || in.kind == INSN_JUMP || in.kind == INSN_TRAP ||
            (in.kind == INSN_JUMP_INDIRECT && !in.goes_on))
            return 3 * always > i;
        apply_insn(&opening, t, &in);
        begin &= in.kind != INSN_CALL && in.kind != INSN_CALL_INDIRECT && !saves_return(&opening);
        if (begin && opening.spoils)
            return false;
    }
    return 3 * always > MOST;
}

/* The size of the nop that ends at ADDR; 0: none. */
static uint8_t nop_before(const struct arch *arch, const struct text *t, vaddr_t addr) {
    enum { LONGEST = 4 };
    for (unsigned size = arch->insn_bytes; size <= LONGEST; size += arch->insn_bytes) {
        struct insn in;
        if (text_holds(t, addr - size) &&
            arch->decode(text_bytes(t, addr - size), size, addr - size, &in, NULL) &&
            in.kind == INSN_NOP && in.size == size)
            return (uint8_t)size;
    }
    return 0;
}

/* ADDR would be code in STATE. True if the bytes before it, except padding, are known. Nothing runs
 * into ADDR from there, so ADDR is not in the middle of code. */
static bool follows_known(const struct inference *inf, const struct text *t, vaddr_t addr,
                          uint8_t state) {
    enum { FAR = 16 };
    const struct arch *arch = state == CODE_T32 ? inf->arch->other : inf->arch;
    const vaddr_t start = text_section_at(inf->texts, addr)->start;
    for (vaddr_t at = addr; at > start && addr - at <= FAR;) {
        if (!text_holds(t, at - STATE_BYTES) ||
            found_state(inf, t, at - STATE_BYTES) != CODE_UNKNOWN)
            return true;
        uint8_t padding = nop_before(arch, t, at);
        if (!padding)
            return false;
        at -= padding;
    }
    return true;
}

/* True if one of the first FEW instructions at ADDR, in STATE, saves the return address. */
static bool saves_link(const struct inference *inf, const struct text *t, vaddr_t addr,
                       uint8_t state, int few) {
    struct opening o = {.arch = state == CODE_T32 ? inf->arch->other : inf->arch};
    struct insn in;
    for (int i = 0; i < few && !saves_return(&o); i++, addr += in.size) {
        if (addr % o.arch->insn_bytes || !text_holds(t, addr + UNIT_MAX_BYTES) ||
            !o.arch->decode(text_bytes(t, addr), UNIT_MAX_BYTES, addr, &in, NULL))
            return false;
        apply_insn(&o, t, &in);
    }
    return saves_return(&o);
}

/* True if ADDR holds padding in STATE. Then the function begins behind it. */
static bool is_padding(const struct inference *inf, const struct text *t, vaddr_t addr,
                       uint8_t state) {
    const struct arch *arch = state == CODE_T32 ? inf->arch->other : inf->arch;
    struct insn in;
    return text_holds(t, addr + UNIT_MAX_BYTES) &&
           arch->decode(text_bytes(t, addr), UNIT_MAX_BYTES, addr, &in, NULL) &&
           in.kind == INSN_NOP;
}

/* ADDR is a number. True if code in STATE may begin there. */
static bool may_begin(const struct inference *inf, const struct text *t, vaddr_t addr,
                      uint8_t state) {
    return !is_padding(inf, t, addr, state) &&
           (follows_known(inf, t, addr, state) || saves_link(inf, t, addr, state, 1));
}

/* Without the bit, code that begins with vector instructions may still be recognized as A32. Most
 * numbers lead to nothing, which may_begin() finds sooner than the other tests. */
uint8_t state_guessed(const struct inference *inf, const struct text *t, vaddr_t addr, bool bit,
                      bool number) {
    enum { FEW = 4 };
    const struct section *s = text_section_at(inf->texts, addr);
    if (number && !may_begin(inf, t, addr, CODE_T32) && (bit || !may_begin(inf, t, addr, CODE_A32)))
        return CODE_DATA;
    const uint8_t near = state_near(inf, t, addr);
    uint8_t looks = state_by_words(t, addr, s->start + s->size);
    if (looks == CODE_UNKNOWN && !bit && !number && saves_link(inf, t, addr, CODE_A32, FEW))
        looks = CODE_A32;
    const uint8_t state = looks == CODE_A32 ? CODE_A32 : bit ? CODE_T32 : near;
    const bool strange = bit ? looks == CODE_A32 || (looks != CODE_T32 && near == CODE_A32)
                             : looks == CODE_T32 && near == CODE_A32;
    const bool label = state != (bit ? CODE_T32 : CODE_A32);
    const enum reading reading = label ? READ_LABEL : number ? READ_NUMBER : READ_FUNCTION;
    if (strange || (number && !may_begin(inf, t, addr, state)))
        return CODE_DATA;
    return reads_as(inf, t, addr, state, reading) ? state : CODE_DATA;
}
