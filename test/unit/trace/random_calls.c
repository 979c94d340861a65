/* Random calls as programs make them (random_calls.h). */
#include "random_calls.h"

#include "generate.h"

#define TOP RANDOM_STACK_HIGH
#define LOW RANDOM_STACK_LOW

enum { FUNCTIONS = RANDOM_FUNCTIONS / 2 };

static uint32_t below(struct random_calls *t, uint32_t limit) {
    return random_below(&t->random, limit);
}

static void emit(struct random_calls *t, uint32_t id, enum event_kind kind, uint64_t sp) {
    t->ticks += below(t, 8) ? below(t, 100) : below(t, 100000);
    trace_writer_events(t->w, t->stream, &(struct trace_event){t->ticks, id << 2 | kind, sp}, 1);
}

static struct trace_frame *top(struct random_calls *t) { return &t->stack[t->depth - 1]; }

static void enter(struct random_calls *t) {
    uint64_t above = t->depth ? top(t)->sp : TOP - 64;
    uint32_t caller = t->depth ? top(t)->id : 0;
    struct trace_frame f = {(caller * 7 + below(t, 12)) % FUNCTIONS, above};
    f.sp -= 16 * (1 + caller % 23) + (t->large && !below(t, 4000) ? 70000 : 0);
    if (f.sp <= LOW + 100000)
        return;
    if (t->chains && !below(t, 4))
        emit(t, CHAIN_EVENT, EVENT_CONTROL, below(t, 1000));
    emit(t, f.id, EVENT_ENTRY, f.sp);
    t->stack[t->depth++] = f;
}

static void leave(struct random_calls *t) {
    struct trace_frame f = *top(t);
    t->depth--;
    uint32_t how = below(t, t->large ? 95 : 100);
    if (how < 2) /* a shared end of another function */
        emit(t, f.id + FUNCTIONS, EVENT_RETURN, f.sp);
    else if (how < 5)
        emit(t, f.id, EVENT_TAIL, f.sp);
    else if (how < 95) /* else its exit is not patched */
        emit(t, f.id, EVENT_RETURN, f.sp);
}

/* An exception or a jump leaves some calls. */
static void unwind(struct random_calls *t) {
    uint32_t count = below(t, t->depth);
    t->depth -= count;
    if (count && below(t, 2))
        emit(t, top(t)->id, EVENT_CONTROL, below(t, 2) ? top(t)->sp : top(t)->sp - 8);
}

static void stand_still(struct random_calls *t) {
    uint64_t length = below(t, 5000);
    t->ticks += length;
    emit(t, PAUSE_EVENT + below(t, 2) + (below(t, 4) ? 0 : PAUSE_IN_CALL), EVENT_CONTROL, length);
}

/* Some of the open calls have ended unseen, and others have begun. */
static void list_frames(struct random_calls *t) {
    struct trace_frames frames = {t->stream, t->ticks + 1, 0, t->stack};
    if (below(t, 2) && t->depth)
        t->depth -= below(t, t->depth);
    frames.count = t->depth;
    if (frames.count && below(t, 2))
        t->stack[t->depth - 1].id += FUNCTIONS;
    trace_writer_frames(t->w, &frames);
    t->ticks += 2;
}

/* Some events are lost, and with them ends of calls. */
static void lose(struct random_calls *t) {
    trace_writer_lost(t->w, t->stream, t->ticks, 1 + below(t, 50));
    t->ticks += 1000;
    if (t->depth)
        t->depth -= below(t, t->depth);
}

void random_calls_step(struct random_calls *t) {
    uint32_t dice = below(t, 100000);
    if (dice < 10 && t->depth > 3 && !t->large)
        unwind(t);
    else if (dice < 50 && dice >= 20 && t->pauses)
        stand_still(t);
    else if (dice < 17 && t->frames)
        list_frames(t);
    else if (dice < 18 && t->gaps && t->ticks > t->gaps)
        lose(t);
    else if (dice < 20 && t->depth)
        emit(t, 5, EVENT_RETURN, top(t)->sp - 8); /* of a call that nobody saw */
    else if (t->depth &&
             (t->depth == RANDOM_MOST_DEPTH || dice >= t->enters - t->depth * t->shallow))
        leave(t);
    else
        enter(t);
}
