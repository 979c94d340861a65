/*
 * Texts of A64 instructions, with letters after '%' for what a word holds: for format.c, which
 * prints them. A register is two letters, its bank and its field:
 *
 *     r R   w or x by bit 31; 31 is zero, or the stack pointer    d  bits 0 on     D  that behind d
 *     g y   w or x by bits 30 and 31 (both: x), by bit 30         n  bits 5 on
 *     w x   the same, of one width                                a  bits 10 on
 *     X     x; 31 is the stack pointer                            m  bits 16 on    M  that behind m
 *     f     s, d or h by bits 22 and 23
 *     l z   of loads and stores, of one register and of two
 *     b h s d q V
 *
 * All else is one letter:
 *
 *     A a n place in memory: of the word's form, with nine bits of offset, with those in sixteens
 *     B     where it leads, or what it names beside the code
 *     4     where that was signed which it authenticates
 *     C I J condition in bits 12 on, its contrary, condition in bits 0 on
 *     N L K immediate of sums, of logic, of moves                 M  what a move makes of it
 *     S E   shift and extension of the last operand, with a comma
 *     F Y G H i k u 1 2 3   fields of bits, as they are (see format.c)
 *     O P Q c Z W      numbers that are made of fields: widths, places, fractions, bits, sixteens
 *     o p   order of atomic accesses, "a", "l" or both; of those that compare
 *     t T   "b" or "h" by size; or "w"
 *     D U   system register, system operation                     j  kind of barrier
 *     e v   kind of prefetch; immediate of floating point
 */
#ifndef SPOOR_ARCH_AARCH64_TEXTS_H
#define SPOOR_ARCH_AARCH64_TEXTS_H

#include "arch/aarch64/aarch64.h"

/* The first row that fits a word decides; one that fits all is last. No text: none is known. */
struct a64_row {
    uint32_t mask, value;
    const char *text;
};

/* One that holds on a condition besides. Of these the last has none. */
struct a64_alias {
    uint32_t mask, value;
    bool (*when)(uint32_t word);
    const char *text;
};

/* The texts of a group of encodings (Arm ARM, C4.1). */
struct a64_texts {
    const struct a64_alias *aliases; /* are looked at first */
    const struct a64_row *rows;
};

extern const struct a64_texts a64_number_texts, a64_register_texts; /* data processing */
extern const struct a64_texts a64_memory_texts, a64_float_texts;

/* NULL: none is known. */
const char *a64_text_of(uint32_t word);

/* That of NUMBER, which are bits 5 to 20 of mrs and msr. NULL: no name is known. */
const char *a64_system_register(uint32_t number);

#endif
