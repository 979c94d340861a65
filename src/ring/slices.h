/*
 * Puts slices of stacks (wire/ring.h) together from the events of one lane. A slice that is not
 * whole, or has no entry right behind it, is forgotten.
 */
#pragma once

#include "arch/regs.h"
#include "trace/format.h"

struct stack_slice {
    bool begun, whole;
    uint64_t end; /* address */
    uint64_t registers[SLICE_REGISTERS];
    regs_word_t *words; /* owned; 0 if no event had the word */
    size_t room, used;
};

void slice_done(struct stack_slice *s);
/* Adds E to the slice. False: E is not a part of a slice. */
bool slice_take(struct stack_slice *s, const struct trace_event *e);
/* Called after an event that is not a part of a slice: forgets the slice. */
void slice_forget(struct stack_slice *s);
/* How many bytes the slice holds from SP on, the stack pointer of the entry behind it; 0: it is not
 * whole. */
size_t slice_bytes(struct stack_slice *s, uint64_t sp);

/* How many bytes of stack are copied for CALLERS callers, with a ring of RING_BYTES. */
uint32_t slice_bytes_for(uint32_t callers, uint32_t ring_bytes);

/* SLICE_SLOTS: how many slots of slices and values were written in all, up to the end of the COUNT
 * slots at AT. Returns how many were written before AT. */
uint64_t slice_slots_before(const struct event *at, size_t count, uint64_t slice_slots);
