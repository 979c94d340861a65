/*
 * Stage 2: the machine's state at each place of code, and where data stands between code. Only
 * 32-bit Arm has states (A32 and T32). Mapping symbols give them. Where a file has none,
 * src/plan/stripped infers them.
 */
#pragma once

#include "plan/code/text.h"

enum { STATE_BYTES = 2 };

struct code_start { /* the start of a function that has neither a range nor a symbol */
    vaddr_t addr;
    bool called; /* false: only jumps of other functions lead here, it may be a part of one */
    bool direct; /* called by a call instruction */
    bool guess;  /* only a word or number in data leads here; it may be a label, or no address */
    vaddr_t jumps_low, jumps_high; /* the first and last jump that lead here; 0: none */
};

struct table_reader { /* an import's stub whose function reads the table behind its call */
    vaddr_t addr;
    struct dispatch how;
};

struct states {
    const struct texts *texts;
    uint8_t *at; /* enum code_state by place / STATE_BYTES; NULL: the machine has one state */
    ARRAY(struct code_start) starts;          /* unique, by address; of stripped files */
    ARRAY(struct table_reader) table_readers; /* by address */
};

/* For machines with one state, and for files with mapping symbols. */
struct states states_by_symbols(const struct texts *texts);
void states_done(struct states *states);

/* All places are in STATE. The caller completes the rest. */
struct states states_new(const struct texts *texts, uint8_t state);
/* Sets PLACE, as far as it is in T, to STATE. */
void states_fill(struct states *states, const struct text *t, struct span place, uint8_t state);
/* The end of the bytes from ADDR on that have ADDR's state; LIMIT at most. */
vaddr_t state_end(const struct states *states, const struct text *text, vaddr_t addr,
                  vaddr_t limit);

/* states->at must not be NULL. */
static inline uint8_t *state_at(const struct states *states, const struct text *text,
                                vaddr_t addr) {
    return &states->at[text_place(text, addr) / STATE_BYTES];
}
/* The backend that decodes the code at ADDR. */
static inline const struct arch *state_arch(const struct states *states, const struct text *text,
                                            vaddr_t addr) {
    const struct arch *arch = states->texts->arch;
    return states->at && *state_at(states, text, addr) == CODE_T32 ? arch->other : arch;
}
/* True if ADDR holds data between code. */
static inline bool state_is_data(const struct states *states, const struct text *text,
                                 vaddr_t addr) {
    return states->at && *state_at(states, text, addr) == CODE_DATA;
}
