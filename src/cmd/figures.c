/* Formats times, sizes and shares, and prints text of foreign files safely. */
#include "cmd/figures.h"

#include <ctype.h>
#include <stdbool.h>

void figure_time(char text[FIGURE_ROOM], uint64_t ns) {
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, " s"}, {1000000, "ms"}, {1000, "us"}};
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

static bool begins_column(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

int figure_extra_bytes(const char *text) {
    int extra = 0;
    for (; *text; text++)
        extra += !begins_column(*text);
    return extra;
}

void figure_marks(char text[FIGURE_MARKS_ROOM], const struct figure_marks *m) {
    snprintf(text, FIGURE_MARKS_ROOM, "%s%s%s%s", m->before ? FIGURE_BEFORE " " : "",
             m->clipped ? FIGURE_CLIPPED " " : "", m->cut ? FIGURE_CUT " " : "",
             m->inferred ? FIGURE_INFERRED " " : "");
}

void figure_print_marks(const struct figure_marks *m) {
    const char *s = m->inferred == 1 ? "" : "s";
    if (m->inferred)
        printf("%s: the ends of %ju call%s are inferred\n", FIGURE_INFERRED, m->inferred, s);
    if (m->before)
        printf("%s: %ju call%s open before tracing began, or before events were lost: in TOTAL and "
               "SELF from there on, not in CALLS\n",
               FIGURE_BEFORE, m->before, m->before == 1 ? " was" : "s were");
    if (m->cut)
        printf("%s: events were lost during %ju call%s: TOTAL and SELF count up to there; MIN, MAX "
               "and percentiles leave them out\n",
               FIGURE_CUT, m->cut, m->cut == 1 ? "" : "s");
    if (m->clipped)
        printf("%s: %ju call%s before --since or ended after --until: their whole times count\n",
               FIGURE_CLIPPED, m->clipped, m->clipped == 1 ? " began" : "s began");
}
