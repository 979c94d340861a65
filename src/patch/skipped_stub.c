/* Runs captures (values/run.h) on a stopped thread. */
#include "patch/skipped_stub.h"

#include <string.h>

#include "arch/arch.h"
#include "target/memory.h"
#include "trace/captures.h"

/* The capture for the event of S that is chosen now; those of an earlier choice are forgotten. */
static const struct plan_capture *find_capture(const struct skipped_stub *s) {
    const struct traced_module *m = s->patched->traced_module;
    const struct module_choice *choice = &m->choice;
    const uint32_t id = s->site >> 2;
    const enum event_kind kind = s->site & 3;
    for (size_t i = 0; i < choice->marks.count && kind == EVENT_CONTROL; i++)
        if (choice->marks.at[i].id == id && choice->marks.at[i].capture.bytes)
            return &choice->marks.at[i].capture;
    for (size_t i = 0; i < choice->captures.count && kind != EVENT_CONTROL; i++) {
        const struct plan_capture *c = &choice->captures.at[i];
        if (c->function + m->first_id == id && c->kind == kind)
            return c;
    }
    return NULL;
}

static bool read_index(const uint64_t *registers, const struct capture_value *v, void *ret,
                       size_t size) {
    const uint64_t sum =
        registers[v->reg] + (registers[capture_index_register(v)] << capture_index_shift(v));
    memcpy(ret, &sum, size);
    return true;
}

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    const struct skipped_stub *s = ctx;
    uint64_t registers[REGS_DWARF_COUNT];
    if (v->from == FROM_VECTOR)
        return thread_read_vector(s->tid, v->reg, v->part, ret, size) == 0;
    if (v->from == FROM_MODULE) {
        const uint64_t address = s->patched->bias + v->constant;
        memcpy(ret, &address, size);
        return true;
    }
    if (v->from == FROM_X87)
        return thread_read_x87(s->tid, v->part, ret, size) == 0;
    if (v->reg >= REGS_DWARF_COUNT || size > sizeof *registers)
        return false;
    regs_dwarf(s->regs, registers);
    if (v->from == FROM_INDEXED)
        return read_index(registers, v, ret, size);
    memcpy(ret, &registers[v->reg], size);
    return true;
}

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    const struct skipped_stub *s = ctx;
    return memory_read(s->space->remote.memory_fd, address, ret, size, NULL) == 0;
}

void skipped_stub_put(const struct skipped_stub *stub, struct lane_handle *handle) {
    struct skipped_stub s = *stub;
    const struct plan_capture *p = s.captures && !handle->unread ? find_capture(&s) : NULL;
    const struct capture *c = p ? p->capture : NULL;
    const uint64_t sp = regs_sp(s.regs) + s.pops;
    struct capture_source source = {&s, REGS_WORD_BYTES, sp, read_register, read_memory};
    struct lane_event event = {
        .site = s.site, .sp = s.value + s.pops, .overflow = s.patched->code->emitted.overflow};
    AUTO_FREE struct captured_slot *slots = mem_alloc((c ? capture_slots(c) : 0) * sizeof *slots);
    AUTO_FREE struct captured *captured = mem_alloc((c ? c->count : 0) * sizeof *captured);
    AUTO_FREE uint8_t *store = NULL;
    if (c) {
        capture_run(c, &source, captured, &store);
        event.slot_count = captured_slots(c, p->number, captured, slots);
        event.slots = slots;
    }
    lane_handle_put_values(handle, &event);
}
