/* Strings and numbers as text. */
#include "values/words.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

void words_add_bytes(struct words *w, const char *text, size_t length) {
    ARRAY_RESERVE(w, w->count + length);
    memcpy(w->at + w->count, text, length);
    w->count += length;
}

void words_add(struct words *w, const char *text) { words_add_bytes(w, text, strlen(text)); }

void words_printf(struct words *w, const char *fmt, ...) {
    char text[128];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length > 0)
        words_add_bytes(w, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

const char *words_text(struct words *w) {
    ARRAY_GROW(w);
    w->at[w->count] = '\0';
    return w->at;
}

/* ---- characters ---- */

enum { NO_CHARACTER = 0x110000 };

static uint32_t unit_at(const uint8_t *p, unsigned unit) {
    uint32_t value = 0;
    memcpy(&value, p, unit);
    return value;
}

static uint32_t utf8_character(const uint8_t *p, size_t length) {
    static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = p[0] & first[length];
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

/* The character at P, of LENGTH bytes that are left, or NO_CHARACTER; and how many bytes it has. */
static uint32_t decode(const uint8_t *p, size_t length, unsigned unit, size_t *ret_bytes) {
    *ret_bytes = unit;
    if (unit == 1) {
        uint8_t rest[5] = {0}; /* utf8_length() reads up to a zero byte */
        memcpy(rest, p, length < 4 ? length : 4);
        size_t n = *p ? utf8_length(rest) : 1;
        *ret_bytes = n ? n : 1;
        return n ? utf8_character(p, n) : NO_CHARACTER;
    }
    uint32_t c = unit_at(p, unit);
    if (c < 0xd800 || (c > 0xdfff && c < NO_CHARACTER))
        return c;
    uint32_t low = unit == 2 && length >= 4 ? unit_at(p + 2, 2) : 0;
    if (unit != 2 || c > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return NO_CHARACTER;
    *ret_bytes = 4;
    return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

static void add_utf8(struct words *w, uint32_t c) {
    if (c < 0x80) {
        words_char(w, (char)c);
        return;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    words_char(w, (char)(first[more] | c >> (6 * more)));
    while (more--)
        words_char(w, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

/* Characters that a terminal obeys, or that hide or turn their neighbours. */
static bool is_shown(uint32_t c) {
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0, 0x1f},          {0x7f, 0xa0},     {0xad, 0xad},     {0x61c, 0x61c},
                  {0x180e, 0x180e},   {0x200b, 0x200f}, {0x2028, 0x202f}, {0x2060, 0x206f},
                  {0xe000, 0xf8ff},   {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff},
                  {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

static bool add_letter(struct words *w, uint32_t c) {
    static const char letters[] = "\aa\bb\tt\nn\vv\ff\rr\\\\";
    for (const char *p = letters; *p; p += 2) {
        if ((uint32_t)*p == c) {
            words_char(w, '\\');
            words_char(w, p[1]);
            return true;
        }
    }
    return false;
}

static void add_character(struct words *w, uint32_t c, char quote) {
    if (add_letter(w, c))
        return;
    if (c == (uint32_t)quote)
        words_char(w, '\\');
    if (is_shown(c))
        add_utf8(w, c);
    else if (c < 0x80)
        words_printf(w, "\\%03o", c);
    else
        words_printf(w, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

void words_quote(struct words *w, const uint8_t *text, size_t length, unsigned unit) {
    words_char(w, '"');
    for (size_t i = 0, bytes; i + unit <= length; i += bytes) {
        uint32_t c = decode(text + i, length - i, unit, &bytes);
        if (c != NO_CHARACTER)
            add_character(w, c, '"');
        else if (unit == 1)
            words_printf(w, "\\%03o", text[i]);
        else
            words_printf(w, "\\x{%x}", unit_at(text + i, unit));
    }
    words_char(w, '"');
}

size_t words_whole(const uint8_t *text, size_t length) {
    size_t begin = length, bytes;
    while (begin && length - begin < 3 && (text[begin - 1] & 0xc0) == 0x80)
        begin--;
    if (!begin || text[begin - 1] < 0xc0)
        return length;
    uint8_t whole[5] = {0};
    memcpy(whole, text + begin - 1, length - begin + 1);
    for (bytes = length - begin + 1; bytes < 4; bytes++) {
        whole[bytes] = 0x80;
        if (utf8_length(whole) == bytes + 1)
            return begin - 1;
    }
    return length;
}

void words_quote_char(struct words *w, uint32_t c) {
    words_char(w, '\'');
    if (c < NO_CHARACTER && (c < 0xd800 || c > 0xdfff))
        add_character(w, c, '\'');
    else
        words_printf(w, "\\x{%x}", c);
    words_char(w, '\'');
}

/* ---- JSON ---- */

static bool is_well_formed(const uint8_t *text, size_t length, unsigned unit) {
    for (size_t i = 0, bytes; i + unit <= length; i += bytes)
        if (decode(text + i, length - i, unit, &bytes) == NO_CHARACTER)
            return false;
    return true;
}

static void add_json_character(struct words *w, uint32_t c) {
    if (c == '"' || c == '\\')
        words_char(w, '\\');
    if (c < 0x20 || c == 0x7f)
        words_printf(w, "\\u%04x", c);
    else
        add_utf8(w, c);
}

void words_json(struct words *w, const uint8_t *text, size_t length, unsigned unit) {
    if (!is_well_formed(text, length, unit)) {
        words_add(w, "{\"hex\":\"");
        for (size_t i = 0; i < length; i++)
            words_printf(w, "%02x", text[i]);
        words_add(w, "\"}");
        return;
    }
    words_char(w, '"');
    for (size_t i = 0, bytes; i + unit <= length; i += bytes)
        add_json_character(w, decode(text + i, length - i, unit, &bytes));
    words_char(w, '"');
}

void words_json_text(struct words *w, const char *text) {
    words_json(w, (const uint8_t *)text, strlen(text), 1);
}

/* ---- integers ---- */

void words_integer(struct words *w, uint64_t low, uint64_t high, bool is_signed) {
    char digits[40];
    size_t at = sizeof digits;
    if (is_signed && high >> 63) {
        words_char(w, '-');
        low = -low;
        high = ~high + (low == 0);
    }
    do { /* long division by 10, 32 bits at a time */
        uint64_t parts[4] = {high >> 32, (uint32_t)high, low >> 32, (uint32_t)low}, rest = 0;
        for (unsigned i = 0; i < 4; i++) {
            uint64_t n = rest << 32 | parts[i];
            parts[i] = n / 10;
            rest = n % 10;
        }
        high = parts[0] << 32 | parts[1];
        low = parts[2] << 32 | parts[3];
        digits[--at] = (char)('0' + rest);
    } while (low || high);
    words_add_bytes(w, digits + at, sizeof digits - at);
}
