/* See call_texts.h. Calls end in another order than they begin: each has a reader of its own. */
#include "export/call_texts.h"

#include "base/mem.h"

struct texts {
    struct words arguments, result;
};

struct call_texts {
    struct call_values *at_begin, *at_end;
    call_text_write *write;
    ARRAY(struct texts) open;
    ARRAY(uint32_t) unused;
};

struct call_texts *call_texts_new(const struct view *view, call_text_write *write) {
    struct trace_reader *reader = view->source.reader;
    if (view->hides_values || !trace_reader_has_values(reader))
        return NULL;
    struct call_texts *t = mem_alloc(sizeof *t);
    t->at_begin = call_values_new(reader, view->source.names);
    t->at_end = call_values_new(reader, view->source.names);
    t->write = write;
    return t;
}

void call_texts_free(struct call_texts *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->open.count; i++) {
        words_done(&t->open.at[i].arguments);
        words_done(&t->open.at[i].result);
    }
    ARRAY_FREE(&t->open);
    ARRAY_FREE(&t->unused);
    call_values_free(t->at_begin);
    call_values_free(t->at_end);
    free(t);
}

uint32_t call_texts_begin(struct call_texts *t, const struct walk_call *call) {
    if (!t)
        return CALL_TEXTS_NONE;
    if (!t->unused.count) {
        ARRAY_PUSH(&t->unused, (uint32_t)t->open.count);
        ARRAY_PUSH(&t->open, (struct texts){0});
    }
    const uint32_t number = t->unused.at[--t->unused.count];
    const struct shown_call begun = shown_walk_call(call);
    t->write(t->at_begin, &begun, false, &t->open.at[number].arguments);
    return number;
}

void call_texts_end(struct call_texts *t, uint32_t number, const struct walk_call *call) {
    const struct shown_call ended = shown_walk_call(call);
    if (t)
        t->write(t->at_end, &ended, true, &t->open.at[number].result);
}

const struct words *call_texts_arguments(const struct call_texts *t, uint32_t number) {
    return &t->open.at[number].arguments;
}

const struct words *call_texts_result(const struct call_texts *t, uint32_t number) {
    return &t->open.at[number].result;
}

void call_texts_forget(struct call_texts *t, uint32_t number) {
    if (!t)
        return;
    words_done(&t->open.at[number].arguments);
    words_done(&t->open.at[number].result);
    t->open.at[number] = (struct texts){0};
    ARRAY_PUSH(&t->unused, number);
}
