/* Functions with variable arguments: integers, doubles, long doubles, passed on as va_list. */
#include <stdarg.h>
#include <stdio.h>

#include "expect.h"

static NOINLINE long sum(int count, ...) {
    ENTER;
    va_list list;
    va_start(list, count);
    long total = 0;
    for (int i = 0; i < count; i++)
        total += va_arg(list, long);
    va_end(list);
    LEAVE;
    return total;
}

static NOINLINE double mixed(const char *types, ...) {
    va_list list;
    va_start(list, types);
    double total = 0;
    for (; *types; types++) {
        switch (*types) {
        case 'd':
            total = total * 3 + va_arg(list, double);
            break;
        case 'i':
            total = total * 3 + va_arg(list, int);
            break;
        case 'L':
            total = total * 3 + (double)va_arg(list, long double);
            break;
        default:
            total = total * 3 + va_arg(list, const char *)[0];
            break;
        }
    }
    va_end(list);
    return total;
}

static NOINLINE int print_list(const char *format, va_list list) {
    ENTER;
    int length = vprintf(format, list);
    LEAVE;
    return length;
}

static NOINLINE int print(const char *format, ...) {
    ENTER;
    va_list list;
    va_start(list, format);
    int length = print_list(format, list);
    va_end(list);
    LEAVE;
    return length;
}

int main(void) {
    ENTER;
    printf("%ld %ld\n", sum(3, 1L, 2L, 3L), sum(10, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L));
    printf("%a\n", LEAF(mixed, "idsdL", 1, 0.1, "x", 7.75, 1.5L));
    printf("%a\n", LEAF(mixed, "dddddddddd", .1, .2, .3, .4, .5, .6, .7, .8, .9, 1.));
    printf("%a\n", LEAF(mixed, "iii", 1, 2, 3));
    int length = print("%s %d %.3f %Lg %c\n", "five", 5, 5.5, 5.25L, '5');
    printf("%d\n", length);
    LEAVE;
    expect_print();
    return 0;
}
