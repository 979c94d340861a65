/*
 * Probes made with <sys/sdt.h> of systemtap, so that the compiler chooses the operands: registers
 * of each size, memory, constants. It prints what it passed, in lines of JSON, and "on" if its
 * counter (semaphore) is not 0: usdt.py compares.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <inttypes.h>
#include <stdio.h>
#include <sys/sdt.h>

#define KEPT __attribute__((section(".probes"), used))
#define NOINLINE __attribute__((noinline, noclone))

KEPT unsigned short header_narrow_semaphore, header_wide_semaphore, header_twelve_semaphore,
    header_places_semaphore, header_none_semaphore;

struct item {
    int8_t small;
    uint16_t medium;
    int64_t large;
    const char *name;
};
static int32_t table[4] = {7, -8, 9, -10};

NOINLINE static void narrow(int8_t a, uint8_t b, int16_t c, uint16_t d) {
    printf("[\"narrow\", %d, %d, %d, %d]\n", a, b, c, d);
    STAP_PROBE4(header, narrow, a, b, c, d);
}

NOINLINE static void wide(int32_t a, uint32_t b, int64_t c, uint64_t d) {
    printf("[\"wide\", %d, %u, %" PRId64 ", %" PRIu64 "]\n", a, b, c, d);
    STAP_PROBE4(header, wide, a, b, c, d);
}

NOINLINE static void places(const struct item *item, long i) {
    printf("[\"places\", %d, %u, %" PRId64 ", %d, %d, %d, \"%s\"]\n", item->small, item->medium,
           item->large, table[i], 42, -42, item->name);
    STAP_PROBE7(header, places, item->small, item->medium, item->large, table[i], 42, -42,
                item->name);
}

NOINLINE static void twelve(int n) {
    printf("[\"twelve\", %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d]\n", n, n + 1, n + 2, n + 3,
           n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11);
    STAP_PROBE12(header, twelve, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9,
                 n + 10, n + 11);
}

NOINLINE static void none(void) {
    puts("[\"none\"]");
    STAP_PROBE(header, none);
}

int main(void) {
    const struct item item = {-5, 65000, INT64_MIN, "item"};
    narrow(INT8_MIN, UINT8_MAX, INT16_MIN, UINT16_MAX);
    narrow(1, 2, 3, 4);
    wide(INT32_MIN, UINT32_MAX, INT64_MIN, UINT64_MAX);
    wide(5, 6, 7, 8);
    for (long i = 0; i < 4; i++)
        places(&item, i);
    twelve(-6);
    none();
    printf("[\"counters\", %u, %u, %u, %u, %u]\n", header_narrow_semaphore, header_wide_semaphore,
           header_places_semaphore, header_twelve_semaphore, header_none_semaphore);
    return 0;
}
