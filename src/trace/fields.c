/* The reading half of records.h. */
#include <string.h>

#include "base/mem.h"
#include "trace/records.h"
#include "trace/varint.h"

static uint64_t bad(struct fields *f) {
    f->bad = true;
    f->at = f->end;
    return 0;
}

uint64_t fields_number(struct fields *f) {
    if (f->at >= f->end)
        return bad(f);
    uint64_t value = varint_get(&f->at);
    return f->at <= f->end ? value : bad(f);
}

int64_t fields_signed(struct fields *f) { return unzigzag(fields_number(f)); }

uint32_t fields_bounded(struct fields *f, uint32_t max) {
    uint64_t value = fields_number(f);
    return value <= max ? (uint32_t)value : (uint32_t)bad(f);
}

const uint8_t *fields_bytes(struct fields *f, uint64_t count) {
    if (count > (size_t)(f->end - f->at)) {
        bad(f);
        return NULL;
    }
    const uint8_t *p = f->at;
    f->at += count;
    return p;
}

const char *fields_text(struct fields *f) {
    uint64_t size = fields_number(f);
    if (!size)
        return NULL;
    const uint8_t *start = fields_bytes(f, size);
    if (start && memchr(start, 0, size) == start + size - 1)
        return (const char *)start;
    bad(f);
    return NULL;
}

static const char *text(struct fields *f) {
    const char *s = fields_text(f);
    return s ? s : "";
}

bool fields_clock(struct fields *f, struct trace_clock *ret) {
    ret->ticks = fields_number(f);
    ret->ns = fields_number(f);
    return !f->bad;
}

bool fields_process(struct fields *f, struct trace_process *ret) {
    ret->pid = fields_bounded(f, UINT32_MAX);
    ret->parent = fields_bounded(f, UINT32_MAX);
    ret->start = fields_number(f);
    ret->command = text(f);
    return !f->bad;
}

/* Earlier versions wrote no maker. */
bool fields_thread(struct fields *f, struct trace_thread *ret) {
    *ret = (struct trace_thread){0};
    ret->stream = fields_bounded(f, UINT32_MAX);
    ret->pid = fields_bounded(f, UINT32_MAX);
    ret->tid = fields_bounded(f, UINT32_MAX);
    ret->start = fields_number(f);
    ret->stack_low = fields_number(f);
    ret->stack_high = fields_number(f);
    ret->name = text(f);
    if (f->at < f->end && !f->bad) {
        ret->maker = fields_bounded(f, UINT32_MAX);
        ret->shares = fields_bounded(f, 1);
    }
    return !f->bad;
}

static bool fields_death_frame(struct fields *f, struct trace_death_frame *ret) {
    ret->pc = fields_number(f);
    uint64_t flags = fields_number(f);
    ret->interrupted = flags & 1;
    ret->inlined = flags & 2;
    ret->line = fields_bounded(f, UINT32_MAX);
    ret->module = text(f);
    ret->function = text(f);
    ret->file = text(f);
    return !f->bad;
}

bool fields_death(struct fields *f, struct trace_death *ret) {
    *ret = (struct trace_death){.pid = fields_bounded(f, UINT32_MAX)};
    ret->tid = fields_bounded(f, UINT32_MAX);
    ret->signal = fields_bounded(f, UINT32_MAX);
    ret->code = (int32_t)fields_signed(f);
    ret->sender = fields_bounded(f, UINT32_MAX);
    ret->address = fields_number(f);
    uint64_t flags = fields_number(f);
    ret->fault = flags & 1;
    ret->core = flags & 2;
    ret->ticks = fields_number(f);
    ret->calls = fields_bounded(f, UINT32_MAX);
    ret->place = fields_bounded(f, UINT32_MAX);
    ret->count = fields_bounded(f, DEATH_FRAMES);
    ret->process = text(f);
    ret->thread = text(f);
    struct trace_death_frame *frames = mem_alloc((ret->count + 1) * sizeof *frames);
    ret->frames = frames;
    for (uint32_t i = 0; i < ret->count && fields_death_frame(f, &frames[i]); i++)
        ;
    return !f->bad && ret->place <= ret->count;
}

bool fields_extent(struct fields *f, struct trace_extent *ret) {
    ret->stream = fields_bounded(f, UINT32_MAX);
    ret->inner_stacks = false;
    ret->low = fields_number(f);
    ret->high = ret->low + fields_number(f);
    return !f->bad && ret->high >= ret->low;
}

bool fields_map(struct fields *f, struct trace_map *ret) {
    ret->pid = fields_bounded(f, UINT32_MAX);
    ret->first_id = fields_bounded(f, DISK_ID_MAX);
    ret->bias = fields_number(f);
    ret->ticks = fields_number(f);
    return !f->bad;
}

bool fields_change(struct fields *f, struct trace_change *ret) {
    ret->kind = fields_bounded(f, UINT32_MAX);
    ret->pid = fields_bounded(f, UINT32_MAX);
    ret->ticks = fields_number(f);
    ret->added = fields_number(f);
    ret->removed = fields_number(f);
    ret->filter = text(f);
    return !f->bad;
}

/* Earlier versions wrote only the first three fields. */
/* Later versions may have more causes. */
static void end_pauses(struct fields *f, struct trace_pauses *ret) {
    ret->count = fields_number(f);
    uint64_t causes = fields_number(f);
    for (uint64_t i = 0; i < causes && !f->bad; i++) {
        uint64_t ticks = fields_number(f);
        if (i < PAUSE_CAUSES)
            ret->ticks[i] = ticks;
    }
}

bool fields_end(struct fields *f, struct trace_end *ret) {
    *ret = (struct trace_end){.reason = ""};
    ret->status = (int32_t)fields_signed(f);
    ret->ticks = fields_number(f);
    ret->lost = fields_number(f);
    if (f->at < f->end && !f->bad) {
        ret->snapshot = fields_bounded(f, UINT32_MAX);
        ret->reason = text(f);
    }
    if (f->at < f->end && !f->bad)
        ret->missed = fields_number(f);
    if (f->at < f->end && !f->bad)
        end_pauses(f, &ret->pauses);
    if (f->at < f->end && !f->bad)
        ret->waiting_bytes = fields_number(f);
    if (f->at < f->end && !f->bad)
        ret->overwritten = fields_number(f);
    if (f->at < f->end && !f->bad)
        ret->goes_on = fields_number(f);
    if (f->at < f->end && !f->bad) {
        ret->withdrawn_reads = fields_number(f);
        ret->withdrawn_functions = fields_number(f);
    }
    return !f->bad;
}

/* Earlier versions wrote no limits (-D, -t). */
bool fields_session(struct fields *f, struct trace_session *ret) {
    ret->version = text(f);
    ret->arch = text(f);
    ret->start_unix_ns = fields_number(f);
    uint32_t count = fields_bounded(f, (uint32_t)(f->end - f->at));
    const char **command = mem_alloc((count + (size_t)1) * sizeof *command);
    for (uint32_t i = 0; i < count && !f->bad; i++)
        command[i] = text(f);
    ret->command = command;
    if (f->at < f->end && !f->bad) {
        ret->depth = fields_bounded(f, UINT32_MAX);
        ret->threshold_ns = fields_number(f);
    }
    return !f->bad;
}

/* COUNT may differ from TRACE_TIERS: other versions may have other tiers. */
static void tiers(struct fields *f, uint32_t count, uint64_t *ret) {
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        uint64_t value = fields_number(f);
        if (i < TRACE_TIERS)
            ret[i] = value;
    }
}

static void refused(struct fields *f, struct trace_module *ret) {
    uint32_t count = fields_bounded(f, (uint32_t)(f->end - f->at) / 2);
    struct trace_refused *list = mem_alloc(count * sizeof *list);
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        list[i].reason = text(f);
        list[i].count = fields_number(f);
    }
    ret->refused = list;
    ret->refused_count = count;
}

bool fields_module(struct fields *f, struct trace_module *ret) {
    *ret = (struct trace_module){0};
    ret->first_id = fields_bounded(f, DISK_ID_MAX);
    ret->path = text(f);
    ret->name = text(f);
    ret->build_id_size = (uint8_t)fields_bounded(f, sizeof ret->build_id);
    const uint8_t *build_id = fields_bytes(f, ret->build_id_size);
    if (build_id)
        memcpy(ret->build_id, build_id, ret->build_id_size);
    ret->function_count = fields_bounded(f, DISK_ID_MAX + 1 - ret->first_id);
    ret->seen = fields_number(f);
    ret->instrumented = fields_number(f);
    ret->exact_exit = fields_number(f);
    uint32_t count = fields_bounded(f, 64);
    tiers(f, count, ret->tiers);
    tiers(f, count, ret->exit_tiers);
    refused(f, ret);
    return !f->bad;
}

/* A frame takes at least two bytes, which bounds their number. */
bool fields_frames(struct fields *f, struct trace_frames *ret) {
    *ret = (struct trace_frames){0};
    ret->stream = fields_bounded(f, UINT32_MAX);
    ret->ticks = fields_number(f);
    uint32_t most = (uint32_t)(f->end - f->at) / 2;
    ret->count = fields_bounded(f, most < DISK_FRAMES_MAX ? most : DISK_FRAMES_MAX);
    struct trace_frame *frames = mem_alloc(ret->count * sizeof *frames);
    uint64_t above = 0;
    for (uint32_t i = 0; i < ret->count && !f->bad; i++) {
        frames[i].id = fields_bounded(f, DISK_ID_MAX);
        frames[i].sp = above -= (uint64_t)fields_signed(f);
        if (above > DISK_SP_MAX)
            bad(f);
    }
    ret->frames = frames;
    return !f->bad;
}

bool fields_place(struct fields *f, struct trace_place *ret) {
    ret->function = text(f);
    ret->module = text(f);
    ret->address = fields_number(f);
    return !f->bad;
}

bool fields_chain(struct fields *f, uint32_t number, struct trace_chain *ret) {
    uint32_t up = fields_bounded(f, number);
    ret->callers = number - up;
    ret->place = fields_bounded(f, DISK_CHAINS_MAX);
    if (!up || ret->callers == CHAIN_NONE)
        bad(f);
    return !f->bad;
}

bool fields_functions(struct fields *f, struct functions_head *ret) {
    ret->first_id = fields_bounded(f, DISK_ID_MAX);
    ret->first = fields_bounded(f, DISK_ID_MAX);
    ret->count = fields_bounded(f, DISK_ID_MAX);
    return !f->bad;
}

bool fields_function(struct fields *f, uint64_t *end, struct trace_function *ret) {
    ret->address = *end + (uint64_t)fields_signed(f);
    ret->size = fields_number(f);
    uint32_t flags = fields_bounded(f, UINT32_MAX);
    ret->entry_tier = flags & 0xf;
    ret->instrumented = flags & 0x10;
    ret->exact = flags & 0x20;
    ret->partly = flags & 0x40;
    ret->mark = flags & 0x80;
    ret->name = fields_text(f);
    ret->aliases = fields_text(f);
    *end = ret->address + ret->size;
    return !f->bad;
}

bool fields_part(struct fields *f, struct trace_part *ret) {
    *ret = (struct trace_part){.number = fields_bounded(f, UINT32_MAX)};
    ret->repeated = fields_bounded(f, 1);
    ret->count = fields_bounded(f, (uint32_t)(f->end - f->at));
    uint32_t *before = mem_alloc(ret->count * sizeof *before + 1);
    for (uint32_t i = 0; i < ret->count && !f->bad; i++)
        before[i] = fields_bounded(f, UINT32_MAX);
    ret->before = before;
    return !f->bad && ret->number;
}
