/* The processor facts that the walk in offline.c needs. Private to src/unwind. */
#pragma once

#include "unwind/offline.h"

struct offline_machine {
    uint16_t machine; /* EM_* */
    uint8_t word;     /* bytes */
    uint8_t count;    /* registers by DWARF number, plus one for the pc if DWARF gives it none */
    uint8_t sp, pc;
    bool stacks_exceptions;   /* a return address may be an EXC_RETURN */
    uint64_t scratch;         /* bit n: a call may change register n */
    const char *const *names; /* by register number; blanks separate names of the same register */
    /* True if a call instruction ends at PC, given as a register holds it. The SIZE bytes at BEFORE
     * precede PC. *RET_INDIRECT: the call goes through a register or memory. */
    bool (*follows_call)(uint64_t pc, const uint8_t *before, size_t size, bool *ret_indirect);
    /* The target of that call if it is direct, with the Thumb bit. NULL on machines whose calls
     * write no register. */
    uint64_t (*called)(uint64_t pc, const uint8_t *before, size_t size);
};

/* True if a call instruction in the image's code ends at PC, as a register holds it. (offline.c) */
bool offline_is_return(const struct offline_program *program, uint64_t pc);

enum { OFFLINE_CALL_BYTES = 8 }; /* the most that follows_call() reads */
