/* The functions that the symbol table of a debug file names. */
#pragma once

#include "base/types.h"

struct debug_symbols;

/* Reads the symbols of the ELF file FD, which the caller keeps. NULL: it has none. */
struct debug_symbols *debug_symbols_new(int fd);
void debug_symbols_free(struct debug_symbols *s);
/* The mangled name of the function at ADDR (link-time), or NULL. Lives as long as S. */
const char *debug_symbols_at(const struct debug_symbols *s, vaddr_t addr);
