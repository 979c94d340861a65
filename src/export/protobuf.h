/*
 * Writes messages in the encoding of Protocol Buffers (protobuf.dev, "Encoding"). A message inside
 * a message is written between proto_begin() and proto_end(); these may be nested.
 */
#pragma once

#include "base/mem.h"
#include "cmd/out.h"

struct proto { /* zeroed: empty */
    ARRAY(uint8_t) bytes;
};

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_MOST = 10 };

/* Writes VALUE alone, as an element of a packed field. */
static inline void proto_number(struct proto *p, uint64_t value) {
    ARRAY_RESERVE(&p->bytes, p->bytes.count + PROTO_MOST);
    uint8_t *at = p->bytes.at + p->bytes.count;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    p->bytes.count = (size_t)(at - p->bytes.at);
}

/* A field of type uint32, uint64, bool, an enum, or of a signed type whose VALUE is not negative.
 */
static inline void proto_uint(struct proto *p, unsigned field, uint64_t value) {
    proto_number(p, field << 3 | PROTO_VARINT);
    proto_number(p, value);
}

/* Begins a field that is a message or packed. Returns what proto_end() needs. */
static inline size_t proto_begin(struct proto *p, unsigned field) {
    proto_number(p, field << 3 | PROTO_BYTES);
    ARRAY_PUSH(&p->bytes, 0);
    return p->bytes.count;
}

/* As proto_end(), for 128 bytes or more. */
void proto_end_long(struct proto *p, size_t begin);

static inline void proto_end(struct proto *p, size_t begin) {
    size_t length = p->bytes.count - begin;
    if (length < 0x80)
        p->bytes.at[begin - 1] = (uint8_t)length;
    else
        proto_end_long(p, begin);
}

/* A field of type string. Bytes that are not UTF-8 become U+FFFD: decoders refuse them. */
void proto_text(struct proto *p, unsigned field, const char *text);

void proto_double(struct proto *p, unsigned field, double value);

/* Writes the bytes to OUT, and empties P. */
static inline void proto_flush(struct proto *p, struct out *out) {
    out_text(out, (const char *)p->bytes.at, p->bytes.count);
    p->bytes.count = 0;
}
void proto_done(struct proto *p);
