/* Readable names of a trace's functions, made when first asked for and kept. */
#ifndef SPOOR_ANALYZE_NAMES_H
#define SPOOR_ANALYZE_NAMES_H

#include "trace/reader.h"

struct names;
struct names *names_new(const struct trace_reader *reader);
void names_free(struct names *names);

/* The demangled name of event id ID, "module+0x1234" for a function without a symbol, "?" for an id
 * of no module. */
const char *names_function(struct names *names, uint32_t id);
/* The module's file name; "?" as above. */
const char *names_module(struct names *names, uint32_t id);
/* One more than the largest event id of the trace. */
uint32_t names_id_limit(const struct names *names);

#endif
