/* Reads dumps of memory: raw bytes; Intel HEX; hexadecimal text as gdb (x/64xw $sp), xxd, hexdump
 * and fault handlers print it, also inside a log. */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "unwind/unwind.h"

struct dump { /* all 0: empty */
    ARRAY(struct unwind_piece) pieces;
};

/* How a dump's bytes get their addresses. */
struct dump_place {
    uint8_t word;  /* bytes of a value whose width the text leaves open: 4 or 8 */
    bool has_base; /* the first byte was at `base`; the text's addresses are shifted by that */
    uint64_t base;
    uint64_t sp; /* address of the first byte if the text has no addresses, or counts them from 0 */
};

/* Adds the memory that the SIZE bytes of a dump describe to RET. Errors, EINVAL: "no-dump" (it
 * describes none), "bad-dump" (damaged Intel HEX). */
int dump_read(const uint8_t *bytes, size_t size, const struct dump_place *place, struct dump *ret,
              struct err *err);
void dump_done(struct dump *dump);
