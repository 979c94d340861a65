/* See ctf_stream.h. */
#include "export/ctf_stream.h"

#include "base/mem.h"

enum {
    PACKET_BYTES = 64 * 1024,      /* a packet is full */
    MOST_BYTES = 64 * 1024 * 1024, /* of all packets */
    HEAD_BYTES = 64                /* of a packet: its header and context */
};
enum { MAGIC = (int)0xc1fc1fc1 };
/* The header of an event: 5 bits of its type and 27 of its time, or this and both in full. */
enum { COMPACT_BITS = 27, TYPE_BITS = 5, EXTENDED = 31 };

static void put(struct ctf_packet *p, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        p->bytes[p->used++] = (uint8_t)(value >> (8 * i));
}

void ctf_grow(struct ctf_writer *w, struct ctf_packet *p, size_t count) {
    size_t room = p->room * 2 > p->used + count ? p->room * 2 : p->used + count;
    p->bytes = mem_resize(p->bytes, room, 1);
    w->bytes += room - p->room;
    p->room = room;
}

/* ---- packets ---- */

static void flush(struct ctf_writer *w, uint32_t stream) {
    struct ctf_packet *p = &w->packets[stream];
    size_t count = p->used;
    if (!count)
        return;
    p->used = 0;
    put(p, (uint32_t)MAGIC, 4);
    memcpy(p->bytes + p->used, w->uuid, CTF_UUID);
    p->used += CTF_UUID;
    put(p, 0, 4); /* the only class of streams */
    put(p, p->begin_ns, 8);
    put(p, p->end_ns, 8);
    put(p, 8 * count, 8); /* bits of its contents; of all of it */
    put(p, 8 * count, 8);
    put(p, p->discarded, 8);
    if (!w->error)
        w->error = -out_dir_write(w->dir, stream, p->bytes, count);
    p->used = 0;
    p->written = true;
}

/* Frees the memory of packets, too: most streams have ended. */
static void flush_all(struct ctf_writer *w) {
    for (uint32_t i = 0; i < w->streams; i++) {
        flush(w, i);
        free(w->packets[i].bytes);
        w->packets[i].bytes = NULL;
        w->packets[i].room = 0;
    }
    w->bytes = 0;
}

static void open_packet(struct ctf_writer *w, struct ctf_packet *p, uint64_t ns) {
    if (p->room < HEAD_BYTES)
        ctf_grow(w, p, HEAD_BYTES);
    p->used = HEAD_BYTES;
    p->begin_ns = p->end_ns = ns;
}

void ctf_writer_init(struct ctf_writer *w, struct out_dir *dir, uint32_t streams) {
    *w = (struct ctf_writer){.dir = dir, .streams = streams};
    w->packets = mem_alloc((streams + 1) * sizeof *w->packets);
}

void ctf_writer_finish(struct ctf_writer *w) { flush_all(w); }

void ctf_writer_done(struct ctf_writer *w) {
    for (uint32_t i = 0; i < w->streams; i++)
        free(w->packets[i].bytes);
    free(w->packets);
}

/* ---- events ---- */

void ctf_text(struct ctf_writer *w, uint32_t stream, const char *text) {
    struct ctf_packet *p = &w->packets[stream];
    size_t count = strlen(text) + 1;
    if (p->room - p->used < count)
        ctf_grow(w, p, count);
    memcpy(p->bytes + p->used, text, count);
    p->used += count;
}

void ctf_event(struct ctf_writer *w, uint32_t stream, unsigned id, uint64_t ns) {
    struct ctf_packet *p = &w->packets[stream];
    if (p->used >= PACKET_BYTES)
        flush(w, stream);
    if (w->bytes >= MOST_BYTES)
        flush_all(w);
    if (!p->used)
        open_packet(w, p, ns);
    if (ns - p->end_ns < 1u << COMPACT_BITS) {
        uint64_t time = ns & ((1u << COMPACT_BITS) - 1);
        ctf_number(w, stream, id | time << TYPE_BITS, 4);
    } else {
        ctf_number(w, stream, EXTENDED, 1);
        ctf_number(w, stream, id, 4);
        ctf_number(w, stream, ns, 8);
    }
    p->end_ns = ns;
}

/* Readers compare the counter with that of the packet before, so there must be one. */
void ctf_discard(struct ctf_writer *w, uint32_t stream, uint64_t ns, uint64_t count) {
    struct ctf_packet *p = &w->packets[stream];
    if (!p->used && !p->written)
        open_packet(w, p, ns);
    flush(w, stream);
    p->discarded += count;
}
