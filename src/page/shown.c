/* See shown.h. */
#include "page/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "analyze/late_names.h"
#include "base/clock.h"

static const uint64_t LOOK_NS = 50 * 1000 * 1000; /* between questions whether a client is there */

struct shown {
    const char *path;
    int fd;           /* of the file that was opened */
    struct stat then; /* when it was opened */
    struct trace_reader *reader;
    struct stream_groups *stream_groups;
    struct summary *summary;
    uint32_t functions;
    struct desk desks[DESKS];
    pthread_mutex_t lock; /* of desk.busy */
    pthread_cond_t returned;
    pthread_mutex_t called_lock; /* of what follows */
    uint8_t *called;             /* by function; NULL: not known yet */
    pthread_mutex_t values_lock; /* of what follows */
    struct names *values_names;
    struct call_values *values; /* NULL: nobody has asked for them */
};

/* ---- clients ---- */

static void look(struct client *client) {
    if (client->is_gone && client->is_gone(client->ctx))
        client->stop = true;
}

/* Several threads may come at once: one of them looks. */
void client_look(struct client *client) {
    unsigned long long now = clock_monotonic_ns(), looked = client->looked_ns;
    if (now >= looked + LOOK_NS && atomic_compare_exchange_strong(&client->looked_ns, &looked, now))
        look(client);
}

static void on_progress(void *ctx, size_t items) {
    (void)items;
    client_look(ctx);
}

struct summary_range client_range(struct client *client) {
    return (struct summary_range){
        .until_ns = UINT64_MAX, .cancel = &client->stop, .on_progress = on_progress, .ctx = client};
}

struct summary *shown_summary(const struct shown *s) {
    return s->summary;
}

/* ---- desks ---- */

static void desk_init(struct desk *d, struct shown *s) {
    struct source *source = &d->view.source;
    d->shown = s;
    d->view.path = s->path;
    *source = (struct source){
        .reader = s->reader, .stream_groups = s->stream_groups, .names = names_new(s->reader)};
}

/* The filter of RANGE. All functions are shown, so there is nothing that could fail. */
static void set_filter(struct source *source, const struct summary_range *range) {
    struct view_spec spec = {.since_ns = range->since_ns, .until_ns = range->until_ns};
    size_t count = trace_reader_stream_count(source->reader);
    view_filter_free(source->filter);
    view_filter_new(&spec, source->reader, source->names, &source->filter, NULL);
    if (range->streams) {
        source->filter->streams = mem_alloc(count + 1);
        memcpy(source->filter->streams, range->streams, count);
    }
}

void desk_show(struct desk *d, const struct summary_range *range) {
    set_filter(&d->view.source, range);
}

void shown_source(struct shown *s, const struct summary_range *range, struct client *client,
                  struct source *ret) {
    *ret = (struct source){.reader = s->reader,
                           .stream_groups = s->stream_groups,
                           .forks = forks_new(s->reader, s->stream_groups),
                           .names = names_new(s->reader),
                           .ctx = client,
                           .on_progress = on_progress,
                           .stop = &client->stop};
    set_filter(ret, range);
}

void shown_source_done(struct source *source) {
    view_filter_free(source->filter);
    names_free(source->names);
    forks_free(source->forks);
}

static struct desk *find_desk(struct shown *s) {
    for (size_t i = 0; i < DESKS; i++)
        if (!s->desks[i].busy)
            return &s->desks[i];
    return NULL;
}

struct desk *shown_desk(struct shown *s, struct client *client) {
    struct desk *d;
    pthread_mutex_lock(&s->lock);
    while (!(d = find_desk(s)) && !client->stop) {
        struct timespec until = clock_timespec(clock_monotonic_ns() + LOOK_NS);
        pthread_cond_clockwait(&s->returned, &s->lock, CLOCK_MONOTONIC, &until);
        look(client);
    }
    if (d)
        d->busy = true;
    pthread_mutex_unlock(&s->lock);
    if (!d)
        return NULL;
    if (!d->shown)
        desk_init(d, s);
    d->view.source.ctx = client;
    d->view.source.on_progress = on_progress;
    d->view.source.stop = &client->stop;
    return d;
}

void desk_return(struct desk *d) {
    struct shown *s = d->shown;
    pthread_mutex_lock(&s->lock);
    d->busy = false;
    pthread_cond_signal(&s->returned);
    pthread_mutex_unlock(&s->lock);
}

/* ---- the trace ---- */

int shown_open(const char *path, struct shown **ret, struct err *err) {
    struct shown *s = mem_alloc(sizeof *s);
    s->path = path;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd >= 0)
        fstat(s->fd, &s->then);
    int rc = trace_reader_open(path, &s->reader, err);
    if (rc < 0) {
        if (s->fd >= 0)
            close(s->fd);
        free(s);
        return rc;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->returned, NULL);
    pthread_mutex_init(&s->called_lock, NULL);
    pthread_mutex_init(&s->values_lock, NULL);
    late_names_find(s->reader);
    s->stream_groups = stream_groups_new(s->reader);
    desk_init(&s->desks[0], s);
    s->functions = names_count(s->desks[0].view.source.names);
    s->summary = summary_start(s->reader, &(struct summary_options){.path = path, .keep = true});
    *ret = s;
    return 0;
}

const char *shown_path(const struct shown *s) { return s->path; }
struct trace_reader *shown_reader(const struct shown *s) {
    return s->reader;
}
uint32_t shown_functions(const struct shown *s) { return s->functions; }
uint32_t shown_event_id(const struct shown *s, uint32_t function) {
    return names_id(s->desks[0].view.source.names, function);
}
uint32_t shown_function(const struct shown *s, uint32_t id) {
    return names_number(s->desks[0].view.source.names, id);
}
const char *shown_warning(const struct shown *s) { return trace_reader_warning(s->reader); }

/* Reads no events, but those of streams that are not regular. */
static uint8_t *read_called(struct shown *s) {
    struct summary_range all = {.until_ns = UINT64_MAX};
    struct stats *stats;
    if (summary_functions(s->summary, &all, &stats) < 0)
        return NULL;
    uint8_t *called = mem_alloc(s->functions + 1);
    for (size_t i = 0; i < stats_function_count(stats); i++)
        called[stats_function(stats, i)] = 1;
    stats_free(stats);
    return called;
}

const uint8_t *shown_called(struct shown *s) {
    if (!summary_state(s->summary).complete)
        return NULL;
    pthread_mutex_lock(&s->called_lock);
    if (!s->called)
        s->called = read_called(s);
    pthread_mutex_unlock(&s->called_lock);
    return s->called;
}

bool shown_has_values(const struct shown *s) { return trace_reader_has_values(s->reader); }

/* Their types are of the reader: two readers of values would not be two threads' own. */
struct call_values *shown_take_values(struct shown *s) {
    if (!shown_has_values(s))
        return NULL;
    pthread_mutex_lock(&s->values_lock);
    if (!s->values) {
        s->values_names = names_new(s->reader);
        s->values = call_values_new(s->reader, s->values_names);
    }
    return s->values;
}

void shown_give_values(struct shown *s) { pthread_mutex_unlock(&s->values_lock); }

/* A recording that goes on only appends. */
int shown_check(const struct shown *s, struct err *err) {
    struct stat now;
    bool grows = !trace_reader_complete(s->reader);
    bool same = fstat(s->fd, &now) == 0 &&
                (now.st_size == s->then.st_size || (grows && now.st_size > s->then.st_size)) &&
                (grows || (now.st_mtim.tv_sec == s->then.st_mtim.tv_sec &&
                           now.st_mtim.tv_nsec == s->then.st_mtim.tv_nsec));
    if (same)
        return 0;
    return err_set(err, ESTALE, "changed",
                   "%s: the file was changed since it was opened: start 'spoor view' again",
                   s->path);
}
