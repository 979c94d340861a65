/* State and steps of states_infer(). Private to src/plan/stripped. */
#pragma once

#include "plan/code/addresses.h"
#include "plan/code/states.h"

enum { CODE_UNKNOWN = CODE_DATA + 1 }; /* a state that is not found yet */

struct code_jump { /* a direct jump, conditional or not */
    vaddr_t from, to;
};

struct inference {
    const struct texts *texts;
    const struct module *module;
    const struct arch *arch;
    struct states states;
    uint8_t *insns; /* by place, as code.insns: instructions found so far */
    ARRAY(struct code_jump) jumps;
    address_list labels; /* targets of switches */
};

static inline uint8_t found_state(const struct inference *inf, const struct text *t, vaddr_t addr) {
    return *state_at(&inf->states, t, addr);
}
/* ADDR is in T. True if an instruction was found that begins there. */
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
/* The state of the nearest code before ADDR in its section, else behind it; else A32. Other
 * sections may be in the other state: .init often is. */
uint8_t state_near(const struct inference *inf, const struct text *t, vaddr_t addr);
/* The state of a function in [START, END): that found at START, or that of its words' patterns, or
 * else that of the code near it. */
uint8_t state_likely(const struct inference *inf, const struct text *t, vaddr_t start, vaddr_t end);
/* The state at ADDR, which is CODE_UNKNOWN and to which a word or number leads, with the BIT of T32
 * or without. CODE_DATA: it does not read as a function. NUMBER: it may be no address at all. So
 * known code or data must end before ADDR, or ADDR must begin as most functions do. */
uint8_t state_guessed(const struct inference *inf, const struct text *t, vaddr_t addr, bool bit,
                      bool number);

/* ---- noreturn.c ---- */
/* Decodes the instruction at the start of PLACE, in T, before all states are known. It must end in
 * PLACE. Of instructions found earlier that cannot branch, only kind and size are set. False: no
 * code (RET's size is 0), or no instruction. */
bool code_insn(const struct inference *inf, const struct text *t, struct span place,
               struct insn *ret);
/* Adds to RET functions that never return, by name, and the linker's stubs for them; sorts RET. */
void noreturn_by_name(const struct inference *inf, address_list *ret);
/* Adds to RET_ENDS the places right behind calls that never return, by address. Adds to RET_BEGINS
 * the places behind these calls where functions may begin that nothing refers to. states.starts
 * must be sorted. */
void noreturn_find(struct inference *inf, address_list *ret_ends, address_list *ret_begins);

/* ---- starts.c ---- */
/* Adds to states.starts the functions that only jumps lead to. Sorts starts and jumps. */
void starts_settle(struct inference *inf);
