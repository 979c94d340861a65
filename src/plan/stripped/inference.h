/* What states_infer() has found so far. Private to src/plan/stripped. */
#pragma once

#include "plan/code/addresses.h"
#include "plan/code/states.h"

enum { CODE_UNKNOWN = CODE_DATA + 1 }; /* a state, while they are sought */

struct code_jump { /* a direct one, conditional or not */
    vaddr_t from, to;
};

struct inference {
    const struct texts *texts;
    const struct module *module;
    const struct arch *arch;
    struct states states;
    uint8_t *
        insns; /* by place: size >> size_shift << 4 | kind of an instruction that was found there */
    ARRAY(struct code_jump) jumps;
    address_list labels; /* what switches lead to */
};

static inline uint8_t found_state(const struct inference *inf, const struct text *t, vaddr_t addr) {
    return *state_at(&inf->states, t, addr);
}
/* Was an instruction found that begins at ADDR, which is in T? */
static inline bool found_begins(const struct inference *inf, const struct text *t, vaddr_t addr) {
    return inf->insns[text_place(t, addr)];
}
static inline uint8_t found_kind(const struct inference *inf, const struct text *t, vaddr_t addr) {
    return inf->insns[text_place(t, addr)] & 15;
}
static inline uint8_t found_size(const struct inference *inf, const struct text *t, vaddr_t addr) {
    return (uint8_t)(inf->insns[text_place(t, addr)] >> 4 << t->size_shift);
}

/* ---- guess.c ---- */
/* The state of the code that stands before ADDR in its section, or else behind it; A32 where there
 * is none. Other sections may be of the other state, as .init mostly is. */
uint8_t state_near(const struct inference *inf, const struct text *t, vaddr_t addr);
/* That of a function in [START, END): what is known of START, or else what its words look like;
 * where these do not tell, that near it. */
uint8_t state_likely(const struct inference *inf, const struct text *t, vaddr_t start, vaddr_t end);
/* The same of what stands at ADDR, unknown, where a word or a number leads to, with the BIT of T32
 * or without, that may as well be the address of data: CODE_DATA if it does not read as a function.
 * NUMBER: it may be no address at all, so what stands before ADDR must be known, or a function
 * begin as most do. */
uint8_t state_guessed(const struct inference *inf, const struct text *t, vaddr_t addr, bool bit,
                      bool number);

/* ---- endless.c ---- */
/* The instruction at the start of PLACE, in T, which is to end in it, while states are sought. What
 * ways have come to is known, so only of what may lead elsewhere more is told than kind and size.
 * False: there is no code (RET's size is 0), or no instruction. */
bool code_insn(const struct inference *inf, const struct text *t, struct span place,
               struct insn *ret);
/* Adds to RET, which is sorted then, what never returns as its name says, and stubs of the linker's
 * for such. */
void endless_by_name(const struct inference *inf, address_list *ret);
/* Adds to RET_ENDS what stands right behind calls that never return, by address, and to RET_BEGINS
 * where functions may begin behind them to which nothing leads. Starts are sorted. */
void endless_find(struct inference *inf, address_list *ret_ends, address_list *ret_begins);

/* ---- starts.c ---- */
/* Completes states.starts by what jumps lead to, and sorts both. */
void starts_settle(struct inference *inf);
