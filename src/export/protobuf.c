/* See protobuf.h. */
#include "export/protobuf.h"

#include "base/utf8.h"

/* The length gets more than the one byte that was left for it. */
void proto_end_long(struct proto *p, size_t begin) {
    size_t length = p->bytes.count - begin, more = 0;
    for (size_t rest = length >> 7; rest; rest >>= 7)
        more++;
    ARRAY_RESERVE(&p->bytes, p->bytes.count + more);
    memmove(p->bytes.at + begin + more, p->bytes.at + begin, length);
    p->bytes.count = begin - 1;
    proto_number(p, length);
    p->bytes.count += length;
}

void proto_text(struct proto *p, unsigned field, const char *text) {
    AUTO_FREE char *repaired = utf8_repair(text);
    size_t length = strlen(repaired);
    proto_number(p, field << 3 | PROTO_BYTES);
    proto_number(p, length);
    ARRAY_RESERVE(&p->bytes, p->bytes.count + length);
    memcpy(p->bytes.at + p->bytes.count, repaired, length);
    p->bytes.count += length;
}

void proto_double(struct proto *p, unsigned field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    proto_number(p, field << 3 | PROTO_FIXED64);
    for (unsigned i = 0; i < sizeof bits; i++)
        ARRAY_PUSH(&p->bytes, (uint8_t)(bits >> 8 * i));
}

void proto_done(struct proto *p) { ARRAY_FREE(&p->bytes); }
