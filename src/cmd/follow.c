/* Looks at a recording that goes on. A look costs as much as reading all of it, so the time between
 * two grows with it. */
#include "cmd/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/say.h"

enum {
    LEAST_NS = 500 * 1000 * 1000, /* between two looks */
    READING_SHARE = 4             /* a quarter of the time, at most, is reading */
};

/* Whether a recorder writes PATH: it locks the file. */
static bool is_written(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool written = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return written;
}

/* Sleeps until the next look. START_NS: when the last one began. */
static void rest(uint64_t start_ns) {
    uint64_t ns = (clock_monotonic_ns() - start_ns) * (READING_SHARE - 1);
    clock_sleep_ns(ns < LEAST_NS ? LEAST_NS : ns);
}

struct follower {
    const struct options *options;
    follow_fn show;
    void *ctx;
    uint64_t ticks;    /* up to which everything is shown; 0: nothing is */
    uint64_t start_ns; /* CLOCK_MONOTONIC */
};

static int show_view(struct follower *f, struct view *view, bool last) {
    struct trace_reader *reader = view->source.reader;
    uint64_t settled = last ? UINT64_MAX : trace_reader_settled(reader);
    if (!last && settled <= f->ticks)
        return STATUS_OK;
    struct follow_part part = {.begin_ns = trace_reader_ns(reader, f->ticks),
                               .end_ns = last ? UINT64_MAX : trace_reader_ns(reader, settled),
                               .first = !f->ticks,
                               .last = last};
    int status = f->show(f->ctx, view, &part);
    f->ticks = trace_reader_ticks(reader, part.end_ns);
    return view->is_damaged ? STATUS_FAILED : status;
}

/* In the beginning the file may be empty, or have no function that the filter names. It has its
 * final name suddenly. */
static bool may_pass(const struct follower *f, const struct err *err) {
    const uint64_t beginning_ns = 5000000000;
    return strcmp(err->tag, "open") == 0 ||
           (!f->ticks && clock_monotonic_ns() - f->start_ns < beginning_ns);
}

/* Shows what there is of the trace at PATH behind f->ticks. */
static int look(struct follower *f, const char *path, bool last) {
    struct view view;
    struct err err;
    int rc = view_open_growing(&view, f->options, path, !last, &err);
    if (rc < 0 && !last && may_pass(f, &err))
        return STATUS_OK;
    if (rc < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    int status = show_view(f, &view, last);
    view_close(&view);
    return status;
}

int follow(const struct options *options, int argc, char **argv, follow_fn show, void *ctx) {
    struct follower f = {
        .options = options, .show = show, .ctx = ctx, .start_ns = clock_monotonic_ns()};
    const char *path = argc ? argv[0] : "spoor.trace";
    AUTO_FREE char *part = mem_printf("%s.part", path);
    for (bool fresh = true;; fresh = false) {
        uint64_t start_ns = clock_monotonic_ns();
        bool written = is_written(part);
        bool cut_short = !written && access(path, F_OK) && access(part, F_OK) == 0;
        if (fresh && cut_short) { /* or the recorder has just made it */
            rest(start_ns);
            continue;
        }
        int status = look(&f, written || cut_short ? part : path, !written);
        if (!written || status != STATUS_OK)
            return status;
        rest(start_ns);
    }
}
