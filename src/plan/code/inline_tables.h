/*
 * 32-bit Arm: calls that are switches. The callee reads a table right behind the call and returns
 * to an entry's target instead (arch.inline_table_read).
 */
#pragma once

#include "plan/code/states.h"

struct code_line { /* straight-line code that ends at a jump */
    struct code_bytes jump;
    struct code_bytes past[DISPATCH_PAST]; /* nearest first */
    size_t count;
};

/* Fills states.table_readers. The states of the linker's stubs must be known. */
void inline_tables_find(struct states *states);
/* True if CALL, decoded by ARCH, is such a call; then RET is the form of its table. */
bool call_is_switch(const struct states *states, const struct arch *arch, const struct insn *call,
                    struct dispatch *ret);
/* arch.dispatch() of JUMP: an indirect jump, or such a call. */
struct dispatch dispatch_of(const struct states *states, const struct arch *arch,
                            const struct insn *jump, const struct code_line *line);
