/* See suggest.h. */
#include "analyze/suggest.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/near.h"

/* Writes the suggestion, and frees N. */
static void write_out(struct near_names *n, char text[SUGGEST_ROOM]) {
    AUTO_FREE char *list = near_list(n);
    text[0] = '\0';
    if (list)
        snprintf(text, SUGGEST_ROOM, " (did you mean %.*s?)", SUGGEST_ROOM - 32, list);
    near_done(n);
}

void suggest_functions(struct names *names, const struct pattern *typed, char text[SUGGEST_ROOM]) {
    struct near_names near;
    near_init(&near, pattern_body(typed));
    for (uint32_t i = 0; i < names_count(names); i++) {
        if (!names_instrumented(names, i))
            continue;
        AUTO_FREE char *name = names_bare(names, i);
        near_consider(&near, name);
    }
    write_out(&near, text);
}

void suggest_modules(struct names *names, const char *typed, char text[SUGGEST_ROOM]) {
    struct near_names near;
    near_init(&near, typed);
    for (uint32_t i = 0; i + 1 < names_module_count(names); i++)
        near_consider(&near, names_module_name(names, i));
    write_out(&near, text);
}

void suggest_processes(const struct trace_reader *r, const char *typed, char text[SUGGEST_ROOM]) {
    struct near_names near;
    near_init(&near, typed);
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        near_consider(&near, trace_reader_process(r, i)->command);
    write_out(&near, text);
}
