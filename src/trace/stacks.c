/* Finds the stack of an address: native range, known bounds, cache of pages, nearest top frame. */
#include "trace/stacks.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "trace/plain_calls.h"

/* What is allocated for STACK's frames. */
static struct call *array_of(const struct stack *stack) {
    return stack->frames ? stack->frames - 1 : NULL;
}

void stack_grow(struct stack *stack) {
    stack->room = stack->room ? stack->room * 2 : 15;
    struct call *array = mem_resize(array_of(stack), stack->room + (size_t)1, sizeof *array);
    array[0] = (struct call){.sp = CALLS_BELOW_ALL, .depth = UINT32_MAX};
    stack->frames = array + 1;
}

void stacks_init(struct stacks *s) {
    memset(s, 0, sizeof *s);
    s->current = s->native = NO_STACK;
    s->reach = REACH_BELOW;
}

void stacks_done(struct stacks *s) {
    for (uint32_t i = 0; i < s->count; i++)
        free(array_of(&s->at[i]));
    free(s->at);
    free(s->top);
    free(s->base);
    free(s->threads);
    stack_map_free(&s->map);
    ARRAY_FREE(&s->freed);
    ARRAY_FREE(&s->inner);
}

void stacks_make_current(struct stacks *s, uint32_t i) {
    s->current = i;
    s->at[i].last_used = ++s->switches;
    s->at[i].thread = s->thread;
}

/* Appends an empty stack and returns its index. */
static uint32_t new_stack(struct stacks *s) {
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 2;
        s->at = mem_resize(s->at, s->room, sizeof *s->at);
        s->top = mem_resize(s->top, s->room, sizeof *s->top);
        s->base = mem_resize(s->base, s->room, sizeof *s->base);
    }
    s->at[s->count] = (struct stack){0};
    return s->count++;
}

/* ---- threads ---- */

static void load_thread(struct stacks *s) {
    const struct native *n = &s->threads[s->thread];
    s->native_low = n->low;
    s->native_size = n->size;
    s->native = n->index;
    s->current = n->current;
}

void stacks_add_thread(struct stacks *s, uint64_t low, uint64_t high) {
    uint32_t thread = s->thread_count++;
    s->threads = mem_resize(s->threads, s->thread_count, sizeof *s->threads);
    struct native *n = &s->threads[thread];
    *n = (struct native){.index = NO_STACK, .current = NO_STACK};
    if (high > low) {
        *n = (struct native){low + 1, high - low, new_stack(s), s->natives};
        s->at[n->index].thread = thread;
        s->top[n->index] = s->base[n->index] = high;
        s->natives++;
        s->next_number = 1;
    }
    if (!thread)
        load_thread(s);
}

void stacks_set_thread(struct stacks *s, uint32_t thread) {
    s->threads[s->thread].current = s->current;
    s->thread = thread;
    load_thread(s);
}

/* ---- addresses ---- */

static bool has_bounds(const struct stacks *s, uint32_t i) { return s->at[i].bounds.end != 0; }

static bool contains(struct span span, uint64_t address) {
    return address >= span.start && address < span.end;
}

/* Whether SP may belong to I, a stack of unknown bounds. If another thread ran on it last, it has a
 * short reach: it may have neighbours without events so far. */
static bool reaches(const struct stacks *s, uint32_t i, uint64_t sp) {
    bool first = !i && !s->natives && s->thread_count == 1;
    uint64_t below = s->at[i].thread == s->thread ? s->reach : SURE_BELOW;
    return sp + (first ? REACH_FIRST : below) >= s->top[i] && sp <= s->base[i] + REACH_ABOVE;
}

/* The nearest of the stacks that reach SP; the current one wins a tie. NO_STACK: none does. */
static uint32_t nearest(const struct stacks *s, uint64_t sp) {
    uint32_t found = NO_STACK;
    uint64_t best = UINT64_MAX;
    for (uint32_t i = s->natives; i < s->count; i++) {
        uint64_t d = stack_distance(s->top[i], sp);
        if (d > best || (d == best && i != s->current) || !reaches(s, i, sp) || has_bounds(s, i))
            continue;
        best = d;
        found = i;
    }
    return found;
}

static uint32_t bounded_stack_at(const struct stacks *s, uint64_t sp) {
    uint32_t i = s->bounded ? stack_map_find(&s->map, sp) : NO_STACK;
    return i != NO_STACK && contains(s->at[i].bounds, sp) ? i : NO_STACK;
}

/* Whether the event at SP may be taken for one on I, which was on the same page before. Pieces of
 * several stacks may share a page: an exit belongs to the stack that has its frame. */
static bool is_cached(const struct stacks *s, uint32_t i, uint64_t sp, bool is_entry) {
    return i >= s->natives && i < s->count && stack_distance(s->top[i], sp) <= SURE_BELOW &&
           reaches(s, i, sp) && !has_bounds(s, i) && (is_entry || stack_has_frame(&s->at[i], sp));
}

bool stacks_find(struct stacks *s, uint64_t sp, bool is_entry) {
    uint32_t i = stacks_is_native(s, sp) ? s->native : bounded_stack_at(s, sp);
    if (i != NO_STACK) {
        stacks_make_current(
            s, i == s->native && s->inner.count ? stacks_find_inside(s, sp, is_entry) : i);
        return true;
    }
    bool unbounded =
        s->current < s->count && s->current >= s->natives && !has_bounds(s, s->current);
    if (unbounded && !is_entry && stack_has_frame(&s->at[s->current], sp))
        return true;
    uint64_t page = sp / 4096, slot = page % PAGE_CACHE;
    i = s->page_cache[slot].index;
    if (s->page_cache[slot].page != page || !is_cached(s, i, sp, is_entry))
        i = nearest(s, sp);
    if (i == NO_STACK)
        return false;
    s->page_cache[slot].page = page;
    s->page_cache[slot].index = i;
    stacks_make_current(s, i);
    return true;
}

/* ---- segments of split stacks ---- */

void stacks_set_split(struct stacks *s) { s->reach = SURE_BELOW; }

void stacks_unlink_segments(struct stacks *s, uint32_t i) {
    uint32_t count = s->at[i].count;
    for (uint32_t k = 0; k < s->count; k++)
        if (s->at[k].linked_to == i + 1 && s->at[k].link_depth >= count)
            s->at[k].linked_to = 0;
    s->at[i].linked_depth = count - 1;
}

void stacks_link(struct stacks *s, uint32_t from) {
    struct stack *segment = &s->at[s->current];
    if (from == NO_STACK || !s->current || s->current < s->natives || segment->count)
        return;
    uint32_t at = s->at[from].count;
    if (!at && s->at[from].linked_to) { /* only untraced calls are on FROM */
        at = s->at[from].link_depth;
        from = s->at[from].linked_to - 1;
    }
    segment->linked_to = at ? from + 1 : 0;
    segment->link_depth = at;
    if (s->at[from].linked_depth < at)
        s->at[from].linked_depth = at;
}

uint32_t stacks_linked_segment(const struct stacks *s, uint32_t i) {
    uint32_t k = 0, count = s->at[i].count;
    if (s->at[i].linked_depth < count)
        return NO_STACK;
    while (k < s->count &&
           !(s->at[k].count && s->at[k].linked_to == i + 1 && s->at[k].link_depth == count))
        k++;
    return k < s->count ? k : NO_STACK;
}

/* ---- further stacks ---- */

uint32_t stacks_to_replace(const struct stacks *s) {
    uint32_t found = NO_STACK, own = s->natives ? s->natives - 1 : 0;
    if (s->freed.count || s->count - s->bounded - own < STACKS_MAX)
        return found;
    for (uint32_t i = s->natives; i < s->count; i++) {
        const struct stack *a = &s->at[i], *b = found == NO_STACK ? a : &s->at[found];
        if (has_bounds(s, i))
            continue;
        if (found == NO_STACK || (!a->count && b->count) ||
            (!a->count == !b->count && a->last_used < b->last_used))
            found = i;
    }
    return found;
}

void stacks_add(struct stacks *s, uint64_t sp, uint32_t victim) {
    if (victim == NO_STACK && s->freed.count)
        victim = s->freed.at[--s->freed.count];
    if (victim == NO_STACK)
        victim = new_stack(s);
    s->at[victim].number = s->next_number++;
    s->top[victim] = s->base[victim] = sp;
    stacks_make_current(s, victim);
}

/* ---- a copy of a thread ---- */

static uint32_t current_of(const struct stacks *s, uint32_t thread) {
    return thread == s->thread ? s->current : s->threads[thread].current;
}

/* Whether no thread runs on stack I. */
static bool is_suspended(const struct stacks *s, uint32_t i) {
    for (uint32_t k = 0; k < s->thread_count; k++)
        if (current_of(s, k) == i)
            return false;
    return true;
}

static void list_stack(const struct stack *stack, call_list *list) {
    for (uint32_t i = 0; i < stack->count; i++)
        ARRAY_PUSH(list, &stack->frames[i]);
}

/* Sorts LIST, whose stacks are in order already. */
static void sort_by_start(call_list *list) {
    for (size_t i = 1; i < list->count; i++) {
        const struct call *moved = list->at[i];
        size_t to = SEARCH(k, i, list->at[k]->start <= moved->start);
        memmove(list->at + to + 1, list->at + to, (i - to) * sizeof *list->at);
        list->at[to] = moved;
    }
}

void stacks_list_calls(const struct stacks *s, uint32_t thread, bool all, call_list *list) {
    uint32_t own = s->threads[thread].index, at = current_of(s, thread);
    if (own != NO_STACK && own != at)
        list_stack(&s->at[own], list);
    for (uint32_t i = s->natives; all && i < s->count; i++)
        if (i != own && s->at[i].count && is_suspended(s, i))
            list_stack(&s->at[i], list);
    if (at != NO_STACK)
        list_stack(&s->at[at], list);
    sort_by_start(list);
}

/* ---- bounds ---- */

uint32_t stacks_overlapping(const struct stacks *s, struct span bounds) {
    for (uint64_t at = bounds.start; at < bounds.end; at += STACK_GRANULE_BYTES) {
        uint32_t i = bounded_stack_at(s, at);
        if (i != NO_STACK)
            return i;
    }
    return NO_STACK;
}

/* The only stack of unknown bounds with frames in BOUNDS, if it has none elsewhere. */
static uint32_t only_stack_in(const struct stacks *s, struct span bounds) {
    uint32_t found = NO_STACK;
    for (uint32_t i = s->natives; i < s->count; i++) {
        bool inside = s->at[i].count && s->top[i] < bounds.end && s->base[i] >= bounds.start;
        if (has_bounds(s, i) || !inside)
            continue;
        if (found != NO_STACK || !contains(bounds, s->top[i]) || !contains(bounds, s->base[i]))
            return NO_STACK;
        found = i;
    }
    return found;
}

uint32_t stacks_with_bounds(const struct stacks *s, struct span bounds) {
    uint32_t i = bounded_stack_at(s, bounds.start);
    if (i == NO_STACK)
        return stacks_overlapping(s, bounds) == NO_STACK ? only_stack_in(s, bounds) : NO_STACK;
    const struct span *known = &s->at[i].bounds;
    return known->start == bounds.start && known->end == bounds.end ? i : NO_STACK;
}

static void set_bounds(struct stacks *s, uint32_t index, struct span bounds) {
    s->bounded += !has_bounds(s, index);
    s->at[index].bounds = bounds;
    stack_map_set(&s->map, bounds, index);
}

/* Forgets native ranges that overlap BOUNDS: they were estimated from first stack pointers. */
static void correct_natives(struct stacks *s, struct span bounds) {
    s->threads[s->thread].current = s->current;
    for (uint32_t i = 0; i < s->thread_count; i++) {
        struct native *n = &s->threads[i];
        if (n->size && bounds.start + 1 < n->low + n->size && bounds.end >= n->low)
            n->size = 0;
    }
    load_thread(s);
}

void stacks_add_bounded(struct stacks *s, struct span bounds) {
    uint32_t i = s->freed.count ? s->freed.at[--s->freed.count] : new_stack(s);
    s->at[i].number = s->next_number++;
    s->at[i].thread = s->thread;
    s->top[i] = s->base[i] = bounds.end;
    set_bounds(s, i, bounds);
    correct_natives(s, bounds);
}

void stacks_remove(struct stacks *s, uint32_t index) {
    s->bounded -= has_bounds(s, index);
    s->at[index].bounds = (struct span){0, 0};
    s->at[index].linked_to = 0;
    s->top[index] = s->base[index] = 0;
    ARRAY_PUSH(&s->freed, index);
}

void stacks_move(struct stacks *s, uint32_t index, struct span from, struct span bounds) {
    struct stack *stack = &s->at[index];
    uint64_t up = bounds.end - from.end; /* modulo 2^64 */
    for (uint32_t i = 0; i < stack->count; i++)
        stack->frames[i].sp += up;
    s->top[index] += up;
    s->base[index] += up;
    set_bounds(s, index, bounds);
}
