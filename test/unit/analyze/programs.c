/* See programs.h. */
#include "programs.h"

#include "../trace/support.h"
#include "base/mem.h"
#include "trace/layout.h"

enum { MOST_DEPTH = 40, OTHER_STACK = 0x50000 };

struct frame {
    uint32_t id, sp;
};

static bool happens(struct machine *m, unsigned per_thousand) {
    return random_below(&m->dice, 1000) < per_thousand;
}

void machine_emit(struct machine *m, uint32_t stream, uint32_t id, enum event_kind kind,
                  uint64_t sp) {
    struct trace_event event = {m->now, id << 2 | kind, sp};
    m->now += random_below(&m->dice, 100);
    trace_writer_events(m->writer, stream, &event, 1);
}

/* The outer half of the open calls, as if the others had ended without an event. */
static void write_frames(struct machine *m, uint32_t stream, const struct frame *frames,
                         unsigned depth) {
    struct trace_frame open[MOST_DEPTH];
    for (unsigned i = 0; i < depth / 2; i++)
        open[i] = (struct trace_frame){frames[i].id, frames[i].sp};
    trace_writer_frames(m->writer, &(struct trace_frames){stream, m->now, depth / 2, open});
}

/* A pause, a loss, a landing, a chain of callers, or frames. */
static void disturb(struct machine *m, uint32_t stream, const struct frame *frames,
                    unsigned depth) {
    uint32_t sp = depth ? frames[depth - 1].sp : TOP - 16;
    switch (random_below(&m->dice, 7)) {
    case 0:
        machine_emit(m, stream, PAUSE_EVENT + PAUSE_RING, EVENT_CONTROL,
                     random_below(&m->dice, 500));
        break;
    case 1:
        trace_writer_lost(m->writer, stream, m->now, 5);
        break;
    case 2:
        machine_emit(m, stream, MAIN, EVENT_CONTROL, sp - 8); /* nothing ends */
        break;
    case 3:
        machine_emit(m, stream, CHAIN_EVENT, EVENT_CONTROL, CHAIN_FIRST);
        break;
    case 4:
        machine_emit(m, stream, LEAF, EVENT_RETURN, sp - 4); /* of no call */
        break;
    case 5:
        if (happens(m, 100)) /* a block with frames has no digest */
            write_frames(m, stream, frames, depth);
        break;
    default:
        machine_emit(m, stream, MAIN, EVENT_CONTROL, sp + 8); /* the innermost call has ended */
    }
}

static void signal_handler(struct machine *m, uint32_t stream) {
    machine_emit(m, stream, LEAF, EVENT_ENTRY, OTHER_STACK);
    machine_emit(m, stream, FIB, EVENT_ENTRY, OTHER_STACK - 64);
    machine_emit(m, stream, FIB, EVENT_RETURN, OTHER_STACK - 64);
    machine_emit(m, stream, LEAF, EVENT_RETURN, OTHER_STACK);
}

/* Enters or leaves a call. Returns the new depth. */
static unsigned call_or_return(struct machine *m, uint32_t stream, struct frame *frames,
                               unsigned depth) {
    if (!depth || (depth < MOST_DEPTH && random_below(&m->dice, 2))) {
        uint32_t sp = (depth ? frames[depth - 1].sp : TOP) - 16 * (1 + random_below(&m->dice, 8));
        frames[depth] = (struct frame){MAIN + random_below(&m->dice, MAKE), sp};
        machine_emit(m, stream, frames[depth].id, EVENT_ENTRY, sp);
        return depth + 1;
    }
    struct frame top = frames[depth - 1];
    bool tail = happens(m, 50);
    machine_emit(m, stream, top.id, tail ? EVENT_TAIL : EVENT_RETURN, top.sp);
    if (!tail)
        return depth - 1;
    frames[depth - 1].id = MAIN + random_below(&m->dice, MAKE);
    machine_emit(m, stream, frames[depth - 1].id, EVENT_ENTRY, top.sp);
    return depth;
}

void machine_run(struct machine *m, uint32_t stream, unsigned events, unsigned block,
                 const struct program *p) {
    struct frame frames[MOST_DEPTH];
    unsigned depth = 0;
    for (unsigned i = 0; i < events; i++) {
        if (happens(m, p->exceptions))
            depth -= random_below(&m->dice, depth + 1);
        if (happens(m, p->oddities))
            disturb(m, stream, frames, depth);
        if (happens(m, p->signals))
            signal_handler(m, stream);
        depth = call_or_return(m, stream, frames, depth);
        if (i % block == block - 1)
            trace_writer_flush(m->writer);
    }
    trace_writer_thread_end(m->writer, stream, m->now);
}

void damage_blocks(const char *path) { damage_blocks_of(path, DISK_EVENTS, 5); }

void damage_blocks_of(const char *path, unsigned type, unsigned n) {
    size_t size, blocks = 0;
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    for (size_t at = sizeof(struct disk_header); at + sizeof(struct disk_block) < size;) {
        struct disk_block head;
        memcpy(&head, bytes + at, sizeof head);
        if (head.magic != DISK_BLOCK_MAGIC)
            break;
        if (head.type == type && blocks++ % n == n / 2)
            bytes[at + sizeof head + head.stored / 2] ^= 1;
        at += sizeof head + head.stored;
    }
    assert_true(blocks > (type == DISK_EVENTS ? 10 : 0));
    must_store(path, bytes, size);
}
