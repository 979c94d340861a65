/*
 * Event stubs, the code that a patched site runs: what the planner asks of all instruction sets.
 * Each backend describes its own stubs (x86_64/stub.h, aarch64/stub.h, arm/stub.h). No stub changes
 * a register or, with STUB_SAVE_FLAGS, a flag.
 */
#pragma once

#include <stdbool.h>

#include "base/types.h"
#include "wire/ring.h"

enum {
    STUB_SAVE_FLAGS = 1,    /* flags may be live here */
    STUB_SKIP_RED_ZONE = 2, /* the red zone may be live, if the ABI has one */
    STUB_HOOK = 4,          /* no event: the thread waits for the tool */
    STUB_CALLER = 8,        /* an event only if the return address is within stub_spec.caller */
    STUB_GO_FIRST = 16,     /* instead of the stack pointer the event has the first … */
    STUB_GO_SECOND = 32,    /* … or second word of a Go function's arguments or results */
    STUB_SLICE = 64,        /* no event: a slice of the stack (wire/ring.h) */
    STUB_CAPTURE = 128,     /* without STUB_HOOK: values stand before the event (wire/ring.h) */
    STUB_PLAIN = 16 | 32,   /* with STUB_CAPTURE: no value can be left out, so the stub saves fewer
                               registers. Not with OVERFLOW_DROP */
    STUB_JUDGE = 64 | 128,  /* no event: whether the event behind it is recorded (enum judged) */
    STUB_GUARD = 128        /* a hook that waits only if the function's first two arguments, an
                               address and a size, overlap a guarded range (wire/ring.h) */
};
enum {
    STUB_MAX_BYTES = 256,      /* without a capture's code */
    STUB_CAPTURE_BYTES = 4096, /* most of that */
    STUB_MOST_PUSHED = 13      /* words */
};

/* Also true of stubs that judge: both have code in their middle that depends on more than VARIANT.
 */
static inline bool stub_captures(uint8_t variant) {
    return (variant & (STUB_HOOK | STUB_CAPTURE)) == STUB_CAPTURE;
}

static inline bool stub_judges(uint8_t variant) {
    return (variant & (STUB_HOOK | STUB_JUDGE)) == STUB_JUDGE;
}

static inline bool stub_stores_values(uint8_t variant) {
    return stub_captures(variant) && !stub_judges(variant);
}

static inline bool stub_is_plain(uint8_t variant) {
    return stub_stores_values(variant) && (variant & STUB_PLAIN) == STUB_PLAIN;
}

static inline bool stub_slices(uint8_t variant) {
    return variant & STUB_SLICE && !stub_judges(variant);
}

/* What a STUB_JUDGE stub is for. */
enum judged {
    JUDGED_ENTRY, /* before an entry's event: goes on to it if the predicate holds */
    JUDGED_EXIT,  /* before an exit's event: goes on to it if the call's entry was recorded */
    JUDGED_END    /* behind an exit's event: the call is over */
};

struct capture;
struct predicate;

/* A predicate that holds for all calls. SP_REGISTER: of struct arch. */
const struct predicate *judge_always(int sp_register);

struct stub_spec {
    uint8_t variant;     /* STUB_* bits */
    uint32_t site;       /* function id << 2 | enum event_kind; unused by hooks */
    uint32_t ring_bytes; /* power of two */
    enum overflow overflow;
    int64_t agent;      /* address of the area's agent code minus address of the stub */
    int64_t module;     /* the module's address 0 minus that of the stub */
    struct span caller; /* of STUB_CALLER: run-time addresses, less than 2 GiB of them */
    uint16_t pops;  /* bytes from the stack pointer at the site to that at the function's entry. One
                       of these words is the return address. 0: it is where calls store it */
    uint8_t behind; /* how many of these words stand above the return address */
    const struct capture *capture; /* of STUB_CAPTURE; NULL: for the layout only */
    uint32_t capture_number;
    enum judged judged;                /* of STUB_JUDGE */
    const struct predicate *predicate; /* of JUDGED_ENTRY; NULL elsewhere */
    uint32_t skip; /* STUB_JUDGE: bytes of the stubs behind it that record the event */
};

/* What a thread whose pc is in a stub has done so far. */
struct stub_state {
    uint8_t pushed; /* words that the stub has pushed; the backend says which */
    bool skipped;   /* the red zone is skipped; on 32-bit Arm: room for lengths is made */
    bool reserved;  /* a slot is reserved and not yet committed */
    bool committed; /* the event is in the ring or dropped, or the hook's wait is over */
    bool unsure;    /* ask regs_slot_is_reserved() whether a slot is reserved */
    bool ahead;     /* the slot is written already: reserving it commits it */
    bool displaced; /* one more register is changed; the backend says which */
};
