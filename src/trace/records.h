/*
 * Metadata as payloads of blocks: numbers are varints, signed ones zigzag, a
 * string is a varint (0: NULL, else its length + 1), its bytes and a zero.
 * A payload may be longer than what is read of it: later spoors may append.
 */
#pragma once

#include "trace/block.h"
#include "trace/format.h"

struct block *record_session(const struct trace_session *session);
struct block *record_clock(const struct trace_clock *clock);
struct block *record_process(const struct trace_process *process);
struct block *record_thread(const struct trace_thread *thread);
/* All but the functions. */
struct block *record_module(const struct trace_module *module);
/* The functions from number *NEXT on, as many as go into one block; moves *NEXT on. */
struct block *record_functions(const struct trace_module *module, uint32_t *next);
struct block *record_map(const struct trace_map *map);
/* Of more than DISK_FRAMES_MAX frames the innermost. */
struct block *record_frames(const struct trace_frames *frames);
struct block *record_change(const struct trace_change *change);
struct block *record_chains(const struct trace_chains *chains);
struct block *record_extents(const struct trace_extent *extents, size_t count);
struct block *record_end(const struct trace_end *end);

/* A payload being read. After an attempt to read past its end, or a string that is none, BAD is
 * set and everything reads as 0 or NULL. DECODE_PADDING bytes follow END. */
struct fields {
    const uint8_t *at, *end;
    bool bad;
};

uint64_t fields_number(struct fields *f);
int64_t fields_signed(struct fields *f);
/* A number that must not be larger than MAX. */
uint32_t fields_bounded(struct fields *f, uint32_t max);
const char *fields_text(struct fields *f);
const uint8_t *fields_bytes(struct fields *f, uint64_t count);

/* The simple records; false: not one. Texts point into the payload, NULL ones become "". */
bool fields_clock(struct fields *f, struct trace_clock *ret);
bool fields_process(struct fields *f, struct trace_process *ret);
bool fields_thread(struct fields *f, struct trace_thread *ret);
bool fields_map(struct fields *f, struct trace_map *ret);
bool fields_change(struct fields *f, struct trace_change *ret);
bool fields_extent(struct fields *f, struct trace_extent *ret); /* one of a list */
bool fields_end(struct fields *f, struct trace_end *ret);

/* Those with lists, which are allocated: what is claimed is compared with what is there. */
bool fields_session(struct fields *f, struct trace_session *ret); /* free ret->command */
bool fields_module(struct fields *f, struct trace_module *ret);   /* free ret->refused */
bool fields_frames(struct fields *f, struct trace_frames *ret);   /* free ret->frames */
/* The head of a part of a function table. */
struct functions_head {
    uint32_t first_id; /* names the module */
    uint32_t first, count;
};
bool fields_functions(struct fields *f, struct functions_head *ret);
bool fields_place(struct fields *f, struct trace_place *ret); /* the next one */
/* The next one, which has NUMBER. */
bool fields_chain(struct fields *f, uint32_t number, struct trace_chain *ret);
/* The next function; *END is the end of the one before (0 at first). */
bool fields_function(struct fields *f, uint64_t *end, struct trace_function *ret);
