/* Writes figures as text for people, in at most FIGURE_ROOM bytes. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { FIGURE_ROOM = 32 };

/* "12 ns", "3.456 us", "78.90 ms", "12345 s": four digits or more, cut, not rounded. */
void figure_time(char text[FIGURE_ROOM], uint64_t ns);
/* The same for columns, whose units have two characters: "12345  s". */
void figure_time_column(char text[FIGURE_ROOM], uint64_t ns);
/* "999 B", "12.3 kB", "4.5 MB"; a kB has 1000 bytes. */
void figure_bytes(char text[FIGURE_ROOM], uint64_t bytes);
/* "12.34 %" */
void figure_share(char text[FIGURE_ROOM], uint64_t part, uint64_t whole);

/* The mark of inferred ends of calls. */
#define FIGURE_INFERRED "≈"
/* The mark of calls that were open when their tracing began. */
#define FIGURE_BEFORE "«"
/* The mark of calls that ended in a gap (lost events). */
#define FIGURE_CUT "¦"
/* The mark of calls that began before the shown span, or ended behind it. */
#define FIGURE_CLIPPED "↔"

/* The mark of calls that were still open when the recording ended. */
#define FIGURE_OPEN "»"

/* The mark of functions of which calls may be missing. */
#define FIGURE_PARTLY "†"

struct figure_marks { /* how many calls have each mark */
    uint64_t inferred, before, cut, clipped, open;
};
/* Writes the marks of a row with these calls: each with a space behind it. */
enum { FIGURE_MARKS_ROOM = 24 };
void figure_marks(char text[FIGURE_MARKS_ROOM], const struct figure_marks *marks);
/* Prints a line to standard output for each mark that is used, wrapped at WIDTH columns (0: not).
 */
void figure_print_marks(const struct figure_marks *marks, unsigned width);
/* The number of bytes of TEXT minus its columns, for field widths of printf. */
int figure_extra_bytes(const char *text);

/* Prints TEXT, of a foreign file, with '?' in place of control characters. */
void text_print(FILE *out, const char *text);
/* Prints TEXT and a newline to standard output, wrapped at WIDTH columns (0: not wrapped). Further
 * lines begin at column INDENT; the caller has printed the first line up to there. */
void text_print_wrapped(const char *text, unsigned indent, unsigned width);
