#include "cmd/view.h"

#include <stdio.h>

#include "cmd/say.h"

int view_open(const struct options *options, int argc, char **argv, struct view *ret,
              struct err *err) {
    const struct filter_options *f = &options->filter;
    struct shown_options shown = {.filters = f->filters.at,
                                  .filter_count = f->filters.count,
                                  .excludes = f->excludes.at,
                                  .exclude_count = f->excludes.count,
                                  .modules = f->modules.at,
                                  .module_count = f->modules.count,
                                  .depth = f->depth,
                                  .threshold_ns = f->threshold_ns,
                                  .since_ns = options->view.since_ns,
                                  .until_ns = options->view.until_ns,
                                  .tid = options->view.tid};
    struct view v = {.path = argc ? argv[0] : "spoor.trace"};
    int rc = trace_reader_open(v.path, &v.reader, err);
    if (rc < 0)
        return rc;
    v.names = names_new(v.reader);
    rc = shown_new(v.reader, v.names, &shown, &v.shown, err);
    if (rc < 0) {
        view_close(&v);
        return rc;
    }
    if (trace_reader_warning(v.reader))
        say_note("%s", trace_reader_warning(v.reader));
    *ret = v;
    return 0;
}

void view_close(struct view *v) {
    shown_free(v->shown);
    names_free(v->names);
    trace_reader_free(v->reader);
}

const char *view_losses(const struct view *v) {
    static char text[128];
    uint64_t lost = trace_reader_counts(v->reader).lost;
    if (!trace_reader_complete(v->reader))
        snprintf(text, sizeof text, "%lu events known to be lost; the recording did not end: more "
                                    "may be missing",
                 lost);
    else if (lost)
        snprintf(text, sizeof text, "%lu events lost", lost);
    else
        return NULL;
    return text;
}
