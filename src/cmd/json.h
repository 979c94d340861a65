/* JSON output (RFC 8259). */
#pragma once

#include <stdio.h>

/* TEXT as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_print_string(FILE *out, const char *text);
/* The same in memory; to be freed. */
char *json_string(const char *text);
