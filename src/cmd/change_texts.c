/* Words changes of a recording. */
#include "cmd/change_texts.h"

#include <ctype.h>

#include "cmd/figures.h"
#include "cmd/json.h"

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* A copy of TEXT with '?' in place of control characters; to be freed. */
static char *clean(const char *text) {
    char *copy = mem_strdup(text);
    for (char *p = copy; *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
    return copy;
}

static char *text_of_choice(const struct trace_change *record) {
    AUTO_FREE char *filter = clean(record->filter);
    return mem_printf("%s%s: %ju function%s added, %ju removed", *filter ? "filter " : "no filter",
                      filter, record->added, plural(record->added), record->removed);
}

char *changed_text(const struct change *c) {
    char duration[FIGURE_ROOM];
    if (c->kind == TRACE_CHOSEN)
        return text_of_choice(c->record);
    if (c->kind == TRACE_LEFT)
        return mem_strdup("left: runs on untraced");
    figure_time(duration, c->end_ns - c->ns);
    return mem_printf("paused for %s%s", duration, c->open ? ", to the end" : "");
}

const char *changed_kind(const struct change *c) {
    return c->kind == TRACE_PAUSED ? "paused" : c->kind == TRACE_CHOSEN ? "filter" : "left";
}

char *changed_members(const struct change *c) {
    if (c->kind == TRACE_LEFT)
        return mem_strdup("");
    if (c->kind == TRACE_PAUSED)
        return mem_printf(",\"duration_ns\":%ju%s", c->end_ns - c->ns,
                          c->open ? ",\"open\":true" : "");
    AUTO_FREE char *filter = json_string(c->record->filter);
    return mem_printf(",\"added\":%ju,\"removed\":%ju,\"filter\":%s", c->record->added,
                      c->record->removed, filter);
}

const char *pause_cause(enum pause_cause cause) {
    static const char *const names[PAUSE_CAUSES] = {[PAUSE_START] = "start",
                                                    [PAUSE_DLOPEN] = "dlopen",
                                                    [PAUSE_FILTER] = "filter",
                                                    [PAUSE_SNAPSHOT] = "snapshot",
                                                    [PAUSE_RING] = "ring"};
    return names[cause];
}

void changed_print_end(const struct view *view, unsigned width) {
    const struct source *s = &view->source;
    struct changes c;
    char time[FIGURE_ROOM];
    changes_read(s->reader, &c);
    changes_show(&c, s->filter, s->reader);
    figure_time(time, changes_paused_ns(&c));
    AUTO_FREE char *pauses =
        mem_printf("%zu pause%s, %s in all: calls made then are not in the trace", c.pauses,
                   plural(c.pauses), time);
    AUTO_FREE char *choices = mem_printf(
        "the filter was changed %zu time%s: calls count only while their function was chosen",
        c.choices, plural(c.choices));
    if (c.pauses)
        text_print_wrapped(pauses, 0, width);
    if (c.choices)
        text_print_wrapped(choices, 0, width);
    changes_done(&c);
}
