/* Puts pauses between the events of their threads. */
#include "ring/pauses.h"

#include <pthread.h>
#include <string.h>

/* Guards `added` of all threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void pauses_begin(struct pauses *p) {
    p->added.count = p->taken.count = 0;
    p->any = false;
    p->wait_since = p->newest = 0;
}

void pauses_done(struct pauses *p) {
    ARRAY_FREE(&p->added);
    ARRAY_FREE(&p->taken);
}

void pauses_add(struct pauses *p, const struct pause *pause) {
    pthread_mutex_lock(&lock);
    ARRAY_PUSH(&p->added, *pause);
    atomic_store_explicit(&p->any, true, memory_order_release);
    pthread_mutex_unlock(&lock);
}

void pauses_take(struct pauses *p) {
    if (!atomic_load_explicit(&p->any, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < p->added.count; i++)
        ARRAY_PUSH(&p->taken, p->added.at[i]);
    p->added.count = 0;
    atomic_store_explicit(&p->any, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void remove_first(struct pauses *p, size_t count) {
    p->taken.count -= count;
    memmove(p->taken.at, p->taken.at + count, p->taken.count * sizeof *p->taken.at);
}

void pauses_forget_before(struct pauses *p, uint64_t ticks) {
    size_t n = 0;
    while (n < p->taken.count && p->taken.at[n].begin < ticks)
        n++;
    if (n)
        remove_first(p, n);
}

uint64_t pauses_between(const struct pauses *p, uint64_t begin, uint64_t end) {
    uint64_t all = 0;
    for (size_t i = 0; i < p->taken.count; i++) {
        const struct pause *pause = &p->taken.at[i];
        uint64_t from = pause->begin > begin ? pause->begin : begin;
        uint64_t to = pause->end < end ? pause->end : end;
        bool lost_time = !((pause->id - PAUSE_EVENT) & PAUSE_IN_CALL);
        all += lost_time && from < to ? to - from : 0;
    }
    return all;
}

struct pauses pauses_copy(const struct pauses *p) {
    struct pauses copy = {.wait_since = p->wait_since, .newest = p->newest};
    for (size_t i = 0; i < p->taken.count; i++)
        ARRAY_PUSH(&copy.taken, p->taken.at[i]);
    return copy;
}

/* Makes the event of a pause, without what is before the newest item. False: nothing is left. */
static bool make(struct pauses *p, const struct pause *pause, struct trace_event *ret) {
    uint64_t begin = pause->begin > p->newest ? pause->begin : p->newest;
    if (pause->end <= begin)
        return false;
    uint64_t ticks = pause->end - begin;
    *ret = (struct trace_event){pause->end, pause->id << 2 | EVENT_CONTROL,
                                ticks < EVENT_CLOCK_MASK ? ticks : EVENT_CLOCK_MASK};
    p->newest = pause->end;
    return true;
}

/* The thread has waited up to TICKS, and waits on if it does so at AGAIN (0: it does not). */
static bool end_wait(struct pauses *p, uint64_t ticks, uint64_t again, struct trace_event *ret) {
    struct pause wait = {p->wait_since, ticks, PAUSE_EVENT + PAUSE_RING};
    p->wait_since = again;
    return make(p, &wait, ret);
}

bool pauses_next(struct pauses *p, uint64_t ticks, struct trace_event *ret) {
    while (p->taken.count && p->taken.at[0].begin <= ticks) {
        struct pause first = p->taken.at[0];
        if (p->wait_since && p->wait_since < first.begin) {
            if (end_wait(p, first.begin, first.end, ret))
                return true;
            continue;
        }
        remove_first(p, 1);
        if (first.id == PAUSE_EVENT + PAUSE_RING)
            p->wait_since = 0; /* the same wait: the thread was rolled back to its site */
        if (make(p, &first, ret))
            return true;
    }
    return p->wait_since && end_wait(p, ticks, 0, ret);
}

bool pauses_next_left(struct pauses *p, struct trace_event *ret) {
    p->wait_since = 0;
    return pauses_next(p, UINT64_MAX, ret);
}
