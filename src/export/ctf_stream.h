/*
 * Streams of the Common Trace Format 1.8 (diamon.org/ctf): packets of events, one file for each
 * stream. The layout is that of ctf_metadata.c. All numbers are little-endian and aligned to bytes.
 *
 * Packets are kept until they are full, or all together take much memory. After a write error
 * w->error is set, and further events are discarded: the caller stops.
 */
#pragma once

#include <endian.h>
#include <string.h>

#include "base/types.h"
#include "export/out_dir.h"

struct ctf_packet { /* of one stream; empty: no packet is open */
    uint8_t *bytes;
    size_t used, room;
    uint64_t begin_ns, end_ns; /* of its events */
    uint64_t discarded;        /* events that were lost in this stream so far */
    bool written;              /* the stream has a packet in its file */
};

enum { CTF_UUID = 16 };

struct ctf_writer {
    struct out_dir *dir;
    struct ctf_packet *packets; /* by stream */
    uint32_t streams;
    size_t bytes; /* room of all packets */
    uint8_t uuid[CTF_UUID];
    int error; /* errno; 0: none */
};

/* DIR must outlive W. The caller sets the UUID before the first event. */
void ctf_writer_init(struct ctf_writer *w, struct out_dir *dir, uint32_t streams);
/* Writes what is kept. */
void ctf_writer_finish(struct ctf_writer *w);
void ctf_writer_done(struct ctf_writer *w);

/* Makes room for COUNT more bytes. */
void ctf_grow(struct ctf_writer *w, struct ctf_packet *p, size_t count);

/* Begins an event of type ID (below 31). The times of a stream do not fall. The event's fields
 * follow, each to the same stream. */
void ctf_event(struct ctf_writer *w, uint32_t stream, unsigned id, uint64_t ns);
static inline void ctf_number(struct ctf_writer *w, uint32_t stream, uint64_t value,
                              unsigned bytes) {
    struct ctf_packet *p = &w->packets[stream];
    if (p->room - p->used < sizeof value)
        ctf_grow(w, p, sizeof value);
    value = htole64(value);
    memcpy(p->bytes + p->used, &value, sizeof value);
    p->used += bytes;
}
void ctf_text(struct ctf_writer *w, uint32_t stream, const char *text);
/* COUNT events of STREAM were lost, until NS. */
void ctf_discard(struct ctf_writer *w, uint32_t stream, uint64_t ns, uint64_t count);
