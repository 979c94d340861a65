/*
 * Capstone's opinion of an instruction: independent of the decoder under test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_insn {
    uint8_t size;
    bool call, ret, jump, branch; /* jump: unconditional, also indirect */
    bool direct;                  /* target is set */
    bool padding, landing, syscall;
    bool exclusive, exclusive_load; /* of AArch64 (oracle_a64.h) and Arm */
    bool through; /* of Arm: jumps, perhaps conditionally, to an address in a register or in memory
                     that is no return address as far as Capstone knows */
    uint64_t target;
    char text[192]; /* mnemonic and operands, with absolute addresses for pc-relative ones */
};

/* Returns false if there is no instruction. */
bool oracle_decode(const uint8_t *bytes, size_t room, uint64_t addr, struct oracle_insn *ret);
