/* Fills memory and registers, runs code under test, and compares the results. */
#include "code_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int ground_failures;

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

void ground_open(void) {
    const int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    void *map = mmap(pointer(GROUND), GROUND_BYTES, rights,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (map != pointer(GROUND)) {
        printf("no memory at %#x: %s\n", GROUND, strerror(errno));
        exit(1);
    }
}

void ground_write_bytes(uint32_t at, const void *bytes, size_t size) {
    memcpy(pointer(at), bytes, size);
    __builtin___clear_cache(pointer(at), pointer(at + (uint32_t)size));
}

void ground_write(uint32_t at, uint32_t word) { ground_write_bytes(at, &word, sizeof word); }

void ground_write_jump(uint32_t at, uint32_t to) {
    int32_t distance = ((int32_t)(to - at) - 8) / 4;
    if (distance < -0x800000 || distance >= 0x800000)
        abort();
    ground_write(at, 0xea000000 | ((uint32_t)distance & 0xffffff));
}

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void fill_part(uint32_t middle, uint64_t *seed) {
    for (uint32_t at = middle - GROUND_PART; at < middle + GROUND_PART; at += 8) {
        uint64_t value = next(seed);
        memcpy(pointer(at), &value, sizeof value);
    }
}

void ground_fill(struct state *state, uint64_t seed) {
    memset(state, 0, sizeof *state);
    for (int i = 0; i < 15; i++)
        state->r[i] = (uint32_t)next(&seed);
    for (int i = 0; i < 32; i++)
        state->d[i] = next(&seed);
    state->apsr = (uint32_t)next(&seed) & STATE_APSR_BITS;
    state->fpscr = (uint32_t)next(&seed) & STATE_FPSCR_BITS;
    state->r[13] = GROUND_STACK;
    fill_part(GROUND_STACK, &seed);
    fill_part(GROUND_DATA, &seed);
}

void ground_run(uint32_t start, const struct state *in, struct state *out) {
    memset(out, 0, sizeof *out);
    uint32_t *below = pointer(in->r[13] - 4);
    *below = start;
    state_run(in, out);
    if (*below == start) /* the start differs between the two places of the code */
        *below = 0;
    out->apsr &= STATE_APSR_BITS;
}

void ground_fail(const char *what, uint32_t word, const char *detail) {
    printf("%s (%08x): %s\n", what, (unsigned)word, detail);
    ground_failures++;
}

void ground_compare(const char *what, uint32_t word, const struct state *expected,
                    const struct state *found) {
    char text[128];
    const uint32_t *e = (const uint32_t *)expected, *f = (const uint32_t *)found;
    for (size_t i = 0; i < sizeof *expected / sizeof *e; i++) {
        if (e[i] == f[i])
            continue;
        (void)snprintf(text, sizeof text, "word %zu of its state is %x, not %x", i, (unsigned)f[i],
                       (unsigned)e[i]);
        ground_fail(what, word, text);
        return;
    }
}

uint32_t ground_arrival(unsigned number) {
    static void (*const arrivals[ARRIVALS])(void) = {arrive_0, arrive_1, arrive_2, arrive_3,
                                                     arrive_4};
    return (uint32_t)(uintptr_t)arrivals[number];
}
