/*
 * The captures of a recording, by the numbers that rings and traces have. The tracer adds them;
 * drainers and writers look them up meanwhile without a lock.
 */
#pragma once

#include "trace/block.h"
#include "types/types.h"
#include "values/predicate.h"

struct captures;

/* A trigger fires at the entry, or at the exit, of a call for which a condition holds. */
struct trigger_condition {
    const struct condition *condition;
    const char *text; /* the trigger, as typed */
    bool at_exit;
    uint64_t longer_ticks;          /* at_exit: of longer calls only; 0: of all */
    struct operand_reader *readers; /* of its operands, for one capture; owned by that */
};

struct numbered_capture {
    uint32_t id;            /* event id of the function */
    struct capture capture; /* owned */
    uint32_t words;         /* of all values */
    const struct captures *all;
    const struct condition *condition; /* NULL: all calls of the function are kept */
    struct operand_reader *readers;    /* of its operands, for this capture; owned */
    ARRAY(struct trigger_condition) triggers;
    struct predicate predicate; /* of an entry: the part that a stub can judge; owned */
    uint32_t types; /* records of types that the trace needs before it, from the first on */
};

struct captures *captures_new(void);
void captures_free(struct captures *c); /* may be NULL */
/* The graph that types of captures that are added are numbers of. They get numbers of the trace. */
void captures_set_types(struct captures *c, struct types *graph);
/* Record I of types; the payload of a block. Lives as long as C. */
const struct bytes *captures_types(const struct captures *c, uint32_t i);
/* Adds a copy of CAPTURE of the function with event id ID. Only calls are kept for which CONDITION,
 * which must live as long as C, holds; it may be NULL. Returns the capture's number. */
uint32_t captures_add(struct captures *c, uint32_t id, const struct capture *capture,
                      const struct condition *condition);
/* TRIGGER asks for values of capture NUMBER, which no event may have yet. Its condition and its
 * text must live as long as C. */
void captures_add_trigger(struct captures *c, uint32_t number,
                          const struct trigger_condition *trigger);
/* NULL: there is no such number. */
const struct numbered_capture *captures_get(const struct captures *c, uint32_t number);
/* Slots of the longest one, its event included. */
unsigned captures_longest(const struct captures *c);
/* Whether one has a condition. */
bool captures_have_conditions(const struct captures *c);
