/* See slowest_calls.h. */
#include "summary/slowest_calls.h"

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

/* Puts CALL at I, or nearer to the root. */
static void sift_up(struct slow_heap *h, uint32_t i, const struct summary_call *call) {
    for (; i && call->duration_ns < h->at[(i - 1) / 2].duration_ns; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = *call;
}

/* Puts CALL in place of the root, or farther from it. */
static void sift_down(struct slow_heap *h, const struct summary_call *call) {
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && h->at[child + 1].duration_ns < h->at[child].duration_ns)
            child++;
        if (h->at[child].duration_ns >= call->duration_ns)
            break;
        h->at[i] = h->at[child];
    }
    h->at[i] = *call;
}

uint64_t slow_add(struct slow *s, const struct summary_call *call) {
    struct slow_heap *h = &s->heaps[call->function];
    if (h->count < s->most) {
        if (h->count == h->room) {
            h->room = h->room ? h->room * 2 : 4;
            h->at = mem_resize(h->at, h->room, sizeof *h->at);
        }
        sift_up(h, h->count++, call);
    } else if (call->duration_ns > h->at[0].duration_ns) {
        sift_down(h, call);
    }
    return h->count < s->most ? 0 : h->at[0].duration_ns + 1;
}
