/*
 * Numbers a trace's functions from 0, so that analyses can use arrays, and gives their readable
 * names.
 *
 * Names are demangled on first use, and kept. Control characters in them, which come from foreign
 * files, are shown as '?'.
 */
#pragma once

#include "base/filter.h"
#include "elf/source_lines.h"
#include "trace/reader.h"

struct names;

/* R must outlive the names. */
struct names *names_new(const struct trace_reader *r);
void names_free(struct names *n);

/* The number of functions. The last one stands for all ids without a function (a damaged trace). */
uint32_t names_count(const struct names *n);
/* The function of an event's id. */
uint32_t names_index(struct names *n, uint32_t id);
/* The same, slower, for any thread. */
uint32_t names_number(const struct names *n, uint32_t id);
/* The id of FUNCTION, if none was joined; UINT32_MAX of the last one. */
uint32_t names_id(const struct names *n, uint32_t function);
/* From now on, both give TO[number] in place of a number: for functions that count as one. */
void names_join(struct names *n, const uint32_t *to);

/* Demangled, or "module+0x1234" if it has no name. Lives as long as the names. */
const char *names_function(struct names *n, uint32_t function);
/* As in the symbol table; without one, as names_function(). */
const char *names_symbol(struct names *n, uint32_t function);
/* Other demangled names of the same body, NULL-terminated; NULL: none. */
const char *const *names_aliases(struct names *n, uint32_t function);

/* Modules have numbers, too. The last one belongs to the unknown function. */
uint32_t names_module_count(const struct names *n);
uint32_t names_module(const struct names *n, uint32_t function);
/* A file name without directory. */
const char *names_module_name(struct names *n, uint32_t module);

/* True if a module has __morestack: stacks grow in pieces (-fsplit-stack). */
bool names_grow_stacks(const struct names *n);

bool names_instrumented(const struct names *n, uint32_t function);
/* How its entry is patched, as enum tier; TIER_NONE (0) for the unknown function. */
uint8_t names_tier(const struct names *n, uint32_t function);
/* True if all its exits are patched. Otherwise ends of its calls may be inferred. */
bool names_exact(const struct names *n, uint32_t function);
/* True if it was left out for a while because of its code in memory: calls may be missing. */
bool names_partly(const struct names *n, uint32_t function);
/* True if it is no function but the place of marks; if the trace has such places. */
bool names_is_mark(const struct names *n, uint32_t function);
bool names_has_marks(const struct names *n);
/* Its address in its file; 0 for the unknown function. */
uint64_t names_address(const struct names *n, uint32_t function);
/* The source file and line in which it begins. They come from the module's file, if that is still
 * on this machine with the same build ID and has debugging information. */
struct source_line names_source(struct names *n, uint32_t function);
/* All names for patterns (elf/symbol_names.h). */
struct function_names names_all(struct names *n, uint32_t function);
/* Its qualified name alone, for suggestions. To be freed. */
char *names_bare(struct names *n, uint32_t function);
/* True if P matches one of those. */
bool names_match(struct names *n, uint32_t function, const struct pattern *p);
