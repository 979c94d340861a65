/* The first calls of one function in some order. */
#pragma once

#include "summary/replay.h"

enum search_order { SEARCH_SLOWEST, SEARCH_FIRST, SEARCH_LAST };

struct search {
    enum search_order order;
    uint32_t function;
    uint64_t least_ns, most_ns; /* of durations */
    uint64_t least_start_ns, most_start_ns;
    bool measured; /* only calls of known duration */
    size_t room;
    struct names *names;
    summary_call_list list; /* a heap, the last one of the order first */
    uint64_t found;
};

void search_offer(struct search *s, const struct summary_call *call);
/* Offers all that FROM has found, which has the same order, and frees its list. */
void search_join(struct search *s, struct search *from);
void search_sort(struct search *s);
/* Whether calls that are not before KEY_NS, in the order, cannot get into the list: durations, or
 * starts. */
bool search_is_over(const struct search *s, uint64_t key_ns);

/* visitor.close() and replay_shares.each. */
void search_walked(void *ctx, const struct walk_call *call);
void search_replayed(void *ctx, const struct replayed *call);
