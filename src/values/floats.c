/* Floats of all sizes as decimal numbers. */
#include <math.h>
#include <stdio.h>

#include "values/words.h"

/* A float by its parts: mantissa · 2^exponent, or one of the special values. */
struct parts {
    bool negative, is_nan, is_infinite;
    uint64_t high, low; /* of the mantissa: high · 2^64 + low */
    int exponent;
};

struct layout {
    int exponent_bits, mantissa_bits; /* without an explicit leading one */
};

static struct parts split(uint64_t sign_exponent, uint64_t high, uint64_t low, struct layout f) {
    int most = (1 << f.exponent_bits) - 1, e = (int)(sign_exponent & (uint64_t)most);
    struct parts p = {.negative = sign_exponent >> f.exponent_bits & 1, .high = high, .low = low};
    p.is_nan = e == most && (high || low);
    p.is_infinite = e == most && !p.is_nan;
    p.exponent = (e ? e : 1) - most / 2 - f.mantissa_bits;
    if (e && f.mantissa_bits < 64)
        p.low |= UINT64_C(1) << f.mantissa_bits;
    else if (e)
        p.high |= UINT64_C(1) << (f.mantissa_bits - 64);
    return p;
}

static struct parts parts_of(const uint8_t *bytes, unsigned size, enum float_form form) {
    uint64_t low = 0, high = 0;
    memcpy(&low, bytes, size < 8 ? size : 8);
    if (size > 8)
        memcpy(&high, bytes + 8, size - 8 < 8 ? size - 8 : 8);
    if (form == FLOAT_QUAD)
        return split(high >> 48, high & (UINT64_MAX >> 16), low, (struct layout){15, 112});
    if (form == FLOAT_X87) { /* the leading one is explicit, at bit 63 */
        struct parts p = split(high & 0xffff, 0, low & INT64_MAX, (struct layout){15, 63});
        p.low = p.is_nan || p.is_infinite ? p.low : low;
        return p;
    }
    struct layout f = size == 2   ? (struct layout){5, 10}
                      : size == 4 ? (struct layout){8, 23}
                                  : (struct layout){11, 52};
    return split(low >> f.mantissa_bits, 0, low & ((UINT64_C(1) << f.mantissa_bits) - 1), f);
}

static int digits_that_suffice(unsigned size, enum float_form form) {
    if (form == FLOAT_QUAD)
        return 36;
    return form == FLOAT_X87 ? 21 : size == 2 ? 5 : size == 4 ? 9 : 17;
}

struct same {
    unsigned size;
    enum float_form form;
};

/* Of a half float: what it is when rounded to 11 bits. */
static bool is_same(const char *text, long double wanted, const struct same *same) {
    unsigned size = same->size;
    if (same->form != FLOAT_IEEE)
        return strtold(text, NULL) == wanted;
    if (size == 8)
        return strtod(text, NULL) == (double)wanted;
    if (size == 4)
        return strtof(text, NULL) == (float)wanted;
    int exponent;
    frexpl(wanted, &exponent);
    int step = (exponent < -13 ? -13 : exponent) - 11; /* 2^step: between neighbours */
    return fabsl(strtold(text, NULL) - wanted) < ldexpl(0.5L, step);
}

enum { NUMBER_ROOM = 64, MOST_WHOLE_DIGITS = 16 };

/* Numbers below 10^16 have no exponent. */
static const char *shortest(char text[NUMBER_ROOM], long double value, int most,
                            const struct same *same) {
    int digits = 1;
    do
        snprintf(text, NUMBER_ROOM, "%.*Le", digits - 1, value);
    while (!is_same(text, value, same) && ++digits <= most);
    const char *exponent = strchr(text, 'e');
    int whole = exponent ? atoi(exponent + 1) + 1 : 0;
    if (whole > digits && whole <= MOST_WHOLE_DIGITS)
        digits = whole;
    snprintf(text, NUMBER_ROOM, "%.*Lg", digits, value);
    return text;
}

void words_float(struct words *w, const uint8_t *bytes, unsigned size, enum float_form form) {
    struct parts p = parts_of(bytes, size, form);
    if (p.negative && !p.is_nan)
        words_char(w, '-');
    if (p.is_nan || p.is_infinite) {
        words_add(w, p.is_nan ? "nan" : "inf");
        return;
    }
    if (p.negative && !p.high && !p.low) { /* "-0" is an integer of JSON, which has no sign */
        words_add(w, "0.0");
        return;
    }
    char text[NUMBER_ROOM];
    long double value = ldexpl(ldexpl((long double)p.high, 64) + (long double)p.low, p.exponent);
    words_add(w,
              shortest(text, value, digits_that_suffice(size, form), &(struct same){size, form}));
}
