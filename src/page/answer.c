/* See answer.h: finds the function that answers, and gives it the range and a desk. */
#include "page/answer.h"

#include <errno.h>
#include <string.h>

#include "cmd/json.h"
#include "page/answers.h"

static const char JSON[] = "application/json; charset=utf-8";

static const char BINARY[] = "application/octet-stream";

static const struct endpoint {
    const char *path, *type;
    int (*write)(struct writing *w, struct err *err);
    bool reads; /* events, or names */
} endpoints[] = {
    {"/api/trace", JSON, answer_trace, false},
    {"/api/names", JSON, answer_names, true},
    {"/api/info", JSON, answer_info, true},
    {"/api/functions", JSON, answer_functions, true},
    {"/api/graph", JSON, answer_graph, true},
    {"/api/histogram", JSON, answer_histogram, true},
    {"/api/calls", JSON, answer_calls, true},
    {"/api/next", JSON, answer_next, true},
    {"/api/find", JSON, answer_find, true},
    {"/api/marks", JSON, answer_marks, true},
    {"/api/source", JSON, answer_source, true},
    {"/api/diff", JSON, answer_diff, true},
    {"/api/density", BINARY, answer_density, false},
    {"/api/spans", BINARY, answer_spans, false},
    {"/api/frames", BINARY, answer_frames, true},
};

static const struct endpoint *find(const char *path) {
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        if (strcmp(endpoints[i].path, path) == 0)
            return &endpoints[i];
    return NULL;
}

void answer_error(struct answer *ret, int status, const char *text) {
    AUTO_FREE char *string = json_string(text);
    char *body = mem_printf("{\"error\": %s}\n", string);
    *ret = (struct answer){status, JSON, body, strlen(body)};
}

static int status_of(const struct err *err) {
    return err->code == EINVAL ? 400 : err->code == ENOENT ? 404 : err->code == ESTALE ? 410 : 500;
}

/* 0: *RET is the answer. -ECANCELED: nobody waits for it. Else *ERR tells why there is none. */
static int write_answer(struct writing *w, const struct endpoint *e, struct answer *ret,
                        struct err *err) {
    bool reads = e->reads || w->request->parameter(w->request->ctx, "exact");
    if (reads && !(w->desk = shown_desk(w->request->shown, &w->client)))
        return -ECANCELED;
    if (w->desk)
        desk_show(w->desk, &w->range);
    *ret = (struct answer){.status = 200, .type = e->type};
    w->out = open_memstream(&ret->body, &ret->size);
    int rc = e->write(w, err);
    fclose(w->out);
    if (w->body) {
        free(ret->body);
        ret->body = w->body;
        ret->size = w->body_size;
    }
    if (w->desk)
        desk_return(w->desk);
    return rc;
}

static int try_answer(struct writing *w, const char *path, struct answer *ret, struct err *err) {
    const struct request *r = w->request;
    const struct endpoint *e = find(path);
    AUTO_FREE uint8_t *streams = NULL;
    if (!e)
        return err_set(err, ENOENT, "no-request", "there is no such request");
    int rc = parameter_range(r, "", &w->range, &streams, err);
    if (!streams)
        w->range.streams = r->streams;
    if (rc == 0)
        rc = shown_check(r->shown, err);
    if (rc == 0)
        rc = write_answer(w, e, ret, err);
    if (rc == 0) /* what was read may be half old, half new */
        rc = shown_check(r->shown, err);
    return rc;
}

void answer_request(const struct request *r, const char *path, struct answer *ret) {
    struct writing w = {.request = r,
                        .summary = shown_summary(r->shown),
                        .client = {.is_gone = r->is_gone, .ctx = r->ctx}};
    struct err err = {0};
    w.range = client_range(&w.client);
    *ret = (struct answer){0};
    int rc = try_answer(&w, path, ret, &err);
    if (rc == 0)
        return;
    free(ret->body);
    *ret = (struct answer){0};
    if (rc != -ECANCELED)
        answer_error(ret, status_of(&err), err.text);
}
