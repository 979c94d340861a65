/* See utf8.h. */
#include "base/utf8.h"

#include "base/mem.h"

size_t utf8_length(const uint8_t *p) {
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

char *utf8_repair(const char *text) {
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    enum { MOST = sizeof replacement - 1 };
    char *copy = mem_resize(NULL, strlen(text) + 1, MOST), *end = copy;
    for (const uint8_t *p = (const uint8_t *)text; *p;) {
        size_t length = utf8_length(p);
        end = mempcpy(end, length ? (const char *)p : replacement, length ? length : MOST);
        p += length ? length : 1;
    }
    *end = '\0';
    return copy;
}
