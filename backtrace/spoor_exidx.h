/* Part of spoor_backtrace.c: unwind tables. "Exception Handling ABI for the Arm Architecture", 6,
 * 7, 10.3. */
#ifndef SPOOR_EXIDX_H
#define SPOOR_EXIDX_H

#include "spoor_step.h"

#if HAVE_TABLE
enum { CANT_UNWIND = 1, FINISH = 0xb0, OPCODES = 1024 };

static spoor_word prel31(const struct spoor_walk *walk, spoor_word at) {
    return (uint32_t)at + sign_extend((uint32_t)peek(walk, at, 4), 31);
}

/* The entry of the last function that starts at or before PC; 0: there is none. */
static spoor_word table_entry(const struct spoor_walk *walk, spoor_word pc) {
    spoor_word low = walk->image->exidx_low, high = walk->image->exidx_high, first = 0;
    uint32_t count = (uint32_t)(high - low) / 8;
    while (first < count) {
        uint32_t middle = (uint32_t)(first + count) / 2;
        if (prel31(walk, low + middle * 8) <= pc)
            first = middle + 1;
        else
            count = middle;
    }
    return first ? low + (first - 1) * 8 : 0;
}

/* Bytes of a table, the highest of each word first. */
struct opcodes {
    const struct spoor_walk *walk;
    spoor_word at;
    uint32_t word, left, words; /* left: bytes in word; words: behind it */
};

/* The next byte: "finish" behind the end. */
static uint32_t next_opcode(struct opcodes *codes) {
    if (!codes->left) {
        if (!codes->words--)
            return FINISH;
        codes->word = (uint32_t)peek(codes->walk, codes->at += 4, 4);
        codes->left = 4;
    }
    return codes->word >> --codes->left * 8 & 0xff;
}

/* Where the opcodes of an entry are; else it has none. */
static int find_opcodes(const struct spoor_walk *walk, spoor_word entry, struct opcodes *codes) {
    spoor_word at = entry + 4;
    uint32_t word = (uint32_t)peek(walk, at, 4), most = 0x80;
    if (word == CANT_UNWIND)
        return -1;
    if (!(word >> 31)) {
        at = prel31(walk, at);
        word = (uint32_t)peek(walk, at, 4);
        most = 0x82;
    }
    codes->walk = walk;
    codes->left = 3;
    codes->words = 0;
    if (!(word >> 31)) { /* a personality routine of the program's language */
        at += 4;
        word = (uint32_t)peek(walk, at, 4);
        codes->words = word >> 24;
    } else if (word >> 24 > most)
        return -1;
    else if (word >> 24 > 0x80) {
        codes->left = 2;
        codes->words = word >> 16 & 0xff;
    }
    codes->at = at;
    codes->word = word;
    return 0;
}

/* Opcodes that do not only pop core registers: what they add to sp; 0 for those that are spare. */
static uint32_t rare_size(struct opcodes *codes, uint32_t code) {
    uint32_t more, size = 0, shift = 0;
    if (code == 0xb2) {
        do {
            more = next_opcode(codes);
            size |= (more & 0x7f) << shift;
            shift += 7;
        } while (more & 0x80 && shift < 32);
        return 0x204 + size * 4;
    }
    if (code == 0xb4) /* return address authentication code */
        return 4;
    if (!HAVE_FP)
        return 0;
    if (code == 0xb3 || code == 0xc8 || code == 0xc9 || (HAVE_A32 && code == 0xc6))
        size = next_opcode(codes) & 15;
    else if ((code >= 0xb8 && code < 0xc6) || code >> 3 == 0x1a)
        size = code & 7;
    else if (HAVE_A32 && code == 0xc7) {
        for (more = next_opcode(codes) & 15; more; more &= more - 1)
            size += 4;
        return size;
    } else
        return 0;
    return size * 8 + (code < 0xc0 ? 12 : 8);
}

static int undo_one(struct sim *sim, struct opcodes *codes, uint32_t code) {
    uint32_t list = 0, add = (code << 2 & 0xfc) + 4;
    if (code < 0x80) {
        add = code & 0x40 ? -add : add;
    } else if (code < 0x90) {
        list = (code & 15) << 12 | next_opcode(codes) << 4;
    } else if (code < 0xa0) {
        set_sum(sim, SPOOR_SP, code & 15, 0);
        return (code & 13) == 13 ? -1 : 0;
    } else if (code < 0xb0) {
        list = ((0x20u << (code & 7)) - 0x10u) | (code & 8) << 11; /* r4 to r4 + n; lr */
    } else if (code == 0xb1) {
        list = next_opcode(codes);
        list = list > 15 ? 0 : list;
    } else if (code != 0xb5) {
        add = rare_size(codes, code);
        if (!add)
            return -1;
    } else {
        return 0;
    }
    if (code >= 0x80 && code <= 0xb1) {
        move_many(sim, SPOOR_SP, list, MOVE_LOAD);
        return list ? 0 : -1;
    }
    set_sum(sim, SPOOR_SP, SPOOR_SP, add);
    return 0;
}

static int step_by_table(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    struct opcodes codes;
    uint32_t code;
    spoor_word entry = IS_A64(walk->image) ? 0 : table_entry(walk, here_of(walk) - 2);
    if (!entry || find_opcodes(walk, entry, &codes))
        return 0;
    sim_begin(sim);
    forget(sim, SPOOR_PC);
    for (unsigned n = 0; n < OPCODES && (code = next_opcode(&codes)) != FINISH; n++)
        if (undo_one(sim, &codes, code))
            return 0;
    return leave(sim, sim->r[is_known(sim, SPOOR_PC) ? SPOOR_PC : SPOOR_LR], SPOOR_BY_TABLE);
}

static spoor_word table_start(const struct spoor_walk *walk) {
    spoor_word entry =
        IS_A64(walk->image) ? 0 : table_entry(walk, here_of(walk) - 2 * !walk->exact);
    return entry ? prel31(walk, entry) : 0;
}
#else
static int step_by_table(struct sim *sim) {
    (void)sim;
    return 0;
}

#if HAVE_TOLD
static spoor_word table_start(const struct spoor_walk *walk) {
    (void)walk;
    return 0;
}
#endif
#endif

#endif
