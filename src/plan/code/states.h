/*
 * Stage 2: which state the machine is in at each place of code, and where data stands between. Only
 * 32-bit Arm has states (A32 and T32). Mapping symbols tell them; where a file has none, the room
 * stripped/ infers them.
 */
#pragma once

#include "plan/code/text.h"

enum { STATE_BYTES = 2 };

struct code_start { /* where a function begins that has neither a range nor a symbol */
    vaddr_t addr;
    bool called; /* else only jumped to from another function, and perhaps a part of that */
    bool direct; /* by a call instruction */
    bool guess;  /* only a word or a number tells of it, which may be a label, or no address */
    vaddr_t jumps_low, jumps_high; /* where the jumps that lead there stand; 0: none do */
};

struct table_reader { /* a stub for an import that reads the table behind its call */
    vaddr_t addr;
    struct dispatch how;
};

struct states {
    const struct texts *texts;
    uint8_t *at; /* enum code_state by place / STATE_BYTES; NULL: the machine has one state */
    ARRAY(struct code_start) starts;          /* by address, each once; of stripped files */
    ARRAY(struct table_reader) table_readers; /* by address */
};

/* For machines with one state, and files with mapping symbols. */
struct states states_by_symbols(const struct texts *texts);
void states_done(struct states *states);

/* States that are all STATE, to be completed by the caller. */
struct states states_new(const struct texts *texts, uint8_t state);
/* What lies in T between START and END is in STATE. */
void states_fill(struct states *states, const struct text *t, struct span place, uint8_t state);
/* Behind the bytes from ADDR on, up to LIMIT, that are of the same state. */
vaddr_t state_end(const struct states *states, const struct text *text, vaddr_t addr,
                  vaddr_t limit);

/* States.at is there. */
static inline uint8_t *state_at(const struct states *states, const struct text *text,
                                vaddr_t addr) {
    return &states->at[text_place(text, addr) / STATE_BYTES];
}
/* What decodes the code at ADDR. */
static inline const struct arch *state_arch(const struct states *states, const struct text *text,
                                            vaddr_t addr) {
    const struct arch *arch = states->texts->arch;
    return states->at && *state_at(states, text, addr) == CODE_T32 ? arch->other : arch;
}
/* Does data stand at ADDR, in the midst of code? */
static inline bool state_is_data(const struct states *states, const struct text *text,
                                 vaddr_t addr) {
    return states->at && *state_at(states, text, addr) == CODE_DATA;
}
