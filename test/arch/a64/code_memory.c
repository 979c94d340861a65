/* Fills memory and registers, runs code under test, and compares the results. */
#include "code_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ground_failures;

static void *pointer(uint64_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

static void flush(uint64_t at, size_t size) {
    __builtin___clear_cache(pointer(at), pointer(at + size));
}

void ground_open(void) {
    const int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), leave = (uint64_t)(uintptr_t)state_leave;
    void *map = mmap(pointer(GROUND), GROUND_BYTES, rights,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (map != pointer(GROUND) || mprotect(pointer(leave & -page), page, rights) < 0) {
        printf("no memory at %#x: %s\n", GROUND, strerror(errno));
        exit(1);
    }
}

void ground_write_bytes(uint64_t at, const void *bytes, size_t size) {
    memcpy(pointer(at), bytes, size);
    flush(at, size);
}

void ground_write(uint64_t at, uint32_t word) { ground_write_bytes(at, &word, sizeof word); }

void ground_write_jump(uint64_t at, uint64_t to) {
    int64_t distance = (int64_t)(to - at) / 4;
    if (distance < -0x2000000 || distance >= 0x2000000)
        abort();
    ground_write(at, 0x14000000 | ((uint32_t)distance & 0x3ffffff));
}

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void fill_part(uint64_t middle, uint64_t *seed) {
    for (uint64_t at = middle - GROUND_PART; at < middle + GROUND_PART; at += 8) {
        uint64_t value = next(seed);
        memcpy(pointer(at), &value, sizeof value);
    }
}

void ground_fill(struct state *state, uint64_t seed) {
    memset(state, 0, sizeof *state);
    for (int i = 0; i < 31; i++)
        state->x[i] = next(&seed);
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 2; k++)
            state->q[i][k] = next(&seed);
    state->nzcv = (next(&seed) & 15) << 28;
    state->sp = GROUND_STACK;
    fill_part(GROUND_STACK, &seed);
    fill_part(GROUND_DATA, &seed);
}

void ground_lead(uint64_t start) { ground_write_jump((uint64_t)(uintptr_t)state_leave, start); }

void ground_run(const struct state *in, struct state *out) {
    memset(out, 0, sizeof *out);
    state_run(in, out);
}

void ground_fail(const char *what, uint32_t word, const char *detail) {
    printf("%s (%08x): %s\n", what, word, detail);
    ground_failures++;
}

void ground_compare(const char *what, uint32_t word, const struct state *expected,
                    const struct state *found) {
    char text[128];
    const uint64_t *e = (const uint64_t *)expected, *f = (const uint64_t *)found;
    for (size_t i = 0; i < sizeof *expected / sizeof *e; i++) {
        if (e[i] == f[i])
            continue;
        (void)snprintf(text, sizeof text, "word %zu of its state is %llx, not %llx", i,
                       (unsigned long long)f[i], (unsigned long long)e[i]);
        ground_fail(what, word, text);
        return;
    }
}

uint64_t ground_arrival(unsigned number) {
    static void (*const arrivals[ARRIVALS])(void) = {arrive_0, arrive_1, arrive_2,
                                                     arrive_3, arrive_4, arrive_5};
    return (uint64_t)(uintptr_t)arrivals[number];
}
