/* Puts what a catalog entry is into the trace, so that views need no other file. */
#ifndef SPOOR_SESSION_DESCRIBE_H
#define SPOOR_SESSION_DESCRIBE_H

#include "session/catalog.h"

void describe_module(struct trace_writer *writer, const struct entry *entry);

#endif
