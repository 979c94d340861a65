/*
 * Makes small valid traces for the fuzzer to start from, and tries them out:
 *
 *     trace-corpus DIR [MUTATIONS]
 *
 * writes the traces into DIR and runs the fuzzer's entry over each, and over MUTATIONS of it. As a
 * real fuzzer:
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -std=gnu17 -D_GNU_SOURCE -Isrc \
 *         -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
 *         fuzz/trace_fuzz.c $(find src/trace src/base -name '*.c') -lzstd -lpthread -o trace-fuzz
 *     ./trace-fuzz -max_len=65536 DIR
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "random_calls.h"
#include "support.h"
#include "trace/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The next event of stream 0, at TICKS, was called by function N, and that by those told of before.
 */
static void write_chain(struct trace_writer *w, uint32_t n, uint64_t ticks) {
    struct trace_place place = {n % 3 ? "caller" : "", "module", 16 * n};
    struct trace_chain chain = {n % 4 ? CHAIN_FIRST + n - 1 : CHAIN_WHOLE, n};
    struct trace_event event = {ticks, (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL, CHAIN_FIRST + n};
    trace_writer_chains(w, &(struct trace_chains){n, 1, &place, CHAIN_FIRST + n, 1, &chain});
    trace_writer_events(w, 0, &event, 1);
}

static void write_tiny_blocks(const char *path, enum shape shape) {
    enum { EVENTS = 120, PIECE = 12 };
    AUTO_FREE struct trace_event *events = generate(shape, EVENTS, 5, 0);
    struct trace_writer *w = must_open_writer(path);
    trace_writer_thread(w, &(struct trace_thread){.stream = 0, .name = "t"});
    for (uint32_t i = 0; i < EVENTS; i += PIECE) {
        write_chain(w, i / PIECE, events[i].ticks);
        trace_writer_events(w, 0, events + i, PIECE);
        trace_writer_flush(w);
    }
    trace_writer_lost(w, 0, 0, 3);
    for (uint64_t i = 0; i < EVENTS; i += 4 * PIECE) {
        struct trace_frame frames[] = {{1, events[i].sp + 64}, {events[i].site >> 2, events[i].sp}};
        trace_writer_frames(w, &(struct trace_frames){0, events[i].ticks, 2, frames});
    }
    for (uint32_t kind = TRACE_PAUSED; kind <= TRACE_ENDED; kind++)
        trace_writer_change(
            w, &(struct trace_change){events[10 * kind].ticks, kind, kind % 3, kind, 2, "-F f"});
    must_finish(w);
}

/* A trace with checkpoints and pauses. */
static void write_checkpoints(const char *path) {
    enum { BLOCKS = 5, STEPS = 2000 };
    struct trace_writer *w = must_open_writer(path);
    struct random_calls threads[2] = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        struct trace_thread thread = {.stream = i,
                                      .pid = 1,
                                      .tid = i,
                                      .stack_low = RANDOM_STACK_LOW,
                                      .stack_high = RANDOM_STACK_HIGH,
                                      .name = "t"};
        threads[i] = (struct random_calls){.w = w,
                                           .stream = i,
                                           .random = i + 1,
                                           .ticks = 1000,
                                           .enters = 60000,
                                           .shallow = 4000,
                                           .chains = i,
                                           .pauses = true};
        trace_writer_thread(w, &thread);
    }
    for (int i = 0; i < 2 * BLOCKS; i++) {
        for (int n = 0; n < STEPS; n++)
            random_calls_step(&threads[i % 2]);
        if (i % 2)
            trace_writer_flush(w);
    }
    must_finish(w);
}

/* The payload of a block of TYPE, each time another one; 0 bytes: there is none. */
static size_t find_payload(const uint8_t *bytes, size_t size, enum disk_type type, uint32_t number,
                           size_t *ret) {
    static const uint32_t magic = DISK_BLOCK_MAGIC;
    struct {
        size_t at, size;
    } found[16];
    uint32_t count = 0;
    struct disk_block head;
    for (size_t at = 0; at + sizeof head <= size && count < 16; at++) {
        memcpy(&head, bytes + at, sizeof head);
        if (head.magic == magic && head.type == type && head.stored <= size - at - sizeof head) {
            found[count].at = at + sizeof head;
            found[count++].size = head.stored;
        }
    }
    *ret = count ? found[number % count].at : 0;
    return count ? found[number % count].size : 0;
}

/* Changes some bytes of one block of TYPE. */
static void mutate_block(const uint8_t *bytes, size_t size, enum disk_type type, uint64_t seed) {
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    uint64_t random = seed * 2 + 1;
    size_t at,
        length = find_payload(bytes, size, type, (uint32_t)(random_next(&random) >> 32), &at);
    if (!length)
        abort();
    memcpy(copy, bytes, size);
    for (uint32_t n = 1 + random_below(&random, 4); n; n--) {
        uint8_t *byte = &copy[at + random_below(&random, (uint32_t)length)];
        uint8_t any = (uint8_t)(random_next(&random) >> 32);
        *byte = random_below(&random, 2) ? any : (uint8_t)(*byte ^ 1u << any % 8);
    }
    LLVMFuzzerTestOneInput(copy, size);
}

static void try_checkpoints(const char *path, uint64_t mutations) {
    size_t size;
    write_checkpoints(path);
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    LLVMFuzzerTestOneInput(bytes, size);
    for (uint64_t i = 0; i < mutations; i++)
        mutate_block(bytes, size, i % 4 ? DISK_CHECKPOINT : DISK_PAUSES, i);
}

static void mutate(const uint8_t *bytes, size_t size, uint64_t seed) {
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    uint64_t random = seed * 2 + 1;
    memcpy(copy, bytes, size);
    for (uint32_t n = 1 + random_below(&random, 8); n; n--)
        copy[random_below(&random, (uint32_t)size)] = (uint8_t)(random_next(&random) >> 32);
    if (!random_below(&random, 4))
        size = random_below(&random, (uint32_t)size);
    LLVMFuzzerTestOneInput(copy, size);
}

static void try_out(const char *path, uint64_t mutations) {
    size_t size;
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    LLVMFuzzerTestOneInput(bytes, size);
    for (uint64_t i = 0; i < mutations; i++)
        mutate(bytes, size, i);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: trace-corpus DIR [MUTATIONS]\n");
        return 2;
    }
    uint64_t mutations = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (mkdir(argv[1], 0777) && errno != EEXIST) {
        perror(argv[1]);
        return 1;
    }
    for (int i = 0; i <= SHAPE_COUNT; i++) {
        const char *name = i < SHAPE_COUNT ? shape_name((enum shape)i) : "small";
        AUTO_FREE char *path = mem_printf("%s/%s.trace", argv[1], name);
        if (i < SHAPE_COUNT)
            write_tiny_blocks(path, (enum shape)i);
        else
            write_small_trace(path);
        try_out(path, mutations);
    }
    AUTO_FREE char *path = mem_printf("%s/checkpoints.trace", argv[1]);
    try_checkpoints(path, mutations / 2);
    return 0;
}
