/* A lane and stubs with captures (x86_64/capture.h), which are run in this process. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/prctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/host.h"
#include "arch/x86_64/capture.h"
#include "arch/x86_64/code.h"
#include "arch/x86_64/stub.h"
#include "run_code.h"
#include "values/slots.h"

enum { RING_BYTES = 4096, CODE_BYTES = 16384, SITE = 0x2468ace0, NUMBER = 77, SLOT_AT = 32 };
enum { VARIANTS = STUB_SAVE_FLAGS + STUB_SKIP_RED_ZONE + 1, OVERFLOWS = OVERFLOW_OVERWRITE + 1 };
enum { ARITHMETIC_FLAGS = 0x8d5, ALWAYS_SET = 0x202, PAGE = 4096 };
enum { RAX = 0, RDX = 1, RCX = 2, RBX = 3, RSI = 4, RDI = 5, R8 = 8, R15 = 15 }; /* DWARF */

static struct lane *lane;
static struct control control;
static uint8_t *code;
static const uint64_t patterns[] = {1,          UINT64_MAX,     (uint64_t)INT64_MIN, 1ull << 47,
                                    1ull << 48, 0x7fffffffffff, 0x8899aabbccddeeff,  ~(1ull << 47)};
static const int16_t NO_LENGTH = -1;
static uint64_t start; /* the head before the capture */

static int prepare(void **state) {
    (void)state;
    lane = mmap(NULL, LANE_RING + RING_BYTES + KEPT_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    memcpy(code, agent_bytes, agent_size);
    return lane == MAP_FAILED || code == MAP_FAILED ||
           syscall(SYS_arch_prctl, ARCH_SET_GS, (unsigned long)lane) != 0;
}

static int fresh_lane(void **state) {
    (void)state;
    memset(lane, 0, LANE_RING + RING_BYTES + KEPT_BYTES);
    control = (struct control){0};
    lane->control = (uint64_t)(uintptr_t)&control;
    lane->head = start = SLOT_AT;
    lane->limit = SLOT_AT + RING_BYTES;
    lane->ring_mask = RING_BYTES - 1;
    return 0;
}

struct made {
    uint8_t *at;
    size_t size;
};

static struct made make(uint8_t variant, enum overflow overflow, const struct capture *c) {
    struct made m = {code + ((agent_size + 15) & ~(size_t)15), 0};
    struct stub_spec spec = {.variant = variant | stub_capture_variant(c, overflow),
                             .site = SITE,
                             .ring_bytes = RING_BYTES,
                             .overflow = overflow,
                             .agent = code - m.at,
                             .module = code + CODE_BYTES - PAGE - m.at,
                             .capture = c,
                             .capture_number = NUMBER};
    m.size = stub_emit(m.at, &spec);
    const size_t most = stub_size(spec.variant, overflow) + stub_capture_bytes(c);
    if (stub_is_plain(spec.variant))
        assert_true(m.size <= most);
    else
        assert_int_equal(m.size, most);
    m.at[m.size] = 0xc3;
    return m;
}

/* REGISTERS: values for general registers by their numbers in instructions; 0: any. */
static struct cpu run_made(uint8_t variant, const struct made *m, const uint64_t registers[16]) {
    struct cpu before, after;
    struct vectors vectors, vectors_after;
    for (int i = 0; i < 16; i++)
        before.registers[i] =
            registers && registers[i] ? registers[i] : 0x0123456789abcdef * (uint64_t)(2 * i + 1);
    for (int i = 0; i < RED_ZONE_BYTES; i++)
        before.red_zone[i] = (uint8_t)(i * 7 + 1);
    before.flags = ARITHMETIC_FLAGS | ALWAYS_SET;
    after = before;
    fill_vectors(&vectors);
    vectors_after = vectors;
    run_code_with_vectors(&after, m->at, &vectors_after);
    assert_true(same_vectors(&vectors_after, &vectors));
    assert_memory_equal(after.registers, before.registers, sizeof before.registers);
    if (variant & STUB_SAVE_FLAGS)
        assert_int_equal(after.flags, before.flags);
    if (variant & STUB_SKIP_RED_ZONE)
        assert_memory_equal(after.red_zone, before.red_zone, RED_ZONE_BYTES);
    return after;
}

static struct cpu run_with(uint8_t variant, enum overflow overflow, const struct capture *c,
                           const uint64_t registers[16]) {
    const struct made m = make(variant, overflow, c);
    return run_made(variant, &m, registers);
}

static const struct event *slot(uint64_t position) {
    return (const struct event *)((const char *)lane + LANE_RING) +
           (position & (RING_BYTES - 1)) / EVENT_BYTES;
}

/* The word number WORD in *RET. False: there is none. */
static bool find_word(uint32_t word, uint64_t *ret) {
    for (uint64_t at = start; at < lane->head; at += EVENT_BYTES) {
        if (!is_whole_word(slot(at)) || event_word_number(slot(at)) != word)
            continue;
        *ret = event_word(slot(at));
        return true;
    }
    return false;
}

static struct capture_value of_register(uint8_t reg, uint16_t bytes) {
    return (struct capture_value){
        .from = FROM_REGISTER, .reg = reg, .bytes = bytes, .length_of = NO_LENGTH};
}

static struct capture_value text_at(uint8_t reg, uint8_t unit, uint16_t most) {
    return (struct capture_value){.from = FROM_REGISTER,
                                  .reg = reg,
                                  .string = true,
                                  .unit = unit,
                                  .most = most,
                                  .length_of = NO_LENGTH};
}

struct node {
    int32_t id;
    uint8_t odd[7];
    struct node *next;
    uint64_t words[3];
};
