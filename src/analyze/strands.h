/*
 * Which streams are read together. A thread that keeps to its own stack is a strand of its own.
 * Threads of one program that also run on other stacks (coroutines, goroutines, signal stacks) are
 * one strand, since such a stack may go on in another of them.
 */
#ifndef SPOOR_ANALYZE_STRANDS_H
#define SPOOR_ANALYZE_STRANDS_H

#include "trace/reader.h"

struct strand {
    const uint32_t *streams; /* ascending */
    uint32_t count;          /* 1 or more */
};

struct strands;
struct strands *strands_new(const struct trace_reader *r);
void strands_free(struct strands *s);
size_t strands_count(const struct strands *s);
/* In the order of their first streams. */
struct strand strands_at(const struct strands *s, size_t i);

#endif
