/*
 * What the tests of src/analyze share: a small trace of known functions, written event by event and
 * then opened for analysis. A tick is a nanosecond.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/walk.h"
#include "trace/writer.h"

/* Event ids. The first four are of module "prog", the others of "libdraw.so". */
enum { MAIN = 1, FIB, LEAF, UNNAMED, DRAW, MAKE, SKIPPED, FUNCTIONS };
enum { STREAMS = 3, TOP = 0x20000 /* above all native stacks */ };

struct lab {
    char *path;
    struct trace_writer *writer;
    struct source source; /* set by lab_open() */
    uint64_t last;
    uint64_t million_ns; /* what a million ticks take; 0: as many nanoseconds */
    int damages;         /* the number of unreadable blocks */
};

void lab_init(struct lab *lab);
/* A recording with these limits, of which some may be left to the views. */
void lab_init_limited(struct lab *lab, uint32_t depth, uint64_t threshold_ns);
void lab_done(struct lab *lab);

void lab_enter(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp);
void lab_return(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp);
void lab_tail(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp);

/* Ends the trace, once, and opens it. LINE is "-F PATTERN -N PATTERN -M GLOB -D N -t NS -s SINCE
 * -u UNTIL -T TID", each at most once, in any order; "" shows all. */
void lab_open(struct lab *lab, const char *line);
/* The same, but returns the error, whose text is in ERR. */
int lab_try(struct lab *lab, const char *line, struct err *err);
