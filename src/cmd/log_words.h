/*
 * Finds addresses in a stream of text, byte for byte: lines may have any length and content. An
 * address is a word that begins with 0x, or a word in [<…>], as kernels print it. Behind + or - it
 * is an offset and does not count.
 *
 * Addresses behind #1, #2 … (a backtrace), and behind the name of a link register (lr, x30, r14),
 * are return addresses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct scan { /* all 0 at the beginning of a text */
    char word[20];
    uint8_t length;      /* of the word so far; a word without room is not an address */
    uint8_t before;      /* the byte before the word */
    uint8_t before_that; /* the byte before that byte */
    uint8_t escape;      /* the state within an escape sequence of terminals */
    bool in_callers;     /* the line has had #1, #2 … */
    bool in_register;    /* the last word was the name of a link register */
};

struct scan_hit {
    uint64_t addr;
    bool is_return;
};

/* True if BYTE ends an address: the word before BYTE. A text ends with a newline. */
bool scan_byte(struct scan *s, uint8_t byte, struct scan_hit *ret);
