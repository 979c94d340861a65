/* See walk_state.h. The steps of a digest do what the items of its block would do. */
#include "analyze/walk_state.h"

#include "analyze/digests.h"
#include "analyze/group_reader.h"
#include "analyze/walk.h"
#include "analyze/walk_ticks.h"

static void add_callees(struct walk *w, struct call *call, const struct digest_step *step) {
    call->child_ticks += step->callees_ns;
    walk_ticks_add(w, call->depth, step->callees);
}

static void take_open(struct walk *w, const struct digest_step *step) {
    walk_take_item(w, &step->item);
    struct call *call = calls_reach(w->calls, step->ns, step->item.sp - 1);
    if (call) /* else a crafted trace has the bounds of another stack inside the thread's own */
        add_callees(w, call, step);
}

static void take_calls(struct walk *w, const struct digest *d, const struct digest_step *step) {
    if (w->thread->gap)
        walk_open_behind_gap(w);
    struct call *around = calls_reach(w->calls, w->now_ns, step->sp);
    uint32_t value = WALK_NONE;
    if (around) {
        add_callees(w, around, step);
        value = (union state){.user = around->user}.value;
    }
    w->visitor->ended(w->visitor->ctx, d->sums.at + step->first, step->end - step->first, value);
    if (w->visitor->step)
        w->visitor->step(w->visitor->ctx, d, step, value);
}

static void take_step(struct walk *w, const struct digest *d, const struct digest_step *step) {
    walk_advance(w, step->ns, step->ticks);
    if (step->kind == STEP_CALLS)
        take_calls(w, d, step);
    else if (step->kind == STEP_OPEN)
        take_open(w, step);
    else
        walk_take_item(w, &step->item);
}

bool walk_take_digest(struct walk *w) {
    size_t block = group_reader_block(w->reader);
    if (block == NO_BLOCK)
        return false;
    if (!w->thread->begun) /* may refuse the stream's digests */
        walk_begin_thread(w);
    const struct digest *d = digests_take(w->visitor->digests, block);
    if (!d)
        return false;
    if (w->source->on_progress)
        w->source->on_progress(w->source->ctx, d->items);
    if (w->visitor->digest)
        w->visitor->digest(w->visitor->ctx, d, block);
    if (d->steps.count)
        walk_advance(w, d->steps.at[0].ns, d->steps.at[0].ticks);
    walk_note_forks(w, trace_reader_block(w->source->reader, block).first);
    for (size_t i = 0; i < d->steps.count; i++)
        take_step(w, d, &d->steps.at[i]);
    if (d->items)
        walk_advance(w, d->last_ns, d->last);
    group_reader_skip_block(w->reader, d->damaged);
    return true;
}
