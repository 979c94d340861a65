/*
 * Stack slices that A32 and T32 stubs write with the help of the agent (wire/ring.h). A slice
 * holds the words of the stack that may be addresses and the callee-saved registers, in ring slots
 * of its own. No register, flag or other memory may change.
 */
#include <pthread.h>

#include "stub_setup.h"

enum { SLICE_BYTES = 128, FIRST_REGISTER = 4, LAST_REGISTER = 11, RINGFUL = INT32_MAX };

static void allow(uint64_t head, uint64_t limit, uint32_t stack_bytes) {
    write_lane(head, limit, 0);
    lane()->slice_bytes = SLICE_BYTES;
    lane()->stack_bytes = stack_bytes;
}

static void expect_slot(uint64_t head, uint32_t id, uint64_t value) {
    const struct event *e = slot(head);
    if (e->site != (id << 2 | EVENT_CONTROL) || event_sp(e) != value || !(e->clock_sp >> 16))
        ground_fail("a slice", id, "tells something else");
}

/* Expects the whole slice, up to END bytes above the stack pointer, behind BEFORE slots of other
 * events. */
static void expect_slice(const struct state *in, uint64_t head, uint32_t end, uint64_t before) {
    uint64_t first = head;
    expect_slot(head, SLICE_BEGIN, before);
    expect_slot(head += EVENT_BYTES, SLICE_END, in->r[ARM_SP] + end);
    for (uint32_t n = FIRST_REGISTER; n <= LAST_REGISTER; n++)
        expect_slot(head += EVENT_BYTES, SLICE_REGISTER + n - FIRST_REGISTER, in->r[n]);
    expect_slot(head += EVENT_BYTES, SLICE_REGISTER + LAST_REGISTER + 1 - FIRST_REGISTER,
                in->r[ARM_LR]);
    const uint32_t *words = pointer(in->r[ARM_SP]);
    for (uint32_t n = 0; n < end / ARM_WORD; n++)
        if (words[n] >= 0x10000 && words[n] < 0xffff0000)
            expect_slot(head += EVENT_BYTES, SLICE_WORD + n, words[n]);
    head += EVENT_BYTES;
    expect_head("a slice", head);
    if (lane()->slice_slots != before + (head - first) / EVENT_BYTES)
        ground_fail("a slice", end, "has another size");
}

static struct state run_slice(uint64_t seed) {
    struct state in, out = run(seed, CALLER, &in);
    expect_done("a slice", seed, &in, &out);
    return in;
}

static void check_whole(void) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t head = 0xffffff00 + seed * 0x310 / EVENT_BYTES * EVENT_BYTES;
        struct state in;
        allow(head, head + RING, RINGFUL);
        lane()->slice_slots = 0xfffffff0 + seed;
        in = run_slice(seed);
        expect_slice(&in, head, SLICE_BYTES, 0xfffffff0 + seed);
        ground_fill(&in, seed);
        allow(head, head + RING, in.r[ARM_SP] + 20);
        in = run_slice(seed);
        expect_slice(&in, head, 20, 0);
    }
}

/* Of a foreign stack only its page is known (REST bytes of it). At the end of a stack not even that
 * is known: a function may begin there without a caller. */
static void check_end(uint32_t rest, uint32_t own_bytes) {
    static const uint32_t edges[] = {0xffff, 0x10000, 0xffff0000, 0xfffeffff, 0};
    struct state in, out;
    ground_fill(&in, 1);
    in.r[ARM_SP] = GROUND_STACK - rest;
    if (rest)
        memcpy(pointer(in.r[ARM_SP]), edges, sizeof edges);
    allow(0, RING, own_bytes);
    ground_run(stub_at | t32, &in, &out);
    in.arrived = DONE;
    ground_compare("a slice", rest, &in, &out);
    expect_slice(&in, 0, rest, 0);
}

static void *make_room(void *limit) {
    while (!__atomic_load_n(&lane()->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane()->limit, *(uint64_t *)limit, __ATOMIC_RELEASE);
    return NULL;
}

/* There is just room for the wait's event and the slice. */
static void check_waiting(void) {
    enum { NEED = (SLICE_HEAD_SLOTS + SLICE_BYTES / ARM_WORD) * EVENT_BYTES };
    const uint64_t head = 0xfffffff0, begin = ticks();
    uint64_t limit = head + EVENT_BYTES + NEED;
    pthread_t helper;
    allow(head, head + EVENT_BYTES, RINGFUL);
    if (pthread_create(&helper, NULL, make_room, &limit))
        abort();
    struct state in = run_slice(4);
    pthread_join(helper, NULL);
    expect_wait(head, begin);
    expect_slice(&in, head + EVENT_BYTES, SLICE_BYTES, 0);
}

static void check_none(void) {
    allow(0, (SLICE_HEAD_SLOTS + 1) * EVENT_BYTES, RINGFUL);
    control.owner = CONTROL_OWNER_DIED;
    run_slice(1);
    control.owner = 0;
    expect_head("a slice for a dead tool", 0);
    write_stub((struct stub_spec){.variant = STUB_SLICE, .overflow = OVERFLOW_DROP});
    run_slice(2); /* there is no room: only a mark of the slice is recorded */
    expect_slot(0, SLICE_BEGIN, 0);
    expect_head("a slice that is left out", EVENT_BYTES);
    allow(0, RING, RINGFUL);
    lane()->slice_bytes = 0;
    run_slice(3);
    expect_head("a slice that is not requested", 0);
}

static void check_all(void) {
    write_agent(0);
    write_stub((struct stub_spec){.variant = STUB_SLICE});
    check_whole();
    check_end(64, 8);
    check_end(0, 8);
    check_end(0, GROUND_STACK);
    check_waiting();
    check_none();
}

int main(void) {
    catch (SIGILL, read_for);
    ground_open();
    check_all();
    t32 = true;
    check_all();
    stub_at += 2;
    check_all();
    printf("%d failures of slices\n", ground_failures);
    return ground_failures != 0;
}
