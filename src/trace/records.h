/*
 * Metadata as payloads of blocks. Numbers are varints, signed ones zigzag. A string is a varint (0:
 * NULL, else its length + 1), its bytes and a zero. Readers ignore bytes at a payload's end: later
 * versions may append fields.
 */
#pragma once

#include "trace/block.h"
#include "trace/format.h"

struct block *record_session(const struct trace_session *session);
struct block *record_clock(const struct trace_clock *clock);
struct block *record_process(const struct trace_process *process);
struct block *record_thread(const struct trace_thread *thread);
/* The module without its functions. */
struct block *record_module(const struct trace_module *module);
/* The functions from number *NEXT on, as many as fit into one block. Advances *NEXT. */
struct block *record_functions(const struct trace_module *module, uint32_t *next);
struct block *record_map(const struct trace_map *map);
/* Keeps the innermost DISK_FRAMES_MAX frames. */
struct block *record_frames(const struct trace_frames *frames);
struct block *record_change(const struct trace_change *change);
struct block *record_chains(const struct trace_chains *chains);
struct block *record_extents(const struct trace_extent *extents, size_t count);
struct block *record_death(const struct trace_death *death);
struct block *record_part(const struct trace_part *part);
struct block *record_end(const struct trace_end *end);

/* A payload being read. A read past its end or a malformed string sets `bad`; then all reads give 0
 * or NULL. DECODE_PADDING bytes follow `end`. */
struct fields {
    const uint8_t *at, *end;
    bool bad;
};

uint64_t fields_number(struct fields *f);
int64_t fields_signed(struct fields *f);
/* A number larger than MAX sets `bad`. */
uint32_t fields_bounded(struct fields *f, uint32_t max);
const char *fields_text(struct fields *f);
const uint8_t *fields_bytes(struct fields *f, uint64_t count);

/* Records without lists. False: malformed. Strings point into the payload; NULL becomes "". */
bool fields_clock(struct fields *f, struct trace_clock *ret);
bool fields_process(struct fields *f, struct trace_process *ret);
bool fields_thread(struct fields *f, struct trace_thread *ret);
bool fields_map(struct fields *f, struct trace_map *ret);
bool fields_change(struct fields *f, struct trace_change *ret);
bool fields_extent(struct fields *f, struct trace_extent *ret); /* one of a list */
bool fields_end(struct fields *f, struct trace_end *ret);

/* Records with lists, which are allocated. A list's count is checked against the payload's size. */
bool fields_session(struct fields *f, struct trace_session *ret); /* free ret->command */
bool fields_module(struct fields *f, struct trace_module *ret);   /* free ret->refused */
bool fields_frames(struct fields *f, struct trace_frames *ret);   /* free ret->frames */
bool fields_death(struct fields *f, struct trace_death *ret);     /* free ret->frames */
bool fields_part(struct fields *f, struct trace_part *ret);       /* free ret->before */
/* The head of a DISK_FUNCTIONS block. */
struct functions_head {
    uint32_t first_id; /* names the module */
    uint32_t first, count;
};
bool fields_functions(struct fields *f, struct functions_head *ret);
bool fields_place(struct fields *f, struct trace_place *ret); /* the next one */
/* The next one, which has NUMBER. */
bool fields_chain(struct fields *f, uint32_t number, struct trace_chain *ret);
/* The next function. *END is the end of the one before, 0 at first. */
bool fields_function(struct fields *f, uint64_t *end, struct trace_function *ret);
