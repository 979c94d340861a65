/*
 * The trace that is shown. It is read as it was when it was opened, whatever is written to it
 * later. Requests are answered in several threads. Each that reads events borrows a *desk*, so that
 * not too many read at the same time.
 */
#pragma once

#include "analyze/call_values.h"
#include "cmd/open_view.h"
#include "summary/summary.h"

enum { DESKS = 3 }; /* requests that read at the same time; others wait */

struct shown;

/* Errors: those of trace_reader_open(). */
int shown_open(const char *path, struct shown **ret, struct err *err);

const char *shown_path(const struct shown *s);
struct trace_reader *shown_reader(const struct shown *s);
/* NULL, or a sentence: what of the trace is missing, as trace_reader_warning(). */
const char *shown_warning(const struct shown *s);
/* The number of functions (names.h). */
uint32_t shown_functions(const struct shown *s);
/* The event id of a function, and back. */
uint32_t shown_event_id(const struct shown *s, uint32_t function);
uint32_t shown_function(const struct shown *s, uint32_t id);
/* By function: 1 if it has calls. NULL: that is not known before the summary is complete. */
const uint8_t *shown_called(struct shown *s);
/* Whether the trace has values of calls. */
bool shown_has_values(const struct shown *s);
/* Those of the trace, for one thread at a time: waits until the others gave them back. NULL: it has
 * none, and there is nothing to give back. */
struct call_values *shown_take_values(struct shown *s);
void shown_give_values(struct shown *s);
/* -ESTALE "changed": the file has been changed since it was opened, and its events cannot be
 * read. */
int shown_check(const struct shown *s, struct err *err);

/* The client of a request, which waits for the answer. */
struct client {
    bool (*is_gone)(void *ctx); /* NULL: it stays */
    void *ctx;
    atomic_bool stop;        /* set when it is gone: reading ends */
    atomic_ullong looked_ns; /* when is_gone() was asked */
};

/* Asks whether CLIENT is gone, if that was long ago. */
void client_look(struct client *client);
/* All of the trace, for CLIENT: reading ends when it is gone. */
struct summary_range client_range(struct client *client);
struct summary *shown_summary(const struct shown *s);
/* What one thread needs to read RANGE of the trace, with names of its own, for CLIENT. */
void shown_source(struct shown *s, const struct summary_range *range, struct client *client,
                  struct source *ret);
void shown_source_done(struct source *source);

/* What one thread needs to name functions, and to print what views print. */
struct desk {
    struct view view; /* its filter shows all */
    struct shown *shown;
    bool busy;
};

/* Borrows a desk; waits for one as long as CLIENT does. NULL: it is gone. */
struct desk *shown_desk(struct shown *s, struct client *client);
/* Makes D's filter that of RANGE. */
void desk_show(struct desk *d, const struct summary_range *range);
void desk_return(struct desk *d);
