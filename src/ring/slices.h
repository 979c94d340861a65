/*
 * Slices of stacks (wire/ring.h), put together from what a ring holds, for one lane. What is not
 * whole, or has no entry right behind it, is forgotten.
 */
#pragma once

#include "arch/regs.h"
#include "trace/format.h"

struct stack_slice {
    bool begun, whole;
    uint64_t end; /* address */
    uint64_t registers[SLICE_REGISTERS];
    regs_word_t *words; /* owned; 0 where no event gave one */
    size_t room, used;
};

void slice_done(struct stack_slice *s);
/* Takes E if it is a part of a slice: returns whether it is. */
bool slice_take(struct stack_slice *s, const struct trace_event *e);
/* After an event that is none: forgets it. */
void slice_forget(struct stack_slice *s);
/* How many bytes from SP on it holds, SP being that of the entry behind it; 0: it is not whole. */
size_t slice_bytes(struct stack_slice *s, uint64_t sp);

/* How much of a stack is looked at for so many callers, with a ring of RING_BYTES. */
uint32_t slice_bytes_for(uint32_t callers, uint32_t ring_bytes);

/* Of COUNT slots from AT on, behind which SLOTS slots of slices had been written in all: how many
 * such had been before AT. */
uint64_t slice_slots_before(const struct event *at, size_t count, uint64_t slots);
