/*
 * Reads untrusted little-endian bytes in order, never past their end. A read that does not fit sets
 * `failed` and gives 0; every later read fails, too. So a parser can read a whole record and check
 * once.
 */
#pragma once

#include "elf/image.h"

struct cursor {
    const uint8_t *at, *end;
    vaddr_t delta; /* link-time address of a byte minus its address here */
    bool failed;
};

/* The bases of DW_EH_PE_* pointers (LSB 5.0, 10.5.1 "DWARF Exception Header Encoding"). */
struct pointer_bases {
    vaddr_t text, data, function;
};

static inline struct cursor cursor_over(const uint8_t *bytes, size_t size, vaddr_t addr) {
    return (struct cursor){bytes, bytes + size, addr - (uintptr_t)bytes, false};
}

static inline vaddr_t cursor_addr(const struct cursor *c) { return c->delta + (uintptr_t)c->at; }
static inline size_t cursor_left(const struct cursor *c) { return (size_t)(c->end - c->at); }

/* Takes SIZE bytes; NULL: there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t size) {
    if (size > cursor_left(c) || c->failed) {
        c->failed = true;
        c->at = c->end;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += size;
    return p;
}

#define CURSOR_READER(name, type)                                                                  \
    static inline type name(struct cursor *c) {                                                    \
        const uint8_t *p = cursor_take(c, sizeof(type));                                           \
        return p ? LOAD(type, p) : 0;                                                              \
    }
CURSOR_READER(cursor_u8, uint8_t)
CURSOR_READER(cursor_u16, uint16_t)
CURSOR_READER(cursor_u32, uint32_t)
CURSOR_READER(cursor_u64, uint64_t)
#undef CURSOR_READER

/* Bits beyond the 64th are dropped. */
static inline uint64_t cursor_uleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t cursor_sleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
}

/* A NUL-terminated string; "" if there is no NUL. */
static inline const char *cursor_string(struct cursor *c) {
    const uint8_t *nul = memchr(c->at, 0, cursor_left(c));
    const uint8_t *p = cursor_take(c, nul ? (uint64_t)(nul - c->at) + 1 : UINT64_MAX);
    return p ? (const char *)p : "";
}

/* The value part of a pointer encoding (low nibble), sign-extended, without its base. */
uint64_t cursor_encoded_value(struct cursor *c, uint8_t encoding);
/* ENCODING with an explicit size: formats without one have the file's WORD_BYTES. */
uint8_t cursor_sized_encoding(uint8_t encoding, uint8_t word_bytes);
/* A pointer encoded as ENCODING; 0 for null and for DW_EH_PE_omit. For an indirect one: the address
 * of the slot that holds it. */
vaddr_t cursor_pointer(struct cursor *c, uint8_t encoding, const struct pointer_bases *bases);

enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SIGNED = 0x08,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,
    PE_PCREL = 0x10,
    PE_TEXTREL = 0x20,
    PE_DATAREL = 0x30,
    PE_FUNCREL = 0x40,
    PE_ALIGNED = 0x50,
    PE_BASE = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff
};
