/*
 * print_items TRACE: prints the items of each stream, in order: the thread's id and name, the
 * ticks, and one of
 *     entry|return|tail|control FUNCTION
 *     pause CAUSE TICKS [in-call]
 *     gap COUNT
 *     end
 */
#include <inttypes.h>
#include <stdio.h>

#include "trace/reader.h"

static void print_event(const struct trace_reader *r, const struct trace_item *item) {
    static const char *const kinds[] = {"entry", "return", "tail", "control"},
                             *const causes[] = {"start", "dlopen", "filter", "snapshot", "ring"};
    const struct trace_module *module;
    const struct trace_function *function;
    uint32_t pause = item->id - PAUSE_EVENT;
    if (is_pause_event(item->id))
        printf("pause %s %" PRIu64 "%s\n", causes[pause & ~(uint32_t)PAUSE_IN_CALL], item->sp,
               pause & PAUSE_IN_CALL ? " in-call" : "");
    else if (trace_reader_function(r, item->id, &module, &function))
        printf("%s %s\n", kinds[item->event], function->name);
    else
        printf("%s %#x\n", kinds[item->event], item->id);
}

static void print_item(const struct trace_reader *r, const struct trace_item *item) {
    const struct trace_thread *thread = trace_reader_thread(r, item->stream);
    if (item->kind == TRACE_FRAMES)
        return;
    printf("%u %s %" PRIu64 " ", thread->tid, thread->name, item->ticks);
    if (item->kind == TRACE_EVENT)
        print_event(r, item);
    else if (item->kind == TRACE_LOST)
        printf("gap %" PRIu64 "\n", item->lost);
    else
        puts("end");
}

static int print_stream(struct trace_reader *r, uint32_t stream, struct err *err) {
    struct trace_cursor *c;
    struct trace_item item;
    int rc = trace_cursor_open(r, stream, &c, err);
    if (rc < 0)
        return rc;
    while ((rc = trace_cursor_next(c, &item, err)) > 0)
        print_item(r, &item);
    trace_cursor_free(c);
    return rc;
}

int main(int argc, char *argv[]) {
    struct err err = {0};
    struct trace_reader *r = NULL;
    int rc = argc == 2 ? trace_reader_open(argv[1], &r, &err) : -1;
    for (uint32_t i = 0; rc == 0 && i < trace_reader_stream_count(r); i++)
        rc = print_stream(r, i, &err);
    if (rc < 0)
        fprintf(stderr, "print_items: %s\n", err.text);
    trace_reader_free(r);
    return rc < 0;
}
