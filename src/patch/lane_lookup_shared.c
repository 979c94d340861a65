/* Writes the stack ranges of threads that share a thread pointer into the areas' tables. */
#include "patch/lane_lookup_shared.h"

#include <stddef.h>
#include <string.h>

#include "patch/space.h"
#include "target/memory.h"

struct table {
    struct lane_stack_range at[LANE_STACK_RANGES_MOST + 1];
};
_Static_assert(sizeof(struct table) == LANE_STACK_RANGES_BYTES, "the last one stays an end");

struct sharer *shared_find(const struct lane_lookup *lookup, pid_t tid) {
    for (size_t i = 0; lookup->sharing && i < lookup->sharing->threads.count; i++)
        if (lookup->sharing->threads.at[i].tid == tid)
            return &lookup->sharing->threads.at[i];
    return NULL;
}

bool shared_has(const struct lane_lookup *lookup, uint64_t pointer, pid_t tid) {
    for (size_t i = 0; lookup->sharing && i < lookup->sharing->threads.count; i++) {
        const struct sharer *k = &lookup->sharing->threads.at[i];
        if (k->pointer == pointer && k->tid != tid)
            return true;
    }
    return false;
}

/* ---- in the target ---- */

static void write_to_areas(const struct space *s, size_t offset, const void *bytes, size_t size) {
    for (size_t i = 0; i < s->modules.count; i++) {
        const struct patched *p = &s->modules.at[i];
        if (p->code && p->area)
            memory_write(s->remote.memory_fd, p->area + LANE_KEYS_BYTES + offset, bytes, size,
                         NULL);
    }
}

static void fill(const struct space *s, struct table *ret) {
    memset(ret, 0xff, sizeof *ret);
    if (s->lookup.sharing)
        memcpy(ret->at, s->lookup.sharing->ranges.at,
               s->lookup.sharing->ranges.count * sizeof *ret->at);
}
_Static_assert(offsetof(struct lane_stack_range, thread_pointer) == 0,
               "which a word is written to");

int shared_install(const struct space *s, taddr_t area, struct err *err) {
    struct table table;
    fill(s, &table);
    return memory_write(s->remote.memory_fd, area + LANE_KEYS_BYTES, &table, sizeof table, err);
}

static void write_ranges(const struct space *s) {
    struct table table;
    fill(s, &table);
    write_to_areas(s, 0, &table, sizeof table);
}

/* Removes the ranges of POINTER, of one LANE or (0) of all. Other ranges keep their places: threads
 * may be reading. */
static void remove_ranges(struct space *s, uint64_t pointer, taddr_t lane) {
    struct stack_ranges *all = &s->lookup.sharing->ranges;
    for (size_t i = 0; i < all->count; i++) {
        struct lane_stack_range *k = &all->at[i];
        if (k->thread_pointer != pointer || (lane && k->lane != lane))
            continue;
        k->thread_pointer = DEAD_LANE_KEY;
        write_to_areas(s, i * sizeof *k, &DEAD_LANE_KEY, sizeof DEAD_LANE_KEY);
    }
}

void shared_clear(struct space *s) { write_to_areas(s, 0, &NO_LANE_KEY, sizeof NO_LANE_KEY); }

/* ---- threads that share a pointer ---- */

void shared_add(struct space *s, const struct sharer *thread) {
    if (!s->lookup.sharing)
        s->lookup.sharing = mem_alloc(sizeof *s->lookup.sharing);
    s->lookup.loses_events = true; /* where two threads run on one stack */
    struct sharer *old = shared_find(&s->lookup, thread->tid);
    if (old)
        *old = *thread;
    else
        ARRAY_PUSH(&s->lookup.sharing->threads, *thread);
    remove_ranges(s, thread->pointer, 0);
}

void shared_remove(struct space *s, pid_t tid) {
    struct sharer *k = shared_find(&s->lookup, tid);
    if (!k)
        return;
    remove_ranges(s, k->pointer, k->lane);
    *k = s->lookup.sharing->threads.at[--s->lookup.sharing->threads.count];
}

void shared_done(struct lane_lookup *lookup) {
    if (lookup->sharing)
        ARRAY_FREE(&lookup->sharing->threads);
    free(lookup->sharing);
    lookup->sharing = NULL;
}

/* ---- the threads' stacks ---- */

static void restart_lookup(const struct space *s, pid_t tid, struct regs *regs) {
    const struct patched *p = space_area_at(s, regs_pc(regs));
    if (p && regs_restart_lane_lookup(regs, p->area))
        thread_set_regs(tid, regs);
}

void shared_seek_again(const struct space *s, pid_t tid) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) == 0)
        restart_lookup(s, tid, &regs);
}

bool shared_look(struct space *s) {
    struct sharing *all = s->lookup.sharing;
    ARRAY(struct stopped_thread) threads = {0};
    for (size_t i = 0; i < all->threads.count; i++) {
        const struct sharer *k = &all->threads.at[i];
        struct regs regs;
        if (k->waits || thread_get_regs(k->tid, &regs) < 0)
            continue;
        restart_lookup(s, k->tid, &regs);
        struct stopped_thread t = {k->pointer, k->lane, regs_sp(&regs), k->top};
        ARRAY_PUSH(&threads, t);
    }
    stack_ranges_drop(&all->ranges, DEAD_LANE_KEY);
    bool fits = stack_ranges_claim(&all->ranges, threads.at, threads.count, space_sink(s));
    ARRAY_FREE(&threads);
    write_ranges(s);
    return fits;
}
