/* Formats times, sizes and shares, and prints text of foreign files safely. */
#include "cmd/figures.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* SECONDS: the unit's name. */
static void put_time(char text[FIGURE_ROOM], uint64_t ns, const char *seconds) {
    const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, seconds}, {1000000, "ms"}, {1000, "us"}};
    size_t i = 0;
    while (i < sizeof units / sizeof *units && ns < units[i].ns)
        i++;
    if (i == sizeof units / sizeof *units) {
        snprintf(text, FIGURE_ROOM, "%ju ns", ns);
        return;
    }
    uint64_t whole = ns / units[i].ns, thousandths = ns % units[i].ns / (units[i].ns / 1000);
    if (whole < 10)
        snprintf(text, FIGURE_ROOM, "%ju.%03ju %s", whole, thousandths, units[i].name);
    else if (whole < 100)
        snprintf(text, FIGURE_ROOM, "%ju.%02ju %s", whole, thousandths / 10, units[i].name);
    else if (whole < 1000)
        snprintf(text, FIGURE_ROOM, "%ju.%ju %s", whole, thousandths / 100, units[i].name);
    else
        snprintf(text, FIGURE_ROOM, "%ju %s", whole, units[i].name);
}

void figure_time(char text[FIGURE_ROOM], uint64_t ns) { put_time(text, ns, "s"); }
void figure_time_column(char text[FIGURE_ROOM], uint64_t ns) { put_time(text, ns, " s"); }

void figure_bytes(char text[FIGURE_ROOM], uint64_t bytes) {
    static const char *const names[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t unit = 1000;
    size_t i = 0;
    for (; bytes / unit >= 1000; i++)
        unit *= 1000;
    if (bytes < 1000)
        snprintf(text, FIGURE_ROOM, "%ju B", bytes);
    else
        snprintf(text, FIGURE_ROOM, "%ju.%ju %s", bytes / unit, bytes % unit / (unit / 10),
                 names[i]);
}

void figure_share(char text[FIGURE_ROOM], uint64_t part, uint64_t whole) {
    snprintf(text, FIGURE_ROOM, "%.2f %%", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void print_char(FILE *out, char c) {
    putc_unlocked(iscntrl((unsigned char)c) ? '?' : c, out);
}

void text_print(FILE *out, const char *text) {
    while (*text)
        print_char(out, *text++);
}

int figure_extra_bytes(const char *text) {
    int extra = 0;
    for (; *text; text++)
        extra += !text_begins_column(*text);
    return extra;
}

void figure_marks(char text[FIGURE_MARKS_ROOM], const struct figure_marks *m) {
    snprintf(text, FIGURE_MARKS_ROOM, "%s%s%s%s%s", m->before ? FIGURE_BEFORE " " : "",
             m->clipped ? FIGURE_CLIPPED " " : "", m->cut ? FIGURE_CUT " " : "",
             m->inferred ? FIGURE_INFERRED " " : "", m->open ? FIGURE_OPEN " " : "");
}

static void print_mark(const char *mark, char *text, unsigned width) {
    AUTO_FREE char *line = mem_printf("%s: %s", mark, text);
    text_print_wrapped(line, 0, width);
    free(text);
}

void figure_print_marks(const struct figure_marks *m, unsigned width) {
    if (m->inferred)
        print_mark(FIGURE_INFERRED,
                   mem_printf("the ends of %ju call%s are inferred", m->inferred,
                              m->inferred == 1 ? "" : "s"),
                   width);
    if (m->before)
        print_mark(FIGURE_BEFORE,
                   mem_printf("%ju call%s open before tracing began, or before events were lost: "
                              "in TOTAL and SELF from there on, not in CALLS",
                              m->before, m->before == 1 ? " was" : "s were"),
                   width);
    if (m->cut)
        print_mark(FIGURE_CUT,
                   mem_printf("events were lost during %ju call%s: TOTAL and SELF count up to "
                              "there; MIN, MAX and percentiles leave them out",
                              m->cut, m->cut == 1 ? "" : "s"),
                   width);
    if (m->open)
        print_mark(
            FIGURE_OPEN,
            mem_printf("%ju call%s still open when the recording ended: TOTAL and SELF count "
                       "up to there; MIN, MAX and percentiles leave %s out",
                       m->open, m->open == 1 ? " was" : "s were", m->open == 1 ? "it" : "them"),
            width);
    if (m->clipped)
        print_mark(FIGURE_CLIPPED,
                   mem_printf("%ju call%s before --since or ended after --until: their whole "
                              "times count",
                              m->clipped, m->clipped == 1 ? " began" : "s began"),
                   width);
}

void text_print_wrapped(const char *text, unsigned indent, unsigned width) {
    unsigned column = indent;
    while (*text) {
        size_t length = strcspn(text, " ");
        AUTO_FREE char *word = mem_printf("%.*s", (int)length, text);
        unsigned columns = (unsigned)text_columns(word);
        if (column > indent && width && column + 1 + columns > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%s", word);
        column += columns;
        text += length;
        text += *text == ' ';
    }
    putchar('\n');
}
