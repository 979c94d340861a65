/* Copies stopped threads' stacks, and unwinds the copies into records of open calls. */
#include "tracer/open_frames.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/clock.h"
#include "base/log.h"
#include "ring/kept_calls.h"
#include "select/mapped.h"
#include "target/memory.h"
#include "unwind/unwind.h"

enum {
    RED_ZONE = 128, /* bytes below the stack pointer that leaf functions and epilogues use */
    MOST_BYTES = 256 * 1024, /* of one stack: the outermost calls of deeper stacks are unknown */
    PIECES =
        4, /* stacks of one thread: its own, and those that its signal handlers have interrupted */
};

struct copy {
    pid_t tid;
    struct regs regs;
    struct unwind_piece pieces[PIECES]; /* their bytes are owned */
    size_t count;
    bool named;
    uint32_t stream;
    struct lane_handle *lane;
};

struct open_frames {
    const struct space *space;
    pid_t tid;          /* of the process, for /proc */
    int memory_fd;      /* or −1 */
    struct maps code;   /* the maps before the process was stopped */
    struct maps stacks; /* the maps read while it was stopped; empty before */
    struct unwinder *unwinder;
    ARRAY(struct copy) copies;
    uint64_t ticks;
    unwind_frames found;              /* of the present thread */
    ARRAY(struct trace_frame) traced; /* open calls of traced functions among these */
    taddr_t judged; /* the lowest stack pointer of those whose functions are judged by stubs */
};

static int open_file(void *ctx, const struct map *map) {
    const struct open_frames *f = ctx;
    if (strcmp(map->path, "[vdso]") == 0)
        return unwind_image(f->memory_fd, map);
    struct stat st;
    return map->path[0] == '/' ? mapped_open(f->tid, map, &st) : -1;
}

struct open_frames *open_frames_new(const struct space *space) {
    struct open_frames *f = mem_alloc(sizeof *f);
    f->space = space;
    f->memory_fd = -1;
    f->tid = space_thread(space);
    if (memory_open(f->tid, &f->memory_fd, NULL) == 0)
        maps_read(f->tid, &f->code, NULL);
    maps_use_former_names(&f->code);
    f->unwinder = unwinder_new(&f->code, &(struct unwind_files){f, open_file});
    unwinder_open_files(f->unwinder);
    return f;
}

void open_frames_free(struct open_frames *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->copies.count; i++)
        for (size_t k = 0; k < f->copies.at[i].count; k++)
            free((void *)f->copies.at[i].pieces[k].bytes);
    unwinder_free(f->unwinder);
    if (f->memory_fd >= 0)
        close(f->memory_fd);
    maps_done(&f->code);
    maps_done(&f->stacks);
    ARRAY_FREE(&f->copies);
    ARRAY_FREE(&f->found);
    ARRAY_FREE(&f->traced);
    free(f);
}

/* ---- copies ---- */

static bool is_copied(const struct copy *c, taddr_t addr) {
    for (size_t i = 0; i < c->count; i++)
        if (addr - c->pieces[i].at < c->pieces[i].size)
            return true;
    return false;
}

/* The map of the stack of stack pointer SP. A thread that has used up its stack points below it. */
static const struct map *stack_at(const struct maps *maps, taddr_t sp) {
    enum { LARGE_FRAME = 1 << 20 };
    const struct map *m = maps_at(maps, sp);
    for (size_t i = 0; (!m || !m->readable) && i < maps->list.count; i++) {
        const struct map *above = &maps->list.at[i];
        if (above->start > sp && above->start - sp <= LARGE_FRAME && above->writable)
            return above;
    }
    return m;
}

/* Copies the stack of stack pointer SP, unless that is already copied. */
static void copy_stack(const struct open_frames *f, struct copy *c, taddr_t sp) {
    const struct map *m = stack_at(&f->stacks, sp);
    if (m && sp < m->start)
        sp = m->start;
    if (!m || !m->writable || c->count == PIECES || is_copied(c, sp))
        return;
    taddr_t at = sp - m->start < RED_ZONE ? m->start : sp - RED_ZONE;
    at &= ~(taddr_t)(sizeof(uint64_t) - 1);
    size_t size = m->end - at < MOST_BYTES ? m->end - at : MOST_BYTES;
    uint8_t *bytes = mem_resize(NULL, size, 1);
    if (memory_read(f->memory_fd, at, bytes, size, NULL) < 0) {
        free(bytes);
        return;
    }
    c->pieces[c->count++] = (struct unwind_piece){at, bytes, size};
}

/* Copies the stacks that handlers on this stack have interrupted. */
static void copy_interrupted(const struct open_frames *f, struct copy *c,
                             const struct unwind_piece *p) {
    const regs_word_t *words = (const void *)p->bytes;
    struct regs_context context;
    for (size_t i = 0; i + REGS_CONTEXT_WORDS <= p->size / sizeof *words; i++)
        if (regs_look_like_context(words + i, &context))
            copy_stack(f, c, context.sp);
}

void open_frames_copy(struct open_frames *f, pid_t tid) {
    struct copy c = {.tid = tid};
    if (!f->stacks.list.count)
        maps_read(tid, &f->stacks, NULL);
    if (thread_get_regs(tid, &c.regs) < 0)
        return;
    copy_stack(f, &c, regs_sp(&c.regs));
    for (size_t i = 0; i < c.count; i++)
        copy_interrupted(f, &c, &c.pieces[i]);
    ARRAY_PUSH(&f->copies, c);
}

/* REGS are behind a call of an address without code: makes them those after its return, and adds
 * the address's frame. False: the return address is not known. */
static bool return_from_nowhere(const struct copy *c, struct regs *regs, unwind_frames *ret) {
    uint64_t registers[REGS_DWARF_COUNT], kept = 0;
    taddr_t sp = regs_sp(regs);
    regs_dwarf(regs, registers);
    ARRAY_PUSH(ret, ((struct unwind_frame){.pc = regs_pc(regs), .exact = true}));
    bool found = regs_link(registers, &kept);
    for (size_t i = 0; i < c->count && !found; i++) {
        const struct unwind_piece *p = &c->pieces[i];
        found = sp >= p->at && sp - p->at + sizeof(regs_word_t) <= p->size;
        if (found)
            kept = *(const regs_word_t *)(p->bytes + (sp - p->at));
    }
    regs_set_pc(regs, regs_plain_address(kept));
    regs_set_sp(regs, sp + (taddr_t)arch_host()->entry_cfa);
    return found;
}

void open_frames_walk(struct open_frames *f, pid_t tid, unwind_frames *ret) {
    const struct copy *c = NULL;
    for (size_t i = 0; i < f->copies.count; i++)
        if (f->copies.at[i].tid == tid)
            c = &f->copies.at[i];
    if (!c)
        return;
    struct unwind_stack stack = {.regs = c->regs, .pieces = c->pieces, .count = c->count};
    if (!unwind_is_possible(f->unwinder, regs_pc(&stack.regs))) {
        stack.returned = true;
        if (!return_from_nowhere(c, &stack.regs, ret))
            return;
    }
    unwind_stack(f->unwinder, &stack, ret);
}

const struct maps *open_frames_code(const struct open_frames *f) { return &f->code; }

const struct maps *open_frames_maps(const struct open_frames *f) { return &f->stacks; }

void open_frames_set_time(struct open_frames *f) { f->ticks = clock_ticks(); }

void open_frames_set_stream(struct open_frames *f, pid_t tid, uint32_t stream,
                            struct lane_handle *handle) {
    for (size_t i = 0; i < f->copies.count; i++) {
        struct copy *c = &f->copies.at[i];
        if (c->tid != tid)
            continue;
        c->named = true;
        c->stream = stream;
        c->lane = handle;
        return;
    }
    ARRAY_PUSH(&f->copies, ((struct copy){tid, .named = true, .stream = stream, .lane = handle}));
}

/* ---- frames to calls ---- */

static bool has(const uint8_t *bitmap, uint32_t i) { return bitmap && bitmap_test(bitmap, i); }

static const struct patched *module_at(const struct space *space, taddr_t pc) {
    for (size_t i = 0; i < space->modules.count; i++) {
        const struct patched *p = &space->modules.at[i];
        const struct module *m = p->traced_module->module;
        if (p->code && !p->first && pc - p->bias >= m->text_low && pc - p->bias < m->text_high)
            return p;
    }
    return NULL;
}

static bool is_traced(const struct patched *p, uint32_t function) {
    const struct traced_module *m = p->traced_module;
    return has(m->choice.selected, function) && !has(p->code->emitted.missed, function) &&
           !has(p->untraced, function) && plan_function(m->plan, function)->entry != TIER_NONE;
}

/* Whether FRAME's call has passed its entry and not its exit. */
static bool is_open(const struct patched *p, uint32_t function, const struct unwind_frame *frame) {
    vaddr_t addr = frame->pc - p->bias;
    return !frame->exact || (!plan_is_before_entry(p->traced_module->plan, function, addr) &&
                             !plan_is_past_exit(p->traced_module->plan, addr));
}

/* Whether the call is recorded: filtered functions only if they return to the program. CALLER may
 * be NULL. */
static bool is_recorded(const struct open_frames *f, const struct patched *p, uint32_t function,
                        const struct unwind_frame *caller) {
    const struct span *text = &f->space->program.text;
    return !has(p->traced_module->choice.filtered, function) ||
           (caller && !caller->exact && caller->pc >= text->start && caller->pc < text->end);
}

/* Whether stubs may judge calls of FUNCTION of P. */
static bool is_judged(const struct patched *p, uint32_t function) {
    const struct traced_module *m = p->traced_module;
    for (size_t i = 0; i < m->choice.captures.count; i++)
        if (m->choice.captures.at[i].function == function && m->choice.captures.at[i].predicate)
            return true;
    return false;
}

static void add_call(struct open_frames *f, const struct unwind_frame *frame,
                     const struct unwind_frame *caller) {
    taddr_t pc = frame->pc - !frame->exact;
    const struct patched *p = frame->cfa ? module_at(f->space, pc) : NULL;
    uint32_t function = p ? plan_function_at(p->traced_module->plan, pc - p->bias) : UINT32_MAX;
    if (function == UINT32_MAX || !is_traced(p, function) || !is_open(p, function, frame) ||
        !is_recorded(f, p, function, caller))
        return;
    struct trace_frame traced = {p->traced_module->first_id + function,
                                 frame->cfa - arch_host()->entry_cfa};
    ARRAY_PUSH(&f->traced, traced);
    if (traced.sp < f->judged && is_judged(p, function))
        f->judged = traced.sp;
}

static void write_calls(struct open_frames *f, const struct copy *c, struct drain *drain) {
    static const char *const ends[] = {[UNWIND_BOTTOM] = "whole",
                                       [UNWIND_CUT] = "deeper than what was copied",
                                       [UNWIND_DEEP] = "too deep",
                                       [UNWIND_LOST] = "not to be followed"};
    struct unwind_stack stack = {.regs = c->regs, .pieces = c->pieces, .count = c->count};
    f->found.count = f->traced.count = 0;
    f->judged = UINT64_MAX;
    if (c->count) {
        enum unwind_end end = unwind_stack(f->unwinder, &stack, &f->found);
        log_print(1, "thread %d: %zu frames, %s", c->tid, f->found.count, ends[end]);
    }
    for (size_t i = f->found.count; i-- > 0;)
        add_call(f, &f->found.at[i], i + 1 < f->found.count ? &f->found.at[i + 1] : NULL);
    struct trace_frames frames = {c->stream, f->ticks, (uint32_t)f->traced.count, f->traced.at};
    drain_frames(drain, c->lane, &frames);
    kept_calls_from(c->lane, f->judged);
}

void open_frames_write(struct open_frames *f, struct drain *drain) {
    for (size_t i = 0; i < f->copies.count; i++)
        if (f->copies.at[i].named)
            write_calls(f, &f->copies.at[i], drain);
}
