/* Single calls (summary.h). */
#include <errno.h>

#include "summary/search.h"
#include "summary/walks.h"

/* ---- blocks, the most promising ones first ---- */

struct candidate {
    struct plan_block block;
    uint64_t key_ns; /* no call in it and in all behind it is before this in the order */
};

static uint64_t block_ns(const struct summary *s, uint32_t block, bool end) {
    struct trace_block_facts facts = trace_reader_block(s->reader, block);
    return trace_reader_ns(s->reader, end ? facts.last : facts.first);
}

static int by_falling_key(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->key_ns != y->key_ns)
        return x->key_ns > y->key_ns ? -1 : 1;
    return (x->block.block > y->block.block) - (x->block.block < y->block.block);
}

static int by_rising_key(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->key_ns != y->key_ns)
        return x->key_ns < y->key_ns ? -1 : 1;
    return (x->block.block > y->block.block) - (x->block.block < y->block.block);
}

typedef ARRAY(struct candidate) candidate_list;

static candidate_list candidates_of(const struct summary *s, const struct summary_range *range,
                                    const struct search *search) {
    candidate_list list = {0};
    replay_blocks blocks = replay_blocks_of(s, range);
    uint64_t most = 0, calls = 0;
    for (size_t i = 0; i < blocks.count; i++) {
        const struct plan_block *b = &blocks.at[i];
        if (!i || b->leaf != b[-1].leaf)
            calls = node_calls(&s->pass.levels[0].at[b->leaf], search->function, &most);
        if (!calls || most < search->least_ns)
            continue;
        uint64_t key = search->order == SEARCH_SLOWEST
                           ? most
                           : block_ns(s, b->block, search->order == SEARCH_LAST);
        ARRAY_PUSH(&list, ((struct candidate){*b, key}));
    }
    ARRAY_FREE(&blocks);
    if (list.count > 1)
        qsort(list.at, list.count, sizeof *list.at,
              search->order == SEARCH_FIRST ? by_rising_key : by_falling_key);
    return list;
}

/* Searches COUNT blocks from FIRST on, at most SHARES. */
enum { SHARES = 32 };
static int search_some(struct summary *s, const struct summary_range *range, struct search *search,
                       const struct candidate *first, size_t count) {
    struct search parts[SHARES];
    void *ctxs[SHARES];
    size_t firsts[SHARES + 1];
    replay_blocks blocks = {0};
    for (size_t i = 0; i < count; i++) {
        parts[i] = *search;
        parts[i].list = (summary_call_list){0};
        parts[i].found = 0;
        ctxs[i] = &parts[i];
        firsts[i] = i;
        ARRAY_PUSH(&blocks, first[i].block);
    }
    firsts[count] = count;
    int rc = replay_calls(s, range,
                          &(struct replay_shares){.blocks = &blocks,
                                                  .first = firsts,
                                                  .count = count,
                                                  .ctxs = ctxs,
                                                  .each = search_replayed,
                                                  .function = search->function});
    for (size_t i = 0; i < count; i++)
        search_join(search, &parts[i]);
    ARRAY_FREE(&blocks);
    return rc;
}

/* *RET_ALL: no block was left out. */
static int search_blocks(struct summary *s, const struct summary_range *range,
                         struct search *search, bool *ret_all) {
    candidate_list list = candidates_of(s, range, search);
    int rc = 0;
    size_t i = 0;
    for (size_t count = 2; i < list.count && !rc; i += count) {
        if (search_is_over(search, list.at[i].key_ns))
            break;
        count = count * 2 < SHARES ? count * 2 : SHARES;
        count = list.count - i < count ? list.count - i : count;
        rc = search_some(s, range, search, &list.at[i], count);
    }
    *ret_all = i >= list.count;
    ARRAY_FREE(&list);
    return rc;
}

/* ---- listed calls, and streams that are not regular ---- */

static void search_listed(const struct summary *s, const struct summary_range *range,
                          struct search *search) {
    for (uint32_t stream = 0; stream < s->pass.store->stream_count; stream++) {
        const struct listed_stream *list = &s->pass.listed[stream];
        if (!s->pass.plan.regular[stream] || !summary_asks_for(range, stream))
            continue;
        size_t i = 0;
        while ((i = listed_next(list, i, range->since_ns, range->until_ns)) < list->calls.count) {
            struct replayed call = replay_listed(s, stream, (uint32_t)i++);
            search_replayed(search, &call);
        }
    }
}

static int search_groups(struct summary *s, const struct summary_range *range,
                         struct search *search) {
    struct session *session = session_take(s->sessions, range);
    struct visitor visitor = {.ctx = search, .close = search_walked};
    search->names = session->source.names;
    int rc = 0;
    for (size_t i = 0; i < s->pass.plan.groups.count && !rc; i++) {
        struct stream_group group =
            stream_groups_at(session->source.stream_groups, s->pass.plan.groups.at[i]);
        walk_stream_group(&session->source, group, &visitor);
        rc = range->cancel && *range->cancel ? -ECANCELED : 0;
    }
    session_give(s->sessions, session);
    return rc;
}

static int search_all(struct summary *s, const struct summary_range *range, struct search *search,
                      bool *ret_all) {
    *ret_all = true;
    if (!summary_state(s).complete) {
        struct session *session = session_take(s->sessions, range);
        search->names = session->source.names;
        int rc = walks_calls(session, search_walked, search);
        session_give(s->sessions, session);
        return rc;
    }
    search_listed(s, range, search);
    int rc = search_groups(s, range, search);
    return rc ? rc : search_blocks(s, range, search, ret_all);
}

/* ---- the slowest ones are known ---- */

static void offer_slow(struct search *search, const struct summary_range *range,
                       const struct summary_call *slow) {
    struct summary_call call = *slow;
    if (summary_clips(range, call.start_ns, call.end_ns))
        call.self_ns = call.clipped_self_ns;
    search_offer(search, &call);
}

/* True: the calls that are asked for, and one more if there is one, are among those that were kept.
 */
static bool search_slow(struct summary *s, const struct summary_range *range,
                        struct search *search) {
    if (!summary_state(s).complete || search->order != SEARCH_SLOWEST ||
        search->function >= s->pass.slow.functions)
        return false;
    const struct slow_heap *h = &s->pass.slow.heaps[search->function];
    bool whole = h->count < s->pass.slow.most;
    for (uint32_t i = 0; i < h->count; i++)
        if ((whole || h->at[i].duration_ns > h->at[0].duration_ns) &&
            h->at[i].start_ns <= range->until_ns && h->at[i].end_ns >= range->since_ns &&
            summary_asks_for(range, h->at[i].stream))
            offer_slow(search, range, &h->at[i]);
    if (whole || search->found > search->room)
        return true;
    search->list.count = search->found = 0;
    return false;
}

int summary_calls(struct summary *s, const struct summary_range *range,
                  const struct summary_calls_query *q, summary_call_list *ret, bool *ret_more) {
    bool slowest = q->order == SUMMARY_SLOWEST, all = true;
    struct search search = {.order = slowest ? SEARCH_SLOWEST : SEARCH_FIRST,
                            .function = q->function,
                            .least_ns = q->least_ns,
                            .most_ns = q->most_ns,
                            .most_start_ns = UINT64_MAX,
                            .measured = slowest || q->least_ns || q->most_ns != UINT64_MAX,
                            .room = q->first + q->limit};
    int rc = 0;
    if (!search_slow(s, range, &search))
        rc = search_all(s, range, &search, &all);
    if (rc) {
        ARRAY_FREE(&search.list);
        return rc;
    }
    search_sort(&search);
    *ret = (summary_call_list){0};
    for (size_t i = q->first; i < search.list.count; i++)
        ARRAY_PUSH(ret, search.list.at[i]);
    *ret_more = search.found > search.room || !all;
    ARRAY_FREE(&search.list);
    return 0;
}

/* The one call that SEARCH finds, in the streams of RANGE. */
static int find_one(struct summary *s, const struct summary_range *range, struct search *search,
                    struct summary_call *ret) {
    struct summary_range r = *range;
    bool all;
    r.since_ns = search->order == SEARCH_FIRST ? search->least_start_ns - 1 : 0;
    r.until_ns = search->order == SEARCH_FIRST ? UINT64_MAX : search->most_start_ns + 1;
    search->room = 1;
    search->most_ns = UINT64_MAX;
    int rc = search_all(s, &r, search, &all);
    int found = !rc && search->list.count;
    if (found)
        *ret = search->list.at[0];
    ARRAY_FREE(&search->list);
    return rc ? rc : found;
}

int summary_next(struct summary *s, const struct summary_range *range, uint32_t function,
                 uint64_t at_ns, struct summary_call *ret) {
    struct search search = {.order = SEARCH_FIRST,
                            .function = function,
                            .least_start_ns = at_ns + 1,
                            .most_start_ns = UINT64_MAX};
    return at_ns == UINT64_MAX ? 0 : find_one(s, range, &search, ret);
}

int summary_previous(struct summary *s, const struct summary_range *range, uint32_t function,
                     uint64_t at_ns, struct summary_call *ret) {
    struct search search = {.order = SEARCH_LAST, .function = function, .most_start_ns = at_ns - 1};
    return at_ns ? find_one(s, range, &search, ret) : 0;
}
