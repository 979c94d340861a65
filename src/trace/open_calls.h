/*
 * The calls that are open on a thread's own stack where a block of its events ends, by the rules of
 * calls.h. The writer puts them into checkpoints, so that reading can begin at any block.
 *
 * The encoder's shadow of the stack knows the calls that began in the block and are still open. It
 * also notes up to which stack pointer older calls have ended. Where that is not all (chains,
 * records of frames, several shadows) the block is decoded, and its events make calls. What cannot
 * be known yet ends the knowledge for good: behind a gap or a record of frames that comes too late;
 * on other stacks; in a process that goes on with calls of its maker.
 */
#pragma once

#include "base/mem.h"
#include "trace/encode.h"

struct open_call {
    uint64_t sp, start; /* ticks */
    uint64_t callees;   /* ticks of ended callees, without pauses */
    uint64_t paused;    /* open_calls.paused when it began */
    uint32_t id, chain;
    bool before; /* as in struct call */
};

struct open_calls {
    bool known;
    uint64_t low, high;                /* the stack, as in struct trace_thread */
    ARRAY(struct open_call) list;      /* the outermost first */
    uint64_t paused;                   /* ticks of pauses so far */
    uint64_t blocks, last;             /* so many were taken; ticks of the last item */
    uint64_t raw_bytes;                /* of these blocks */
    ARRAY(struct trace_pause) news;    /* pauses that the user has not taken out */
    ARRAY(struct trace_frames) frames; /* to be applied, by time; the lists are owned */
    size_t unchanged; /* so many calls are the same as when the user set this. The user's: */
    uint64_t group;
    uint64_t spent; /* bytes */
};

void open_calls_init(struct open_calls *o, uint64_t low, uint64_t high);
void open_calls_done(struct open_calls *o);
/* From now on nothing is known. */
void open_calls_forget(struct open_calls *o);
/* Whether a call of function ID at SP is open. */
bool open_calls_has(const struct open_calls *o, uint64_t sp, uint32_t id);
/* FRAMES apply to the first item whose ticks are not smaller. */
void open_calls_frames(struct open_calls *o, const struct trace_frames *frames);
/* BLOCK, which E has just made, follows. */
void open_calls_take(struct open_calls *o, const struct encoder *e, const struct block *block);
