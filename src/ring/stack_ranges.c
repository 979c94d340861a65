/* Makes, grows and joins stack ranges. */
#include "ring/stack_ranges.h"

/* AROUND: how far from a stack pointer a range reaches at first. STACK_MOST: how far below its
 * beginning a stack pointer can be on the same stack. */
enum { AROUND = 16 << 10, STACK_MOST = 64 << 20 };

static bool holds(const struct lane_stack_range *s, const struct stopped_thread *t) {
    return s->thread_pointer == t->pointer && t->sp - s->low < s->high - s->low;
}

static bool is_of(const struct lane_stack_range *s, const struct stopped_thread *t) {
    return s->thread_pointer == t->pointer && s->lane == t->lane;
}

static struct lane_stack_range *find_around(struct stack_ranges *s,
                                            const struct stopped_thread *t) {
    for (size_t i = 0; i < s->count; i++)
        if (holds(&s->at[i], t))
            return &s->at[i];
    return NULL;
}

/* The addresses around T's stack pointer that T may have: from FLOOR up to CEILING. */
struct room {
    uint64_t floor, ceiling;
};

static void limit_room(struct room *room, const struct stopped_thread *t, uint64_t low,
                       uint64_t high) {
    if (low > t->sp && low < room->ceiling)
        room->ceiling = low;
    else if (high <= t->sp && high > room->floor)
        room->floor = high;
}

static uint64_t middle(uint64_t a, uint64_t b) { return a / 2 + b / 2; }

/* OTHER's stack is between its stack pointer and its birth, if that is on the same stack. */
static void limit_room_by_thread(struct room *room, const struct stopped_thread *t,
                                 const struct stopped_thread *other) {
    uint64_t low = other->sp, high = low;
    if (other->top - low < STACK_MOST)
        high = other->top;
    if (low < t->sp && high > t->sp)
        high = low; /* it began on another stack, or is on the upper part of this one */
    if (low > t->sp)
        limit_room(room, t, middle(t->sp, low) + 1, low);
    else
        limit_room(room, t, low, middle(high, t->sp));
}

static struct room room_of(const struct stack_ranges *s, const struct stopped_thread *threads,
                           size_t count, const struct stopped_thread *t) {
    struct room room = {0, UINT64_MAX};
    for (size_t i = 0; i < count; i++)
        if (threads[i].pointer == t->pointer && &threads[i] != t)
            limit_room_by_thread(&room, t, &threads[i]);
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].thread_pointer == t->pointer && !is_of(&s->at[i], t))
            limit_room(&room, t, s->at[i].low, s->at[i].high);
    if (t->top - t->sp < STACK_MOST && t->top + 1 < room.ceiling)
        room.ceiling = t->top + 1;
    return room;
}

static uint64_t distance(const struct lane_stack_range *s, const struct stopped_thread *t) {
    return t->sp < s->low ? s->low - t->sp : t->sp - s->high;
}

/* The range of T that grows to its stack pointer: no farther away than its length, and no thread
 * between. NULL: a new range begins. */
static struct lane_stack_range *find_growing(struct stack_ranges *s, const struct room *room,
                                             const struct stopped_thread *t) {
    for (size_t i = 0; i < s->count; i++) {
        struct lane_stack_range *k = &s->at[i];
        if (is_of(k, t) && k->low >= room->floor && k->high <= room->ceiling &&
            distance(k, t) <= k->high - k->low + AROUND)
            return k;
    }
    return NULL;
}

static bool has_equal_sp(const struct stopped_thread *threads, size_t count,
                         const struct stopped_thread *t) {
    for (size_t i = 0; i < count; i++)
        if (&threads[i] != t && threads[i].pointer == t->pointer && threads[i].sp == t->sp)
            return true;
    return false;
}

static void remove_at(struct stack_ranges *s, size_t i) { s->at[i] = s->at[--s->count]; }

static bool claim(struct stack_ranges *s, const struct stopped_thread *threads, size_t count,
                  const struct stopped_thread *t, uint64_t sink) {
    const struct room room = room_of(s, threads, count, t);
    struct lane_stack_range *range = find_growing(s, &room, t);
    uint64_t around = range ? range->high - range->low : AROUND;
    uint64_t low = t->sp > around ? t->sp - around : 0, high = t->sp + around;
    if (range && range->low < low)
        low = range->low;
    if (range && range->high > high)
        high = range->high;
    if (!range && s->count == LANE_STACK_RANGES_MOST)
        return false;
    if (!range)
        range = &s->at[s->count++];
    *range = (struct lane_stack_range){
        t->pointer,
        low > room.floor ? low : room.floor,
        high < room.ceiling ? high : room.ceiling,
        has_equal_sp(threads, count, t) ? sink : t->lane,
    };
    return true;
}

/* Removes ranges that another range of the same thread covers. */
static void remove_covered(struct stack_ranges *s) {
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = s->count; k-- > 0;) {
            const struct lane_stack_range *a = &s->at[i], *b = &s->at[k];
            if (i != k && a->thread_pointer == b->thread_pointer && a->lane == b->lane &&
                a->low <= b->low && b->high <= a->high) {
                remove_at(s, k);
                i = i == s->count ? k : i;
            }
        }
}

bool stack_ranges_claim(struct stack_ranges *s, const struct stopped_thread *threads, size_t count,
                        uint64_t sink) {
    for (size_t i = 0; i < count; i++) {
        struct lane_stack_range *around = find_around(s, &threads[i]);
        if (around && !is_of(around, &threads[i]))
            around->lane = sink;
        if (!around && !claim(s, threads, count, &threads[i], sink))
            return false;
        remove_covered(s);
    }
    return true;
}

void stack_ranges_drop(struct stack_ranges *s, uint64_t pointer) {
    for (size_t i = s->count; i-- > 0;)
        if (s->at[i].thread_pointer == pointer)
            remove_at(s, i);
}
