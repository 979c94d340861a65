/* Part of spoor_fault.c: how things are printed. */
#ifndef SPOOR_FAULT_PRINT_H
#define SPOOR_FAULT_PRINT_H

#include "spoor_fault.h"

static void print(void (*put)(char c), const char *text) {
    while (*text)
        put(*text++);
}

static void print_hex(void (*put)(char c), spoor_word number) {
    for (int shift = (int)sizeof number * 8 - 4; shift >= 0; shift -= 4)
        put("0123456789abcdef"[number >> shift & 15]);
}

static inline void print_register(void (*put)(char c), const char *name, spoor_word number) {
    print(put, name);
    put(' ');
    print_hex(put, number);
}

#endif
