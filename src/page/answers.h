/* Each answer of the interface. Private to the files that write them. */
#pragma once

#include "page/parameters.h"

struct writing {
    const struct request *request;
    struct range range;
    FILE *out;
    struct desk *desk; /* shows the range */
};

/* Each writes one answer. Errors: -EINVAL "bad-value", others of what they read. */
int answer_trace(struct writing *w, struct err *err);
int answer_names(struct writing *w, struct err *err);
int answer_info(struct writing *w, struct err *err);
int answer_functions(struct writing *w, struct err *err);
int answer_graph(struct writing *w, struct err *err);
