/* Each answer of the interface. Private to the files that write them. */
#pragma once

#include "page/parameters.h"
#include "page/value_texts.h"

struct writing {
    const struct request *request;
    struct summary *summary;    /* of request->shown */
    struct summary_range range; /* of the parameters */
    struct client client;
    FILE *out;
    char *body; /* or the whole answer; to be freed */
    size_t body_size;
    struct desk *desk; /* NULL: the answer reads no events, and names nothing */
};

/* Each writes one answer. Errors: -EINVAL "bad-value"; -ECANCELED: the client is gone. */
int answer_trace(struct writing *w, struct err *err);
int answer_names(struct writing *w, struct err *err);
int answer_info(struct writing *w, struct err *err);
int answer_functions(struct writing *w, struct err *err);
int answer_graph(struct writing *w, struct err *err);
int answer_histogram(struct writing *w, struct err *err);
int answer_calls(struct writing *w, struct err *err);
int answer_find(struct writing *w, struct err *err);
int answer_next(struct writing *w, struct err *err);
int answer_marks(struct writing *w, struct err *err);
int answer_source(struct writing *w, struct err *err);
int answer_diff(struct writing *w, struct err *err);
int answer_density(struct writing *w, struct err *err);
int answer_spans(struct writing *w, struct err *err);
int answer_frames(struct writing *w, struct err *err);

/* Parts of these, for files. VALUES: NULL, or those of the call. */
void write_call(FILE *out, const struct summary_call *call, const struct value_texts *values);
/* The buckets of answer_histogram(). */
void write_histogram(FILE *out, const struct histogram *durations);
/* answer_spans() of LIST. To be freed. */
char *boxes_body(const struct writing *w, const summary_span_list *list, size_t *ret_size);
