/*
 * What call-frame information says at one pc: how to come by the caller's registers. Private to
 * src/unwind.
 */
#pragma once

#include <elfutils/libdw.h>

#include "unwind/frame.h"

enum rule_kind {
    RULE_SAME,       /* the register is as it was in the caller */
    RULE_UNDEFINED,  /* the caller's is gone */
    RULE_AT,         /* a word at CFA + offset */
    RULE_VALUE,      /* CFA + offset */
    RULE_REGISTER,   /* register `reg` + offset */
    RULE_EXPRESSION, /* a word at what ops give */
    RULE_EXPRESSION_VALUE
};

struct rule {
    uint8_t kind; /* enum rule_kind */
    uint8_t reg;
    uint32_t op_count;
    int64_t offset;
    const Dwarf_Op *ops; /* libdw's, as long as its CFI is open */
};

enum { REGISTERS_MOST = 33 }; /* of all machines: AArch64's x0 to x30, sp and pc */

struct row {
    struct rule cfa; /* RULE_REGISTER or RULE_EXPRESSION_VALUE */
    struct rule registers[REGISTERS_MOST];
    uint8_t return_register;
    vaddr_t start, end; /* where it says the same */
    bool known;         /* false: the pc has no call-frame information */
    bool signal;
};

/* The row of link-time ADDR, of the machine's first COUNT registers; unknown if there is none that
 * can be understood. */
void row_read(Dwarf_CFI *cfi, vaddr_t addr, unsigned count, struct row *ret);

/* A frame's registers, and the memory that they lead to. */
struct machine {
    uint64_t registers[REGISTERS_MOST];
    uint64_t known; /* bit n: register n is */
    uint8_t count;  /* of registers */
    uint8_t word;   /* 4 or 8 bytes */
    const struct unwind_piece *pieces;
    size_t piece_count;
    bool missed;       /* memory was asked for that is not there: */
    taddr_t missed_at; /* the last time, here */
    uint64_t lacking;  /* bit n: register n was asked for and is not known */
};

/* A word. */
bool machine_read(struct machine *m, taddr_t addr, uint64_t *ret);
/* False: it has no such register, or the register's value is not known. */
bool machine_register(struct machine *m, uint64_t number, uint64_t *ret);
/* What RULE, which is none of SAME and UNDEFINED, gives. False: nothing. */
bool rule_apply(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret);
