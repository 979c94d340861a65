/* What the walk of offline.c needs to know of a processor. Private to src/unwind. */
#pragma once

#include "unwind/offline.h"

struct offline_machine {
    uint16_t machine; /* EM_* */
    uint8_t word;     /* bytes */
    uint8_t count;    /* of registers, by numbers of DWARF and one more where the pc has none */
    uint8_t sp, pc;
    bool stacks_exceptions;   /* a return address may be an EXC_RETURN */
    uint64_t scratch;         /* bit n: a call may change register n */
    const char *const *names; /* by number; several of one register with blanks between */
    /* Whether PC, as a register holds it, is where a call returns to; *RET_INDIRECT: of what a
     * register or memory leads to. SIZE bytes at BEFORE stand before it. */
    bool (*follows_call)(uint64_t pc, const uint8_t *before, size_t size, bool *ret_indirect);
    /* What that call calls, with Thumb bit, if it is direct. NULL: calls write no register. */
    uint64_t (*called)(uint64_t pc, const uint8_t *before, size_t size);
};

/* offline.c: whether a call stands before PC, as a register holds it, in the image's code. */
bool offline_is_return(const struct offline_program *program, uint64_t pc);

enum { OFFLINE_CALL_BYTES = 8 }; /* follows_call() looks at no more */
