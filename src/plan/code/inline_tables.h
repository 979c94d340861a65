/*
 * Calls that are switches (32-bit Arm): of functions that do not come back right behind their call,
 * because a table stands there (arch.inline_table_read).
 */
#pragma once

#include "plan/code/states.h"

struct code_line { /* what runs one after the other, up to a jump */
    struct code_bytes jump;
    struct code_bytes past[DISPATCH_PAST]; /* nearest first */
    size_t count;
};

/* Finds states.table_readers, once the states of the linker's stubs are known. */
void inline_tables_find(struct states *states);
/* Is CALL, of ARCH's code, such a call? The form of its table. */
bool call_is_switch(const struct states *states, const struct arch *arch, const struct insn *call,
                    struct dispatch *ret);
/* arch.dispatch() of JUMP, which is an indirect one, or such a call. */
struct dispatch dispatch_of(const struct states *states, const struct arch *arch,
                            const struct insn *jump, const struct code_line *line);
