/*
 * Capstone's opinion of a word of A32: independent of the decoder under test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct oracle_a32 {
    bool call, leaves;  /* leaves: writes the pc, but is no call */
    bool conditional;   /* has a condition */
    bool direct, turns; /* target is set; turns: blx of it */
    bool svc, exclusive, load;
    bool reads_pc; /* as an operand */
    uint64_t target;
    bool reads_flags, writes_flags;
    uint32_t written;  /* general registers; not the pc */
    char mnemonic[32]; /* with condition */
    char text[192];    /* mnemonic and operands */
};

/* Returns false if Capstone knows no such instruction. */
bool oracle_a32_decode(uint32_t word, uint64_t addr, struct oracle_a32 *ret);
