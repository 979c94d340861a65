/*
 * The contract between the tool and the code that it puts into a target.
 *
 * Each traced thread owns one *lane*: a page of counters (struct lane), followed by its ring of
 * events. On x86-64 the thread's gs base points at the lane, so every stub addresses both with one
 * fixed displacement, and one stub serves all threads. (Arm has a table of thread pointers and
 * lanes before each trampoline area's agent: wire/lane_lookup.h.)
 *
 * How an event is written, and why it can be interrupted anywhere
 *
 *     head          = xadd(lane.head, 16)        one instruction reserves (AArch64: an
 *                                                exclusive pair, which a signal breaks)
 *     if head >= lane.limit: slow path           (un-reserves, waits or drops)
 *     slot          = ring[head & mask]
 *     slot.site, slot.sp_low = site, sp
 *     slot.clock_sp = clock, sp                  the last store commits
 *
 * If a signal stops a thread inside a stub, the tracer first rolls the thread back to the site: it
 * restores the registers and undoes the reservation. So no handler runs above an open reservation.
 * Only the newest slot of a lane can be uncommitted, if its thread was killed there. The reader
 * recognizes it: a committed slot's clock is newer than that of the slot before it, a stale one's
 * is older by a whole lap.
 *
 * 32-bit Arm can store 64 bits at once only by an exclusive pair. (Not all of its processors can by
 * `strd`.) So the last store of a slot cannot commit it. There the slot is written first, and the
 * reservation commits it:
 *
 *     if lane.head >= lane.limit: slow path      nothing is reserved there
 *     slot = ring[lane.head & mask]              not reserved yet
 *     slot           = clock, sp, site
 *     lane.head     += 16                        an exclusive pair, behind a barrier
 *
 * So all slots below the head are committed. The one at the head may be half written; readers of
 * overwritten rings leave it out.
 *
 * A stub with a capture writes several slots above the head, and then moves the head once: these
 * slots are committed as on Arm. Readers of overwritten rings leave out as many slots behind the
 * head as the longest capture has.
 *
 * A thread may be rolled back after it has written such slots, and before it has moved the head.
 * Their clocks are new. So the tracer clears them: else the next event's slot would look committed
 * as soon as it is reserved, and the event would be lost. Slots of slices are cleared, too.
 *
 * Behind the ring stands struct kept_calls, for functions whose calls a condition selects.
 *
 * The clock has 48 bits: 26 hours at 3 GHz. The reader roughly knows when an event was written, and
 * so finds the higher bits.
 *
 * Included by freestanding code: no libc beyond the compiler's own headers.
 */
#pragma once

/*
 * What differs between machines.
 *   SLICE_HEAD_SLOTS        most slots of a slice besides words (begin, end, registers)
 *   REMAINDER_VECTOR        most pieces of a vector in the remainder of a call (struct remainder)
 *   REMAINDER_FRAME_BYTES   size of the signal frame by which Arm's threads return from a
 *                           remainder, as far as the kernel reads it
 *   REMAINDER_FRAME_RESULT  offset in it of the result's register
 *   CAPTURE_WHOLE           a bit of event.clock_sp: the slot has a whole word of a value. 0: no
 * slot has, as stack pointers may have each of their 48 bits CAPTURE_TEXT_BYTES      of a text in a
 * word
 */
#ifdef __x86_64__
#define CAPTURE_WHOLE 0x8000
#define CAPTURE_TEXT_BYTES 8
#else
#define CAPTURE_WHOLE 0
#define CAPTURE_TEXT_BYTES 6
#endif
#ifdef __aarch64__
#define SLICE_HEAD_SLOTS 14
#define REMAINDER_VECTOR 160
#define REMAINDER_FRAME_BYTES 1136
#define REMAINDER_FRAME_RESULT 312
#elif defined(__arm__)
#define SLICE_HEAD_SLOTS 11
#define REMAINDER_VECTOR 240
#define REMAINDER_FRAME_BYTES 672
#define REMAINDER_FRAME_RESULT 160
#else
#define SLICE_HEAD_SLOTS 8
#define REMAINDER_VECTOR 240
#endif

#define GUARDED_MOST 8

#ifndef __ASSEMBLER__
#include <stdint.h>

struct event {
    uint64_t clock_sp; /* raw counter (TSC, CNTVCT) << 16 | bits 32 … 47 of sp; stored last */
    uint32_t site;     /* function id << 2 | enum event_kind */
    uint32_t sp_low;   /* bits 0 … 31 of the stack pointer the function had at its entry */
};

enum event_kind {
    EVENT_ENTRY = 0,
    EVENT_RETURN = 1, /* left by a return instruction */
    EVENT_TAIL = 2,   /* left by a tail jump: another function takes its place */
    /* Or, with the id of a probe, it has passed that probe's place: a mark. */
    EVENT_CONTROL =
        3 /* control came here by neither call nor return; sp is the one with which it continues; on
             Arm 1 more, to be above the equal sp of a call that was made here and is left */
};

/* A control event with one of these ids instead of a function's describes a stack that the program
 * made itself (Go's runtime). Its stack pointer is an address: first that of the lower end, then of
 * the upper one. A thread that was interrupted in between reports both again. */
enum stack_event {
    STACK_MOVES = 0x3ffffffb, /* the next stack made replaces the next one freed */
    STACK_MADE_LOW,
    STACK_MADE_HIGH,
    STACK_FREED_LOW,
    STACK_FREED_HIGH
};
enum { STACK_EVENTS = STACK_MOVES }; /* ids from here on describe stacks */

/*
 * A *slice* is a copy of stack words and registers, made for the entry behind it to find its
 * callers (--stack):
 *
 *     SLICE_BEGIN  SLICE_END  SLICE_REGISTER …  SLICE_WORD + n …   entry
 *
 * These are control events, too, with these ids instead of functions'. In place of the stack
 * pointer they have a value of 48 bits. So each slot of a ring is an event with a clock, and the
 * ring's rules hold unchanged. Words and registers that cannot be addresses are left out; a missing
 * one counts as 0. A slice that was interrupted, or had no room, lacks its end or its entry right
 * behind it. It is ignored.
 */
enum slice_event {
    SLICE_WORD = 0x3fff0000,  /* + n: the nth word from the entry's stack pointer on */
    SLICE_BEGIN = 0x3fff8000, /* number of slots of slices that the thread wrote before it */
    SLICE_END,                /* address of the first byte behind the copied part of the stack */
    SLICE_REGISTER            /* + n: a register, as the backend numbers them */
};
enum { SLICE_EVENTS = SLICE_WORD, SLICE_EVENTS_END = SLICE_REGISTER + 16 };
/* A bit of lane.slice_bytes: the stack may have several memory tags (MTE); each word has its own.
 */
enum { SLICE_TAGGED = 1 };
enum { SLICE_WORDS_MOST = SLICE_BEGIN - SLICE_WORD };

/*
 * The *values* of a capture (values/capture.h) stand right before the event that they belong to:
 *
 *     CAPTURE_BEGIN  CAPTURE_WORD + n  CAPTURE_HIGH + n …   entry, return or tail call
 *
 * They are control events with a value of 48 bits, too. Words are numbered through all values of
 * the capture. A word has its lower 48 bits in its slot; if their sign extension is not the word,
 * a slot with the upper 16 bits stands behind it. A text has CAPTURE_TEXT_BYTES in a word (units of
 * 4 bytes: one unit). A word that could not be read is missing. All slots and the event have one
 * clock and are reserved at once, when all are written. What has no event right behind it is
 * ignored.
 *
 * On x86-64 a word has a slot of its own, and neither site nor sp_low:
 *
 *     clock  CAPTURE_WHOLE | n        8 bytes: the word
 *
 * No stack pointer has this bit, 47: Linux gives memory above that only to programs that ask for it
 * by its address. There all slots of a capture stand in one piece: CAPTURE_BEGIN slots with no
 * capture's number fill the ring up to its end, where that is nearer.
 */
enum capture_event {
    CAPTURE_WORD = 0x3fffa000,  /* + n: the nth word */
    CAPTURE_HIGH = 0x3fffc000,  /* + n: bits 48 … 63 of the nth word */
    CAPTURE_BEGIN = 0x3fffe000, /* number of the capture */
    CAPTURE_EVENTS = CAPTURE_WORD,
    CAPTURE_EVENTS_END = CAPTURE_BEGIN + 1,
    CAPTURE_MOST_WORDS = CAPTURE_HIGH - CAPTURE_WORD
};

/* In rings: the thread began to wait for room at this clock. The wait ends with the next event. */
enum { WAIT_EVENT = 0x3fff8100 };

/* In traces: control events with one of these ids have a value of 48 bits, no stack pointer.
 *   CHAIN_EVENT   the number of the chain of callers (trace/format.h) of the entry behind it
 *   PAUSE_EVENT   + enum pause_cause: the thread stood still for so many ticks, which end here,
 *                 because spoor worked. + PAUSE_IN_CALL: it was in a blocking system call, so it
 *                 lost no time.
 * In rings only:
 *   FORK_EVENT    the thread has made a process, which begins with the calls that are open here;
 *                 written by the tool with -D or -t, which then leave none of these out */
enum {
    CHAIN_EVENT = 0x3fff9000,
    PAUSE_EVENT = 0x3fff9100,
    FORK_EVENT = 0x3fff9200,
    PAUSE_IN_CALL = 0x80,
    VALUE_EVENTS = CHAIN_EVENT,
    VALUE_EVENTS_END = 0x3fffa000
};
enum pause_cause {
    PAUSE_START,  /* planning and patching at start, exec and attach */
    PAUSE_DLOPEN, /* the same for code that the program loads or changes */
    PAUSE_FILTER,
    PAUSE_SNAPSHOT,
    PAUSE_RING, /* the thread waited for room in its ring */
    PAUSE_CAUSES
};
enum { OWN_EVENTS = SLICE_EVENTS }; /* ids from here on are not functions' */

static inline int is_slice_event(uint32_t id) {
    return id - SLICE_EVENTS < SLICE_EVENTS_END - SLICE_EVENTS;
}

static inline int is_capture_event(uint32_t id) {
    return id - CAPTURE_EVENTS < CAPTURE_EVENTS_END - CAPTURE_EVENTS;
}

/* Events that are none of a function: parts of slices and values. */
static inline int is_part_event(uint32_t id) { return is_slice_event(id) || is_capture_event(id); }

/* Whether a slot has a whole word, and so no site. */
static inline int is_whole_word(const struct event *e) {
    return (e->clock_sp & CAPTURE_WHOLE) != 0;
}

static inline int is_capture_slot(const struct event *e) {
    return is_whole_word(e) || is_capture_event(e->site >> 2);
}

/* Slots that are no events. */
static inline int is_part_slot(const struct event *e) {
    return is_whole_word(e) || is_part_event(e->site >> 2);
}

static inline int is_value_event(uint32_t id) {
    return id - VALUE_EVENTS < VALUE_EVENTS_END - VALUE_EVENTS;
}

static inline int is_pause_event(uint32_t id) {
    return id >= PAUSE_EVENT && (id & ~(uint32_t)PAUSE_IN_CALL) < PAUSE_EVENT + PAUSE_CAUSES;
}

#define EVENT_CLOCK_MASK (((uint64_t)1 << 48) - 1)

static inline struct event event_make(uint64_t ticks, uint32_t site, uint64_t sp) {
    return (struct event){ticks << 16 | (sp >> 32 & 0xffff), site, (uint32_t)sp};
}

static inline uint64_t event_sp(const struct event *e) {
    return (e->clock_sp & 0xffff) << 32 | e->sp_low;
}

/* The slot of the word NUMBER, where slots have whole ones. */
static inline struct event event_of_word(uint64_t ticks, uint32_t number, uint64_t word) {
    return (struct event){ticks << 16 | CAPTURE_WHOLE | number, (uint32_t)word,
                          (uint32_t)(word >> 32)};
}

static inline uint64_t event_word(const struct event *e) {
    return (uint64_t)e->sp_low << 32 | e->site;
}

static inline uint32_t event_word_number(const struct event *e) {
    return (uint32_t)e->clock_sp & (CAPTURE_MOST_WORDS - 1);
}

/* The whole clock of an event that was written at most 2^48 ticks before LATEST. */
static inline uint64_t event_ticks(const struct event *e, uint64_t latest) {
    return latest - ((latest - (e->clock_sp >> 16)) & EVENT_CLOCK_MASK);
}

/* What a thread does when its ring is full. */
enum overflow { OVERFLOW_WAIT, OVERFLOW_DROP, OVERFLOW_OVERWRITE };

enum { CALL_ARGUMENTS = 6 };

/* A system call that a stop by spoor cut short, while its thread makes the remainder. */
struct remainder {
    uint64_t back;   /* where the thread continues in the program; 0: no remainder is pending */
    uint64_t number; /* of the call */
    uint64_t done;   /* what the call returned when it was cut short */
    uint64_t result; /* of the remainder */
    uint64_t registers[CALL_ARGUMENTS]; /* the program's values of the argument registers */
    uint64_t wanted;                    /* what the whole call was to return */
#ifdef REMAINDER_FRAME_BYTES
    _Alignas(16) uint8_t frame[REMAINDER_FRAME_BYTES]; /* returning from it restores the thread */
#endif
    uintptr_t message[7]; /* struct msghdr and struct iovec of the remainder */
    uintptr_t vector[REMAINDER_VECTOR][2];
};

struct lane {
    uint64_t head;  /* bytes ever reserved; written by the thread only */
    uint64_t limit; /* head must stay below it; written by the tool (tail + ring size) */
    uint64_t lost;  /* events dropped; written by the thread only */
    uint64_t hook;  /* 1 while the thread waits in the dynamic linker's hook; the tool clears it */
    uint64_t control; /* address of the struct control, in the target */
    uint64_t waits;   /* how often the ring was full */
    /* For slices; the mask also for waits. The tool sets them before the thread runs, except
     * slice_slots. */
    uint64_t slice_bytes; /* most bytes of stack to copy, or SLICE_TAGGED; 0: no slices */
    uint64_t stack_low;   /* the part of the thread's own stack that can be read whenever its */
    uint64_t stack_bytes; /* stack pointer lies there; on other stacks it is one page */
    uint64_t ring_mask;
    uint64_t slice_slots; /* ever written; written by the thread only */
    uint64_t wait_since; /* while the thread waits for room or in the hook: the clock when it began,
                            << 16; else 0 */
    _Alignas(16) struct remainder
        remainder; /* written by the tool while the thread is stopped, except `result` */
};

enum { KEPT_SETS = 64, KEPT_WAYS = 4, X87_BYTES = 512 };

/*
 * The calls of judged functions (arch/stub.h, STUB_JUDGE) whose entries were recorded and whose
 * exits are to be, by their stack pointers. The thread adds a call before its entry's event, and
 * removes it behind its exit's event. A thread that is interrupted and does so once more adds it
 * twice; one that leaves a call by an exception never removes it: the count may be too high, and
 * more may be recorded than need be.
 *
 * The tool knows no stack pointers of calls that were recorded before their function was judged. So
 * until it does, it records all calls from a stack pointer on. All else is written by the thread.
 */
struct kept_calls {
    uint64_t count;  /* of calls in `sets`, or more; not 0 if `full` or `from` is not */
    uint64_t full;   /* 1: a set had no room, so all calls are recorded */
    uint64_t from;   /* the complement of the lowest stack pointer of calls that are all recorded;
                        written by the tool; 0: no calls */
    uint64_t newest; /* the complement of the stack pointer of the call added last. A call above
                      shows that those below are over, so it is recorded, too */
    uint64_t unused[60];
    /* Not of these calls, but there is room: here x86-64's stubs put a copy of the floating-point
     * state (fxsave64), to read st(0). */
    _Alignas(16) uint8_t x87[X87_BYTES];
    uint64_t rest[128];
    uint64_t sets[KEPT_SETS][KEPT_WAYS]; /* 0: free */
};

/* Memory whose protection no thread changes unseen: in the area of the functions that do it. The
 * tool writes it. Overlap with a range makes the thread wait; the first range that starts at 0 ends
 * the list. */
struct guarded {
    uintptr_t ranges[GUARDED_MOST + 1][2]; /* start, end */
};

/* One per address space, shared with the tool. */
struct control {
    /* A robust futex word that the tool owns. When the tool dies, the kernel sets
     * CONTROL_OWNER_DIED in it (linux/futex.h, FUTEX_OWNER_DIED). Waiting loops then give up. */
    uint32_t owner;
    uint32_t reserved;
};

_Static_assert(sizeof(struct event) == 16, "stubs store 16 bytes");
#endif

#define EVENT_BYTES 16
#define LANE_HEAD 0
#define LANE_LIMIT 8
#define LANE_LOST 16
#define LANE_HOOK 24
#define LANE_CONTROL 32
#define LANE_WAITS 40
#define LANE_SLICE_BYTES 48
#define LANE_STACK_LOW 56
#define LANE_STACK_BYTES 64
#define LANE_RING_MASK 72
#define LANE_SLICE_SLOTS 80
#define LANE_WAIT_SINCE 88
#define LANE_REMAINDER 96
#define REMAINDER_BACK 0
#define REMAINDER_NUMBER 8
#define REMAINDER_DONE 16
#define REMAINDER_RESULT 24
#define REMAINDER_REGISTERS 32
#define REMAINDER_FRAME 96
#define LANE_RING 4096 /* offset of the ring from the lane */
#define KEPT_COUNT 0   /* from the end of the ring on */
#define KEPT_FULL 8
#define KEPT_FROM 16
#define KEPT_NEWEST 24
#define KEPT_X87 512
#define KEPT_IN_SETS 2048
#define KEPT_BYTES 4096
#define EVENT_CLOCK_SP 0
#define EVENT_SITE 8
#define EVENT_SP_LOW 12
#define EVENT_CONTROL_KIND 3
#define SLICE_TAGGED_BIT 0
#define SLICE_WORD_ID 0x3fff0000
#define SLICE_BEGIN_ID 0x3fff8000
#define WAIT_ID 0x3fff8100
#define CAPTURE_BEGIN_ID 0x3fffe000
#define CONTROL_OWNER_DIED 0x40000000
#define BRIDGE_BYTES 96 /* room for code in the agent (arch/bridge.h) */
#ifdef __arm__
#define BRIDGE_GATE_BYTES 80 /* of the code behind it */
#else
#define BRIDGE_GATE_BYTES 84 /* the same on AArch64 */
#endif

#ifndef __ASSEMBLER__
_Static_assert(__builtin_offsetof(struct lane, limit) == LANE_LIMIT, "");
_Static_assert(__builtin_offsetof(struct lane, lost) == LANE_LOST, "");
_Static_assert(__builtin_offsetof(struct lane, hook) == LANE_HOOK, "");
_Static_assert(__builtin_offsetof(struct lane, control) == LANE_CONTROL, "");
_Static_assert(__builtin_offsetof(struct lane, waits) == LANE_WAITS, "");
_Static_assert(__builtin_offsetof(struct lane, slice_bytes) == LANE_SLICE_BYTES, "");
_Static_assert(__builtin_offsetof(struct lane, stack_low) == LANE_STACK_LOW, "");
_Static_assert(__builtin_offsetof(struct lane, stack_bytes) == LANE_STACK_BYTES, "");
_Static_assert(__builtin_offsetof(struct lane, ring_mask) == LANE_RING_MASK, "");
_Static_assert(__builtin_offsetof(struct lane, slice_slots) == LANE_SLICE_SLOTS, "");
_Static_assert(__builtin_offsetof(struct lane, wait_since) == LANE_WAIT_SINCE, "");
_Static_assert(__builtin_offsetof(struct lane, remainder) == LANE_REMAINDER, "");
_Static_assert(__builtin_offsetof(struct remainder, number) == REMAINDER_NUMBER, "");
_Static_assert(sizeof(struct lane) <= LANE_RING, "");
_Static_assert(__builtin_offsetof(struct kept_calls, count) == KEPT_COUNT, "");
_Static_assert(__builtin_offsetof(struct kept_calls, full) == KEPT_FULL, "");
_Static_assert(__builtin_offsetof(struct kept_calls, from) == KEPT_FROM, "");
_Static_assert(__builtin_offsetof(struct kept_calls, newest) == KEPT_NEWEST, "");
_Static_assert(__builtin_offsetof(struct kept_calls, x87) == KEPT_X87, "");
_Static_assert(__builtin_offsetof(struct kept_calls, sets) == KEPT_IN_SETS, "");
_Static_assert(sizeof(struct kept_calls) == KEPT_BYTES, "");
_Static_assert(__builtin_offsetof(struct remainder, done) == REMAINDER_DONE, "");
_Static_assert(__builtin_offsetof(struct remainder, result) == REMAINDER_RESULT, "");
_Static_assert(__builtin_offsetof(struct remainder, registers) == REMAINDER_REGISTERS, "");
#ifdef REMAINDER_FRAME_BYTES
_Static_assert(__builtin_offsetof(struct remainder, frame) == REMAINDER_FRAME, "");
_Static_assert((LANE_REMAINDER + REMAINDER_FRAME) % 16 == 0, "a stack pointer");
#endif
_Static_assert(__builtin_offsetof(struct event, sp_low) == EVENT_SP_LOW, "");
_Static_assert(SLICE_TAGGED == 1 << SLICE_TAGGED_BIT, "");
_Static_assert(SLICE_WORD == SLICE_WORD_ID && SLICE_BEGIN == SLICE_BEGIN_ID, "");
_Static_assert(WAIT_EVENT == WAIT_ID && WAIT_ID >= (int)SLICE_EVENTS_END, "");
_Static_assert(CAPTURE_BEGIN == CAPTURE_BEGIN_ID, "");
_Static_assert(!(CAPTURE_MOST_WORDS & (CAPTURE_MOST_WORDS - 1)), "a mask");
_Static_assert(!CAPTURE_WHOLE || CAPTURE_WHOLE >= (int)CAPTURE_MOST_WORDS, "beside the number");
_Static_assert(SLICE_END == SLICE_BEGIN_ID + 1 && SLICE_REGISTER == SLICE_BEGIN_ID + 2, "");
#endif
