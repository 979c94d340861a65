/*
 * Fuzzes the walks of backtrace/: text, tables and stack are the input's bytes. No read may be
 * outside of the bounds, each walk comes to an end, and the stack gets shorter with each frame.
 *
 *   clang -g -O1 -I. -fsanitize=fuzzer,address,undefined fuzz/backtrace_fuzz.c \
 *       backtrace/spoor_backtrace.c -o backtrace-fuzz && ./backtrace-fuzz -max_len=4096 CORPUS
 *
 * test/unit/backtrace runs it on random input: an ordinary test.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backtrace/spoor_backtrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { TEXT = 0x1000, TABLE = 0x8000, STACK = 0x20000000, HEAD = 80 };

struct memory {
    const uint8_t *text, *table, *stack;
    size_t text_size, table_size, stack_size;
};

static int copy(const uint8_t *from, size_t size, uint64_t at, struct spoor_sites to) {
    if (at > size || size - at < to.most)
        abort();
    memcpy(to.site, from + at, to.most);
    return 0;
}

static int read_memory(void *arg, spoor_word from, void *to, size_t size) {
    const struct memory *memory = arg;
    struct spoor_sites into = {to, size};
    if (from >= STACK)
        return copy(memory->stack, memory->stack_size, from - STACK, into);
    if (from >= TABLE)
        return copy(memory->table, memory->table_size, from - TABLE, into);
    if (from < TEXT)
        abort();
    return copy(memory->text, memory->text_size, from - TEXT, into);
}

static void walk(const struct spoor_image *image, const struct spoor_regs *regs) {
    struct spoor_walk walk;
    struct spoor_frame frame;
    spoor_word sp = 0;
    size_t count = 0;
    spoor_walk_begin(&walk, image, regs, regs->r[0] & 1 ? SPOOR_AT_CALL : SPOOR_INTERRUPTED);
    while (spoor_walk_next(&walk, &frame) == SPOOR_FRAME) {
        if (frame.by != SPOOR_BY_EXCEPTION && frame.sp && frame.sp < sp)
            abort();
        sp = frame.sp;
        if (count++ > 4096)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct memory memory;
    struct spoor_regs regs = {0};
    if (size < HEAD + 24)
        return 0;
    const uint8_t *rest = bytes + HEAD;
    size -= HEAD;
    memory.text = rest;
    memory.text_size = size / 2;
    memory.table = rest + memory.text_size;
    memory.table_size = size / 8;
    memory.stack = memory.table + memory.table_size;
    memory.stack_size = size - memory.text_size - memory.table_size;
    struct spoor_image image = {.text_low = TEXT,
                                .text_high = TEXT + memory.text_size,
                                .exidx_low = TABLE,
                                .exidx_high = TABLE + memory.table_size / 8 * 8,
                                .stacks = {{STACK, STACK + memory.stack_size}},
                                .isa = bytes[0] % 3,
                                .walkers = bytes[1] & SPOOR_BY_ALL,
                                .flags = bytes[2] & 7,
                                .read = read_memory,
                                .arg = &memory};
    for (unsigned n = 0; n < SPOOR_REGS; n++) {
        uint16_t half;
        memcpy(&half, bytes + 4 + n * 2, 2);
        regs.r[n] = n % 3 ? STACK + half % memory.stack_size : TEXT + half % memory.text_size;
    }
    int is_a64 = image.isa == SPOOR_ISA_A64;
    regs.r[is_a64 ? SPOOR_A64_SP : SPOOR_SP] = STACK + bytes[3] % memory.stack_size / 8 * 8;
    regs.r[is_a64 ? SPOOR_A64_PC : SPOOR_PC] = TEXT + bytes[70] % memory.text_size;
    if (image.isa == SPOOR_ISA_M && bytes[71] & 1)
        regs.r[SPOOR_PC] = 0xffffff80u | (bytes[72] & 0x7d);
    regs.psp = STACK + bytes[73] % memory.stack_size / 8 * 8;
    regs.known = ~(spoor_word)0;
    walk(&image, &regs);
    return 0;
}
