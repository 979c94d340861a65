/* Runs call-frame instructions for what spoor needs of them: the rule for the CFA. */
#pragma once

#include "base/mem.h"
#include "elf/cursor.h"
#include "elf/module.h"

struct cfa {
    int32_t reg; /* CFA_EXPRESSION when not reg + offset */
    int32_t offset;
};

struct cfa_factors {
    uint64_t code;
    int64_t data;
    uint8_t encoding; /* of DW_CFA_set_loc's operand */
};

typedef ARRAY(struct cfa_row) cfa_rows;

struct cfa_program {
    struct cursor code;
    struct cfa_factors factors;
    struct cfa initial; /* in force before the first instruction */
};

/*
 * Runs PROGRAM from START up to END and adds a row wherever the rule changes, the first at START.
 * Instructions that cannot be understood make the rule CFA_EXPRESSION from there on: nothing is
 * assumed about such code. Returns the last rule.
 */
struct cfa cfa_run(const struct cfa_program *program, vaddr_t start, vaddr_t end, cfa_rows *rows);
