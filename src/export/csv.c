/* Comma-separated values (RFC 4180, but lines end with \n): a header, then one line for each call,
 * thread by thread, in the order of the ends of calls, and for each mark. With --values there are
 * two columns more: arguments and result as in replay's JSON. */
#include "base/mem.h"
#include "cmd/spell.h"
#include "export/call_texts.h"
#include "export/export.h"

struct csv {
    const struct view *view;
    struct out *out;
    struct speller speller;
    struct call_texts *texts;   /* NULL: without values */
    struct call_values *values; /* of marks; NULL: the same */
};

/* TEXT as a field; to be freed. */
static char *quoted(const char *text) {
    if (!strpbrk(text, "\",\r\n"))
        return mem_strdup(text);
    char *field = mem_resize(NULL, strlen(text) + 2, 2), *end = field;
    *end++ = '"';
    for (; *text; text++) {
        if (*text == '"')
            *end++ = '"';
        *end++ = *text;
    }
    memcpy(end, "\"", sizeof "\"");
    return field;
}

static char *compose(struct names *names, uint32_t function) {
    AUTO_FREE char *name = quoted(names_function(names, function));
    AUTO_FREE char *module = quoted(names_module_name(names, names_module(names, function)));
    return mem_printf(",%s,%s", name, module);
}

/* A field: empty if nothing was captured. */
static void write_value(struct call_values *v, const struct shown_call *call, bool is_result,
                        struct words *ret) {
    if (is_result)
        shown_result_list(v, call, ret);
    else
        shown_arguments_list(v, call, ret);
}

static void out_value(struct out *out, const struct words *text) {
    struct words copy = {0};
    words_add_bytes(&copy, text->at, text->count);
    AUTO_FREE char *field = quoted(words_text(&copy));
    out_char(out, ',');
    out_text(out, field, strlen(field));
    words_done(&copy);
}

/* Ends the line. */
static void out_values(struct csv *c, const struct walk_call *call) {
    if (c->texts) {
        out_value(c->out, call_texts_arguments(c->texts, call->value));
        out_value(c->out, call_texts_result(c->texts, call->value));
    } else if (!c->view->hides_values) {
        out_words(c->out, ",,");
    }
    out_char(c->out, '\n');
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct csv *c = ctx;
    return call_texts_begin(c->texts, call);
}

static void write_call(struct csv *c, const struct walk_call *call) {
    static const char ends[][10] = {[CALL_RETURNED] = ",returned",
                                    [CALL_TAIL] = ",tail",
                                    [CALL_UNWOUND] = ",unwound",
                                    [CALL_MISSED] = ",unwound",
                                    [CALL_THREAD_ENDED] = ",open",
                                    [CALL_OPEN] = ",open",
                                    [CALL_CUT] = ",cut"};
    const char *end = call->inferred ? ",inferred" : ends[call->how];
    const struct trace_thread *thread = trace_reader_thread(c->view->source.reader, call->stream);
    out_number(c->out, call->start_ns);
    out_char(c->out, ',');
    out_number(c->out, call->duration_ns);
    out_char(c->out, ',');
    out_number(c->out, thread->pid);
    out_char(c->out, ',');
    out_number(c->out, thread->tid);
    out_char(c->out, ',');
    out_number(c->out, call->depth);
    out_spelled(c->out, &c->speller, call->function);
    out_text(c->out, end, strlen(end));
    out_text(c->out, call->before ? ",1," : ",0,", 3);
    out_number(c->out, call->paused_ns);
    out_text(c->out, call->clipped ? ",1" : ",0", 2);
    out_values(c, call);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct csv *c = ctx;
    if (!call->brief) {
        call_texts_end(c->texts, call->value, call);
        write_call(c, call);
    }
    call_texts_forget(c->texts, call->value);
}

/* A mark has no length, and no depth that its reader could use. */
static void on_mark(void *ctx, const struct walk_mark *mark) {
    struct csv *c = ctx;
    const struct trace_thread *thread = trace_reader_thread(c->view->source.reader, mark->stream);
    const struct shown_call place = shown_walk_mark(mark);
    struct words text = {0};
    out_number(c->out, mark->ns);
    out_words(c->out, ",,");
    out_number(c->out, thread->pid);
    out_char(c->out, ',');
    out_number(c->out, thread->tid);
    out_char(c->out, ',');
    out_spelled(c->out, &c->speller, mark->function);
    out_words(c->out, ",mark,,,");
    if (c->values)
        write_value(c->values, &place, false, &text);
    if (c->values)
        out_value(c->out, &text);
    if (c->values)
        out_words(c->out, ",\n");
    else if (c->view->hides_values)
        out_char(c->out, '\n');
    else
        out_words(c->out, ",,\n");
    words_done(&text);
}

void export_csv(const struct view *view, struct out *out) {
    struct csv csv = {.view = view, .out = out};
    struct visitor visitor = {.ctx = &csv, .no_self = true, .close = on_close, .mark = on_mark};
    speller_init(&csv.speller, view->source.names, compose);
    csv.texts = call_texts_new(view, write_value);
    csv.values = csv.texts ? call_values_new(view->source.reader, view->source.names) : NULL;
    out_words(out,
              "start_ns,duration_ns,pid,tid,depth,function,module,how,before,paused_ns,clipped");
    visitor.open = csv.texts ? on_open : NULL;
    if (!view->hides_values)
        out_words(out, ",args,ret");
    out_char(out, '\n');
    export_walk(view, &visitor, NULL, out);
    call_texts_free(csv.texts);
    call_values_free(csv.values);
    speller_done(&csv.speller);
}
