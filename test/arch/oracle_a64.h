/*
 * Capstone's opinion of a word of A64: independent of the decoder under test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct oracle_a64 {
    bool call, ret, jump, branch; /* jump: unconditional, also indirect */
    bool direct;                  /* target is set */
    bool address, page, literal;  /* pc-relative operands; target is set */
    bool svc, nop, exclusive, load;
    uint64_t target;
    bool reads_flags, writes_flags;
    uint32_t written; /* general registers; bit 31: the stack pointer */
    char text[192];   /* mnemonic and operands, with absolute addresses */
};

/* Returns false if Capstone knows no such instruction. */
bool oracle_a64_decode(uint32_t word, uint64_t addr, struct oracle_a64 *ret);
