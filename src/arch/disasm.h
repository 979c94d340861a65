/*
 * Prints instructions of Arm's instruction sets by tables, for src/arch only. A row of a table has
 * a mask, a value and a template. The first row that fits a word prints the word. In a template
 *
 *     <LOW:A|B|…>     stands for one of 2, 4, 8 … alternatives, by the bits from LOW on; "?" means
 *                     that the row does not fit
 *     <LOW.COUNT>     for the COUNT bits from LOW on as a decimal number; "*N" and "+N" behind it
 *                     multiply and add, "x" prints 0x and hexadecimal digits
 *     %C              for what the instruction set's operand table has for the letter C: another
 *                     template, or a function's output
 *
 * Alternatives may contain letters, but no "<".
 */
#pragma once

#include "arch/arch.h"

struct opcode {
    uint32_t mask, value;
    const char *text; /* NULL: instructions that fit have no text */
};

struct disasm;
struct operand {
    char letter;
    const char *text;
    void (*print)(struct disasm *d); /* if text is NULL */
};

struct disasm {
    char *out; /* FORMAT_BYTES */
    size_t used;
    uint32_t word;
    vaddr_t addr, target;           /* target: of branches, and of accesses relative to the pc */
    const char *condition;          /* printed behind the mnemonic, before its first dot; or NULL */
    const void *insn;               /* private to the instruction set */
    const struct operand *operands; /* ends with the letter 0 */
    /* Prints an operand of several letters and returns their number, or 0. May be NULL. */
    size_t (*print_register)(struct disasm *d, const char *letters);
};

__attribute__((format(printf, 2, 3))) void disasm_add(struct disasm *d, const char *format, ...);
/* Prints a template. False if an alternative "?" was chosen. */
bool disasm_expand(struct disasm *d, const char *text);
/* Prints by the first row that fits. False if there is none; nothing is printed then. The last
 * row's mask is 0 and its text is NULL. */
bool disasm_print(struct disasm *d, const struct opcode *rows);
