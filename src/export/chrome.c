/*
 * Trace events, the JSON that Perfetto and chrome://tracing load. Metadata comes first. Each call
 * is a complete event ("X"); the calls of a thread stand in the order of their ends. But viewers
 * take the first of two events with equal times for the outer one. So a call that began at the time
 * of its caller waits for the caller's event: at attach all open calls begin at the same time, and
 * ticks of a clock may be longer than calls.
 *
 * Stacks of coroutines do not nest within the stack of their thread. So a call on another stack
 * than the thread's own is a pair of asynchronous events ("b", "e"): viewers show a track for each
 * stack. If the call ends in another thread, so does the pair. Pauses are such pairs, too; other
 * changes of the recording are instants.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/change_texts.h"
#include "cmd/json.h"
#include "cmd/spell.h"
#include "export/call_texts.h"
#include "export/export.h"

struct held { /* a call whose event waits */
    struct walk_call call;
    uint32_t level; /* 0: the call that it waits for is its caller */
    uint32_t texts;
};

struct open_call {
    uint64_t start_ns;
    uint32_t next_free, texts;
    ARRAY(struct held) held; /* callees that began at the same time, and below; callers first */
};

struct chrome {
    const struct view *view;
    struct out *out;
    struct speller speller;
    struct call_texts *texts;   /* NULL: without values */
    struct call_values *values; /* of marks; NULL: the same */
    uint32_t group;  /* the first stream of the present group; with a number it names a stack */
    uint32_t stream; /* of head */
    char head[48];   /* the members after "ph" that all events of a stream share */
    size_t head_length;
    bool named;                   /* a name was written */
    ARRAY(struct open_call) open; /* numbered from 0 */
    uint32_t free;                /* the first number in no use; WALK_NONE: none */
};

static char *compose(struct names *names, uint32_t function) {
    AUTO_FREE char *name = json_string(names_function(names, function));
    AUTO_FREE char *module = json_string(names_module_name(names, names_module(names, function)));
    return mem_printf(",\"name\":%s,\"cat\":%s", name, module);
}

static void set_stream(struct chrome *c, uint32_t stream) {
    const struct trace_thread *t = trace_reader_thread(c->view->source.reader, stream);
    c->stream = stream;
    c->head_length = (size_t)snprintf(c->head, sizeof c->head,
                                      "\",\"pid\":%u,\"tid\":%u,\"ts\":", t->pid, t->tid);
}

/* Writes the members up to "ts". */
static void begin_event(struct chrome *c, char phase, uint32_t stream, uint64_t ns) {
    if (stream != c->stream)
        set_stream(c, stream);
    out_words(c->out, ",\n{\"ph\":\"");
    out_char(c->out, phase);
    out_text(c->out, c->head, c->head_length);
    out_micros(c->out, ns);
}

/* Begins a member of "args", the first one or a further one. */
static void begin_member(struct out *out, const char *name, bool *any) {
    if (*any)
        out_words(out, ",\"");
    else
        out_words(out, ",\"args\":{\"");
    out_text(out, name, strlen(name));
    out_words(out, "\":");
    *any = true;
}

static void write_member(struct chrome *c, const char *name, const struct words *text, bool *any) {
    if (!text->count)
        return;
    begin_member(c->out, name, any);
    out_text(c->out, text->at, text->count);
}

/* Times of day are not shifted: "dur" contains pauses, which "paused_ns" tells. */
static void write_facts(struct chrome *c, const struct walk_call *call, bool *any) {
    const char *end = export_end(call->how, call->inferred);
    if (call->before) {
        begin_member(c->out, "before", any);
        out_words(c->out, "true");
    }
    if (call->paused_ns) {
        begin_member(c->out, "paused_ns", any);
        out_number(c->out, call->paused_ns);
    }
    if (call->clipped) {
        begin_member(c->out, "clipped", any);
        out_words(c->out, "true");
    }
    if (end) {
        begin_member(c->out, "end", any);
        out_char(c->out, '"');
        out_text(c->out, end, strlen(end));
        out_char(c->out, '"');
    }
}

/* TEXTS: of values; CALL_TEXTS_NONE: they are not written here. */
static void end_event(struct chrome *c, const struct walk_call *call, uint32_t texts) {
    bool any = false;
    out_spelled(c->out, &c->speller, call->function);
    write_facts(c, call, &any);
    if (texts != CALL_TEXTS_NONE) {
        write_member(c, "arguments", call_texts_arguments(c->texts, texts), &any);
        write_member(c, "result", call_texts_result(c->texts, texts), &any);
    }
    out_text(c->out, "}}", any ? 2 : 1);
}

static void write_async(struct chrome *c, char phase, const struct walk_call *call,
                        uint32_t texts) {
    if (phase == 'b')
        begin_event(c, phase, call->stream, call->start_ns);
    else
        begin_event(c, phase, call->end_stream, call->end_ns);
    out_words(c->out, ",\"id\":\"");
    out_number(c->out, c->group);
    out_char(c->out, '.');
    out_number(c->out, call->stack);
    out_char(c->out, '"');
    end_event(c, call, texts);
}

/* The event of a call, or its beginning. */
static void write_begin(struct chrome *c, const struct held *held) {
    const struct walk_call *call = &held->call;
    if (call->stack) {
        write_async(c, 'b', call, held->texts);
    } else {
        begin_event(c, 'X', call->stream, call->start_ns);
        out_words(c->out, ",\"dur\":");
        out_micros(c->out, call->end_ns - call->start_ns);
        end_event(c, call, held->texts);
    }
    call_texts_forget(c->texts, held->texts);
}

static void write_end(struct chrome *c, const struct held *held) {
    if (held->call.stack)
        write_async(c, 'e', &held->call, CALL_TEXTS_NONE);
}

/* Writes FIRST and the COUNT calls that wait for it. An asynchronous call ends behind its callees.
 */
static void write_held(struct chrome *c, const struct held *first, const struct held *held,
                       size_t count) {
    ARRAY(size_t) path = {0}; /* those of HELD whose end is not written, the outermost first */
    write_begin(c, first);
    for (size_t i = 0; i < count; i++) {
        while (path.count > held[i].level)
            write_end(c, &held[path.at[--path.count]]);
        write_begin(c, &held[i]);
        ARRAY_PUSH(&path, i);
    }
    while (path.count)
        write_end(c, &held[path.at[--path.count]]);
    write_end(c, first);
    ARRAY_FREE(&path);
}

/* ---- calls that wait for their callers ---- */

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct chrome *c = ctx;
    uint32_t number = c->free;
    if (number == WALK_NONE) {
        number = (uint32_t)c->open.count;
        ARRAY_PUSH(&c->open, (struct open_call){0});
    } else {
        c->free = c->open.at[number].next_free;
    }
    c->open.at[number].start_ns = call->start_ns;
    c->open.at[number].texts = call_texts_begin(c->texts, call);
    return number;
}

/* Lets CALL, unless it is brief, and the calls that wait for it, wait for CALLER. */
static void wait_for(struct open_call *caller, const struct walk_call *call,
                     const struct open_call *own) {
    uint32_t level = 0;
    if (!call->brief)
        ARRAY_PUSH(&caller->held, ((struct held){*call, level++, own->texts}));
    for (size_t i = 0; i < own->held.count; i++) {
        struct held held = own->held.at[i];
        held.level += level;
        ARRAY_PUSH(&caller->held, held);
    }
}

/* Writes the calls that wait for a brief one. */
static void write_without(struct chrome *c, const struct open_call *own) {
    for (size_t i = 0, end; i < own->held.count; i = end) {
        for (end = i + 1; end < own->held.count && own->held.at[end].level > 0;)
            end++;
        struct held *at = &own->held.at[i];
        for (size_t k = i + 1; k < end; k++)
            own->held.at[k].level--;
        write_held(c, at, at + 1, end - i - 1);
    }
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct chrome *c = ctx;
    struct open_call *own = &c->open.at[call->value];
    struct open_call *caller =
        call->caller_value == WALK_NONE ? NULL : &c->open.at[call->caller_value];
    if (call->brief)
        call_texts_forget(c->texts, own->texts);
    else
        call_texts_end(c->texts, own->texts, call);
    if (caller && caller->start_ns == own->start_ns)
        wait_for(caller, call, own);
    else if (call->brief)
        write_without(c, own);
    else
        write_held(c, &(struct held){*call, 0, own->texts}, own->held.at, own->held.count);
    own->held.count = 0;
    own->next_free = c->free;
    c->free = call->value;
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    struct chrome *c = ctx;
    begin_event(c, 'i', stream, ns);
    out_words(c->out, ",\"s\":\"t\",\"name\":\"");
    out_number(c->out, count);
    if (count == 1)
        out_words(c->out, " event lost\"}");
    else
        out_words(c->out, " events lost\"}");
}

/* A thread stood still because of the recorder: a span of its own, as calls do not nest with it. In
 * a blocking system call it is part of durations. */
static void on_pause(void *ctx, const struct walk_pause *pause) {
    struct chrome *c = ctx;
    const char *cause = pause_cause(pause->cause);
    uint64_t times[] = {pause->end_ns - pause->length_ns, pause->end_ns};
    for (int i = 0; i < 2; i++) {
        begin_event(c, i ? 'e' : 'b', pause->stream, times[i]);
        out_words(c->out, ",\"id\":\"pause.");
        out_number(c->out, pause->stream);
        out_words(c->out, "\",\"cat\":\"spoor\",\"name\":\"spoor: ");
        out_text(c->out, cause, strlen(cause));
        if (pause->in_call)
            out_words(c->out, "\",\"args\":{\"in_call\":true}}");
        else
            out_words(c->out, "\"}");
    }
}

static void on_mark(void *ctx, const struct walk_mark *mark) {
    struct chrome *c = ctx;
    begin_event(c, 'i', mark->stream, mark->ns);
    out_words(c->out, ",\"s\":\"t\"");
    out_spelled(c->out, &c->speller, mark->function);
    const struct shown_call place = shown_walk_mark(mark);
    struct words text = {0};
    if (shown_arguments_object(c->values, &place, &text)) {
        out_words(c->out, ",\"args\":{\"arguments\":");
        out_text(c->out, text.at, text.count);
        out_char(c->out, '}');
    }
    words_done(&text);
    out_char(c->out, '}');
}

/* Writes the name of a process (TID 0) or thread. Names precede all other events. */
static void write_name(struct chrome *c, uint32_t pid, uint32_t tid, const char *name) {
    AUTO_FREE char *quoted = json_string(name);
    AUTO_FREE char *thread = tid ? mem_printf(",\"tid\":%u", tid) : mem_strdup("");
    AUTO_FREE char *event = mem_printf(
        "%s{\"ph\":\"M\",\"pid\":%u%s,\"name\":\"%s\",\"args\":{\"name\":%s}}",
        c->named ? ",\n" : "", pid, thread, tid ? "thread_name" : "process_name", quoted);
    out_text(c->out, event, strlen(event));
    c->named = true;
}

/* Pauses of the recording are spans on a track of their process. Changes without a pid concern all
 * processes. */
static void write_change(struct out *out, char phase, uint64_t ns, const struct change *change) {
    AUTO_FREE char *text = changed_text(change), *name = json_string(text);
    AUTO_FREE char *head = mem_printf(",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":", phase,
                                      change->pid, change->pid);
    AUTO_FREE char *tail = phase == 'i' ? mem_printf(",\"s\":\"%c\"", change->pid ? 'p' : 'g')
                                        : mem_printf(",\"id\":\"paused.%u\"", change->pid);
    out_text(out, head, strlen(head));
    out_micros(out, ns);
    out_text(out, tail, strlen(tail));
    out_words(out, ",\"name\":");
    out_text(out, name, strlen(name));
    out_words(out, ",\"cat\":\"spoor\"}");
}

static void write_changes(struct chrome *c, const struct source *s) {
    struct changes changes;
    bool concerns_all = false;
    changes_read(s->reader, &changes);
    changes_show(&changes, s->filter, s->reader);
    for (size_t i = 0; i < changes.list.count; i++) {
        const struct change *change = &changes.list.at[i];
        bool paused = change->kind == TRACE_PAUSED;
        if (!change->pid && !concerns_all)
            write_name(c, 0, 0, "all processes");
        concerns_all = concerns_all || !change->pid;
        write_change(c->out, paused ? 'b' : 'i', change->ns, change);
        if (paused)
            write_change(c->out, 'e', change->end_ns, change);
    }
    changes_done(&changes);
}

static void on_stream_group(void *ctx, struct stream_group group) {
    struct chrome *c = ctx;
    c->group = group.streams[0];
    set_stream(c, c->group);
}

struct named {
    uint64_t id;
    size_t number;
};

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
                          : (x->number > y->number) - (x->number < y->number);
}

/* By number: 1 for the last one of each id. LIST is ascending by number. To be freed. */
static uint8_t *find_last(struct named *list, size_t count) {
    uint8_t *last = mem_alloc(count + 1);
    if (count)
        qsort(list, count, sizeof *list, compare_named);
    for (size_t i = 0; i < count; i++)
        last[list[i].number] = i + 1 == count || list[i + 1].id != list[i].id;
    return last;
}

/* Programs that a process has executed, the last one is its name: viewers take one name. */
static void write_process_names(struct chrome *c, const struct trace_reader *reader) {
    size_t count = trace_reader_process_count(reader);
    AUTO_FREE struct named *list = mem_alloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = (struct named){trace_reader_process(reader, i)->pid, i};
    AUTO_FREE uint8_t *last = find_last(list, count);
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *p = trace_reader_process(reader, i);
        if (last[i])
            write_name(c, p->pid, 0, p->command);
    }
}

static void write_thread_names(struct chrome *c, const struct trace_reader *reader) {
    size_t count = trace_reader_stream_count(reader);
    AUTO_FREE struct named *list = mem_alloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *t = trace_reader_thread(reader, i);
        list[i] = (struct named){(uint64_t)t->pid << 32 | t->tid, i};
    }
    AUTO_FREE uint8_t *last = find_last(list, count);
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *t = trace_reader_thread(reader, i);
        if (last[i])
            write_name(c, t->pid, t->tid, t->name);
    }
}

void export_chrome(const struct view *view, struct out *out) {
    struct chrome c = {.view = view, .out = out, .free = WALK_NONE};
    struct visitor visitor = {.ctx = &c,
                              .no_self = true,
                              .open = on_open,
                              .close = on_close,
                              .lost = on_lost,
                              .pause = on_pause,
                              .mark = on_mark};
    speller_init(&c.speller, view->source.names, compose);
    c.texts = call_texts_new(view, shown_values_object);
    c.values = c.texts ? call_values_new(view->source.reader, view->source.names) : NULL;
    out_words(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_process_names(&c, view->source.reader);
    write_thread_names(&c, view->source.reader);
    write_changes(&c, &view->source);
    export_walk(view, &visitor, on_stream_group, out);
    out_words(out, "\n]}\n");
    speller_done(&c.speller);
    call_texts_free(c.texts);
    call_values_free(c.values);
    for (size_t i = 0; i < c.open.count; i++)
        ARRAY_FREE(&c.open.at[i].held);
    ARRAY_FREE(&c.open);
}
