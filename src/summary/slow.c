/* See slow.h. */
#include "summary/slow.h"

void slow_init(struct slow *s, uint32_t functions) {
    uint32_t most = SLOW_ALL / (functions ? functions : 1);
    *s = (struct slow){.functions = functions, .most = most < 10 ? 10 : most};
    s->most = s->most < SLOW_CALLS ? s->most : SLOW_CALLS;
    s->heaps = mem_alloc(functions * sizeof *s->heaps + 1);
}

void slow_done(struct slow *s) {
    for (uint32_t i = 0; i < s->functions; i++)
        if (s->heaps[i].room)
            free(s->heaps[i].at);
    free(s->heaps);
}

static bool is_less(const struct slow_heap *h, uint32_t i, uint32_t k) {
    return h->at[i].duration_ns < h->at[k].duration_ns;
}

static void swap(struct slow_heap *h, uint32_t i, uint32_t k) {
    struct summary_call old = h->at[i];
    h->at[i] = h->at[k];
    h->at[k] = old;
}

static void sift_up(struct slow_heap *h) {
    for (uint32_t i = h->count - 1; i && is_less(h, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(h, i, (i - 1) / 2);
}

static void sift_down(struct slow_heap *h) {
    for (uint32_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && is_less(h, child + 1, child))
            child++;
        if (!is_less(h, child, i))
            break;
        swap(h, i, child);
    }
}

uint64_t slow_add(struct slow *s, const struct summary_call *call) {
    struct slow_heap *h = &s->heaps[call->function];
    if (h->count < s->most) {
        if (h->count == h->room) {
            h->room = h->room ? h->room * 2 : 4;
            h->at = mem_resize(h->at, h->room, sizeof *h->at);
        }
        h->at[h->count++] = *call;
        sift_up(h);
    } else if (call->duration_ns > h->at[0].duration_ns) {
        h->at[0] = *call;
        sift_down(h);
    }
    return h->count < s->most ? 0 : h->at[0].duration_ns + 1;
}
