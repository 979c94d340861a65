/* The writing half of records.h. */
#include "trace/records.h"

#include "trace/varint.h"

static struct bytes *payload(struct block *block) { return &block->parts[0]; }

static void put_numbers(struct bytes *b, const uint64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes_put_varint(b, numbers[i]);
}

/* Leaves out arguments beyond DISK_RAW_TARGET bytes. */
struct block *record_session(const struct trace_session *session) {
    struct block *block = block_new(DISK_SESSION);
    struct bytes *b = payload(block);
    bytes_put_string(b, session->version);
    bytes_put_string(b, session->arch);
    bytes_put_varint(b, session->start_unix_ns);
    size_t count = 0, sum = 0;
    for (; session->command && session->command[count]; count++) {
        sum += strlen(session->command[count]);
        if (sum > DISK_RAW_TARGET)
            break;
    }
    bytes_put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        bytes_put_string(b, session->command[i]);
    put_numbers(b, (uint64_t[]){session->depth, session->threshold_ns}, 2);
    return block;
}

struct block *record_clock(const struct trace_clock *clock) {
    struct block *block = block_new(DISK_CLOCK);
    put_numbers(payload(block), (uint64_t[]){clock->ticks, clock->ns}, 2);
    return block;
}

struct block *record_process(const struct trace_process *process) {
    struct block *block = block_new(DISK_PROCESS);
    struct bytes *b = payload(block);
    put_numbers(b, (uint64_t[]){process->pid, process->parent, process->start}, 3);
    bytes_put_string(b, process->command);
    return block;
}

struct block *record_thread(const struct trace_thread *thread) {
    struct block *block = block_new(DISK_THREAD);
    struct bytes *b = payload(block);
    put_numbers(b,
                (uint64_t[]){thread->stream, thread->pid, thread->tid, thread->start,
                             thread->stack_low, thread->stack_high},
                6);
    bytes_put_string(b, thread->name);
    if (thread->maker)
        put_numbers(b, (uint64_t[]){thread->maker, thread->shares}, 2);
    return block;
}

struct block *record_module(const struct trace_module *module) {
    struct block *block = block_new(DISK_MODULE);
    struct bytes *b = payload(block);
    size_t id_size = module->build_id_size;
    if (id_size > sizeof module->build_id)
        id_size = sizeof module->build_id;
    bytes_put_varint(b, module->first_id);
    bytes_put_string(b, module->path);
    bytes_put_string(b, module->name);
    bytes_put_varint(b, id_size);
    bytes_put(b, module->build_id, id_size);
    put_numbers(b,
                (uint64_t[]){module->function_count, module->seen, module->instrumented,
                             module->exact_exit, TRACE_TIERS},
                5);
    put_numbers(b, module->tiers, TRACE_TIERS);
    put_numbers(b, module->exit_tiers, TRACE_TIERS);
    bytes_put_varint(b, module->refused_count);
    for (uint32_t i = 0; i < module->refused_count; i++) {
        bytes_put_string(b, module->refused[i].reason);
        bytes_put_varint(b, module->refused[i].count);
    }
    return block;
}

static void put_function(struct bytes *b, uint64_t end, const struct trace_function *f) {
    bytes_put_varint(b, zigzag((int64_t)(f->address - end)));
    bytes_put_varint(b, f->size);
    bytes_put_varint(b, f->entry_tier | (f->instrumented ? 0x10u : 0) | (f->exact ? 0x20u : 0) |
                            (f->partly ? 0x40u : 0) | (f->mark ? 0x80u : 0));
    bytes_put_string(b, f->name);
    bytes_put_string(b, f->aliases);
}

struct block *record_functions(const struct trace_module *module, uint32_t *next) {
    struct block *block = block_new(DISK_FUNCTIONS);
    struct bytes *b = payload(block), list = {0};
    uint64_t end = 0;
    uint32_t i = *next;
    for (; i < module->function_count && list.count < DISK_RAW_TARGET; i++) {
        const struct trace_function *f = &module->functions[i];
        put_function(&list, end, f);
        end = f->address + f->size;
    }
    put_numbers(b, (uint64_t[]){module->first_id, *next, i - *next}, 3);
    block->parts[1] = list;
    *next = i;
    return block;
}

struct block *record_map(const struct trace_map *map) {
    struct block *block = block_new(DISK_MAP);
    put_numbers(payload(block), (uint64_t[]){map->pid, map->first_id, map->bias, map->ticks}, 4);
    return block;
}

struct block *record_frames(const struct trace_frames *frames) {
    struct block *block = block_new(DISK_FRAMES);
    struct bytes *b = payload(block);
    uint32_t skip = frames->count > DISK_FRAMES_MAX ? frames->count - DISK_FRAMES_MAX : 0;
    uint64_t above = 0;
    put_numbers(b, (uint64_t[]){frames->stream, frames->ticks, frames->count - skip}, 3);
    for (uint32_t i = skip; i < frames->count; i++) {
        const struct trace_frame *f = &frames->frames[i];
        uint64_t sp = f->sp & DISK_SP_MAX;
        bytes_put_varint(b, f->id);
        bytes_put_varint(b, zigzag((int64_t)(above - sp)));
        above = sp;
    }
    return block;
}

struct block *record_change(const struct trace_change *change) {
    struct block *block = block_new(DISK_CHANGE);
    struct bytes *b = payload(block);
    put_numbers(
        b, (uint64_t[]){change->kind, change->pid, change->ticks, change->added, change->removed},
        5);
    bytes_put_string(b, change->filter);
    return block;
}

struct block *record_chains(const struct trace_chains *c) {
    struct block *block = block_new(DISK_CHAINS);
    struct bytes *b = payload(block);
    put_numbers(b, (uint64_t[]){c->first_place, c->place_count}, 2);
    for (const struct trace_place *p = c->places; p < c->places + c->place_count; p++) {
        bytes_put_string(b, p->function);
        bytes_put_string(b, p->module);
        bytes_put_varint(b, p->address);
    }
    put_numbers(b, (uint64_t[]){c->first_chain, c->chain_count}, 2);
    for (uint32_t i = 0; i < c->chain_count; i++)
        put_numbers(b, (uint64_t[]){c->first_chain + i - c->chains[i].callers, c->chains[i].place},
                    2);
    return block;
}

struct block *record_extents(const struct trace_extent *extents, size_t count) {
    struct block *block = block_new(DISK_EXTENTS);
    struct bytes *b = payload(block);
    bytes_put_varint(b, count);
    for (const struct trace_extent *x = extents; x < extents + count; x++)
        put_numbers(b, (uint64_t[]){x->stream, x->low, x->high - x->low}, 3);
    size_t down = 0;
    for (const struct trace_extent *x = extents; x < extents + count; x++)
        down += x->inner_stacks;
    if (down)
        bytes_put_varint(b, down);
    for (const struct trace_extent *x = extents; x < extents + count; x++)
        if (x->inner_stacks)
            bytes_put_varint(b, x->stream);
    return block;
}

struct block *record_death(const struct trace_death *d) {
    struct block *block = block_new(DISK_DEATH);
    struct bytes *b = payload(block);
    enum { FLAG_FAULT = 1, FLAG_CORE = 2 };
    put_numbers(b,
                (uint64_t[]){d->pid, d->tid, d->signal, zigzag(d->code), d->sender, d->address,
                             (d->fault ? FLAG_FAULT : 0) | (d->core ? FLAG_CORE : 0), d->ticks,
                             d->calls, d->place, d->count},
                11);
    bytes_put_string(b, d->process);
    bytes_put_string(b, d->thread);
    for (const struct trace_death_frame *f = d->frames; f < d->frames + d->count; f++) {
        put_numbers(b, (uint64_t[]){f->pc, f->interrupted | f->inlined << 1, f->line}, 3);
        bytes_put_string(b, f->module);
        bytes_put_string(b, f->function);
        bytes_put_string(b, f->file);
    }
    return block;
}

struct block *record_part(const struct trace_part *part) {
    struct block *block = block_new(DISK_PART);
    struct bytes *b = payload(block);
    put_numbers(b, (uint64_t[]){part->number, part->repeated, part->count}, 3);
    for (uint32_t i = 0; i < part->count; i++)
        bytes_put_varint(b, part->before[i]);
    return block;
}

struct block *record_end(const struct trace_end *end) {
    struct block *block = block_new(DISK_END);
    struct bytes *b = payload(block);
    put_numbers(b, (uint64_t[]){zigzag(end->status), end->ticks, end->lost, end->snapshot}, 4);
    bytes_put_string(b, end->reason);
    put_numbers(b, (uint64_t[]){end->missed, end->pauses.count, PAUSE_CAUSES}, 3);
    put_numbers(b, end->pauses.ticks, PAUSE_CAUSES);
    bytes_put_varint(b, end->waiting_bytes);
    if (end->overwritten || end->goes_on || end->withdrawn_reads)
        bytes_put_varint(b, end->overwritten);
    if (end->goes_on || end->withdrawn_reads)
        bytes_put_varint(b, end->goes_on);
    if (end->withdrawn_reads)
        put_numbers(b, (uint64_t[]){end->withdrawn_reads, end->withdrawn_functions}, 2);
    return block;
}
