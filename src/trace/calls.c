/* The rules of calls.h: one function for each kind of event, over the stacks of stacks.h. */
#include "trace/calls.h"

#include "base/mem.h"
#include "trace/plain_calls.h"
#include "trace/stacks.h"

/* Functions of calls.h that use `stacks` begin with take_plain() and end with await_plain(). */
struct calls {
    struct calls_plain plain; /* the first member */
    struct calls_ops ops;
    void *ctx;
    struct stacks stacks;
    struct stack_update *updates; /* by thread */
    bool begins_inner;            /* calls_begin_inner() was called for the next event */
    bool split;                   /* calls_expect_split_stacks() was called */
    uint64_t strays;
};

struct stack_update { /* what a thread's latest stack events say (enum stack_event) */
    uint64_t low;     /* of the stack whose upper end comes next */
    bool moving;      /* STACK_MOVES was last; the old stack is not freed yet */
    struct span made; /* the first stack made since then */
};

static void take_plain(struct calls *c) { calls_plain_end(&c->plain, &c->stacks); }

static void await_plain(struct calls *c) {
    if (c->begins_inner)
        calls_plain_none(&c->plain);
    else
        calls_plain_begin(&c->plain, &c->stacks);
}

struct calls *calls_new(const struct trace_thread *thread, const struct calls_ops *ops, void *ctx) {
    struct calls *c = mem_alloc(sizeof *c);
    c->ops = *ops;
    c->ctx = ctx;
    stacks_init(&c->stacks);
    calls_plain_none(&c->plain);
    calls_add_thread(c, thread);
    return c;
}

void calls_add_thread(struct calls *c, const struct trace_thread *thread) {
    stacks_add_thread(&c->stacks, thread->stack_low, thread->stack_high);
    c->updates = mem_resize(c->updates, c->stacks.thread_count, sizeof *c->updates);
    c->updates[c->stacks.thread_count - 1] = (struct stack_update){0};
}

void calls_set_thread(struct calls *c, uint32_t thread) {
    c->plain.chain = CHAIN_NONE;
    if (thread == c->stacks.thread)
        return;
    take_plain(c);
    stacks_set_thread(&c->stacks, thread);
    await_plain(c);
}

void calls_expect_split_stacks(struct calls *c) {
    c->split = true;
    stacks_set_split(&c->stacks);
}

void calls_free(struct calls *c) {
    if (!c)
        return;
    stacks_done(&c->stacks);
    free(c->updates);
    free(c);
}

uint64_t calls_strays(const struct calls *c) { return c->strays; }

static struct stack *current(struct calls *c) { return &c->stacks.at[c->stacks.current]; }

/* The caller of the frame at DEPTH of STACK; NULL: none. */
static struct call *caller_of(const struct calls *c, const struct stack *stack, uint32_t depth) {
    if (depth)
        return &stack->frames[depth - 1];
    return stack->linked_to ? &c->stacks.at[stack->linked_to - 1].frames[stack->link_depth - 1]
                            : NULL;
}

/* Closes the innermost frame of stack INDEX, which has no calls on linked segments. */
static void close_frame(struct calls *c, uint32_t index, uint64_t ticks, enum call_end how) {
    struct stack *stack = &c->stacks.at[index];
    stacks_unlink(&c->stacks, index);
    struct call *call = &stack->frames[--stack->count];
    struct call *parent = caller_of(c, stack, stack->count);
    uint64_t paused = stack->paused - call->paused;
    call->end = ticks > call->start ? ticks : call->start;
    call->paused = paused < call->end - call->start ? paused : call->end - call->start;
    call->how = how;
    c->stacks.top[index] = stack->count ? stack->frames[stack->count - 1].sp : call->sp;
    if (parent)
        parent->child_ticks += call_ticks(call);
    if (c->ops.on_close)
        c->ops.on_close(c->ctx, call, parent);
}

static void open_frame(struct calls *c, const struct call *new) {
    struct stack *stack = current(c);
    if (stack->count == stack->room)
        stack_grow(stack);
    struct call *call = &stack->frames[stack->count];
    struct call *parent = caller_of(c, stack, stack->count);
    *call = *new;
    call->depth = parent ? parent->depth + 1 : 0;
    call->stack = stack->number;
    call->thread = c->stacks.thread;
    call->paused = stack->paused;
    c->stacks.top[c->stacks.current] = new->sp;
    if (!stack->count)
        c->stacks.base[c->stacks.current] = new->sp;
    stack->count++;
    if (c->ops.on_open)
        c->ops.on_open(c->ctx, call, parent);
}

/* Closes all calls on segments that continue the innermost frame of stack INDEX, directly or
 * through other segments. */
static void close_segments(struct calls *c, uint32_t index, uint64_t ticks, enum call_end how) {
    while (stacks_linked_segment(&c->stacks, index) != NO_STACK) {
        uint32_t last = index;
        for (uint32_t next = index; next != NO_STACK;
             next = stacks_linked_segment(&c->stacks, next))
            last = next;
        close_frame(c, last, ticks, how);
    }
}

static void unwind_frame(struct calls *c, uint32_t index, uint64_t ticks) {
    close_segments(c, index, ticks, CALL_UNWOUND);
    close_frame(c, index, ticks, CALL_UNWOUND);
}

/* Closes frames below SP on the current stack. Returns the innermost one left, or NULL. */
static struct call *unwind(struct calls *c, uint64_t ticks, uint64_t sp) {
    struct stack *stack = current(c);
    while (stack->count && stack->frames[stack->count - 1].sp < sp)
        unwind_frame(c, c->stacks.current, ticks);
    return stack->count ? &stack->frames[stack->count - 1] : NULL;
}

/* A control event: a call continues at SP after a catch, longjmp or stack switch. */
static void resume(struct calls *c, uint64_t ticks, uint64_t sp) {
    const struct call *top = unwind(c, ticks, sp);
    if (top && top->sp == sp)
        close_segments(c, c->stacks.current, ticks, CALL_UNWOUND);
}

static void enter(struct calls *c, const struct call *new) {
    struct call *top = unwind(c, new->start, new->sp);
    if (top && top->sp == new->sp)
        unwind_frame(c, c->stacks.current, new->start);
    open_frame(c, new);
}

/* An exit of F's function without an open call. A stack without frames is found by its latest
 * address. */
static void stray(struct calls *c, const struct trace_frame *f) {
    c->strays++;
    if (!current(c)->count)
        c->stacks.top[c->stacks.current] = c->stacks.base[c->stacks.current] = f->sp;
    if (c->ops.on_stray)
        c->ops.on_stray(c->ctx, f, current(c)->number);
}

static void leave(struct calls *c, uint64_t ticks, enum event_kind kind,
                  const struct trace_frame *f) {
    struct call *top = unwind(c, ticks, f->sp);
    bool matches = top && top->sp == f->sp;
    if (matches && top->doubtful && top->id != f->id) {
        unwind_frame(c, c->stacks.current, ticks);
        matches = false;
    }
    if (matches)
        close_frame(c, c->stacks.current, ticks, kind == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED);
    else
        stray(c, f);
}

/* Closes the frames of stack INDEX but the outermost KEPT. */
static void close_down_to(struct calls *c, uint32_t index, uint32_t kept, uint64_t ticks,
                          enum call_end how) {
    while (c->stacks.at[index].count > kept) {
        close_segments(c, index, ticks, how);
        close_frame(c, index, ticks, how);
    }
}

static void close_all(struct calls *c, uint32_t index, uint64_t ticks, enum call_end how) {
    close_down_to(c, index, 0, ticks, how);
}

/* Makes the stack of SP current; an entry may add it. False: any other event on a new stack. */
static __attribute__((noinline)) bool change_stack(struct calls *c, uint64_t ticks, uint64_t sp,
                                                   enum event_kind kind) {
    if (stacks_find(&c->stacks, sp, kind == EVENT_ENTRY))
        return true;
    if (kind != EVENT_ENTRY)
        return false;
    uint32_t victim = stacks_to_replace(&c->stacks);
    if (victim != NO_STACK)
        close_all(c, victim, ticks, CALL_UNWOUND);
    stacks_add(&c->stacks, sp, victim);
    return true;
}

/* ---- stacks that the program makes, moves and frees (enum stack_event) ---- */

static void drop_stack(struct calls *c, uint32_t index, uint64_t ticks) {
    close_all(c, index, ticks, CALL_UNWOUND);
    stacks_remove(&c->stacks, index);
}

static void make_stack(struct calls *c, uint64_t ticks, struct span bounds) {
    for (uint32_t i; (i = stacks_overlapping(&c->stacks, bounds)) != NO_STACK;)
        drop_stack(c, i, ticks);
    stacks_add_bounded(&c->stacks, bounds);
}

/* The stack at FROM now is at TO, where an empty stack was made. */
static void move_stack(struct calls *c, uint64_t ticks, struct span from, struct span to) {
    uint32_t moved = stacks_with_bounds(&c->stacks, from),
             place = stacks_with_bounds(&c->stacks, to);
    if (moved == NO_STACK || place == NO_STACK || moved == place)
        return;
    drop_stack(c, place, ticks);
    stacks_move(&c->stacks, moved, from, to);
}

static void free_stack(struct calls *c, uint64_t ticks, struct span bounds) {
    struct stack_update *u = &c->updates[c->stacks.thread];
    if (u->moving && u->made.end) {
        move_stack(c, ticks, bounds, u->made);
        u->moving = false;
        return;
    }
    uint32_t freed = stacks_with_bounds(&c->stacks, bounds);
    if (freed != NO_STACK && c->stacks.at[freed].bounds.end)
        drop_stack(c, freed, ticks);
}

/* Go's stacks are powers of two, made of whole granules. Other ranges are ignored. */
static bool is_stack(struct span s) {
    enum { LARGEST = 1 << 30 };
    uint64_t size = s.end - s.start;
    return s.end > s.start && size <= LARGEST && !(size & (size - 1)) &&
           !((s.start | s.end) % STACK_GRANULE_BYTES);
}

static void stack_event(struct calls *c, uint64_t ticks, uint32_t id, uint64_t address) {
    struct stack_update *u = &c->updates[c->stacks.thread];
    struct span bounds = {u->low, address};
    if (id == STACK_MOVES) {
        u->moving = true;
        u->made = (struct span){0, 0};
    } else if (id == STACK_MADE_LOW || id == STACK_FREED_LOW) {
        u->low = address;
    } else if (!is_stack(bounds)) {
        return;
    } else if (id == STACK_FREED_HIGH) {
        free_stack(c, ticks, bounds);
    } else {
        make_stack(c, ticks, bounds);
        if (u->moving && !u->made.end)
            u->made = bounds;
    }
}

/* ---- events ---- */

void calls_cut(struct calls *c, uint64_t ticks, uint32_t kept) {
    take_plain(c);
    c->plain.chain = CHAIN_NONE;
    for (uint32_t i = 0; i < c->stacks.count; i++)
        if (c->stacks.at[i].thread == c->stacks.thread)
            close_down_to(c, i, i == c->stacks.native ? kept : 0, ticks, CALL_CUT);
    await_plain(c);
}

void calls_gap(struct calls *c, uint64_t ticks) { calls_cut(c, ticks, 0); }

void calls_doubt(struct calls *c) {
    take_plain(c);
    c->plain.chain = CHAIN_NONE;
    for (uint32_t i = 0; i < c->stacks.count; i++) {
        struct stack *stack = &c->stacks.at[i];
        for (uint32_t k = 0; stack->thread == c->stacks.thread && k < stack->count; k++) {
            stack->frames[k].doubtful = true;
            if (c->ops.on_doubt)
                c->ops.on_doubt(c->ctx, &stack->frames[k]);
        }
    }
    await_plain(c);
}

static void pause_stack(struct stack *stack, uint64_t ticks, uint64_t length) {
    stack->paused += length;
    for (uint32_t i = stack->count; i-- > 0 && stack->frames[i].start + length > ticks;) {
        uint64_t late = stack->frames[i].start + length - ticks;
        late = late < length ? late : length;
        stack->frames[i].paused += late;
        stack->frames[i].late += late;
    }
}

/* A segment's calls end with the frame that it continues: the whole chain of segments is paused. */
void calls_pause(struct calls *c, uint64_t ticks, uint64_t length) {
    struct stacks *s = &c->stacks;
    take_plain(c);
    bool native_done = s->native == NO_STACK;
    for (uint32_t i = s->current; i < s->count; i = s->at[i].linked_to - 1) {
        pause_stack(&s->at[i], ticks, length);
        native_done |= i == s->native;
        if (!s->at[i].linked_to)
            break;
    }
    if (!native_done)
        pause_stack(&s->at[s->native], ticks, length);
    await_plain(c);
}

void calls_begin_inner(struct calls *c) {
    take_plain(c);
    c->begins_inner = true;
}

void calls_split(struct calls *c, uint32_t count, const struct trace_frame *kept,
                 uint32_t kept_count) {
    take_plain(c);
    stacks_split(&c->stacks, count, kept, kept_count);
    await_plain(c);
}

/* Makes the stack of an event current. False: it is unknown. No inner stack begins where the
 * thread's own range was only estimated, and holds stacks that the program has made. */
static bool find_stack(struct calls *c, uint64_t ticks, enum event_kind kind, uint64_t sp) {
    const bool begins_inner = c->begins_inner;
    c->begins_inner = false;
    if (begins_inner && stacks_is_native(&c->stacks, sp)) {
        stacks_add_inner(&c->stacks, sp);
        return true;
    }
    return stacks_surely_current(&c->stacks, sp, kind == EVENT_ENTRY) ||
           change_stack(c, ticks, sp, kind);
}

/* Ends the calls on stacks inside variables of calls that have ended. */
static void close_inner(struct calls *c, uint64_t ticks) {
    for (uint32_t i; (i = stacks_ended_inner(&c->stacks)) != NO_STACK;) {
        close_all(c, c->stacks.inner.at[i].stack, ticks, CALL_UNWOUND);
        stacks_remove_inner(&c->stacks, i);
    }
}

/* An event that is not plain. CHAIN: of an entry. */
static void find_and_apply(struct calls *c, const struct call *event, enum event_kind kind) {
    uint64_t ticks = event->start, sp = event->sp;
    uint32_t before = c->stacks.current;
    if (!find_stack(c, ticks, kind, sp)) {
        c->strays += kind != EVENT_CONTROL;
        return;
    }
    if (c->split && kind == EVENT_ENTRY && c->stacks.current != before)
        stacks_link(&c->stacks, before);
    if (kind == EVENT_ENTRY)
        enter(c, event);
    else if (kind == EVENT_CONTROL)
        resume(c, ticks, sp);
    else
        leave(c, ticks, kind, &(struct trace_frame){event->id, sp});
    if (c->stacks.inner.count)
        close_inner(c, ticks);
}

static __attribute__((noinline)) void take_event(struct calls *c, const struct call *event,
                                                 enum event_kind kind) {
    bool own = kind == EVENT_CONTROL && event->id >= OWN_EVENTS;
    c->plain.chain = CHAIN_NONE;
    if (own && event->id < STACK_EVENTS) {
        if (event->id == CHAIN_EVENT)
            c->plain.chain = (uint32_t)event->sp;
        return;
    }
    take_plain(c);
    if (own)
        stack_event(c, event->start, event->id, event->sp);
    else
        find_and_apply(c, event, kind);
    await_plain(c);
}

void calls_event(struct calls *c, uint64_t ticks, uint32_t id, enum event_kind kind, uint64_t sp) {
    if (kind == EVENT_ENTRY) {
        struct call *call = calls_enter(c, ticks, id, sp);
        if (call && c->ops.on_open)
            c->ops.on_open(c->ctx, call, calls_plain_parent(call));
        if (call)
            return;
    } else if (kind != EVENT_CONTROL) {
        struct call *call = calls_leave(c, ticks, kind, sp);
        if (call && c->ops.on_close)
            c->ops.on_close(c->ctx, call, calls_plain_parent(call));
        if (call)
            return;
    }
    take_event(c, &(struct call){.id = id, .sp = sp, .chain = c->plain.chain, .start = ticks},
               kind);
}

struct call *calls_reach(struct calls *c, uint64_t ticks, uint64_t sp) {
    take_plain(c);
    c->plain.chain = CHAIN_NONE;
    find_stack(c, ticks, EVENT_ENTRY, sp);
    struct call *top = unwind(c, ticks, sp + 1);
    if (!top)
        c->stacks.top[c->stacks.current] = c->stacks.base[c->stacks.current] = sp;
    await_plain(c);
    return top;
}

/* The stack whose next call is F's, or UINT32_MAX. KEPT[i] calls of stack i were found already.
 * The search begins at stack GUESS. */
static uint32_t stack_of_frame(const struct stacks *s, const struct trace_frame *f,
                               const uint32_t *kept, uint32_t guess) {
    for (uint32_t tried = 0; tried < s->count; tried++) {
        uint32_t i = (guess + tried) % s->count;
        bool other = i < s->natives && i != s->native; /* another thread's own */
        if (other || kept[i] == s->at[i].count)
            continue;
        const struct call *call = &s->at[i].frames[kept[i]];
        if (call->sp == f->sp && call->id == f->id)
            return i;
    }
    return UINT32_MAX;
}

/*
 * Counts in KEPT, by stack, the open calls that FRAMES lists, up to the first frame that is not
 * open. Calls inside of that frame count as new, since on_open has reported their callers and
 * depths without it. Returns how many frames are of calls that stay.
 */
static uint32_t match(const struct stacks *s, const struct trace_frames *frames, uint32_t *kept) {
    uint32_t n = 0;
    for (uint32_t i = 0; n < frames->count; n++, kept[i]++) {
        i = stack_of_frame(s, &frames->frames[n], kept, i);
        if (i == UINT32_MAX)
            break;
    }
    return n;
}

struct trace_frames calls_frames_copy(const struct trace_frames *frames) {
    struct trace_frames copy = *frames;
    struct trace_frame *list = mem_alloc(frames->count * sizeof *list + 1);
    if (frames->count)
        memcpy(list, frames->frames, frames->count * sizeof *list);
    copy.frames = list;
    return copy;
}

void calls_frames(struct calls *c, uint64_t ticks, const struct trace_frames *frames) {
    take_plain(c);
    uint32_t *kept = mem_alloc(c->stacks.count * sizeof *kept);
    uint32_t known = match(&c->stacks, frames, kept);
    for (uint32_t i = 0; i < c->stacks.count; i++) {
        bool affected = kept[i] || c->stacks.at[i].thread == c->stacks.thread;
        while (affected && c->stacks.at[i].count > kept[i])
            close_frame(c, i, ticks, CALL_MISSED);
    }
    free(kept);
    for (uint32_t n = known; n < frames->count; n++) {
        const struct trace_frame *f = &frames->frames[n];
        uint32_t before = c->stacks.current;
        if (!stacks_surely_current(&c->stacks, f->sp, true))
            change_stack(c, ticks, f->sp, EVENT_ENTRY);
        if (c->split && c->stacks.current != before)
            stacks_link(&c->stacks, before);
        enter(c, &(struct call){.id = f->id, .sp = f->sp, .start = ticks, .before = true});
    }
    await_plain(c);
}

void calls_resume(struct calls *c, uint32_t kept, uint64_t paused, const struct call *calls,
                  uint32_t count) {
    uint32_t i = c->stacks.native;
    if (i == NO_STACK)
        return;
    take_plain(c);
    c->plain.chain = CHAIN_NONE;
    stacks_make_current(&c->stacks, i);
    struct stack *stack = &c->stacks.at[i];
    stack->count = kept;
    stack->paused += paused;
    if (kept) {
        stack->frames[kept - 1].child_ticks = calls[kept - 1].child_ticks;
        c->stacks.top[i] = stack->frames[kept - 1].sp;
    }
    for (const struct call *call = calls + kept; call < calls + count; call++) {
        open_frame(c, call);
        stack->frames[stack->count - 1].paused -= call->paused;
    }
    await_plain(c);
}

uint32_t calls_copied(struct calls *c, uint32_t thread, bool all, struct trace_frame **ret) {
    call_list list = {0};
    take_plain(c);
    stacks_list_calls(&c->stacks, thread, all, &list);
    uint32_t count = (uint32_t)list.count;
    struct trace_frame *frames = *ret = mem_alloc(count * sizeof *frames + 1);
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (struct trace_frame){list.at[i]->id, list.at[i]->sp};
    ARRAY_FREE(&list);
    await_plain(c);
    return count;
}

void calls_finish_thread(struct calls *c, uint64_t ticks, bool thread_ended) {
    take_plain(c);
    if (c->stacks.native != NO_STACK)
        close_all(c, c->stacks.native, ticks, thread_ended ? CALL_THREAD_ENDED : CALL_OPEN);
    await_plain(c);
}

void calls_each_open(struct calls *c, calls_visit *visit) {
    take_plain(c);
    for (uint32_t i = 0; i < c->stacks.count; i++) {
        struct stack *stack = &c->stacks.at[i];
        for (uint32_t k = 0; k < stack->count; k++)
            visit(c->ctx, &stack->frames[k], caller_of(c, stack, k),
                  stack->paused - stack->frames[k].paused);
    }
    await_plain(c);
}

void calls_finish(struct calls *c, uint64_t ticks, bool thread_ended) {
    take_plain(c);
    for (uint32_t i = 0; i < c->stacks.count; i++)
        close_all(c, i, ticks, thread_ended ? CALL_THREAD_ENDED : CALL_OPEN);
    await_plain(c);
}
