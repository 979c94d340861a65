/* Runs call-frame instructions to find the rule for the CFA at each pc. */
#pragma once

#include "base/mem.h"
#include "elf/cursor.h"
#include "elf/module.h"

struct cfa {
    int32_t reg; /* CFA_EXPRESSION if the CFA is not reg + offset */
    int32_t offset;
    bool outermost; /* the return address is undefined from the start on */
};

struct cfa_factors {
    uint64_t code;
    int64_t data;
    uint64_t return_column; /* the register with the return address */
    uint8_t encoding;       /* of DW_CFA_set_loc's operand */
};

typedef ARRAY(struct cfa_row) cfa_rows;

struct cfa_program {
    struct cursor code;
    struct cfa_factors factors;
    struct cfa initial; /* the rule before the first instruction */
};

/*
 * Runs PROGRAM from START up to END. Adds a row at START and wherever the rule changes. After an
 * unknown instruction the rule is CFA_EXPRESSION. Returns the last rule.
 */
struct cfa cfa_run(const struct cfa_program *program, vaddr_t start, vaddr_t end, cfa_rows *rows);
