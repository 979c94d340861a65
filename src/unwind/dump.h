/*
 * Dumps of memory as people have them: raw bytes; hexadecimal text as gdb (x/64xw $sp), xxd,
 * hexdump and fault handlers print it, also within a log; Intel HEX.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "unwind/unwind.h"

struct dump { /* all 0: empty */
    ARRAY(struct unwind_piece) pieces;
};

/* Where a dump's bytes were. */
struct dump_place {
    uint8_t word;  /* bytes of a value whose width the text does not tell: 4 or 8 */
    bool has_base; /* the first byte was at `base`, whatever addresses the text has */
    uint64_t base;
    uint64_t sp; /* where bytes without an address were, or with one counted from 0 */
};

/* Adds what SIZE BYTES hold to RET. Errors, EINVAL: "no-dump" (nothing in it), "bad-dump" (Intel
 * HEX that is damaged). */
int dump_read(const uint8_t *bytes, size_t size, const struct dump_place *place, struct dump *ret,
              struct err *err);
void dump_done(struct dump *dump);
