/* See answer.h: finds the function that answers, and gives it the range and a desk. */
#include "page/answer.h"

#include <errno.h>
#include <string.h>

#include "cmd/json.h"
#include "page/answers.h"

static const char JSON[] = "application/json; charset=utf-8";

static const struct endpoint {
    const char *path, *type;
    int (*write)(struct writing *w, struct err *err);
} endpoints[] = {
    {"/api/trace", JSON, answer_trace}, {"/api/names", JSON, answer_names},
    {"/api/info", JSON, answer_info},   {"/api/functions", JSON, answer_functions},
    {"/api/graph", JSON, answer_graph},
};

static const struct endpoint *find(const char *path) {
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        if (strcmp(endpoints[i].path, path) == 0)
            return &endpoints[i];
    return NULL;
}

void answer_error(struct answer *ret, int status, const char *text) {
    AUTO_FREE char *string = json_string(text);
    *ret = (struct answer){status, JSON, mem_printf("{\"error\": %s}\n", string), 0};
    ret->size = strlen(ret->body);
}

static int status_of(const struct err *err) {
    return err->code == EINVAL ? 400 : err->code == ENOENT ? 404 : err->code == ESTALE ? 410 : 500;
}

/* 0: *RET is the answer. -ECANCELED: nobody waits for it. Else *ERR tells why there is none. */
static int write_answer(const struct request *r, const struct endpoint *e,
                        const struct range *range, struct answer *ret, struct err *err) {
    struct writing w = {.request = r, .range = *range};
    w.desk = shown_desk(r->shown, range, r->is_gone, r->ctx);
    if (!w.desk)
        return -ECANCELED;
    *ret = (struct answer){.status = 200, .type = e->type};
    w.out = open_memstream(&ret->body, &ret->size);
    int rc = e->write(&w, err);
    fclose(w.out);
    if (rc == 0 && w.desk->stop)
        rc = -ECANCELED;
    desk_return(w.desk);
    return rc;
}

void answer_request(const struct request *r, const char *path, struct answer *ret) {
    const struct endpoint *e = find(path);
    AUTO_FREE uint8_t *streams = NULL;
    struct range range;
    struct err err = {0};
    *ret = (struct answer){0};
    if (!e) {
        answer_error(ret, 404, "there is no such request");
        return;
    }
    int rc = parameter_range(r, "", &range, &streams, &err);
    if (rc == 0)
        rc = shown_check(r->shown, &err);
    if (rc == 0)
        rc = write_answer(r, e, &range, ret, &err);
    if (rc == 0) /* what was read may be half old, half new */
        rc = shown_check(r->shown, &err);
    if (rc == 0)
        return;
    free(ret->body);
    *ret = (struct answer){0};
    if (rc != -ECANCELED)
        answer_error(ret, status_of(&err), err.text);
}
