/* Writes JSON strings (RFC 8259). */
#pragma once

#include <stdio.h>

/* Prints TEXT as a JSON string in quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_print_string(FILE *out, const char *text);
/* The same as text; to be freed. */
char *json_string(const char *text);
