/* Moves a thread out of stubs, the agent, the bridge and relocated code: by its registers, by
 * emulating instructions, or over the bridge. */
#include "patch/settle.h"

#include <errno.h>
#include <stdint.h>

#include "arch/arch.h"
#include "patch/crossing.h"
#include "patch/skipped_stub.h"
#include "ring/kept_calls.h"
#include "target/memory.h"

struct settling {
    const struct space *space;
    pid_t tid;
    struct lane_handle *handle;
    struct regs regs;
    bool changed;  /* regs differ from the thread's */
    bool restored; /* the text is: the thread can go on at any of its instructions */
};

static void release_reservation(struct settling *w) {
    if (w->handle && regs_has_lane(&w->regs, w->handle->at))
        __atomic_store_n(&w->handle->lane->head, w->handle->lane->head - EVENT_BYTES,
                         __ATOMIC_RELEASE);
}

/* Reads COUNT words of the target at AT. */
static bool read_words(const struct space *space, taddr_t at, unsigned count, uint64_t *out) {
    const uint8_t size = arch_host()->word_bytes;
    for (unsigned i = 0; i < count; i++) {
        out[i] = 0;
        if (memory_read(space->remote.memory_fd, at + (taddr_t)i * size, &out[i], size, NULL) < 0)
            return false;
    }
    return true;
}

static const struct arch *arch_of(const struct mark *m) {
    return m->other ? arch_host()->other : arch_host();
}

/* How long the code of a capture in the stub of M is. *RET_AT: its offset. */
static uint32_t capture_bytes(const struct patched *p, const struct mark *m, uint32_t *ret_at) {
    const struct plan_code *c = &p->code->emitted;
    const struct arch *arch = arch_of(m);
    *ret_at = UINT32_MAX;
    if (!stub_captures(m->variant) || !arch->stub_capture_at)
        return 0;
    *ret_at = arch->stub_capture_at(m->variant, c->overflow);
    return m[1].offset - m->offset - arch->stub_size(m->variant, c->overflow);
}

static uint32_t whole_stub_size(const struct patched *p, const struct mark *m) {
    uint32_t at, more = capture_bytes(p, m, &at);
    return arch_of(m)->stub_size(m->variant, p->code->emitted.overflow) + more;
}

/* OFFSET in the stub of M, as if the stub had no code of a capture. Such code has no effect that
 * must be undone. */
static uint32_t plain_offset(const struct patched *p, const struct mark *m, uint32_t offset) {
    uint32_t at, more = capture_bytes(p, m, &at);
    return offset <= at ? offset : offset < at + more ? at : offset - more;
}

/* pc is OFFSET bytes into the stub of mark M: undoes what the stub did. A committed event stays;
 * then the thread goes on behind the stub. */
static bool leave_stub(struct settling *w, const struct patched *p, const struct mark *m,
                       uint32_t offset, bool reserved) {
    struct stub_state state;
    uint64_t words[STUB_MOST_PUSHED];
    const struct arch *arch = arch_of(m);
    const enum overflow overflow = p->code->emitted.overflow;
    if (!arch->stub_state(m->variant, overflow, plain_offset(p, m, offset), &state) ||
        !read_words(w->space, regs_sp(&w->regs), state.pushed, words))
        return false;
    bool has_slot = state.unsure && regs_slot_is_reserved(&w->regs);
    if (state.reserved || reserved || (has_slot && !state.ahead))
        release_reservation(w);
    state.committed |= has_slot && state.ahead;
    if (w->handle && !w->handle->unread)
        lane_handle_forget_begun(w->handle);
    regs_leave_stub(&w->regs, m->variant, &state, words);
    taddr_t start = p->area + m->offset;
    regs_set_pc(&w->regs, state.committed ? start + whole_stub_size(p, m) : start);
    regs_set_state(&w->regs, m->other, 0);
    w->changed = true;
    return true;
}

/* An inherited module has no marks, and its events are not read. */
static bool is_without_marks(const struct patched *p) { return !p->code->emitted.mark_count; }

/* FROM is in a stub of P, of the OTHER state: the thread goes on where the stub restores
 * registers. */
static bool skip_event(struct settling *w, const struct patched *p, taddr_t from, bool other) {
    uint8_t code[STUB_MAX_BYTES + STUB_CAPTURE_BYTES];
    size_t left = p->area + p->area_size - from, at;
    size_t size = left < sizeof code ? left : sizeof code;
    if (memory_read(w->space->remote.memory_fd, from, code, size, NULL) < 0 ||
        !regs_find_stub_end(other, code, size, &at))
        return false;
    regs_set_pc(&w->regs, from + at);
    regs_set_state(&w->regs, other, 0);
    w->changed = true;
    return true;
}

/* pc is in the agent: a register holds the address in the stub that it came from. */
static bool leave_agent(struct settling *w, const struct patched *p, enum agent_place place) {
    bool other;
    taddr_t back = regs_agent_return(&w->regs, p->area, &other);
    uint64_t offset = back - p->area;
    const struct mark *m = offset < p->area_size ? patched_mark_at(p, offset) : NULL;
    if (offset < p->area_size && is_without_marks(p))
        skip_event(w, p, back, other);
    if (!m || m->kind != MARK_STUB)
        return false;
    uint32_t at = (uint32_t)(offset - m->offset);
    if (place == AGENT_HOOK || place == AGENT_RESERVED || place == AGENT_RELEASED)
        at = arch_of(m)->stub_retry(m->variant); /* as if the stub had not reserved yet */
    if (!leave_stub(w, p, m, at, place == AGENT_RESERVED))
        return false;
    if (w->handle && !w->handle->unread && regs_has_lane(&w->regs, w->handle->at))
        lane_handle_end_wait(w->handle, place == AGENT_HOOK ? PAUSE_DLOPEN : PAUSE_RING);
    return true;
}

/* pc is on the bridge: the thread has crossed, or a killed tracer has left it there. */
static bool leave_bridge(struct settling *w, const struct patched *p) {
    struct bridge_notes notes;
    regs_word_t words[BRIDGE_WORDS];
    if (memory_read(w->space->remote.memory_fd, bridge_notes_at(p->area), &notes, sizeof notes,
                    NULL) < 0 ||
        memory_read(w->space->remote.memory_fd, notes.saved, words, sizeof words, NULL) < 0)
        return false;
    w->changed =
        bridge_leave(&w->regs, p->area, &notes, words) && thread_set_mask(w->tid, notes.mask) == 0;
    return w->changed;
}

/* The address in the program's code that mark M stands for; 0 if it cannot be read. */
static taddr_t original_place(const struct settling *w, const struct patched *p,
                              const struct mark *m) {
    taddr_t at = m->orig + p->bias, to;
    if (m->kind != MARK_THROUGH)
        return at;
    return read_words(w->space, at, 1, &to) ? to : 0;
}

bool settle_put_back(const struct space *space, const struct settle_place *place,
                     struct regs *regs) {
    const struct mark *m = place->mark;
    uint64_t word;
    if (m && m->kind != MARK_STUB && m->pushed) {
        if (!read_words(space, regs_sp(regs), 1, &word))
            return false;
        regs_pop(regs, m->pushed - 1, word);
    }
    if (m)
        regs_set_state(regs, m->other, m->it);
    regs_set_pc(regs, place->original);
    return true;
}

/* Moves the thread one step by its registers. Returns whether pc may have to be moved again. */
static bool move_once(struct settling *w, enum settled *ret, struct settle_place *place) {
    taddr_t pc = regs_pc(&w->regs), site = space_way_back(w->space, pc);
    struct patched *p = space_area_at(w->space, pc);
    *ret = SETTLED_OUTSIDE;
    if (site) {
        regs_set_pc(&w->regs, site);
        w->changed = true;
    }
    if (site || !p || !p->code)
        return false;
    uint64_t offset = pc - p->area;
    enum agent_place agent = regs_agent_place(&w->regs, p->area);
    *ret = SETTLED_INSIDE;
    *place = (struct settle_place){.patched = p};
    if (agent == AGENT_BRIDGE)
        return leave_bridge(w, p);
    if (agent != AGENT_OUTSIDE)
        return leave_agent(w, p, agent);
    const struct mark *m = patched_mark_at(p, offset);
    if (!m)
        return false;
    place->original = original_place(w, p, m);
    place->mark = m;
    if (m->kind == MARK_STUB && offset != m->offset)
        return leave_stub(w, p, m, (uint32_t)(offset - m->offset), false);
    if (!(w->restored || m->at_start) || offset != m->offset || !place->original ||
        !settle_put_back(w->space, place, &w->regs))
        return false;
    w->changed = true;
    *ret = SETTLED_OUTSIDE;
    return false;
}

static int move_by_registers(struct settling *w, enum settled *ret, struct settle_place *place) {
    int rc = thread_get_regs(w->tid, &w->regs);
    if (rc < 0)
        return rc;
    w->changed = false;
    for (int i = 0; i < 4 && move_once(w, ret, place); i++)
        ;
    return w->changed ? thread_set_regs(w->tid, &w->regs) : 0;
}

int settle_registers(const struct space *space, pid_t tid, struct lane_handle *handle,
                     enum settled *ret, struct settle_place *place) {
    struct settling w = {.space = space, .tid = tid, .handle = handle};
    return move_by_registers(&w, ret, place);
}

/* Whether the stub of M would record an event for a thread that comes to it with REGS. */
static bool passes_filter(const struct space *space, const struct patched *p, const struct mark *m,
                          const struct regs *regs) {
    const struct span *caller = &p->code->emitted.caller;
    uint64_t from;
    if (!(m->variant & STUB_CALLER))
        return true;
    if ((m->pops || !regs_return_address(regs, &from)) &&
        !read_words(space, regs_sp(regs) + (taddr_t)mark_words_before(m) * arch_host()->word_bytes,
                    1, &from))
        return false;
    return from - caller->start < caller->end - caller->start;
}

/* Reads the stub of M, without its capture's code, which may have any size. */
static bool read_stub(const struct space *space, const struct patched *p, const struct mark *m,
                      uint8_t out[STUB_MAX_BYTES]) {
    const int fd = space->remote.memory_fd;
    const taddr_t start = p->area + m->offset;
    const uint32_t size = arch_of(m)->stub_size(m->variant, p->code->emitted.overflow);
    uint32_t at, more = capture_bytes(p, m, &at);
    if (!more)
        at = size;
    return memory_read(fd, start, out, at, NULL) == 0 &&
           memory_read(fd, start + at + more, out + at, size - at, NULL) == 0;
}

static bool is_entry(const struct space *space, const struct patched *p, const struct mark *m) {
    const enum overflow overflow = p->code->emitted.overflow;
    uint8_t stub[STUB_MAX_BYTES];
    return read_stub(space, p, m, stub) &&
           (arch_of(m)->stub_site(stub, m->variant, overflow) & 3) == EVENT_ENTRY;
}

/* The thread is before the stub of M, which judges the call with stack pointer SP: how many bytes
 * of stubs it skips, which are no more than its own and those of one event. An entry is kept
 * whatever its values are: it is recorded with them, and ring/conditions.c judges it. */
static uint32_t judge_call(const struct space *space, const struct patched *p, const struct mark *m,
                           struct lane_handle *handle, taddr_t sp) {
    const uint32_t own = whole_stub_size(p, m);
    const struct mark *event = m + 1;
    uint32_t size = own;
    while (stub_slices(event->variant) && event->kind == MARK_STUB && event->orig == m->orig)
        size += whole_stub_size(p, event++);
    if (event->kind != MARK_STUB || event->orig != m->orig || stub_judges(event->variant))
        return own; /* it stands behind an exit's event */
    if (handle && is_entry(space, p, event))
        kept_calls_add(handle, sp);
    return handle && kept_calls_has(handle, sp) ? own : size + whole_stub_size(p, event);
}

/* The thread is before a stub in the middle of a window: writes the event itself and skips the
 * stub. */
static int skip_stub(const struct space *space, pid_t tid, struct lane_handle *handle) {
    struct regs regs;
    int rc = thread_get_regs(tid, &regs);
    if (rc < 0)
        return rc;
    taddr_t pc = regs_pc(&regs);
    struct patched *p = space_area_at(space, pc);
    const struct mark *m = p && p->code ? patched_mark_at(p, pc - p->area) : NULL;
    if (!m || m->kind != MARK_STUB || pc != p->area + m->offset)
        return 0;
    const struct arch *arch = arch_of(m);
    if (stub_judges(m->variant)) {
        const taddr_t sp = regs_sp(&regs) + (taddr_t)m->pops * arch->word_bytes;
        regs_set_pc(&regs, pc + judge_call(space, p, m, handle, sp));
        return thread_set_regs(tid, &regs);
    }
    uint8_t stub[STUB_MAX_BYTES];
    if (handle && !(m->variant & (STUB_HOOK | STUB_SLICE)) && passes_filter(space, p, m, &regs) &&
        read_stub(space, p, m, stub)) {
        const uint32_t site = arch->stub_site(stub, m->variant, p->code->emitted.overflow);
        const struct skipped_stub skipped = {space,
                                             tid,
                                             p,
                                             &regs,
                                             site,
                                             stub_captures(m->variant),
                                             (uint16_t)(m->pops * arch->word_bytes),
                                             regs_stub_value(&regs, m->variant, site)};
        skipped_stub_put(&skipped, handle);
    }
    regs_set_pc(&regs, pc + whole_stub_size(p, m));
    return thread_set_regs(tid, &regs);
}

enum { AHEAD = BRIDGE_BYTES + INSN_MAX_BYTES };

/* Reads the code at PC of P up to the next stub, at most AHEAD bytes. Returns how many. */
static size_t read_ahead(const struct settling *w, const struct patched *p, taddr_t pc,
                         uint8_t out[AHEAD]) {
    const struct plan_code *c = &p->code->emitted;
    uint64_t offset = pc - p->area, end = p->area_size;
    const struct mark *m = patched_mark_at(p, offset);
    for (size_t i = m ? (size_t)(m - c->marks) + 1 : c->mark_count; i < c->mark_count; i++)
        if (plan_code_mark(c, i)->kind == MARK_STUB) {
            end = c->marks[i].offset;
            break;
        }
    size_t size = end - offset < AHEAD ? end - offset : AHEAD;
    return memory_read(w->space->remote.memory_fd, pc, out, size, NULL) == 0 ? size : 0;
}

static bool read_word(const void *settling, taddr_t at, regs_word_t *ret) {
    const struct settling *w = settling;
    return memory_read(w->space->remote.memory_fd, at, ret, sizeof *ret, NULL) == 0;
}

static bool fill(const void *settling, unsigned first, const regs_word_t *words, unsigned count) {
    const struct settling *w = settling;
    return thread_fill_vectors(w->tid, first, words, count) == 0;
}

/* Emulates the thread's next instruction. Returns whether that was possible. */
static bool emulate(struct settling *w, const uint8_t *code, size_t size) {
    const struct regs_access reach = {read_word, fill, w};
    struct regs regs = w->regs;
    enum regs_emulated taken = regs_emulate(&regs, code, size, &reach);
    if (taken == REGS_NOT_EMULATED || (taken == REGS_RETURNED && thread_guards_returns(w->tid)))
        return false;
    return thread_set_regs(w->tid, &regs) == 0;
}

/* Skips the rest of a stub that cannot run on the bridge. */
static bool skip_rest_of_stub(struct settling *w, const struct patched *p, const uint8_t *code,
                              size_t size) {
    bool other = regs_is_other(&w->regs);
    return is_without_marks(p) && regs_is_stub_code(other, code, size) &&
           skip_event(w, p, regs_pc(&w->regs), other) && thread_set_regs(w->tid, &w->regs) == 0;
}

static int cross(const struct crossing *c, bool *ret_blocked) {
    struct crossing_before before;
    *ret_blocked = true;
    int rc = crossing_is_possible(c) ? crossing_begin(c, &before) : -ERANGE;
    if (rc == 0)
        rc = crossing_end(c, &before, ret_blocked);
    return rc == -ERANGE ? 0 : rc;
}

/* Moves the thread, which is between instructions of a trampoline, to the next branch or stub, or
 * beyond the branch. *RET_BLOCKED: it cannot be moved further. */
static int advance(struct settling *w, bool *ret_blocked) {
    uint8_t code[AHEAD];
    int rc = thread_get_regs(w->tid, &w->regs);
    if (rc < 0)
        return rc;
    taddr_t pc = regs_pc(&w->regs);
    const struct patched *p = space_area_at(w->space, pc);
    bool inside = p && p->code && regs_agent_place(&w->regs, p->area) != AGENT_BRIDGE;
    size_t size = inside ? read_ahead(w, p, pc, code) : 0;
    struct crossing c = {w->space, p, w->tid, code, bridge_fit(&w->regs, code, size), pc};
    if (c.size || (bridge_returns(code, size) && !thread_guards_returns(w->tid)))
        return cross(&c, ret_blocked);
    *ret_blocked = !size || !(skip_rest_of_stub(w, p, code, size) || emulate(w, code, size));
    return 0;
}

static int move_out(struct settling *w, enum settled *ret) {
    enum { MOST_MOVES = 256 };
    struct settle_place place;
    bool blocked = false;
    int rc = move_by_registers(w, ret, &place);
    for (int i = 0; i < MOST_MOVES && rc == 0 && !blocked && *ret == SETTLED_INSIDE; i++) {
        rc = skip_stub(w->space, w->tid, w->handle);
        if (rc == 0)
            rc = advance(w, &blocked);
        if (rc == 0)
            rc = move_by_registers(w, ret, &place);
    }
    return rc;
}

int settle_step_out(const struct space *space, pid_t tid, struct lane_handle *handle,
                    enum settled *ret) {
    struct settling w = {.space = space, .tid = tid, .handle = handle};
    return move_out(&w, ret);
}

int settle_out(const struct space *space, pid_t tid, struct lane_handle *handle,
               enum settled *ret) {
    struct settling w = {.space = space, .tid = tid, .handle = handle, .restored = true};
    return move_out(&w, ret);
}

bool settle_clockless(const struct space *space, pid_t tid, struct lane_handle *handle) {
    struct settling w = {.space = space, .tid = tid, .handle = handle};
    if (thread_get_regs(tid, &w.regs) < 0)
        return false;
    taddr_t pc = regs_pc(&w.regs);
    const struct patched *p = space_area_at(space, pc);
    if (p && regs_skip_agent_clock(&w.regs, p->area))
        return thread_set_regs(tid, &w.regs) == 0;
    const struct mark *m = p && p->code ? patched_mark_at(p, pc - p->area) : NULL;
    if (!m || m->kind != MARK_STUB || m->variant & STUB_HOOK || stub_judges(m->variant) ||
        pc - p->area - m->offset != arch_of(m)->stub_retry(m->variant))
        return false;
    return leave_stub(&w, p, m, arch_of(m)->stub_retry(m->variant), false) &&
           thread_set_regs(tid, &w.regs) == 0 && skip_stub(space, tid, handle) == 0;
}

bool settle_find_hooked(const struct space *space, pid_t tid, struct settle_hooked *ret) {
    struct settling w = {.space = space, .tid = tid};
    bool other;
    if (thread_get_regs(tid, &w.regs) < 0)
        return false;
    const struct patched *p = space_area_at(space, regs_pc(&w.regs));
    if (!p || !p->code || regs_agent_place(&w.regs, p->area) != AGENT_HOOK)
        return false;
    uint64_t offset = regs_agent_return(&w.regs, p->area, &other) - p->area;
    const struct mark *m = offset < p->area_size ? patched_mark_at(p, offset) : NULL;
    if (!m || m->kind != MARK_STUB || !leave_agent(&w, p, AGENT_HOOK))
        return false;
    *ret = (struct settle_hooked){m->variant, m->orig + p->bias, w.regs};
    return true;
}

taddr_t settle_behind_hook(const struct patched *p, taddr_t site) {
    const struct plan_code *c = p->code ? &p->code->emitted : NULL;
    size_t i = c ? patched_patch_at(c, site - p->bias) : 0;
    if (!c || i == c->patch_count || c->patches[i].at != site - p->bias || patched_is_spared(p, i))
        return 0;
    taddr_t copy = patched_copy_of(p, site);
    const struct mark *m = copy ? patched_mark_at(p, copy - p->area) : NULL;
    if (!m || m->kind != MARK_STUB || !(m->variant & STUB_HOOK))
        return 0;
    return copy + arch_of(m)->stub_size(m->variant, c->overflow);
}
