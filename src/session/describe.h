/* Puts what a catalog entry is into the trace, so that views need no other file. */
#ifndef SPOOR_SESSION_DESCRIBE_H
#define SPOOR_SESSION_DESCRIBE_H

#include "session/catalog.h"

/* CODE: where it was loaded first. Returns how many functions have no patch there. */
size_t describe_module(struct trace_writer *writer, const struct entry *entry,
                       const struct plan_code *code);

#endif
