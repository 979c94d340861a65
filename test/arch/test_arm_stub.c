/*
 * A32 and T32 stubs as Capstone reads them: one program in two encodings, with the same stub
 * states. test/arch/a32/stubs.c runs them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arm/arm.h"
#include "arch/arm/stub.h"
#include "oracle_a32.h"
#include "oracle_t32.h"

#define TESTS                                                                                      \
    TEST(same_program_in_both_states)                                                              \
    TEST(stub_states_at_every_instruction)                                                         \
    TEST(sites_read_from_stubs)                                                                    \
    TEST(retry_at_the_lane_lookup)                                                                 \
    TEST(stub_end_from_every_instruction)                                                          \
    TEST(stub_only_instructions)                                                                   \
    TEST(other_stub_instructions_are_movable)                                                      \
    TEST(program_instructions_are_not_stub_only)

enum { SITE = 0x12345674, AGENT = -0x23458, OVERFLOWS = OVERFLOW_OVERWRITE + 1, STATES = 2 };
enum { LINES = 80, LINE_BYTES = 96, WORD = 4, LANE_LINES = 13 };

struct stub {
    bool t32;
    struct stub_spec spec;
    uint8_t code[STUB_MAX_BYTES];
    size_t size;
};

static const struct arch *arch_of(bool t32) { return t32 ? &arch_t32 : &arch_a32; }

static struct stub make(bool t32, uint8_t variant, enum overflow overflow, uint16_t pops) {
    struct stub s = {.t32 = t32};
    s.spec = (struct stub_spec){.variant = variant,
                                .site = SITE,
                                .ring_bytes = 65536,
                                .overflow = overflow,
                                .agent = AGENT,
                                .caller = {0x55667000, 0x55668000},
                                .pops = pops};
    s.size = arch_of(t32)->stub_emit(s.code, &s.spec);
    assert_true(s.size <= sizeof s.code);
    assert_int_equal(s.size, arch_of(t32)->stub_size(variant, overflow));
    return s;
}

/* All stubs, some of them twice. (Flags are always saved.) */
#define EACH_STUB(stub)                                                                            \
    for (int _n = 0; _n < STATES * OVERFLOWS * VARIANTS; _n++)                                     \
        for (struct stub stub = make(_n % STATES, _variants[_n / STATES % VARIANTS],               \
                                     (enum overflow)(_n / STATES / VARIANTS),                      \
                                     _n / STATES % VARIANTS ? 12 : 0),                             \
                         *_once = &stub;                                                           \
             _once; _once = NULL)
static const uint8_t _variants[] = {0, STUB_CALLER | STUB_SAVE_FLAGS, STUB_HOOK, STUB_CAPTURE,
                                    STUB_CALLER | STUB_CAPTURE};
enum { VARIANTS = sizeof _variants / sizeof *_variants };

/* ---- as texts ---- */

struct listing {
    size_t count;
    struct line {
        char text[LINE_BYTES];
        uint32_t at, size;
    } line[LINES];
};

/* Copies TEXT without the width suffix. */
static void copy_text(char *out, const char *text) {
    while ((*out = *text++)) {
        if (out[0] == '.' && text[0] == 'w')
            text++;
        else
            out++;
    }
}

static void read_line(const struct stub *s, uint32_t at, struct line *ret) {
    ret->at = at;
    if (s->t32) {
        struct oracle_t32 o;
        assert_true(oracle_t32_decode(s->code + at, s->size - at, at, &o));
        copy_text(ret->text, o.text);
        ret->size = o.size;
    } else {
        struct oracle_a32 o;
        uint32_t word;
        memcpy(&word, s->code + at, sizeof word);
        assert_true(oracle_a32_decode(word, at, &o));
        copy_text(ret->text, o.text);
        ret->size = WORD;
    }
}

static struct listing read_stub(const struct stub *s) {
    struct listing l = {0};
    for (uint32_t at = 0; at < s->size; at += l.line[l.count++].size) {
        assert_true(l.count < LINES);
        read_line(s, at, &l.line[l.count]);
    }
    return l;
}

/* The expected lines of a stub, with labels (`name:`) in front and as targets. Numbers left out
 * (`…`) are addresses. */
static const char *const saved[] = {"push {r0, r1, r2, r3, r4, r5, r6, r7}", "mrs r7, apsr", NULL};
static const char *const caller[] = {"movw r0, #0x28",   "ldr r0, [sp, r0]",
                                     "movw r1, #0x7000", "movt r1, #0x5566",
                                     "sub r0, r0, r1",   "movw r1, #0x1000",
                                     "movt r1, #0",      "cmp r0, r1",
                                     "bhs done",         NULL};
static const char *const table_a32[] = {"retry: movw r5, #…", "movt r5, #…", "add r5, pc, r5",
                                        NULL};
static const char *const table_t32[] = {"retry: movw r5, #…", "movt r5, #…", "addw r4, pc, #0",
                                        "add r5, r4, r5", NULL};
static const char *const lane[] = {"mrc p15, #0, r1, c13, c0, #3",
                                   "ubfx r2, r1, #0xc, #0xa",
                                   "add r2, r5, r2, lsl #4",
                                   "ldr r3, [r2]",
                                   "ldr r6, [r2, #8]",
                                   "cmp r3, r1",
                                   "beq found",
                                   "movw r0, #…",
                                   "movt r0, #…",
                                   "add r0, r0, r5",
                                   "movw r1, #0x5000",
                                   "add r1, r1, r5",
                                   "bx r1",
                                   "found: ldrd r2, r3, [r6]",
                                   "add r4, r6, #8",
                                   "ldrexd r0, r1, [r4]",
                                   "cmp r2, r0",
                                   "sbcs r0, r3, r1",
                                   "blo go",
                                   "movw r0, #…",
                                   "movt r0, #…",
                                   "add r0, r0, r5",
                                   NULL};
static const char *const full[][4] = {{"movw r1, #0x5004", "add r1, r1, r5", "bx r1", NULL},
                                      {"movw r1, #0x5008", "add r1, r1, r5", "bx r1", NULL}};
static const char *const barrier[] = {"go: dmb ishst", NULL};
static const char *const event[] = {"go: ubfx r1, r2, #0, #0x10",
                                    "add r1, r6, r1",
                                    "add r1, r1, #0x1000",
                                    "mrrc p15, #1, r2, r3, c14",
                                    "lsl r3, r3, #0x10",
                                    "orr r3, r3, r2, lsr #16",
                                    "lsl r2, r2, #0x10",
                                    "movw r4, #0x5674",
                                    "movt r4, #0x1234",
                                    "movw r5, #…",
                                    "add r5, sp, r5",
                                    "stm r1, {r2, r3, r4, r5}",
                                    "dmb ishst",
                                    "again: ldrexd r2, r3, [r6]",
                                    "adds r2, r2, #0x10",
                                    "adc r3, r3, #0",
                                    "strexd r0, r2, r3, [r6]",
                                    "cmp r0, #0",
                                    "bne again",
                                    NULL};
static const char *const hook[] = {
    "movw r0, #…", "movt r0, #…", "add r0, r0, r5", "movw r1, #0x5010", "add r1, r1, r5",
    "bx r1",       NULL};
static const char *const saved_for_values[] = {
    "sub sp, sp, #0x24", "push {r0, r1, r2, r3, r4, r5, r6, r7, r8, sb, sl, fp, ip}",
    "mrs r7, apsr", NULL};
static const char *const caller_for_values[] = {"movw r0, #0x60",   "ldr r0, [sp, r0]",
                                                "movw r1, #0x7000", "movt r1, #0x5566",
                                                "sub r0, r0, r1",   "movw r1, #0x1000",
                                                "movt r1, #0",      "cmp r0, r1",
                                                "bhs done",         NULL};
static const char *const clock_read[] = {"mrrc p15, #1, r2, r3, c14", "lsl sl, r3, #0x10",
                                         "orr sl, sl, r2, lsr #16", "lsl sb, r2, #0x10", NULL};
static const char *const captured_event[] = {"ubfx r1, r8, #0, #0x10",
                                             "add r1, r6, r1",
                                             "add r1, r1, #0x1000",
                                             "movw fp, #0x5674",
                                             "movt fp, #0x1234",
                                             "movw ip, #…",
                                             "add ip, sp, ip",
                                             "stm r1, {sb, sl, fp, ip}",
                                             "ldr r2, [r6]",
                                             "sub r4, r8, r2",
                                             NULL};
static const char *const counted[] = {"add ip, r6, #0x50",
                                      "count: ldrexd r2, r3, [ip]",
                                      "adds r2, r2, r4, lsr #4",
                                      "adc r3, r3, #0",
                                      "strexd r0, r2, r3, [ip]",
                                      "cmp r0, #0",
                                      "bne count",
                                      NULL};
static const char *const captured_commit[] = {
    "add r4, r4, #0x10", "dmb ishst",      "again: ldrexd r2, r3, [r6]",
    "adds r2, r2, r4",   "adc r3, r3, #0", "strexd r0, r2, r3, [r6]",
    "cmp r0, #0",        "bne again",      NULL};
static const char *const restored_for_values[] = {
    "done: msr apsr_nzcvq, r7", "pop {r0, r1, r2, r3, r4, r5, r6, r7, r8, sb, sl, fp, ip}",
    "add sp, sp, #0x24", NULL};
static const char *const restored[] = {"done: msr apsr_nzcvq, r7",
                                       "pop {r0, r1, r2, r3, r4, r5, r6, r7}", NULL};

struct expected {
    size_t count;
    const char *line[LINES];
};

static void expect(struct expected *e, const char *const *lines) {
    while (*lines)
        e->line[e->count++] = *lines++;
}

static void expect_lane(struct expected *e) {
    for (size_t i = 0; i < LANE_LINES; i++)
        e->line[e->count++] = lane[i];
}

/* A stub for a capture, without the capture's code. */
static struct expected expected_for_values(const struct stub *s) {
    const bool overwrites = s->spec.overflow == OVERFLOW_OVERWRITE;
    struct expected e = {0};
    expect(&e, saved_for_values);
    if (s->spec.variant & STUB_CALLER)
        expect(&e, caller_for_values);
    expect(&e, s->t32 ? table_t32 : table_a32);
    expect_lane(&e);
    e.line[e.count] = overwrites ? "found: dmb ishst" : "found: mrrc p15, #1, r2, r3, c14";
    e.count++;
    expect(&e, clock_read + !overwrites);
    expect(&e, captured_event);
    if (overwrites)
        expect(&e, counted);
    expect(&e, captured_commit);
    expect(&e, restored_for_values);
    return e;
}

static struct expected expected_of(const struct stub *s) {
    struct expected e = {0};
    if (stub_captures(s->spec.variant))
        return expected_for_values(s);
    expect(&e, saved);
    if (s->spec.variant & STUB_CALLER)
        expect(&e, caller);
    expect(&e, s->t32 ? table_t32 : table_a32);
    if (s->spec.variant & STUB_HOOK) {
        expect(&e, hook);
    } else {
        expect(&e, lane);
        expect(&e, full[s->spec.overflow == OVERFLOW_DROP]);
        if (s->spec.overflow == OVERFLOW_OVERWRITE)
            expect(&e, barrier);
        expect(&e, event);
    }
    expect(&e, restored);
    return e;
}

/* The place of the first line with LABEL. */
static uint32_t address_of(const struct expected *e, const struct listing *l, const char *label) {
    for (size_t i = 0; i < e->count; i++)
        if (strncmp(e->line[i], label, strlen(label)) == 0 && e->line[i][strlen(label)] == ':')
            return l->line[i].at;
    fail_msg("no line is %s", label);
    return 0;
}

static void check_line(const struct expected *e, const struct listing *l, size_t i) {
    const char *wanted = e->line[i], *colon = strstr(wanted, ": "), *found = l->line[i].text;
    const char *open = strstr(wanted, "…");
    char text[LINE_BYTES], branch[8], label[16];
    if (colon)
        wanted = colon + 2;
    snprintf(text, sizeof text, "%s", wanted);
    if (wanted[0] == 'b' && wanted[1] != 'x' && sscanf(wanted, "%7s %15s", branch, label) == 2)
        snprintf(text, sizeof text, "%s #0x%x", branch, address_of(e, l, label));
    if (open)
        assert_memory_equal(found, wanted, (size_t)(open - wanted));
    else
        assert_string_equal(found, text);
}

static void same_program_in_both_states(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        struct listing l = read_stub(&stub);
        struct expected e = expected_of(&stub);
        for (size_t i = 0; i < l.count; i++)
            check_line(&e, &l, i);
        assert_int_equal(l.count, e.count);
    }
}

/* ---- states ---- */

static bool starts(const struct line *line, const char *with) {
    return strncmp(line->text, with, strlen(with)) == 0;
}

/* Updates the state to that behind LINE. */
static void step(const struct line *line, struct stub_state *s) {
    if (starts(line, "sub sp"))
        s->skipped = true;
    if (starts(line, "push"))
        s->pushed = s->skipped ? 13 : 8;
    if (starts(line, "pop"))
        s->pushed = 0;
    if (starts(line, "mrs"))
        s->displaced = true;
    if (starts(line, "strexd") && strstr(line->text, "[r6]"))
        s->unsure = s->ahead = true;
    if (starts(line, "bne") && s->unsure) {
        s->unsure = s->ahead = false;
        s->committed = true;
    }
    if (starts(line, "msr"))
        s->displaced = false;
}

static void check_states(const struct stub *s) {
    const struct listing l = read_stub(s);
    struct stub_state now = {0}, found;
    uint32_t at = 0;
    for (size_t i = 0; i < l.count; at += l.line[i++].size) {
        now.committed |= s->spec.variant & STUB_HOOK && starts(&l.line[i], "msr");
        for (uint32_t k = 0; k < l.line[i].size; k++)
            assert_int_equal(
                arch_of(s->t32)->stub_state(s->spec.variant, s->spec.overflow, at + k, &found),
                k == 0);
        assert_memory_equal(&found, &now, sizeof found);
        step(&l.line[i], &now);
    }
    assert_false(arch_of(s->t32)->stub_state(s->spec.variant, s->spec.overflow, at, &found));
}

static void stub_states_at_every_instruction(void **unused) {
    (void)unused;
    EACH_STUB(stub) { check_states(&stub); }
}

/* ---- facts that readers find in stubs ---- */

static void sites_read_from_stubs(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        if (!(stub.spec.variant & STUB_HOOK))
            assert_int_equal(
                arch_of(stub.t32)->stub_site(stub.code, stub.spec.variant, stub.spec.overflow),
                SITE);
    }
}

/* A thread can be put back to the lane lookup. */
static void retry_at_the_lane_lookup(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        struct listing l = read_stub(&stub);
        struct expected e = expected_of(&stub);
        assert_int_equal(arch_of(stub.t32)->stub_retry(stub.spec.variant),
                         address_of(&e, &l, "retry"));
    }
}

static void stub_end_from_every_instruction(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        size_t end = stub.size - (stub_captures(stub.spec.variant) ? 3 : 2) * (size_t)WORD,
               unit = stub.t32 ? 2 : WORD, found;
        for (size_t from = 0; from <= end; from += unit) {
            assert_true(arm_find_stub_end(stub.t32, stub.code + from, stub.size - from, &found));
            assert_int_equal(from + found, end);
            assert_false(arm_find_stub_end(stub.t32, stub.code + from,
                                           end + 2 * (size_t)WORD - unit - from, &found));
        }
    }
}

/* Exclusive accesses, and the instructions that read the stub's own address. */
static void stub_only_instructions(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        const struct listing l = read_stub(&stub);
        size_t count = 0;
        for (size_t i = 0; i < l.count; i++) {
            const struct line *line = &l.line[i];
            bool wanted =
                starts(line, "ldrex") || starts(line, "strex") || strstr(line->text, "pc") != NULL;
            count += wanted;
            assert_int_equal(arm_is_stub_code(stub.t32, stub.code + line->at, stub.size - line->at),
                             wanted);
        }
        const bool values = stub_captures(stub.spec.variant);
        assert_int_equal(count, stub.spec.variant & STUB_HOOK              ? 1
                                : !values                                  ? 4
                                : stub.spec.overflow == OVERFLOW_OVERWRITE ? 5
                                                                           : 3);
        assert_false(arm_is_stub_code(stub.t32, stub.code, WORD - 1));
    }
}

/* These run on the bridge (arch/bridge.h), or the tool takes them as branches. */
static void other_stub_instructions_are_movable(void **unused) {
    (void)unused;
    EACH_STUB(stub) {
        const struct listing l = read_stub(&stub);
        for (size_t i = 0; i < l.count; i++) {
            const uint8_t *code = stub.code + l.line[i].at;
            struct relocated moved;
            struct insn in;
            assert_true(arch_of(stub.t32)->decode(code, l.line[i].size, 0x40000, &in, NULL));
            if (arm_is_stub_code(stub.t32, code, stub.size - l.line[i].at) ||
                in.kind == INSN_BRANCH || in.kind == INSN_JUMP_INDIRECT)
                continue;
            assert_int_equal(in.kind, INSN_OTHER);
            assert_int_equal(arch_of(stub.t32)->relocate(&in, code, 0x80000, &moved), 0);
            assert_int_equal(moved.size, in.size);
        }
    }
}

/* Holds for a program's instruction in each form that relocation gives it. */
static void check_moved(bool t32, const void *code, size_t size) {
    const struct arch *arch = arch_of(t32);
    struct relocated moved;
    struct insn in;
    assert_true(arch->decode(code, size, 0x40000, &in, NULL));
    assert_int_equal(arch->relocate(&in, code, 0x80000, &moved), 0);
    size_t end = moved.copy_bytes ? moved.copy_at : moved.size;
    for (size_t at = 0; at < end; at += arch->insn_bytes)
        assert_false(arm_is_stub_code(t32, moved.bytes + at, moved.size - at));
}

static void program_instructions_are_not_stub_only(void **unused) {
    (void)unused;
    /* adr, mov from the pc, add of it, loads by it, bl, and instructions that are copied unchanged
     */
    static const uint32_t a32[] = {0xe28f5010, 0xe24f5f7f, 0xe1a0500f, 0xe08f5004, 0xe0845000,
                                   0xe59f5010, 0xe79f5004, 0xeb000010, 0xea000010, 0xe28f4000};
    static const uint16_t t32[][2] = {{0xf20f, 0x0400}, {0xf2af, 0x0408}, {0xa401, 0},
                                      {0x467c, 0},      {0x447c, 0},      {0x447d, 0},
                                      {0xf8df, 0x4010}, {0x4c01, 0},      {0xf000, 0xf810}};
    for (size_t i = 0; i < sizeof a32 / sizeof *a32; i++)
        check_moved(false, &a32[i], sizeof a32[i]);
    for (size_t i = 0; i < sizeof t32 / sizeof *t32; i++)
        check_moved(true, t32[i], sizeof t32[i]);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("arch/arm stub", tests, NULL, NULL);
}
