/* Random programs whose events are written as they run, with all that disturbs calls. */
#pragma once

#include "support.h"

struct machine {
    struct trace_writer *writer;
    uint64_t dice, now; /* a seed; ns */
};

struct program {
    unsigned exceptions, oddities, signals; /* per thousand events */
};

void machine_emit(struct machine *m, uint32_t stream, uint32_t id, enum event_kind kind,
                  uint64_t sp);
/* Runs EVENTS steps of P in STREAM, and ends the thread. A block ends after BLOCK steps. */
void machine_run(struct machine *m, uint32_t stream, unsigned events, unsigned block,
                 const struct program *p);
/* Flips a byte in the payload of each fifth block of events. */
void damage_blocks(const char *path);
/* The same of each N-th block of TYPE. */
void damage_blocks_of(const char *path, unsigned type, unsigned n);
