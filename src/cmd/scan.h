/*
 * Finds addresses in text that passes by, byte for byte: lines may be of any length and hold
 * anything. An address is a word of its own that begins with 0x, or one in [<…>], as kernels print
 * them; behind + or - it is an offset and does not count.
 *
 * What stands behind #1, #2 … of a backtrace is where a call returns to, and so is what stands
 * behind a link register's name (lr, x30, r14).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct scan { /* all 0 at the beginning of a text */
    char word[20];
    uint8_t length; /* of the word so far; more than there is room for: it is no address */
    uint8_t before; /* the byte before it */
    uint8_t before_that;
    uint8_t escape;   /* of a terminal's escape sequence: what has been seen of it */
    bool in_callers;  /* the line has had #1, #2 … */
    bool in_register; /* a link register's name was the last word */
};

struct scan_hit {
    uint64_t addr;
    bool is_return;
};

/* Whether BYTE ends a word that is an address; it is no part of it. The text's end is a newline. */
bool scan_byte(struct scan *s, uint8_t byte, struct scan_hit *ret);
