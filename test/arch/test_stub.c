/*
 * Event stubs of x86-64, run in this process. They change no register and write the right event.
 * stub_state_at() agrees with Capstone at every instruction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/prctl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "arch/host.h"
#include "arch/x86_64/stub.h"
#include "guard_cases.h"
#include "oracle.h"
#include "run_code.h"

#define TESTS                                                                                      \
    TEST(registers_flags_and_red_zone_preserved)                                                   \
    TEST(event_contents)                                                                           \
    TEST(calls_filtered_by_caller)                                                                 \
    TEST(ring_wrap)                                                                                \
    TEST(full_ring_drops_and_counts)                                                               \
    TEST(full_ring_waits_for_room)                                                                 \
    TEST(no_wait_for_a_dead_tool)                                                                  \
    TEST(hook_waits_for_release)                                                                   \
    TEST(guard_waits_for_guarded_memory)                                                           \
    TEST(no_hook_wait_for_a_dead_tool)                                                             \
    TEST(stub_states_at_every_instruction)                                                         \
    TEST(slice_preserves_registers_flags_and_red_zone)                                             \
    TEST(slice_contents)                                                                           \
    TEST(slice_ends_with_stack_or_page)                                                            \
    TEST(no_slice_where_a_stack_may_end)                                                           \
    TEST(slice_without_impossible_addresses)                                                       \
    TEST(full_ring_marks_a_missing_slice)                                                          \
    TEST(slice_waits_for_room)                                                                     \
    TEST(slice_waits_for_room_for_all)                                                             \
    TEST(no_slice_without_tool_or_own_lane)                                                        \
    TEST(slice_stub_states_at_every_instruction)

enum { RING_BYTES = 4096, CODE_BYTES = 8192, SITE = 0x2468ace1, SLOT_AT = 32 };
enum { VARIANTS = STUB_SAVE_FLAGS + STUB_SKIP_RED_ZONE + 1, OVERFLOWS = OVERFLOW_OVERWRITE + 1 };
enum { KINDS = 4, ALL = KINDS * VARIANTS };
enum { ARITHMETIC_FLAGS = 0x8d5, DIRECTION_FLAG = 0x400, ALWAYS_SET = 0x202 };

/* The Nth variant that writes events. */
static uint8_t variant_of(uint8_t n) {
    static const uint8_t others[KINDS] = {0, STUB_CALLER, STUB_GO_FIRST, STUB_GO_SECOND};
    return (uint8_t)(n % VARIANTS | others[n / VARIANTS]);
}

static struct lane *lane;
static struct span caller;
static struct control control;
static uint8_t *code;

static struct event *ring(void) { return (struct event *)((char *)lane + LANE_RING); }

static int prepare(void **state) {
    (void)state;
    lane = mmap(NULL, LANE_RING + RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    memcpy(code, agent_bytes, agent_size);
    return lane == MAP_FAILED || code == MAP_FAILED ||
           syscall(SYS_arch_prctl, ARCH_SET_GS, (unsigned long)lane) != 0;
}

static int fresh_lane(void **state) {
    (void)state;
    memset(lane, 0, LANE_RING + RING_BYTES);
    control = (struct control){0};
    lane->control = (uint64_t)(uintptr_t)&control;
    caller = (struct span){(uint64_t)(uintptr_t)run_code, (uint64_t)(uintptr_t)run_code + 4096};
    lane->head = SLOT_AT;
    lane->limit = SLOT_AT + RING_BYTES;
    lane->ring_mask = RING_BYTES - 1;
    return 0;
}

/* Makes a stub and a return behind it; returns its start. */
static uint8_t *make(uint8_t variant, enum overflow overflow) {
    uint8_t *at = code + ((agent_size + 15) & ~(size_t)15);
    struct stub_spec spec = {.variant = variant,
                             .site = SITE,
                             .ring_bytes = RING_BYTES,
                             .overflow = overflow,
                             .agent = code - at,
                             .caller = caller};
    size_t size = stub_emit(at, &spec);
    assert_true(size <= STUB_MAX_BYTES);
    assert_int_equal(size, stub_size(variant, overflow));
    at[size] = 0xc3;
    return at;
}

static void fill(struct cpu *cpu, uint64_t flags) {
    for (int i = 0; i < 16; i++)
        cpu->registers[i] = 0x0123456789abcdef * (uint64_t)(2 * i + 1);
    for (int i = 0; i < RED_ZONE_BYTES; i++)
        cpu->red_zone[i] = (uint8_t)(i * 7 + 1);
    cpu->flags = flags | ALWAYS_SET;
}

static struct cpu run(uint8_t variant, enum overflow overflow, uint64_t flags) {
    struct cpu before, after;
    fill(&before, flags);
    after = before;
    run_code(&after, make(variant, overflow));
    assert_memory_equal(after.registers, before.registers, sizeof before.registers);
    if (variant & STUB_SAVE_FLAGS)
        assert_int_equal(after.flags, before.flags);
    assert_int_equal(after.flags & DIRECTION_FLAG, flags & DIRECTION_FLAG);
    if (variant & STUB_SKIP_RED_ZONE)
        assert_memory_equal(after.red_zone, before.red_zone, RED_ZONE_BYTES);
    return after;
}

static void registers_flags_and_red_zone_preserved(void **state) {
    for (uint8_t n = 0; n < ALL; n++) {
        uint8_t v = variant_of(n);
        for (int o = 0; o < OVERFLOWS; o++) {
            for (int bits = 0; bits < 3; bits++) {
                static const uint64_t flags[] = {0, ARITHMETIC_FLAGS, DIRECTION_FLAG | 0x41};
                fresh_lane(state);
                run(v, (enum overflow)o, flags[bits]);
                assert_int_equal(lane->head, SLOT_AT + EVENT_BYTES);
            }
        }
    }
}

/* The 48 bits of the stub's event besides clock and site. */
static uint64_t expected_operand(uint8_t variant, const struct cpu *cpu) {
    enum { RAX = 0, RBX = 3 };
    const uint64_t mask = ((uint64_t)1 << 48) - 1;
    if (variant & STUB_GO_FIRST)
        return cpu->registers[RAX] & mask;
    return variant & STUB_GO_SECOND ? cpu->registers[RBX] & mask : cpu->sp;
}

static void event_contents(void **state) {
    for (uint8_t n = 0; n < ALL; n++) {
        for (int o = 0; o < OVERFLOWS; o++) {
            fresh_lane(state);
            uint64_t start = __rdtsc();
            struct cpu cpu = run(variant_of(n), (enum overflow)o, 0);
            const struct event *e = &ring()[SLOT_AT / EVENT_BYTES];
            uint64_t end = __rdtsc();
            assert_in_range(event_ticks(e, end), start, end);
            assert_int_equal(e->site, SITE);
            assert_int_equal(event_sp(e), expected_operand(variant_of(n), &cpu));
        }
    }
}

/* The return address of run_code()'s call. */
static uint64_t return_address(void) {
    enum { CALL_INDIRECT = 0xff };
    static uint64_t found;
    const uint8_t *p = (const uint8_t *)(uintptr_t)run_code;
    while (!found && !(p[0] == CALL_INDIRECT && p[1] == 0x15))
        p++;
    if (!found)
        found = (uint64_t)(uintptr_t)p + 6;
    return found;
}

static void calls_filtered_by_caller(void **state) {
    static const struct {
        int start, end; /* offsets from the return address */
        bool seen;
    } tries[] = {{0, 1, true},   {-1, 1, true}, {0, 0x7ffffff, true},   {1, 2, false},
                 {-1, 0, false}, {0, 0, false}, {1, 0x7fffffff, false}, {-0x7fffffff, 0, false}};
    for (uint8_t n = VARIANTS; n < 2 * VARIANTS; n++) {
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            static const uint64_t flags[] = {0, ARITHMETIC_FLAGS};
            fresh_lane(state);
            caller.start = return_address() + (uint64_t)(int64_t)tries[i].start;
            caller.end = return_address() + (uint64_t)(int64_t)tries[i].end;
            run(variant_of(n), OVERFLOW_DROP, flags[i & 1]);
            assert_int_equal(lane->head, SLOT_AT + (tries[i].seen ? EVENT_BYTES : 0));
            assert_int_equal(lane->lost, 0);
        }
    }
}

static void ring_wrap(void **state) {
    (void)state;
    lane->head = 7 * RING_BYTES + 48;
    lane->limit = 8 * RING_BYTES;
    run(0, OVERFLOW_WAIT, 0);
    assert_int_equal(ring()[3].site, SITE);
    assert_int_equal(lane->head, 7 * RING_BYTES + 64);
}

static void fill_ring(void) { lane->limit = lane->head; }

static void full_ring_drops_and_counts(void **state) {
    (void)state;
    fill_ring();
    run(STUB_SAVE_FLAGS, OVERFLOW_DROP, ARITHMETIC_FLAGS);
    assert_int_equal(lane->lost, 1);
    assert_int_equal(lane->head, SLOT_AT);
    assert_int_equal(ring()[SLOT_AT / EVENT_BYTES].site, 0);
}

static void *make_room(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&lane->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane->limit, lane->limit + 2 * EVENT_BYTES, __ATOMIC_RELEASE);
    return NULL;
}

/* At POSITION is the event of a wait for room that began after START, and is over. */
static void check_wait(uint64_t position, uint64_t start) {
    const struct event *e = &ring()[position / EVENT_BYTES];
    uint64_t end = __rdtsc();
    assert_int_equal(e->site, (uint32_t)WAIT_EVENT << 2 | EVENT_CONTROL);
    assert_in_range(event_ticks(e, end), start, event_ticks(e + 1, end));
    assert_int_equal(lane->wait_since, 0);
}

static void full_ring_waits_for_room(void **state) {
    (void)state;
    pthread_t reader;
    fill_ring();
    uint64_t start = __rdtsc();
    assert_int_equal(pthread_create(&reader, NULL, make_room, NULL), 0);
    run(STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE, OVERFLOW_WAIT, ARITHMETIC_FLAGS);
    pthread_join(reader, NULL);
    assert_int_equal(lane->waits, 1);
    assert_int_equal(lane->head, SLOT_AT + 2 * EVENT_BYTES);
    assert_int_equal(ring()[SLOT_AT / EVENT_BYTES + 1].site, SITE);
    check_wait(SLOT_AT, start);
}

static void no_wait_for_a_dead_tool(void **state) {
    (void)state;
    fill_ring();
    control.owner = CONTROL_OWNER_DIED;
    run(STUB_SAVE_FLAGS, OVERFLOW_WAIT, 0);
    run(STUB_SAVE_FLAGS, OVERFLOW_WAIT, 0);
    assert_int_equal(lane->waits, 1);
    assert_int_equal(lane->head, SLOT_AT + 2 * EVENT_BYTES);
}

static void *release_hook(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&lane->hook, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane->hook, 0, __ATOMIC_RELEASE);
    return NULL;
}

static void hook_waits_for_release(void **state) {
    (void)state;
    pthread_t tool;
    assert_int_equal(pthread_create(&tool, NULL, release_hook, NULL), 0);
    run(STUB_HOOK | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE, OVERFLOW_WAIT, ARITHMETIC_FLAGS);
    pthread_join(tool, NULL);
    assert_int_equal(lane->head, SLOT_AT);
}

static void guard_waits_for_guarded_memory(void **state) {
    enum { RSI = 6, RDI = 7, GUARD = STUB_HOOK | STUB_GUARD | STUB_SAVE_FLAGS };
    (void)state;
    memcpy(code + agent_entries().guarded, &guarded_ranges, sizeof guarded_ranges);
    for (int i = 0; i < GUARD_CASES; i++) {
        struct cpu before, after;
        pthread_t tool;
        fill(&before, ARITHMETIC_FLAGS);
        before.registers[RDI] = guard_cases[i].address;
        before.registers[RSI] = guard_cases[i].size;
        after = before;
        if (guard_cases[i].waits)
            assert_int_equal(pthread_create(&tool, NULL, release_hook, NULL), 0);
        run_code(&after, make(GUARD, OVERFLOW_WAIT));
        if (guard_cases[i].waits) /* else it would never have returned */
            pthread_join(tool, NULL);
        assert_memory_equal(after.registers, before.registers, sizeof before.registers);
        assert_int_equal(after.flags, before.flags);
    }
    memset(code + agent_entries().guarded, 0, sizeof guarded_ranges);
}

static void no_hook_wait_for_a_dead_tool(void **state) {
    (void)state;
    control.owner = CONTROL_OWNER_DIED;
    run(STUB_HOOK | STUB_SAVE_FLAGS, OVERFLOW_WAIT, 0);
    assert_int_equal(lane->hook, 0); /* the tool is not asked: no tool would answer */
}

/* How many words INSN pushes. */
static int pushes(const struct oracle_insn *in) {
    return !strncmp(in->text, "push", 4) ? 1 : !strncmp(in->text, "pop", 3) ? -1 : 0;
}

static void check_states(uint8_t variant, enum overflow overflow) {
    const uint8_t *at = make(variant, overflow);
    uint32_t size = stub_size(variant, overflow), boundary = 0;
    int words = 0;
    bool reserved = false, skipped = false;
    for (uint32_t i = 0; i < size; i++) {
        struct stub_state s;
        assert_int_equal(stub_state_at(variant, overflow, i, &s), i == boundary);
        if (i != boundary)
            continue;
        assert_int_equal(s.pushed, words);
        assert_int_equal(s.skipped, skipped);
        assert_int_equal(s.reserved, reserved);
        struct oracle_insn in;
        assert_true(oracle_decode(at + i, size - i, i, &in));
        words += pushes(&in);
        skipped ^= !strncmp(in.text, "lea rsp", 7);
        if (!strncmp(in.text, "xadd", 4))
            reserved = true;
        if (strstr(in.text, "gs:[rcx + 0x1000]")) /* the committing store */
            reserved = false;
        boundary = i + in.size;
    }
    assert_int_equal(boundary, size);
    assert_int_equal(words, 0);
}

static void stub_states_at_every_instruction(void **state) {
    (void)state;
    for (uint8_t n = 0; n < ALL; n++) {
        for (int o = 0; o < OVERFLOWS; o++)
            check_states(variant_of(n), (enum overflow)o);
    }
}

/* ---- slices ---- */

enum { PAGE = 4096, SLICE_BYTES = 256 };

/* The ring has room for any slice of SLICE_BYTES, and the stack's limit is the largest possible. */
static void allow_slices(void **state) {
    fresh_lane(state);
    lane->stack_bytes = UINT64_MAX;
    lane->slice_bytes = SLICE_BYTES;
}

static uint32_t id_at(uint64_t position) {
    return ring()[(position & (RING_BYTES - 1)) / EVENT_BYTES].site >> 2;
}

static uint64_t operand_at(uint64_t position) {
    return event_sp(&ring()[(position & (RING_BYTES - 1)) / EVENT_BYTES]);
}

/* Word N in the slice; 0: none. */
static uint64_t word_of_slice(uint32_t n) {
    for (uint64_t at = SLOT_AT; at < lane->head; at += EVENT_BYTES)
        if (id_at(at) == SLICE_WORD + n)
            return operand_at(at);
    return 0;
}

static void slice_preserves_registers_flags_and_red_zone(void **state) {
    for (uint8_t v = 0; v < VARIANTS; v++) {
        for (int o = 0; o < OVERFLOWS; o++) {
            allow_slices(state);
            run(v | STUB_SLICE, (enum overflow)o, ARITHMETIC_FLAGS);
            assert_int_equal(id_at(SLOT_AT), SLICE_BEGIN);
            assert_int_equal(lane->slice_slots, (lane->head - SLOT_AT) / EVENT_BYTES);
        }
    }
}

static void slice_contents(void **state) {
    static const int numbers[SLICE_REGISTERS] = {3, 5, 12, 13, 14, 15}; /* as in ModRM bytes */
    for (uint8_t v = 0; v < VARIANTS; v++) {
        allow_slices(state);
        lane->slice_slots = 7;
        uint64_t start = __rdtsc();
        struct cpu cpu = run(v | STUB_SLICE, OVERFLOW_WAIT, 0);
        assert_int_equal(operand_at(SLOT_AT), 7);
        assert_int_equal(id_at(SLOT_AT + EVENT_BYTES), SLICE_END);
        assert_int_equal(operand_at(SLOT_AT + EVENT_BYTES), cpu.sp + SLICE_BYTES);
        for (int i = 0; i < SLICE_REGISTERS; i++) {
            uint64_t at = SLOT_AT + (2 + (uint64_t)i) * EVENT_BYTES;
            assert_int_equal(id_at(at), SLICE_REGISTER + i);
            assert_int_equal(operand_at(at), cpu.registers[numbers[i]] & (((uint64_t)1 << 48) - 1));
        }
        assert_int_equal(word_of_slice(0), return_address());
        for (uint64_t at = SLOT_AT; at < lane->head; at += EVENT_BYTES)
            assert_in_range(event_ticks(&ring()[at / EVENT_BYTES], __rdtsc()), start, __rdtsc());
    }
}

/* Runs a slice's stub at a site with the stack pointer SP. Memory below SP belongs to the test. */
static uint64_t slice_from(void *sp, enum overflow overflow) {
    uint8_t *stub = make(STUB_SLICE | STUB_SAVE_FLAGS, overflow);
    void *back;
    __asm__ volatile("movq %%rsp, %0\n\tmovq %1, %%rsp\n\tcall *%2\n\tmovq %0, %%rsp"
                     : "=&r"(back)
                     : "r"((uint8_t *)sp + 8), "r"(stub)
                     : "memory", "cc");
    return lane->head;
}

static void slice_ends_with_stack_or_page(void **state) {
    uint8_t *memory =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(munmap(memory + 2 * PAGE, PAGE), 0);
    uint64_t *words = (uint64_t *)(memory + PAGE), *last = words + PAGE / 8 - 1;
    const uint64_t address = 0x7fff12345678, ends[] = {PAGE, PAGE - 16, 2 * PAGE};
    for (uint64_t *w = (uint64_t *)memory; w <= last; w++)
        *w = address;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        allow_slices(state); /* of a foreign stack: only its page is known to be mapped */
        lane->stack_low = (uint64_t)(uintptr_t)memory + (ends[i] == 2 * PAGE ? 3 * PAGE : PAGE);
        lane->stack_bytes = ends[i] == 2 * PAGE ? PAGE : ends[i];
        slice_from(last - 9, OVERFLOW_DROP);
        uint64_t end = (uint64_t)(uintptr_t)memory + PAGE + (ends[i] == 2 * PAGE ? PAGE : ends[i]);
        assert_int_equal(operand_at(SLOT_AT + EVENT_BYTES), end);
        assert_int_equal(
            lane->head, SLOT_AT + (SLICE_HEAD_SLOTS + (end - (uint64_t)(uintptr_t)(last - 9)) / 8) *
                                      EVENT_BYTES);
    }
    allow_slices(state); /* the slice continues in the next page */
    lane->stack_low = (uint64_t)(uintptr_t)memory;
    lane->stack_bytes = 2 * PAGE;
    slice_from((uint64_t *)(memory + PAGE) - 2, OVERFLOW_DROP);
    assert_int_equal(word_of_slice(SLICE_BYTES / 8 - 1), address);
    munmap(memory, 2 * PAGE);
}

/* A thread or a coroutine may begin at the very end of its stack, and memory above may be unmapped.
 * Words there are read only if they belong to the stack for certain. */
static void no_slice_where_a_stack_may_end(void **state) {
    uint8_t *memory =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint64_t pages = 0; pages <= 2; pages++) {
        allow_slices(state);
        lane->stack_low = (uint64_t)(uintptr_t)memory;
        lane->stack_bytes = pages * PAGE;
        uint64_t sp = (uint64_t)(uintptr_t)memory + PAGE, looked_at = pages == 2 ? SLICE_BYTES : 0;
        slice_from(memory + PAGE, OVERFLOW_WAIT);
        assert_int_equal(id_at(SLOT_AT + EVENT_BYTES), SLICE_END);
        assert_int_equal(operand_at(SLOT_AT + EVENT_BYTES), sp + looked_at);
        assert_int_equal(word_of_slice(0) != 0, pages == 2);
    }
    munmap(memory, 2 * PAGE);
}

static void slice_without_impossible_addresses(void **state) {
    uint64_t words[2 + SLICE_BYTES / 8] = {0};
    words[2] = 0xffff;
    words[3] = 0x10000;
    words[4] = 0x7fffffffffff;
    words[5] = 0x800000000000;
    words[6] = UINT64_MAX;
    allow_slices(state);
    static uint64_t stack[128];
    memcpy(stack + 64, words, sizeof words);
    slice_from(stack + 64, OVERFLOW_WAIT);
    assert_int_equal(word_of_slice(2), 0);
    assert_int_equal(word_of_slice(3), 0x10000);
    assert_int_equal(word_of_slice(4), 0x7fffffffffff);
    assert_int_equal(word_of_slice(5), 0);
    assert_int_equal(word_of_slice(6), 0);
    assert_int_equal(lane->head, SLOT_AT + (SLICE_HEAD_SLOTS + 3) * EVENT_BYTES);
}

static void full_ring_marks_a_missing_slice(void **state) {
    const uint64_t need = (SLICE_HEAD_SLOTS + SLICE_BYTES / 8) * EVENT_BYTES;
    allow_slices(state);
    lane->limit = SLOT_AT + need - EVENT_BYTES;
    run(STUB_SLICE, OVERFLOW_DROP, 0);
    assert_int_equal(lane->head, SLOT_AT + EVENT_BYTES);
    assert_int_equal(id_at(SLOT_AT), SLICE_BEGIN);
    assert_int_equal(lane->lost, 0);
    lane->limit = lane->head; /* not even the event fits */
    run(STUB_SLICE, OVERFLOW_DROP, 0);
    assert_int_equal(lane->head, SLOT_AT + EVENT_BYTES);
    allow_slices(state);
    lane->limit = SLOT_AT + need;
    run(STUB_SLICE, OVERFLOW_DROP, 0);
    assert_int_equal(id_at(SLOT_AT + EVENT_BYTES), SLICE_END);
}

static void *move_limit(void *limit) {
    while (!__atomic_load_n(&lane->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane->limit, *(uint64_t *)limit, __ATOMIC_RELEASE);
    return NULL;
}

static void slice_waits_for_room(void **state) {
    pthread_t reader;
    allow_slices(state);
    lane->limit = SLOT_AT + EVENT_BYTES;
    uint64_t start = __rdtsc(), limit = SLOT_AT + RING_BYTES;
    assert_int_equal(pthread_create(&reader, NULL, move_limit, &limit), 0);
    run(STUB_SLICE | STUB_SAVE_FLAGS, OVERFLOW_WAIT, ARITHMETIC_FLAGS);
    pthread_join(reader, NULL);
    assert_int_equal(lane->waits, 1);
    assert_int_equal(id_at(SLOT_AT + EVENT_BYTES), SLICE_BEGIN);
    assert_int_equal(id_at(SLOT_AT + 2 * EVENT_BYTES), SLICE_END);
    check_wait(SLOT_AT, start);
}

/* The smallest room in which the wait's event and the slice fit. */
static void slice_waits_for_room_for_all(void **state) {
    const uint64_t need = (SLICE_HEAD_SLOTS + SLICE_BYTES / 8) * EVENT_BYTES;
    pthread_t reader;
    allow_slices(state);
    uint64_t limit = SLOT_AT + need + EVENT_BYTES;
    lane->limit = SLOT_AT;
    assert_int_equal(pthread_create(&reader, NULL, move_limit, &limit), 0);
    run(STUB_SLICE, OVERFLOW_WAIT, 0);
    pthread_join(reader, NULL);
    assert_true(lane->head <= limit);
    assert_int_equal(id_at(SLOT_AT), WAIT_EVENT);
}

static void no_slice_without_tool_or_own_lane(void **state) {
    allow_slices(state);
    control.owner = CONTROL_OWNER_DIED;
    run(STUB_SLICE, OVERFLOW_WAIT, 0);
    assert_int_equal(lane->head, SLOT_AT);
    allow_slices(state);
    lane->slice_bytes = 0;
    run(STUB_SLICE, OVERFLOW_WAIT, 0);
    assert_int_equal(lane->head, SLOT_AT);
}

static void slice_stub_states_at_every_instruction(void **state) {
    (void)state;
    for (uint8_t v = 0; v < VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++) {
            check_states(v | STUB_SLICE, (enum overflow)o);
            check_states(v | STUB_SLICE | STUB_CALLER, (enum overflow)o);
        }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, fresh_lane),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
