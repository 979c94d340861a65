/* UTF-8 (RFC 3629) in text that comes from foreign files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length of the sequence at P; 0: it is malformed. P ends with a zero byte. */
size_t utf8_length(const uint8_t *p);
/* A copy of TEXT in which U+FFFD stands for each byte that is not UTF-8; to be freed. */
char *utf8_repair(const char *text);
