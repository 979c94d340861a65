/* Reads decimal fractions with units, without rounding errors. */
#include "cmd/values.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/wide.h"

enum { MOST_FRACTION_DIGITS = 9 };

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},          {"B", 1},        {"K", 1 << 10},   {"KB", 1 << 10},
    {"KiB", 1 << 10}, {"M", 1 << 20},  {"MB", 1 << 20},  {"MiB", 1 << 20},
    {"G", 1 << 30},   {"GB", 1 << 30}, {"GiB", 1 << 30}, {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1},
    {"ns", 1},
    {"us", 1000},
    {"µs", 1000}, /* micro sign */
    {"μs", 1000}, /* Greek letter mu */
    {"ms", 1000 * 1000},
    {"s", 1000 * 1000 * 1000},
    {"sec", 1000 * 1000 * 1000},
    {"m", 60ull * 1000 * 1000 * 1000},
    {"min", 60ull * 1000 * 1000 * 1000},
    {"h", 3600ull * 1000 * 1000 * 1000},
    {NULL, 0},
};

static const struct unit seconds[] = {{"", 1000 * 1000 * 1000}, {NULL, 0}};

/* Reads at most LIMIT digits into *RET. Returns where they end. */
static const char *read_digits(const char *s, unsigned limit, uint64_t *ret, unsigned *ret_count) {
    uint64_t value = 0;
    unsigned count = 0;
    for (; isdigit((unsigned char)*s) && count < limit; s++, count++)
        value = value * 10 + (uint64_t)(*s - '0');
    *ret = value;
    *ret_count = count;
    return s;
}

/* Reads a decimal fraction with a unit as a whole number of the smallest unit, rounded down. */
static bool read_quantity(const char *text, const struct unit *units, uint64_t *ret) {
    uint64_t whole, fraction = 0, scale = 1;
    unsigned digits;
    const char *s = read_digits(text, 19, &whole, &digits);
    if (digits == 0)
        return false;
    if (*s == '.') {
        s = read_digits(s + 1, MOST_FRACTION_DIGITS, &fraction, &digits);
        while (digits--)
            scale *= 10;
    }
    const char *unit = units == size_units ? s : s + strspn(s, " ");
    while (units->name && strcasecmp(units->name, unit) != 0)
        units++;
    if (!units->name || (unit != s && !*unit))
        return false;
    struct wide value = wide_product(whole, units->factor);
    uint64_t part = wide_quotient(wide_product(fraction, units->factor), scale, NULL).low;
    if (value.high || value.low > INT64_MAX || value.low + part > INT64_MAX)
        return false;
    *ret = value.low + part;
    return true;
}

bool value_size(const char *text, uint64_t *ret_bytes) {
    return read_quantity(text, size_units, ret_bytes);
}

bool value_time(const char *text, uint64_t *ret_ns) {
    return read_quantity(text, time_units, ret_ns);
}

bool value_percent(const char *text, uint64_t *ret_millionths) {
    enum { MILLION = 1000000, PLACES = 6 };
    uint64_t whole, part = 0;
    unsigned digits = 0;
    const char *end = read_digits(text, 10, &whole, &digits);
    if (!digits || whole > 100)
        return false;
    digits = 0;
    if (*end == '.')
        end = read_digits(end + 1, 10, &part, &digits);
    for (; digits < PLACES && part; digits++)
        part *= 10;
    whole = whole * MILLION + part;
    if (end[0] != '%' || end[1] || digits > PLACES || whole > 100 * MILLION)
        return false;
    *ret_millionths = whole;
    return true;
}

bool value_is_plain(const char *text) { return !text[strspn(text, "0123456789.")]; }

bool value_wait(const char *text, uint64_t *ret_ns) {
    uint64_t ns;
    if (!read_quantity(text, value_is_plain(text) ? seconds : time_units, &ns) || ns == 0)
        return false;
    *ret_ns = ns;
    return true;
}

bool value_number(const char *text, uint32_t *ret) {
    uint64_t value;
    unsigned digits;
    const char *end = read_digits(text, 10, &value, &digits);
    if (*end || value < 1 || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

bool value_address(const char *text, uint64_t *ret) {
    enum { DIGITS = 16 };
    const char *s = text[0] == '0' && (text[1] | 0x20) == 'x' ? text + 2 : text;
    uint64_t value = 0;
    size_t count = strspn(s, "0123456789abcdefABCDEF");
    if (count == 0 || count > DIGITS || s[count])
        return false;
    for (; *s; s++)
        value =
            value << 4 | (uint64_t)(isdigit((unsigned char)*s) ? *s - '0' : (*s | 0x20) - 'a' + 10);
    *ret = value;
    return true;
}

int value_choice(const char *text, size_t length, const char *choices) {
    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");
        if (n == length && memcmp(choices, text, n) == 0)
            return i;
        if (!choices[n])
            return -1;
        choices += n + 1;
    }
}
