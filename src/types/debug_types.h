/*
 * Types and signatures from the DWARF (2 to 5) of one module: in the file itself, or in a separate
 * debug file, compressed or not, with a supplementary file (dwz) or split (.dwo) units.
 *
 * Reading is lazy: opening looks at the heads of the units only, and a function's signature reads
 * its own unit. Bytes are untrusted.
 */
#pragma once

#include "elf/module.h"
#include "types/signature.h"

struct debug_types;
/*
 * MODULE and GRAPH must outlive the result. Errors: ENOENT "no-debug-info"; ENOEXEC
 * "corrupt-debug-info". MODULE was loaded with MODULE_DEBUG_FILES, or only its own file counts.
 */
int debug_types_open(const struct module *module, struct types *graph, struct debug_types **ret,
                     struct err *err);
/* Types that were not read become unknown. D may be NULL. */
void debug_types_close(struct debug_types *d);

/* Forgets all types that were read, with their numbers, since those of a large file take gigabytes.
 * The COUNT types of KEPT get new numbers. Nobody else may use the graph. */
void debug_types_forget(struct debug_types *d, type_id *kept, size_t count);

/* The signature of the function that begins at LOW_PC. False: there is none. The caller calls
 * signature_done(). */
bool debug_types_signature(struct debug_types *d, vaddr_t low_pc, struct signature *ret);

/* A struct, union, enum or typedef NAME, as types_get() names it, or "struct NAME"; a definition,
 * if there is one. 0: none. The first question takes as long as reading all units. */
type_id debug_types_find(struct debug_types *d, const char *name);

/* Calls SEE for each function, in the order of units; each variable that a unit defines outside of
 * functions and namespaces; each type with a name, or of that NAME, as it is or in the spelling of
 * debug_types_find(), unless NAME is NULL; the name of each such type. They stop when SEE returns
 * false. For converters. */
void debug_types_functions(struct debug_types *d, bool (*see)(void *ctx, vaddr_t low_pc),
                           void *ctx);
void debug_types_variables(struct debug_types *d,
                           bool (*see)(void *ctx, const char *name, type_id type), void *ctx);
void debug_types_all(struct debug_types *d, const char *name, bool (*see)(void *ctx, type_id id),
                     void *ctx);
void debug_types_names(struct debug_types *d, bool (*see)(void *ctx, const char *name), void *ctx);
