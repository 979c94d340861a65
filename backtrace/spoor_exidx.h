/* Part of spoor_backtrace.c: unwind tables. "Exception Handling ABI for the Arm Architecture", 6,
 * 7, 10.3. */
#ifndef SPOOR_EXIDX_H
#define SPOOR_EXIDX_H

#include "spoor_step.h"

#if HAVE_ARM
enum { CANT_UNWIND = 1, OPCODES = 1024 };

static int read_prel31(const struct spoor_walk *walk, uint32_t at, uint32_t *ret_address) {
    uint32_t word;
    if (read_u32(walk, at, &word))
        return -1;
    *ret_address = at + (uint32_t)sign_extend(word & 0x7fffffff, 31);
    return 0;
}

/* The entry of the last function that starts at or before PC; 0: there is none. */
static uint32_t table_entry(const struct spoor_walk *walk, spoor_word pc) {
    uint32_t low = (uint32_t)walk->image->exidx_low, start;
    uint32_t count = (uint32_t)(walk->image->exidx_high - low) / 8, first = 0;
    while (first < count) {
        uint32_t middle = first + (count - first) / 2;
        if (read_prel31(walk, low + middle * 8, &start))
            return 0;
        if (start <= (uint32_t)pc)
            first = middle + 1;
        else
            count = middle;
    }
    return first ? low + (first - 1) * 8 : 0;
}

/* Bytes of a table, the highest of each word first. */
struct opcodes {
    const struct spoor_walk *walk;
    uint32_t at, word, left, words; /* left: bytes in word; words: behind it */
};

/* The next byte: "finish" behind the end. */
static uint32_t next_opcode(struct opcodes *codes) {
    if (!codes->left) {
        if (!codes->words || read_u32(codes->walk, codes->at, &codes->word))
            return 0xb0;
        codes->words--;
        codes->at += 4;
        codes->left = 4;
    }
    return codes->word >> --codes->left * 8 & 0xff;
}

/* Where the opcodes of an entry are; else it has none. */
static int find_opcodes(const struct spoor_walk *walk, uint32_t entry, struct opcodes *codes) {
    uint32_t word, at = entry + 4;
    if (read_u32(walk, at, &word) || word == CANT_UNWIND)
        return -1;
    int is_inline = word >> 31 & 1;
    if (!is_inline && (read_prel31(walk, at, &at) || read_u32(walk, at, &word)))
        return -1;
    if (!(word >> 31)) { /* a personality routine of the program's language */
        at += 4;
        if (read_u32(walk, at, &word))
            return -1;
        *codes = (struct opcodes){walk, at + 4, word, 3, word >> 24};
        return 0;
    }
    unsigned index = word >> 24 & 15;
    if (word >> 28 != 8 || index > 2 || (is_inline && index))
        return -1;
    *codes = (struct opcodes){walk, at + 4, word, index ? 2 : 3, index ? word >> 16 & 0xff : 0};
    return 0;
}

static void pop_many(struct sim *sim, uint32_t list) {
    spoor_word base = sim->now.r[SPOOR_SP];
    for (unsigned n = 0; n < 16; n++)
        if (list >> n & 1) {
            load(sim, n, (uint32_t)base);
            base += 4;
        }
    if (!(list >> SPOOR_SP & 1))
        set_known(sim, SPOOR_SP, base);
}

/* Opcodes from 0xb1 on. */
static int undo_rare(struct sim *sim, struct opcodes *codes, uint32_t code) {
    uint32_t more, shift = 0;
    spoor_word add = 0;
    switch (code) {
    case 0xb1:
        more = next_opcode(codes);
        pop_many(sim, more);
        return more == 0 || more > 15 ? -1 : 0;
    case 0xb2:
        do {
            more = next_opcode(codes);
            add |= shift < 24 ? (spoor_word)(more & 0x7f) << shift : 0;
            shift += 7;
        } while (more & 0x80 && shift < 35);
        add = 0x204 + add * 4;
        break;
    case 0xb3:
        add = ((next_opcode(codes) & 15) + 1) * 8 + 4;
        break;
    case 0xb4: /* return address authentication code */
        add = 4;
        break;
    case 0xb5:
        break;
    case 0xc7:
        for (more = next_opcode(codes) & 15; more; more &= more - 1)
            add += 4;
        break;
    case 0xc6:
    case 0xc8:
    case 0xc9:
        add = ((next_opcode(codes) & 15) + 1) * 8;
        break;
    default:
        if (code < 0xb8 || code > 0xd7 || (code >= 0xca && code < 0xd0))
            return -1;
        add = ((code & 7) + 1) * 8 + (code < 0xc0 ? 4 : 0);
    }
    set_sum(sim, SPOOR_SP, SPOOR_SP, add);
    return 0;
}

static int undo_one(struct sim *sim, struct opcodes *codes, uint32_t code) {
    uint32_t list;
    switch (code >> 4) {
    case 0:
    case 1:
    case 2:
    case 3:
        set_sum(sim, SPOOR_SP, SPOOR_SP, (code & 0x3f) * 4 + 4);
        return 0;
    case 4:
    case 5:
    case 6:
    case 7:
        set_sum(sim, SPOOR_SP, SPOOR_SP, -(spoor_word)((code & 0x3f) * 4 + 4));
        return 0;
    case 8:
        list = (code & 15) << 8 | next_opcode(codes);
        pop_many(sim, list << 4);
        return list ? 0 : -1;
    case 9:
        set_sum(sim, SPOOR_SP, code & 15, 0);
        return (code & 13) == 13 ? -1 : 0;
    case 10:
        list = (0x20u << (code & 7)) - 0x10u; /* r4 to r4 + n */
        pop_many(sim, list | (code & 8) << 11);
        return 0;
    default:
        return undo_rare(sim, codes, code);
    }
}

static int step_by_table(struct spoor_walk *walk, struct sim *sim) {
    if (IS_A64(walk->image))
        return -1;
    struct opcodes codes;
    uint32_t entry = table_entry(walk, walk->regs.r[SPOOR_PC] - 2), code;
    if (!entry || find_opcodes(walk, entry, &codes))
        return -1;
    sim_begin(sim, walk);
    for (unsigned n = 0; n < OPCODES && (code = next_opcode(&codes)) != 0xb0; n++)
        if (undo_one(sim, &codes, code) || !is_known(sim, SPOOR_SP))
            return -1;
    unsigned back = is_known(sim, SPOOR_PC) ? SPOOR_PC : SPOOR_LR;
    if (!is_known(sim, back) || !is_known(sim, SPOOR_SP) || !may_be_caller(walk, sim->now.r[back]))
        return -1;
    sim->now.r[SPOOR_PC] = sim->now.r[back];
    return leave(walk, &sim->now, SPOOR_BY_TABLE, SPOOR_PROVEN);
}

static spoor_word table_start(const struct spoor_walk *walk, spoor_word pc) {
    uint32_t start, entry = IS_A64(walk->image) ? 0 : table_entry(walk, pc);
    if (!entry || read_prel31(walk, entry, &start))
        return 0;
    return (start & ~1u) | (walk->regs.r[SPOOR_PC] & 1);
}
#else
static int step_by_table(struct spoor_walk *walk, struct sim *sim) {
    (void)walk, (void)sim;
    return -1;
}

static spoor_word table_start(const struct spoor_walk *walk, spoor_word pc) {
    (void)walk, (void)pc;
    return 0;
}
#endif

#endif
