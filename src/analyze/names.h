/*
 * The functions of a trace under dense numbers, with the names that people read: arrays indexed by
 * them are what the analyses work on.
 *
 * Names are demangled when first asked for, and kept. Control characters in them, which come from
 * foreign files, are shown as '?'.
 */
#pragma once

#include "base/filter.h"
#include "trace/reader.h"

struct names;

/* R must outlive the names. */
struct names *names_new(const struct trace_reader *r);
void names_free(struct names *n);

/* Functions, and one more, the last, that stands for all ids without a function (a damaged trace).
 */
uint32_t names_count(const struct names *n);
/* The function of an event's id. */
uint32_t names_index(struct names *n, uint32_t id);

/* Demangled; "module+0x1234" if it has no name. Lives as long as the names. */
const char *names_function(struct names *n, uint32_t function);
/* Further demangled names of the same body, NULL-terminated, or NULL if there are none. */
const char *const *names_aliases(struct names *n, uint32_t function);

/* Modules have numbers too; the last is that of the unknown function. */
uint32_t names_module_count(const struct names *n);
uint32_t names_module(const struct names *n, uint32_t function);
/* A file name without directory. */
const char *names_module_name(struct names *n, uint32_t module);

/* Whether stacks grow in pieces (-fsplit-stack): some module has what makes them do so. */
bool names_grow_stacks(const struct names *n);

bool names_instrumented(const struct names *n, uint32_t function);
/* How its entry is patched, as enum tier; TIER_NONE (0) for the unknown function. */
uint8_t names_tier(const struct names *n, uint32_t function);
/* Whether all its exits are patched: else the ends of its calls may be inferred. */
bool names_exact(const struct names *n, uint32_t function);
/* All names of the function that patterns are compared with: demangled, demangled without
 * parameters, and as in the symbol table. */
struct function_names names_known(struct names *n, uint32_t function);
/* True if P matches one of those. */
bool names_match(struct names *n, uint32_t function, const struct pattern *p);
