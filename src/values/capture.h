/*
 * A capture: what a site records beside its event. It is a list of values; each is a short
 * straight-line program that the site's stub runs before the event is committed. A capture is plain
 * data: src/values makes it from types; the emitter turns it into machine code. The tool runs it
 * itself for a thread that skips the stub. The trace keeps what a reader needs.
 *
 * What a user sees is an *item*: an argument, a result or an expression, with a type. Its *image*
 * is the bytes that the object has in memory. An item has one value or more, its *parts*: a struct
 * that comes in two registers has two; a struct with a string has one for its bytes and one for the
 * text. Parts that nobody records leave holes in the image, which a reader shows as "?".
 *
 *     struct item { int id; char *name; } f(void)     at its return:
 *
 *     value   name   type          from           at   bytes
 *     0       "ret"  struct item   rax            0    8       all of the item's first 8 bytes
 *     1       NULL   -             rdx            8    8       the pointer
 *     2       NULL   -             rdx, a string  8    ≤ 64    the text for the pointer at byte 8
 *
 * Slots: a value of B bytes has (B + 7) / 8 words. Its last word is zero-extended. A text has its
 * bytes, then a zero unit if that is among them.
 */
#pragma once

#include "base/types.h"
#include "wire/ring.h"

/* Where a value's program begins. It gives a word. */
enum capture_from {
    FROM_NOTHING,  /* nothing is recorded; `missing` says why */
    FROM_REGISTER, /* a general register, by its number in DWARF (x86-64: rax 0, rdx 1, rcx 2, rbx
                      3, rsi 4, rdi 5, rbp 6, rsp 7, r8 8 …; AArch64 x0 0 …; Arm r0 0 …) */
    FROM_VECTOR, /* 8 bytes of a vector register: reg 0 is xmm0, v0 or d0. `part` is the first byte
                    in it: 0, 8, or of Arm's odd single registers 4 (reg 0, part 4 is s1) */
    FROM_STACK,  /* the word at stack_offset from the stack pointer at the function's entry; on
                    x86-64 the return address is at 0, the first argument at 8; on Arm that at 0.
                    The stub need not test this address */
    FROM_STACK_ADDRESS, /* that address itself */
    FROM_INDEXED,       /* before a step: the sum of register `reg` and, shifted, that in `part`
                           (capture_index()) */
    FROM_MODULE,  /* before a step: the address that has the number `constant` in the site's file.
                     Only on x86-64 */
    FROM_X87,     /* the ten bytes of st(part), without a change of the x87 stack */
    FROM_CONSTANT /* nothing is read: `constant` */
};

/* Why a value is not known: the numbers of the trace. */
enum capture_missing {
    VALUE_THERE = 0,
    VALUE_OPTIMIZED_OUT,
    VALUE_UNREADABLE,
    VALUE_UNTYPED,
    VALUE_GONE
};

enum {
    CAPTURE_MOST_STEPS = 4,
    CAPTURE_MOST_BYTES = 64,   /* of one value that is no text */
    CAPTURE_MOST_VALUES = 64,  /* of one capture */
    CAPTURE_MOST_STRING = 4096 /* bytes of a text */
};

/* The `part` of FROM_INDEXED. */
static inline uint8_t capture_index(uint8_t reg, uint8_t shift) {
    return (uint8_t)(reg | shift << 6);
}

/* address = word + offset, then word = the pointer there: a safe load. */
struct capture_step {
    int32_t offset;
};

struct capture_value {
    /* The program. Without steps, `bytes` are the lower ones of the word (FROM_STACK: of the words
     * there; FROM_X87: 10). With steps, all but the last one load a pointer, and the last one loads
     * `bytes` (a text: its beginning). */
    enum capture_from from;
    uint8_t reg, part;
    int32_t stack_offset;
    uint64_t constant;
    uint8_t steps;
    struct capture_step step[CAPTURE_MOST_STEPS];
    uint16_t bytes;    /* 1 … CAPTURE_MOST_BYTES; 0 of texts and FROM_NOTHING */
    bool address_only; /* the last step loads nothing: the word is its address, `bytes` long */
    /* A text: the units from the address on, until one is 0 or `most` bytes are read. The address
     * is the word (without steps), or word + offset of the last step. */
    bool string;
    uint8_t unit;      /* 1, 2 or 4 bytes */
    uint16_t most;     /* a multiple of unit */
    int16_t length_of; /* −1: ends at a 0 unit. Else the number of an earlier value, the length in
                          units; zeros are then part of the text */

    /* How recorded values are changed before they are read (capture_derive()). */
    uint16_t minus;   /* the number of a value, from 1, that is subtracted; 0: none */
    uint32_t divisor; /* what the difference is divided by */
    uint16_t only_if; /* the number of a value, from 1, if that is 0 this one is missing; 0: none */

    /* What a reader needs. */
    const char *name;     /* NULL: a part of the item of the value before; "": not to be shown */
    uint32_t type;        /* of the item's image (types/types.h); 0 if unknown, or of parts */
    uint32_t at;          /* of the value in the image, in bytes. A text: of its pointer */
    uint8_t shift, width; /* a bit field: word >> shift, `width` bits (0: all bits) */
    char format;          /* 'x', 'o', 'c', 'd', 'u': as asked for; 0: by type */
    bool pointee;         /* the item is what a reference refers to */
    enum capture_missing missing; /* of FROM_NOTHING. VALUE_THERE: it is an empty object */
};

struct capture {
    uint32_t function; /* whose site it is, as the owner of the capture numbers functions */
    enum event_kind kind;
    struct capture_value *values;
    size_t count;
    char **names; /* what `name` of the values points to */
    size_t name_count;
    bool derives; /* a value has `minus` or `only_if` */
};

/* What was recorded of one value; for readers, and of the tool itself. */
struct captured {
    enum capture_missing missing;
    bool cut;             /* a text has more bytes than these */
    uint32_t length;      /* in bytes; of a text without its final zero unit */
    const uint8_t *bytes; /* little-endian; borrowed */
};

/* The index of FROM_INDEXED, and how far it is shifted. */
static inline uint8_t capture_index_register(const struct capture_value *v) { return v->part & 63; }
static inline uint8_t capture_index_shift(const struct capture_value *v) { return v->part >> 6; }

/* Frees what *C owns. */
void capture_done(struct capture *c);
/* A copy that shares nothing with FROM. */
void capture_copy(struct capture *ret, const struct capture *from);
/* Makes differences, and removes values whose condition does not hold. WORDS were recorded. The
 * bitmap THERE (values/slots.h) has a bit for each word that is there. */
void capture_derive(const struct capture *c, uint64_t *words, uint64_t *there);
/* Adds a byte that no view shows: C records something then. */
void capture_add_hidden(struct capture *c);
/* True if a stub has anything to do for it. */
bool capture_records(const struct capture *c);
