/* Values that are hard to pass on: beyond 2^53, not finite, not UTF-8, like HTML. values_views.py
 * knows them. */
#include <math.h>
#include <stdint.h>
#include <wchar.h>

enum kind { PEN, BOOK };
struct order {
    int id;
    enum kind kind;
};
#define KEPT __attribute__((noinline, noclone, used))

KEPT uint64_t widest(uint64_t n) {
    __asm__ volatile("");
    return n;
}
KEPT int64_t lowest(int64_t n) {
    __asm__ volatile("");
    return n;
}
KEPT double real(double x) {
    __asm__ volatile("");
    return x;
}
KEPT int text(const char *s) {
    __asm__ volatile("");
    return *s;
}
KEPT int wide(const wchar_t *s) {
    __asm__ volatile("");
    return *s == 0;
}
KEPT int work(struct order o) {
    __asm__ volatile("");
    return o.id;
}

/* As if the compiler had taken its result away: nobody asks for it. */
static int gone(int n) __asm__("gone.isra.0");
static KEPT int gone(int n) { __asm__ volatile("" : : "r"(n)); }

KEPT void nothing(void) { __asm__ volatile(""); }

int main(void) {
    widest(UINT64_MAX);
    lowest(INT64_MIN);
    real(NAN);
    real(INFINITY);
    real(-INFINITY);
    real(-0.1);
    real(-0.0);
    text("\xff\xfe\"");
    text("<b>'\"&,\n</b>");
    text("");
    text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");  /* --strings */
    text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef+"); /* one more */
    wide(L"w\u00efde \u20ac \U0001f600");
    wide(L"");
    for (int i = 0; i < 9; i++) {
        work((struct order){i % 3 ? 7 : 2000, i % 3 ? PEN : BOOK});
        nothing();
    }
    nothing();
    gone(5);
    return 0;
}
