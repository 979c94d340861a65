/*
 * Event stubs: the code that a patched site runs, the same for all instruction sets as far as the
 * planner asks for it. Each backend writes its own (x86_64/stub.h, aarch64/stub.h) and says there
 * what it does; none changes a register or, with STUB_SAVE_FLAGS, a flag.
 */
#pragma once

#include "base/types.h"
#include "wire/ring.h"

enum {
    STUB_SAVE_FLAGS = 1, /* flags may be live here */
    STUB_SKIP_RED_ZONE =
        2,               /* what lies below the stack pointer may be live, where the ABI has it */
    STUB_HOOK = 4,       /* no event: the thread waits for the tool */
    STUB_CALLER = 8,     /* only where the return address lies within stub_spec.caller */
    STUB_GO_FIRST = 16,  /* the event tells, instead of the stack pointer, the first … */
    STUB_GO_SECOND = 32, /* … or second word that a function of Go takes or gives back */
    STUB_SLICE = 64      /* no event: a slice of the stack (wire/ring.h) */
};
enum { STUB_MAX_BYTES = 256, STUB_MOST_PUSHED = 13 /* words */ };

struct stub_spec {
    uint8_t variant;     /* STUB_* bits */
    uint32_t site;       /* function id << 2 | enum event_kind; unused by hooks */
    uint32_t ring_bytes; /* power of two */
    enum overflow overflow;
    int64_t agent;      /* address of the area's agent code minus address of the stub */
    struct span caller; /* of STUB_CALLER: run-time addresses, less than 2 GiB of them */
    uint16_t pops;  /* bytes between the stack pointer at the site and that at the function's entry;
                       the return address is one of their words. 0: it is where calls put it */
    uint8_t behind; /* how many of these words stand behind it */
};

/* What a thread whose pc is somewhere in a stub has done so far. */
struct stub_state {
    uint8_t pushed; /* words that the stub has put on the stack; which, the backend tells */
    bool skipped;   /* the red zone is skipped */
    bool reserved;  /* a slot is reserved and not yet committed */
    bool committed; /* the event is in the ring (or dropped, or the hook was waited for) */
    bool unsure;    /* whether a slot is reserved: regs_has_reserved() tells */
    bool ahead;     /* the slot is written already: if it is reserved, it is committed */
    bool displaced; /* a register besides those is changed; which, the backend tells */
};
