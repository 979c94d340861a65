/* Escapes characters, and checks UTF-8. */
#include "cmd/json.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

enum { JSON_MOST = 6 }; /* most bytes that one character becomes */

/* The length of the UTF-8 sequence_length at P (RFC 3629); 0: it is malformed. */
static size_t sequence_length(const uint8_t *p) {
    static const struct {
        uint8_t low, high, length, second_low, second_high;
    } forms[] = {
        {0x00, 0x7f, 1, 0x80, 0xbf}, {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
        {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f}};
    size_t i = 0;
    while (i < sizeof forms / sizeof *forms && (*p < forms[i].low || *p > forms[i].high))
        i++;
    if (i == sizeof forms / sizeof *forms)
        return 0;
    for (size_t k = 1; k < forms[i].length; k++) {
        uint8_t low = k == 1 ? forms[i].second_low : 0x80;
        uint8_t high = k == 1 ? forms[i].second_high : 0xbf;
        if (p[k] < low || p[k] > high)
            return 0;
    }
    return forms[i].length;
}

/* Writes the character at *P into PIECE, moves *P behind it, and returns the length of PIECE. */
static size_t encode(const uint8_t **p, char piece[JSON_MOST + 1]) {
    size_t n = sequence_length(*p);
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

char *json_utf8(const char *text) {
    static const char replacement[] = "\xef\xbf\xbd";
    char *valid = mem_resize(NULL, strlen(text) + 1, sizeof replacement - 1), *end = valid;
    for (const uint8_t *p = (const uint8_t *)text; *p;) {
        size_t n = sequence_length(p);
        end = n ? mempcpy(end, p, n) : mempcpy(end, replacement, sizeof replacement - 1);
        p += n ? n : 1;
    }
    *end = '\0';
    return valid;
}
