/*
 * Events of one stream to blocks.
 *
 * Most events can be foretold. The encoder keeps a shadow of the thread's stack: a return of the
 * top frame, which nearly every exit is, becomes the single code 0; an entry is its function's
 * number in the block's dictionary, its stack pointer foretold from the step the same caller made
 * last time. What goes wrong is corrected explicitly, and the decoder only follows: when to forget
 * frames or to change to another shadow (coroutines) is for the encoder to decide.
 *
 * Every block starts with an empty shadow and dictionary and so can be decoded alone.
 */
#pragma once

#include "trace/block.h"
#include "trace/writer.h"
#include "wire/ring.h"

struct encoder;

struct encoder *encoder_new(void);
void encoder_free(struct encoder *e);

/* Takes the first events of COUNT into the block under construction and returns how many: all of
 * them, or fewer when the block has become full (take it and go on). */
size_t encoder_events(struct encoder *e, const struct trace_event *events, size_t count);
/* Likewise one item, always; the block may be full afterwards. */
void encoder_lost(struct encoder *e, uint64_t ticks, uint64_t count);
void encoder_thread_end(struct encoder *e, uint64_t ticks);

/* What was taken since E was made; bytes is 0. */
struct trace_totals encoder_totals(const struct encoder *e);
bool encoder_full(const struct encoder *e);
/* The block so far, or NULL when there is nothing in it. */
struct block *encoder_take(struct encoder *e, uint32_t stream);
