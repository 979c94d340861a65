/* See suggest.h: keeps the nearest few names. */
#include "analyze/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"

enum { MOST = 3 };

struct candidates {
    char *typed; /* without wildcards and delimiters */
    unsigned limit;
    const char *names[MOST]; /* nearest first */
    unsigned distances[MOST];
    int count;
};

/* "module!name*" → "name" */
static char *plain(const char *typed) {
    const char *bang = strchr(typed, '!');
    if (bang && bang[1])
        typed = bang + 1;
    typed += strspn(typed, "*/^");
    size_t length = strlen(typed);
    while (length && strchr("*/$", typed[length - 1]))
        length--;
    return mem_printf("%.*s", (int)length, typed);
}

static void candidates_init(struct candidates *c, const char *typed) {
    *c = (struct candidates){.typed = plain(typed)};
    c->limit = (unsigned)strlen(c->typed) / 2;
}

/* Ignores parameters and qualifiers: "ns::draw(int)" is near to "drwa". */
static unsigned distance_to(const struct candidates *c, const char *name) {
    AUTO_FREE char *bare = mem_printf("%.*s", (int)strcspn(name, "("), name);
    const char *last = bare;
    for (const char *p; !strstr(c->typed, "::") && (p = strstr(last, "::"));)
        last = p + 2;
    size_t n = strlen(last), m = strlen(c->typed);
    if (m >= 3 && strcasestr(bare, c->typed))
        return 0;
    return (n > m ? n - m : m - n) > c->limit ? UINT32_MAX : near_distance(c->typed, last);
}

static void consider(struct candidates *c, const char *name) {
    unsigned distance = distance_to(c, name);
    if (distance > c->limit)
        return;
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return;
    int at = c->count < MOST ? c->count : MOST;
    while (at && distance < c->distances[at - 1])
        at--;
    if (at == MOST)
        return;
    c->count += c->count < MOST;
    for (int i = c->count - 1; i > at; i--) {
        c->names[i] = c->names[i - 1];
        c->distances[i] = c->distances[i - 1];
    }
    c->names[at] = name;
    c->distances[at] = distance;
}

/* Writes the suggestion, and frees C's text. */
static void write_out(struct candidates *c, char text[SUGGEST_ROOM]) {
    static const char head[] = " (did you mean ", tail[] = "?)";
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < c->count; i++) {
        const char *before = used ? ", " : head;
        if (used + strlen(before) + strlen(c->names[i]) + sizeof tail > SUGGEST_ROOM)
            break;
        used += (size_t)sprintf(text + used, "%s%s", before, c->names[i]);
    }
    if (used)
        memcpy(text + used, tail, sizeof tail);
    free(c->typed);
}

void suggest_functions(struct names *names, const char *typed, char text[SUGGEST_ROOM]) {
    struct candidates c;
    candidates_init(&c, typed);
    for (uint32_t i = 0; i < names_count(names); i++)
        if (names_instrumented(names, i))
            consider(&c, names_function(names, i));
    write_out(&c, text);
}

void suggest_modules(struct names *names, const char *typed, char text[SUGGEST_ROOM]) {
    struct candidates c;
    candidates_init(&c, typed);
    for (uint32_t i = 0; i + 1 < names_module_count(names); i++)
        consider(&c, names_module_name(names, i));
    write_out(&c, text);
}

void suggest_processes(const struct trace_reader *r, const char *typed, char text[SUGGEST_ROOM]) {
    struct candidates c;
    candidates_init(&c, typed);
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        consider(&c, trace_reader_process(r, i)->command);
    write_out(&c, text);
}
