/* One row of call-frame information: the caller's registers at one pc. Private to src/unwind. */
#pragma once

#include <elfutils/libdw.h>

#include "unwind/frame.h"

enum rule_kind {
    RULE_SAME,       /* the caller's value is still in the register */
    RULE_UNDEFINED,  /* the caller's value is lost */
    RULE_AT,         /* the word at CFA + offset */
    RULE_VALUE,      /* CFA + offset */
    RULE_REGISTER,   /* value of register `reg` + offset */
    RULE_EXPRESSION, /* the word at the address that ops compute */
    RULE_EXPRESSION_VALUE
};

struct rule {
    uint8_t kind; /* enum rule_kind */
    uint8_t reg;
    uint32_t op_count;
    int64_t offset;
    const Dwarf_Op *ops; /* libdw's: valid while its CFI is open */
};

enum { REGISTERS_MOST = 33 }; /* AArch64 has the most: x0 to x30, sp and pc */

struct row {
    struct rule cfa; /* RULE_REGISTER or RULE_EXPRESSION_VALUE */
    struct rule registers[REGISTERS_MOST];
    uint8_t return_register;
    vaddr_t start, end; /* where the row holds */
    bool known;         /* false: the pc has no call-frame information */
    bool signal;
};

/* Reads the row of link-time address ADDR for the machine's first COUNT registers. RET->known is
 * false if there is none, or one that is not understood. */
void row_read(Dwarf_CFI *cfi, vaddr_t addr, unsigned count, struct row *ret);

/* A frame's registers, and the memory that rules may read. */
struct machine {
    uint64_t registers[REGISTERS_MOST];
    uint64_t known; /* bit n: register n is known */
    uint8_t count;  /* of registers */
    uint8_t word;   /* 4 or 8 bytes */
    const struct unwind_piece *pieces;
    size_t piece_count;
    bool missed;                /* a read failed, since the pieces do not hold the word */
    taddr_t missed_at;          /* address of the last such read */
    uint64_t missing_registers; /* bit n: register n was needed and is not known */
};

/* Reads a word. False: no piece holds it. */
bool machine_read(struct machine *m, taddr_t addr, uint64_t *ret);
/* Reads a register. False: there is no such register, or its value is not known. */
bool machine_register(struct machine *m, uint64_t number, uint64_t *ret);
/* Applies RULE, which is neither RULE_SAME nor RULE_UNDEFINED. False: its input is missing. */
bool rule_apply(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret);
