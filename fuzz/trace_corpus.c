/*
 * Makes small valid traces for the fuzzer to start from, and tries them out:
 *
 *     trace-corpus DIR [MUTATIONS]
 *
 * writes the traces into DIR and runs the fuzzer's entry over each, and over MUTATIONS of it.
 * Blocks of types, captures and values are also cut, and their bits flipped. As a real fuzzer:
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -std=gnu17 -D_GNU_SOURCE -Isrc \
 *         -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
 *         fuzz/trace_fuzz.c $(find src/trace src/base src/values -name '*.c') \
 *         src/types/graph.c src/types/copy.c src/types/spell.c -lzstd -lpthread -o trace-fuzz
 *     ./trace-fuzz -max_len=65536 DIR
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "random_calls.h"
#include "support.h"
#include "trace/captures.h"
#include "trace/layout.h"
#include "trace/value_log.h"

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

/* ---- a trace with values ---- */

static struct type_member member(const char *name, type_id type, uint64_t bit_offset) {
    return (struct type_member){.name = name, .type = type, .bit_offset = bit_offset};
}

/* struct item { int id; double price; char *name; enum kind kind; unsigned small : 3; int few[2];
 * struct item *next; }. */
static type_id add_item(struct types *t) {
    static const struct type_value kinds[] = {{"PEN", 0}, {"BOOK", -1}};
    const type_id number = types_add(
        t, &(struct type){.kind = TYPE_INTEGER, .flags = TYPE_SIGNED, .name = "int", .bytes = 4});
    const type_id real =
        types_add(t, &(struct type){.kind = TYPE_FLOAT, .name = "double", .bytes = 8});
    const type_id letter = types_add(t, &(struct type){.kind = TYPE_INTEGER,
                                                       .flags = TYPE_CHARACTER | TYPE_SIGNED,
                                                       .name = "char",
                                                       .bytes = 1});
    const type_id text =
        types_add(t, &(struct type){.kind = TYPE_POINTER, .name = "", .bytes = 8, .of = letter});
    const type_id kind = types_add(t, &(struct type){.kind = TYPE_ENUM,
                                                     .flags = TYPE_SIGNED,
                                                     .name = "kind",
                                                     .bytes = 4,
                                                     .of = number,
                                                     .count = 2,
                                                     .values = kinds});
    const type_id few = types_add(
        t, &(struct type){.kind = TYPE_ARRAY, .name = "", .bytes = 8, .of = number, .elements = 2});
    const type_id item = types_reserve(t, NULL, 0);
    const type_id next =
        types_add(t, &(struct type){.kind = TYPE_POINTER, .name = "", .bytes = 8, .of = item});
    const struct type_member list[] = {
        member("id", number, 0),
        member("price", real, 64),
        member("name", text, 128),
        member("kind", kind, 192),
        {.name = "small", .type = number, .bit_offset = 224, .bit_size = 3},
        member("few", few, 256),
        member("next", next, 320)};
    types_set(t, item,
              &(struct type){.kind = TYPE_STRUCT,
                             .flags = TYPE_TAG,
                             .name = "item",
                             .bytes = 48,
                             .count = 7,
                             .members = list});
    return item;
}

enum { VALUE_CALLS = 12, VALUE_ID = 3 };

/* A struct with a text, a text with a length, a bit field, a constant, and what is missing. */
static uint32_t add_capture(struct captures *all, struct types *t) {
    const type_id item = add_item(t);
    const struct type *s = types_get(t, item);
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .bytes = 48, .name = "item", .type = item, .length_of = -1},
        {.from = FROM_REGISTER,
         .string = true,
         .unit = 1,
         .most = 16,
         .at = 16,
         .type = s->members[2].type,
         .length_of = -1},
        {.from = FROM_REGISTER, .bytes = 2, .name = "length", .length_of = -1},
        {.from = FROM_REGISTER,
         .string = true,
         .unit = 2,
         .most = 8,
         .name = "wide",
         .length_of = 2},
        {.from = FROM_REGISTER,
         .bytes = 4,
         .name = "bits",
         .type = s->members[0].type,
         .shift = 3,
         .width = 5,
         .format = 'x',
         .length_of = -1},
        {.from = FROM_NOTHING, .missing = VALUE_OPTIMIZED_OUT, .name = "gone", .length_of = -1},
        {.from = FROM_CONSTANT, .constant = 42, .bytes = 4, .name = "constant", .length_of = -1}};
    const struct capture c = {
        .kind = EVENT_ENTRY, .values = values, .count = sizeof values / sizeof *values};
    captures_set_types(all, t);
    return captures_add(all, VALUE_ID, &c, NULL);
}

static void write_values(const char *path) {
    struct types *types = types_new();
    struct captures *all = captures_new();
    struct trace_writer *w = must_open_writer(path);
    const uint32_t number = add_capture(all, types);
    const struct numbered_capture *capture = captures_get(all, number);
    AUTO_FREE uint64_t *words = mem_alloc(capture->words * sizeof *words);
    uint64_t random = 7;
    trace_writer_thread(w, &(struct trace_thread){.stream = 0, .name = "t"});
    for (uint64_t i = 0; i < VALUE_CALLS; i++) {
        const uint64_t ticks = 1000 + 10 * i, there = i % 5 ? UINT64_MAX : random_next(&random);
        const struct trace_event events[] = {{ticks, VALUE_ID << 2 | EVENT_ENTRY, 4096},
                                             {ticks + 5, VALUE_ID << 2 | EVENT_RETURN, 4096}};
        for (uint32_t k = 0; k < capture->words; k++)
            words[k] = i % 3 ? 'a' + i + k : random_next(&random);
        struct value_batch batch = {0};
        value_batch_put(&batch, &(struct event_values){ticks, number, capture, words, &there});
        trace_writer_values(w, 0, &batch);
        value_batch_done(&batch);
        trace_writer_events(w, 0, events, 2);
        if (i % 6 == 5)
            trace_writer_flush(w);
    }
    must_finish(w);
    captures_free(all);
    types_free(types);
}

/* ---- damage ---- */

/* The trace with its payloads decompressed: damage then reaches what they say. Without index and
 * trailer, so the reader walks from block to block. */
static uint8_t *load_plain(const char *path, size_t *ret_size) {
    enum { ROOM = 1 << 20 };
    size_t size, at = sizeof(struct disk_header);
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    uint8_t *plain = mem_alloc(ROOM), *next = plain + at;
    memcpy(plain, bytes, at);
    struct disk_block head;
    for (; at + sizeof head <= size; at += sizeof head + head.stored) {
        memcpy(&head, bytes + at, sizeof head);
        if (head.magic != DISK_BLOCK_MAGIC || head.type == DISK_INDEX)
            break;
        uint8_t *payload = next + sizeof head;
        if (head.coding == DISK_PLAIN)
            memcpy(payload, bytes + at + sizeof head, head.stored);
        else if (ZSTD_decompress(payload, head.raw, bytes + at + sizeof head, head.stored) !=
                 head.raw)
            abort();
        struct disk_block now = head;
        now.coding = DISK_PLAIN;
        now.stored = head.raw;
        memcpy(next, &now, sizeof now);
        next = payload + now.stored;
    }
    *ret_size = (size_t)(next - plain);
    return plain;
}

/* The payload of the block at AT without all but LENGTH bytes. */
static void try_cut(const uint8_t *bytes, size_t size, size_t at, uint32_t length) {
    struct disk_block head;
    memcpy(&head, bytes + at, sizeof head);
    const size_t begin = at + sizeof head, rest = begin + head.stored;
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    memcpy(copy, bytes, begin + length);
    memcpy(copy + begin + length, bytes + rest, size - rest);
    head.stored = head.raw = length;
    memcpy(copy + at, &head, sizeof head);
    LLVMFuzzerTestOneInput(copy, size - (rest - begin - length));
}

/* The upper bit of each byte, and another one. */
static void try_flips(uint8_t *bytes, size_t size, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at++)
        for (int upper = 0; upper < 2; upper++) {
            const uint8_t bit = upper ? 128 : (uint8_t)(1u << at % 7);
            bytes[at] ^= bit;
            LLVMFuzzerTestOneInput(bytes, size);
            bytes[at] ^= bit;
        }
}

static void damage_values(const char *path) {
    enum { FEW = 64, STEP = 64 }; /* cuts: at each of the first bytes, then now and then */
    size_t size, blocks = 0;
    AUTO_FREE uint8_t *bytes = load_plain(path, &size);
    struct disk_block head;
    for (size_t at = sizeof(struct disk_header); at < size; at += sizeof head + head.stored) {
        memcpy(&head, bytes + at, sizeof head);
        if (head.type != DISK_TYPES && head.type != DISK_CAPTURES && head.type != DISK_VALUES)
            continue;
        for (uint32_t length = 0; length < head.stored; length += length < FEW ? 1 : STEP)
            try_cut(bytes, size, at, length);
        try_flips(bytes, size, at + sizeof head, at + sizeof head + head.stored);
        blocks++;
    }
    if (blocks < 4)
        abort(); /* this is not the trace that was meant */
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
    for (int i = 0; i <= SHAPE_COUNT + 1; i++) {
        const char *name = i < SHAPE_COUNT    ? shape_name((enum shape)i)
                           : i == SHAPE_COUNT ? "small"
                                              : "values";
        AUTO_FREE char *path = mem_printf("%s/%s.trace", argv[1], name);
        if (i < SHAPE_COUNT)
            write_tiny_blocks(path, (enum shape)i);
        else if (i == SHAPE_COUNT)
            write_small_trace(path);
        else
            write_values(path);
        try_out(path, mutations);
        if (i > SHAPE_COUNT && mutations)
            damage_values(path);
    }
    AUTO_FREE char *path = mem_printf("%s/checkpoints.trace", argv[1]);
    try_checkpoints(path, mutations / 2);
    return 0;
}
