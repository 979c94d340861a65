#include "trace/stacks.h"

#include <string.h>

#include "base/mem.h"

void stacks_init(struct stacks *s, uint64_t stack_low, uint64_t stack_high) {
    memset(s, 0, sizeof *s);
    s->reach = REACH_BELOW;
    if (stack_high <= stack_low)
        return;
    s->native_low = stack_low;
    s->native_size = stack_high - stack_low;
    stacks_add(s, stack_high, UINT32_MAX);
}

void stacks_done(struct stacks *s) {
    for (uint32_t i = 0; i < s->count; i++)
        free(s->at[i].frames);
    free(s->at);
    free(s->top);
    free(s->base);
}

static uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

static bool reaches(const struct stacks *s, uint32_t i, uint64_t sp) {
    return sp + (i ? s->reach : REACH_FIRST) >= s->top[i] && sp <= s->base[i] + REACH_ABOVE;
}

/* The nearest of the stacks that reach SP, the current one if equal; UINT32_MAX: none does. */
static uint32_t nearest(const struct stacks *s, uint64_t sp) {
    uint32_t found = UINT32_MAX;
    uint64_t best = UINT64_MAX;
    for (uint32_t i = s->native_size ? 1 : 0; i < s->count; i++) {
        uint64_t d = distance(s->top[i], sp);
        if (d > best || (d == best && i != s->current) || !reaches(s, i, sp))
            continue;
        best = d;
        found = i;
    }
    return found;
}

/* Whether stack I has an open frame exactly at SP. */
static bool has_frame(const struct stack *stack, uint64_t sp) {
    uint32_t low = 0, high = stack->count; /* frames[low …] are at or below SP */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stack->frames[middle].sp > sp)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stack->count && stack->frames[low].sp == sp;
}

static void make_current(struct stacks *s, uint32_t i) {
    s->current = i;
    s->at[i].last_used = ++s->switches;
}

bool stacks_find(struct stacks *s, uint64_t sp, bool is_entry) {
    if (sp - s->native_low < s->native_size) {
        make_current(s, 0);
        return true;
    }
    if (!s->count)
        return false;
    bool other = !s->native_size || s->current; /* the current one is compared like the others */
    if (other && !is_entry && has_frame(&s->at[s->current], sp))
        return true;
    uint64_t page = sp / 4096, slot = page % RECALL;
    uint32_t i = s->recall[slot].index;
    if (s->recall[slot].page != page || i >= s->count || (!i && s->native_size) ||
        distance(s->top[i], sp) > SURE_BELOW || !reaches(s, i, sp))
        i = nearest(s, sp);
    if (i == UINT32_MAX)
        return false;
    s->recall[slot].page = page;
    s->recall[slot].index = i;
    make_current(s, i);
    return true;
}

void stacks_come_in_pieces(struct stacks *s) { s->reach = SURE_BELOW; }

void stacks_cut_pieces(struct stacks *s, uint32_t i) {
    uint32_t count = s->at[i].count;
    for (uint32_t k = 0; k < s->count; k++)
        if (s->at[k].grown_from == i + 1 && s->at[k].grown_at >= count)
            s->at[k].grown_from = 0;
    s->at[i].grown_to = count - 1;
}

void stacks_join(struct stacks *s, uint32_t from) {
    struct stack *piece = &s->at[s->current];
    uint32_t at = s->at[from].count;
    if (!s->current || piece->count)
        return;
    if (!at && s->at[from].grown_from) { /* those who stand there are not traced */
        at = s->at[from].grown_at;
        from = s->at[from].grown_from - 1;
    }
    piece->grown_from = at ? from + 1 : 0;
    piece->grown_at = at;
    if (s->at[from].grown_to < at)
        s->at[from].grown_to = at;
}

uint32_t stacks_piece_of(const struct stacks *s, uint32_t i) {
    uint32_t k = 0, count = s->at[i].count;
    if (s->at[i].grown_to < count)
        return UINT32_MAX;
    while (k < s->count &&
           !(s->at[k].count && s->at[k].grown_from == i + 1 && s->at[k].grown_at == count))
        k++;
    return k < s->count ? k : UINT32_MAX;
}

uint32_t stacks_victim(const struct stacks *s) {
    uint32_t found = UINT32_MAX;
    if (s->count < STACKS_MAX)
        return found;
    for (uint32_t i = s->native_size ? 1 : 0; i < s->count; i++) {
        const struct stack *a = &s->at[i], *b = found == UINT32_MAX ? a : &s->at[found];
        if (found == UINT32_MAX || (!a->count && b->count) ||
            (!a->count == !b->count && a->last_used < b->last_used))
            found = i;
    }
    return found;
}

void stacks_add(struct stacks *s, uint64_t sp, uint32_t victim) {
    if (victim == UINT32_MAX) {
        if (s->count == s->room) {
            s->room = s->room ? s->room * 2 : 2;
            s->at = mem_resize(s->at, s->room, sizeof *s->at);
            s->top = mem_resize(s->top, s->room, sizeof *s->top);
            s->base = mem_resize(s->base, s->room, sizeof *s->base);
        }
        victim = s->count++;
        s->at[victim] = (struct stack){0};
    }
    s->at[victim].number = s->next_number++;
    s->top[victim] = s->base[victim] = sp;
    make_current(s, victim);
}
