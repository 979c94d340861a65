/* The answer that compares two ranges of the trace, or the other trace with it. */
#include <errno.h>

#include "analyze/compare_read.h"
#include "cmd/diff.h"
#include "page/answers.h"

struct sides { /* the old one, the new one */
    struct shown *shown[2];
    struct summary_range ranges[2];
    struct source sources[2];
};

/* The old side is the trace's first range and the new one its second; or the old one is the other
 * trace, of which the second range counts. */
static int choose(struct writing *w, struct sides *s, uint8_t **streams, struct err *err) {
    const struct request *r = w->request;
    bool other = r->parameter(r->ctx, "other");
    int second = other ? 0 : 1;
    if (other && !r->other)
        return err_set(err, EINVAL, "bad-value", "other: no other trace is shown");
    s->shown[0] = other ? r->other : r->shown;
    s->shown[1] = r->shown;
    s->ranges[1 - second] = w->range;
    s->ranges[second] = client_range(&w->client);
    int rc = parameter_range(r, "2", &s->ranges[second], streams, err);
    if (other)
        s->ranges[0].streams = NULL;
    return rc == 0 && other ? shown_check(r->other, err) : rc;
}

static int compare(struct writing *w, struct sides *s, bool paths) {
    const struct source *sides[2] = {&s->sources[0], &s->sources[1]};
    const char *programs[2];
    bool alike = diff_programs(sides, programs);
    struct comparison *c = comparison_new(alike ? programs : NULL);
    for (int i = 0; i < 2; i++) {
        struct compare_side side = {.to = c, .index = i, .source = sides[i]};
        compare_join(&side);
        if (paths)
            compare_read_paths(&side);
        else
            compare_read_functions(&side);
    }
    int rc = w->client.stop ? -ECANCELED : 0;
    if (rc == 0) {
        uint32_t count;
        compare_finish(c);
        AUTO_FREE uint32_t *rows = compare_order(c, COMPARE_TOTAL, &count);
        diff_json(w->out, c, rows, count, paths);
    }
    comparison_free(c);
    return rc;
}

int answer_diff(struct writing *w, struct err *err) {
    struct sides sides;
    AUTO_FREE uint8_t *streams = NULL;
    int rc = choose(w, &sides, &streams, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < 2; i++)
        shown_source(sides.shown[i], &sides.ranges[i], &w->client, &sides.sources[i]);
    rc = compare(w, &sides, w->request->parameter(w->request->ctx, "paths"));
    for (int i = 0; i < 2; i++)
        shown_source_done(&sides.sources[i]);
    return rc;
}
