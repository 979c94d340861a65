/* Escapes characters, and checks UTF-8. */
#include "cmd/json.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { JSON_MOST = 6 }; /* most bytes that one character becomes */

/* Writes the character at *P into PIECE, moves *P behind it, and returns the length of PIECE. */
static size_t encode(const uint8_t **p, char piece[JSON_MOST + 1]) {
    size_t n = utf8_length(*p);
    if (n == 0)
        memcpy(piece, "\\ufffd", sizeof "\\ufffd");
    else if (**p == '"' || **p == '\\')
        sprintf(piece, "\\%c", **p);
    else if (**p < 0x20)
        sprintf(piece, "\\u%04x", **p);
    else
        *(char *)mempcpy(piece, *p, n) = '\0';
    *p += n ? n : 1;
    return strlen(piece);
}

/* The number of characters at P that need no escape. */
static size_t count_plain(const uint8_t *p) {
    size_t n = 0;
    while (p[n] >= 0x20 && p[n] < 0x7f && p[n] != '"' && p[n] != '\\')
        n++;
    return n;
}

void json_print_string(FILE *out, const char *text) {
    char piece[JSON_MOST + 1];
    putc_unlocked('"', out);
    for (const uint8_t *p = (const uint8_t *)text; *p;) {
        size_t plain = count_plain(p);
        fwrite(p, 1, plain, out);
        p += plain;
        if (!*p)
            break;
        size_t length = encode(&p, piece);
        fwrite(piece, 1, length, out);
    }
    putc_unlocked('"', out);
}

char *json_string(const char *text) {
    char *string = mem_resize(NULL, strlen(text) + 1, JSON_MOST), *end = string;
    *end++ = '"';
    for (const uint8_t *p = (const uint8_t *)text; *p;) {
        size_t plain = count_plain(p);
        end = mempcpy(end, p, plain);
        p += plain;
        if (*p)
            end += encode(&p, end);
    }
    memcpy(end, "\"", sizeof "\"");
    return string;
}
