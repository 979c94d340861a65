/* Figures as people read them, in text of at most FIGURE_ROOM bytes. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { FIGURE_ROOM = 32 };

/* "12 ns", "3.456 us", "78.90 ms", "12345  s": four digits, cut, not rounded. */
void figure_time(char text[FIGURE_ROOM], uint64_t ns);
/* "999 B", "12.3 kB", "4.5 MB" (of 1000). */
void figure_bytes(char text[FIGURE_ROOM], uint64_t bytes);
/* "12.34 %" */
void figure_share(char text[FIGURE_ROOM], uint64_t part, uint64_t whole);

/* Marks what is inferred, not seen: ends of calls without a patched exit. */
#define FIGURE_INFERRED "≈"
/* Marks calls that were open before they were traced. */
#define FIGURE_BEFORE "«"
/* The line that explains the mark, if there are such calls, to standard output. */
void figure_print_before(uint64_t calls);
/* Bytes of TEXT beyond one for each column, for field widths. */
int figure_extra_bytes(const char *text);

/* Text from foreign files with '?' for control characters. */
void text_print(FILE *out, const char *text);
/* The same, cut to at most WIDTH columns with "..." at its end; WIDTH 0: not cut. A column is a
 * UTF-8 sequence. */
void text_print_cut(FILE *out, const char *text, unsigned width);
