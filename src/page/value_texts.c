/* See value_texts.h. */
#include "page/value_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/shown_values.h"

/* ---- of one call ---- */

static struct shown_call shown_summary_call(const struct summary_call *c, uint32_t id) {
    return (struct shown_call){.entry = {c->stream, id, EVENT_ENTRY, c->start_ns},
                               .end = {c->end_stream, id, EVENT_RETURN, c->end_ns},
                               .has_entry = !c->before,
                               .has_end = c->how == CALL_RETURNED && !c->inferred};
}

typedef bool show_values(struct call_values *v, const struct shown_call *call, struct words *ret);

/* To be freed. */
static char *text_by(show_values *show, struct call_values *v, const struct shown_call *call) {
    struct words words = {0};
    char *text = show(v, call, &words) ? mem_strdup(words_text(&words)) : NULL;
    words_done(&words);
    return text;
}

void value_texts_of(struct shown *s, const struct summary_call *c, struct value_texts *ret) {
    struct call_values *v = shown_take_values(s);
    *ret = (struct value_texts){0};
    if (!v)
        return;
    struct shown_call call = shown_summary_call(c, shown_event_id(s, c->function));
    ret->arguments = text_by(shown_arguments, v, &call);
    ret->result = text_by(shown_result, v, &call);
    shown_give_values(s);
}

char *value_texts_of_mark(struct shown *s, const struct summary_mark *m) {
    struct walk_mark mark = {.stream = m->stream,
                             .function = m->function,
                             .id = shown_event_id(s, m->function),
                             .ns = m->start_ns};
    struct shown_call call = shown_walk_mark(&mark);
    struct call_values *v = shown_take_values(s);
    if (!v)
        return NULL;
    char *text = text_by(shown_arguments, v, &call);
    shown_give_values(s);
    return text;
}

void value_texts_done(struct value_texts *t) {
    free(t->arguments);
    free(t->result);
}

/* ---- of many calls ---- */

struct wanted_value {
    struct valued_call *of;
    bool is_result;
    uint32_t stream;
    uint64_t ns;
};

static int by_place(const void *a, const void *b) {
    const struct wanted_value *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Others may use the values in between. */
static void fill_one(struct shown *s, const struct wanted_value *w) {
    struct call_values *v = shown_take_values(s);
    const struct summary_call *c = w->of->call;
    struct shown_call call = shown_summary_call(c, shown_event_id(s, c->function));
    if (w->is_result)
        w->of->texts.result = text_by(shown_result, v, &call);
    else
        w->of->texts.arguments = text_by(shown_arguments, v, &call);
    shown_give_values(s);
}

void value_texts_fill(struct shown *s, struct client *client, struct valued_call *calls,
                      size_t count) {
    if (!shown_has_values(s))
        return;
    AUTO_FREE struct wanted_value *wanted = mem_alloc(2 * count * sizeof *wanted + 1);
    for (size_t i = 0; i < count; i++) {
        const struct summary_call *c = calls[i].call;
        wanted[2 * i] = (struct wanted_value){&calls[i], false, c->stream, c->start_ns};
        wanted[2 * i + 1] = (struct wanted_value){&calls[i], true, c->end_stream, c->end_ns};
    }
    if (count)
        qsort(wanted, 2 * count, sizeof *wanted, by_place);
    for (size_t i = 0; i < 2 * count && !client->stop; i++) {
        fill_one(s, &wanted[i]);
        client_look(client);
    }
}

/* ---- search ---- */

static const uint64_t SEARCH_NS = 250 * 1000 * 1000; /* in one call */

struct place { /* a block of events */
    size_t block;
    uint64_t first_ns, last_ns;
};
typedef ARRAY(struct place) place_list;

static int by_first(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static int by_last_back(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->last_ns != y->last_ns)
        return x->last_ns > y->last_ns ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* The blocks that may have what is searched for, in the order of the search. */
static place_list places_of(const struct shown *s, const struct value_search *search) {
    const struct trace_reader *r = shown_reader(s);
    const uint8_t *streams = search->range->streams;
    place_list list = {0};
    for (uint32_t stream = 0; stream < trace_reader_stream_count(r); stream++) {
        const size_t end = trace_reader_end_block(r, stream);
        for (size_t b = trace_reader_first_block(r, stream); b < end; b++) {
            struct trace_block_facts f = trace_reader_block(r, b);
            if (!streams || streams[stream])
                ARRAY_PUSH(&list, ((struct place){b, trace_reader_ns(r, f.first),
                                                  trace_reader_ns(r, f.last)}));
        }
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, search->back ? by_last_back : by_first);
    return list;
}

static bool has_text(struct call_values *v, const struct trace_occurrence *o, bool is_result,
                     const char *text, struct words *scratch) {
    scratch->count = 0;
    shown_occurrence(v, o, is_result, scratch);
    return strcasestr(words_text(scratch), text);
}

struct looking {
    const struct value_search *search;
    struct call_values *values;
    uint64_t since_ns, until_ns; /* what is better than BEST */
    bool found;
    struct call_point best;
    struct words scratch;
};

/* Takes the first match of BLOCK, or the last one. */
static void look_in(struct looking *l, size_t block) {
    struct call_point point;
    struct trace_occurrence o;
    for (size_t i = 0; call_values_at(l->values, block, i, &point, &o); i++) {
        const bool is_result = point.kind == EVENT_RETURN;
        if (point.ns < l->since_ns || (!is_result && point.kind != EVENT_ENTRY))
            continue;
        if (point.ns > l->until_ns)
            break;
        if (!has_text(l->values, &o, is_result, l->search->text, &l->scratch))
            continue;
        l->found = true;
        l->best = point;
        *(l->search->back ? &l->since_ns : &l->until_ns) = point.ns;
        if (!l->search->back)
            break;
    }
}

/* Whether neither PLACE nor what follows it in the search's order has anything better. */
static bool is_behind(const struct looking *l, const struct place *place) {
    return l->search->back ? place->last_ns < l->since_ns : place->first_ns > l->until_ns;
}

static void look_everywhere(struct looking *l, struct value_search *search,
                            const place_list *list) {
    const uint64_t begun_ns = clock_monotonic_ns();
    for (; search->next < list->count && !search->client->stop; search->next++) {
        const struct place *place = &list->at[search->next];
        if (is_behind(l, place))
            break;
        if (clock_monotonic_ns() - begun_ns > SEARCH_NS)
            return;
        if (place->last_ns >= l->since_ns && place->first_ns <= l->until_ns)
            look_in(l, place->block);
        client_look(search->client);
    }
    search->is_over = true;
}

int value_search(struct shown *s, struct value_search *search, struct found_value *ret) {
    struct looking l = {.search = search,
                        .since_ns = search->range->since_ns,
                        .until_ns = search->range->until_ns,
                        .values = shown_take_values(s)};
    search->is_over = !l.values;
    if (!l.values)
        return 0;
    place_list list = places_of(s, search);
    search->blocks = list.count;
    look_everywhere(&l, search, &list);
    shown_give_values(s);
    ARRAY_FREE(&list);
    words_done(&l.scratch);
    if (l.found)
        *ret = (struct found_value){l.best, shown_function(s, l.best.id)};
    return l.found;
}
