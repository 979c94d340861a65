/*
 * What call-frame information says at one pc: how to come by the caller's registers. Private to
 * src/unwind.
 */
#ifndef SPOOR_UNWIND_ROWS_H
#define SPOOR_UNWIND_ROWS_H

#include <elfutils/libdw.h>

#include "unwind/unwind.h"

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

struct row {
    struct rule cfa; /* RULE_REGISTER or RULE_EXPRESSION_VALUE */
    struct rule registers[REGS_DWARF_COUNT];
    uint8_t return_register;
    bool known; /* false: the pc has no call-frame information */
    bool signal;
};

/* The row of link-time ADDR; unknown if there is none that can be understood. */
void row_read(Dwarf_CFI *cfi, vaddr_t addr, struct row *ret);

/* A frame's registers, and the memory that they lead to. */
struct machine {
    uint64_t registers[REGS_DWARF_COUNT];
    const struct unwind_stack *stack;
    bool missed; /* memory was asked for that is not there */
};

bool machine_read(struct machine *m, taddr_t addr, uint64_t *ret);
/* What RULE, which is none of SAME and UNDEFINED, gives. False: nothing. */
bool rule_apply(struct machine *m, const struct rule *rule, taddr_t cfa, uint64_t *ret);

#endif
