/*
 * Capstone's opinion of an instruction of T32: independent of the decoder under test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_t32 {
    uint8_t size;
    bool call, jump, branch; /* jump: unconditional, also a return */
    bool direct;             /* target is set */
    bool address, literal;   /* pc-relative operands; target is set */
    bool svc, nop, exclusive, load;
    bool names_pc; /* among its source operands, apart from pc-relative ones */
    uint64_t target;
    bool reads_flags, writes_flags;
    uint32_t written; /* general registers, without the pc */
    char mnemonic[32];
    char text[192]; /* mnemonic and operands */
};

/* Returns false if Capstone knows no such instruction. Not for IT. */
bool oracle_t32_decode(const uint8_t *bytes, size_t room, uint64_t addr, struct oracle_t32 *ret);
/* The text of the COUNTth instruction from BYTES on, also of an IT and the instructions it governs.
 */
bool oracle_t32_text(const uint8_t *bytes, size_t room, uint64_t addr, size_t count, char ret[192]);
