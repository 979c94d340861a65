/*
 * The program of the page's test of values: what its functions are given and return is hostile to
 * a page: markup, quotes, bytes that are no UTF-8, numbers that a double does not hold.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone, used))

KEEP static unsigned long long largest(unsigned long long number, long long least) {
    return number - (least > 0);
}

KEEP static double odd_numbers(double number, float other) {
    return number > other ? 1.5 : -INFINITY;
}

KEEP static const char *odd_text(const char *text) { return text; }

KEEP static const char *order(int i) {
    static _Thread_local char name[32];
    snprintf(name, sizeof name, "order-%d", i);
    return name;
}

/* As if the compiler had taken its result away, which the page shows in angle brackets. */
static int gone(int n) __asm__("gone.isra.0");
KEEP static int gone(int n) { __asm__ volatile(""); }

static void *worker(void *unused) {
    for (int i = 0; i < 3000; i++)
        order(i);
    return unused;
}

int main(void) {
    pthread_t thread;
    largest(18446744073709551615ull, -9223372036854775807 - 1);
    odd_numbers(NAN, -INFINITY);
    odd_text("<img src=x onerror=window.harm=1>\"'</script><!-- `${1}`");
    odd_text("bad \xff\xfe\xc3 bytes \xe2\x80\xae right\x1b[31m");
    gone(5);
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    for (int i = 3000; i < 3100; i++)
        order(i);
    return 0;
}
