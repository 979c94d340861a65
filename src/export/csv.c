/* Comma-separated values (RFC 4180, but lines end with \n): a header, then one line for each call,
 * thread by thread, in the order of the ends of calls. */
#include "base/mem.h"
#include "cmd/spell.h"
#include "export/export.h"

struct csv {
    const struct view *view;
    struct out *out;
    struct speller speller;
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

static void on_close(void *ctx, const struct walk_call *call) {
    static const char ends[][10] = {[CALL_RETURNED] = ",returned",
                                    [CALL_TAIL] = ",tail",
                                    [CALL_UNWOUND] = ",unwound",
                                    [CALL_MISSED] = ",unwound",
                                    [CALL_THREAD_ENDED] = ",open",
                                    [CALL_OPEN] = ",open",
                                    [CALL_CUT] = ",cut"};
    struct csv *c = ctx;
    const char *end = call->inferred ? ",inferred" : ends[call->how];
    if (call->brief)
        return;
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
    out_text(c->out, call->clipped ? ",1\n" : ",0\n", 3);
}

void export_csv(const struct view *view, struct out *out) {
    struct csv csv = {.view = view, .out = out};
    struct visitor visitor = {.ctx = &csv, .no_self = true, .close = on_close};
    speller_init(&csv.speller, view->source.names, compose);
    out_words(out,
              "start_ns,duration_ns,pid,tid,depth,function,module,how,before,paused_ns,clipped\n");
    export_walk(view, &visitor, NULL, out);
    speller_done(&csv.speller);
}
