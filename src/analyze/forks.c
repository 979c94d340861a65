/* See forks.h: the table of forks, and scouts. */
#include "analyze/forks.h"

#include "analyze/walk.h"
#include "base/mem.h"
#include "base/search.h"

struct makers { /* a group with threads that have made processes */
    struct stream_group group;
    size_t first, count; /* its forks */
    struct walk *scout;  /* or NULL */
    bool over;           /* its scout has come to the end */
    bool walking;        /* its scout is just walking */
};

struct forks {
    ARRAY(struct fork) list;     /* by group of the maker, then by time */
    ARRAY(struct makers) makers; /* by first stream */
    size_t *of_child;            /* by stream: 1 + index in `list`; 0: made by no fork */
    uint32_t streams;
    struct source quiet; /* for scouts */
};

/* ---- the table ---- */

static int by_time(const void *a, const void *b) {
    const struct fork *x = a, *y = b;
    if (x->makers != y->makers)
        return x->makers < y->makers ? -1 : 1;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return (x->child > y->child) - (x->child < y->child);
}

static void add_forks(struct forks *f, const struct trace_reader *r) {
    for (uint32_t i = 0; i < f->streams; i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        if (t->maker && t->maker <= f->streams && t->maker - 1 != i)
            ARRAY_PUSH(&f->list, ((struct fork){t->maker - 1, i, t->start, .shares = t->shares}));
    }
}

/* Puts each fork to its maker's group. */
static void add_makers(struct forks *f, const struct stream_groups *groups) {
    size_t *group_of = mem_alloc(f->streams * sizeof *group_of + 1);
    for (size_t g = 0; g < stream_groups_count(groups); g++)
        for (uint32_t i = 0; i < stream_groups_at(groups, g).count; i++)
            group_of[stream_groups_at(groups, g).streams[i]] = g;
    for (size_t i = 0; i < f->list.count; i++)
        f->list.at[i].makers = group_of[f->list.at[i].maker];
    qsort(f->list.at, f->list.count, sizeof *f->list.at, by_time);
    for (size_t i = 0, group = SIZE_MAX; i < f->list.count; i++) {
        struct fork *fork = &f->list.at[i];
        if (fork->makers != group)
            ARRAY_PUSH(&f->makers,
                       ((struct makers){stream_groups_at(groups, fork->makers), .first = i}));
        group = fork->makers;
        fork->makers = f->makers.count - 1;
        f->makers.at[fork->makers].count++;
        f->of_child[fork->child] = i + 1;
    }
    free(group_of);
}

struct forks *forks_new(const struct trace_reader *r, const struct stream_groups *groups) {
    struct forks *f = mem_alloc(sizeof *f);
    f->streams = (uint32_t)trace_reader_stream_count(r);
    f->of_child = mem_alloc(f->streams * sizeof *f->of_child + 1);
    add_forks(f, r);
    if (f->list.count)
        add_makers(f, groups);
    return f;
}

void forks_free(struct forks *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->makers.count; i++)
        walk_free(f->makers.at[i].scout);
    for (size_t i = 0; i < f->list.count; i++)
        free((void *)f->list.at[i].calls.frames);
    ARRAY_FREE(&f->makers);
    ARRAY_FREE(&f->list);
    free(f->of_child);
    free(f);
}

struct fork *forks_by(const struct forks *f, uint32_t leader, size_t *ret_count) {
    size_t count = f ? f->makers.count : 0;
    size_t i = SEARCH(k, count, f->makers.at[k].group.streams[0] < leader);
    bool found = i < count && f->makers.at[i].group.streams[0] == leader;
    *ret_count = found ? f->makers.at[i].count : 0;
    return found ? &f->list.at[f->makers.at[i].first] : NULL;
}

static struct fork *fork_of(const struct forks *f, uint32_t child) {
    return f->of_child[child] ? &f->list.at[f->of_child[child] - 1] : NULL;
}

/* ---- scouts ---- */

static bool all_known(const struct forks *f, const struct makers *m) {
    size_t i = m->first;
    while (i < m->first + m->count && f->list.at[i].known)
        i++;
    return i == m->first + m->count;
}

/* Sends the scout of FORK's maker to FORK. A damaged trace may have processes that have made one
 * another: they begin without calls. */
static void find_calls(struct forks *f, struct fork *fork) {
    static const struct visitor nobody = {.no_self = true};
    struct makers *m = &f->makers.at[fork->makers];
    if (m->over || m->walking)
        return;
    m->walking = true;
    if (walk_may_seek(&f->quiet, m->group)) {
        struct walk *scout = walk_new_at(&f->quiet, m->group, &nobody, fork->ticks);
        while (!fork->known && walk_step(scout))
            continue;
        walk_free(scout);
        m->walking = false;
        return;
    }
    if (!m->scout)
        m->scout = walk_new(&f->quiet, m->group, &nobody);
    while (!fork->known && !m->over)
        m->over = !walk_step(m->scout);
    m->walking = false;
    m->over = m->over || all_known(f, m);
    if (m->over) {
        walk_free(m->scout);
        m->scout = NULL;
    }
}

/* A maker may begin with calls, too: those are found first. */
const struct trace_frames *forks_calls(const struct source *source, uint32_t stream) {
    struct forks *f = source->forks;
    struct fork *fork = f && stream < f->streams ? fork_of(f, stream) : NULL;
    ARRAY(struct fork *) unknown = {0};
    if (!fork)
        return NULL;
    f->quiet = *source;
    f->quiet.on_progress = NULL;
    f->quiet.on_damage = NULL;
    for (struct fork *k = fork; k && !k->known && unknown.count < f->list.count;
         k = fork_of(f, f->makers.at[k->makers].group.streams[0]))
        ARRAY_PUSH(&unknown, k);
    for (size_t i = unknown.count; i-- > 0;)
        if (!unknown.at[i]->known)
            find_calls(f, unknown.at[i]);
    ARRAY_FREE(&unknown);
    return fork->known ? &fork->calls : NULL;
}
