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
    bool through; /* of Arm: jumps, on a condition or not, to what a register or memory tells, and
                     that is no return address as far as it says */
    uint64_t target;
    char text[192]; /* mnemonic and operands, with absolute addresses for pc-relative ones */
};

/* Returns false when there is no instruction. */
bool oracle_decode(const uint8_t *bytes, size_t room, uint64_t addr, struct oracle_insn *ret);
