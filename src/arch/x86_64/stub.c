/*
 * Writes event stubs (stub.h), and returns the state of a thread at any instruction of one. Both
 * come from one list of steps, so they cannot disagree.
 */
#include "arch/x86_64/stub.h"

#include <string.h>

#include "agent-x86_64.inc"
#include "arch/x86_64/capture.h"
#include "arch/x86_64/judge.h"

enum { MAX_STEPS = 48 };

struct step {
    uint8_t offset; /* of the instruction that follows this state */
    struct stub_state state;
};

struct writer {
    uint8_t *out;
    size_t size;
    struct stub_state state; /* after the instruction written last */
    struct step *steps;      /* NULL: not wanted */
    size_t step_count;
    uint32_t retry, site_at, capture_at; /* offsets */
    size_t other; /* end of the jump for calls from outside of S->caller; 0: no jump */
};

/* Ends an instruction: the next one starts in the writer's present state. */
static void mark(struct writer *w) {
    if (w->steps)
        w->steps[w->step_count++] = (struct step){(uint8_t)w->size, w->state};
}

static void bytes(struct writer *w, const void *p, size_t n) {
    memcpy(w->out + w->size, p, n);
    w->size += n;
}

static void insn(struct writer *w, const char *p, size_t n) {
    bytes(w, p, n);
    mark(w);
}
#define INSN(w, text) insn(w, text, sizeof(text) - 1)

/* An instruction that ends in a 32-bit number. */
static void insn32(struct writer *w, const char *p, size_t n, uint32_t value) {
    bytes(w, p, n);
    bytes(w, &value, 4);
    mark(w);
}
#define INSN32(w, text, value) insn32(w, text, sizeof(text) - 1, value)

/* Jumps to `other` unless the word on top of the stack at the site is within S->caller. */
static void check_caller(struct writer *w, const struct stub_spec *s) {
    uint32_t up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u);
    INSN32(w, "\x48\x8b\x84\x24", up); /* mov up(%rsp),%rax */
    uint64_t low = s->caller.start;
    bytes(w, "\x48\xba", 2);
    bytes(w, &low, sizeof low);
    mark(w);                                                /* movabs $low,%rdx */
    INSN(w, "\x48\x29\xd0");                                /* sub %rdx,%rax */
    INSN32(w, "\x48\x3d", (uint32_t)(s->caller.end - low)); /* cmp $size,%rax */
    INSN32(w, "\x0f\x83", 0);                               /* jae other */
    w->other = w->size;
}

static bool is_judge(const struct stub_spec *s) { return stub_judges(s->variant); }
static bool is_slice(const struct stub_spec *s) { return s->variant & STUB_SLICE && !is_judge(s); }

/* How many registers the stub saves. */
static int saved_count(const struct stub_spec *s) {
    return is_judge(s) || stub_is_plain(s->variant) ? 3
           : stub_captures(s->variant)              ? 6
           : is_slice(s)                            ? 4
                                                    : 3;
}

static void save(struct writer *w, const struct stub_spec *s) {
    mark(w);
    if (s->variant & STUB_SKIP_RED_ZONE) {
        w->state.skipped = true;
        INSN(w, "\x48\x8d\x64\x24\x80"); /* lea -128(%rsp),%rsp */
    }
    if (s->variant & STUB_SAVE_FLAGS) {
        w->state.pushed++;
        INSN(w, "\x9c"); /* pushfq */
    }
    /* rax rdx rcx rsi rdi r8 */
    static const char *const push[] = {"\x50", "\x52", "\x51", "\x56", "\x57", "\x41\x50"};
    for (int i = 0; i < saved_count(s); i++) {
        w->state.pushed++;
        insn(w, push[i], strlen(push[i]));
        if (i == 1 && s->variant & STUB_CALLER)
            check_caller(w, s);
    }
}

static void restore(struct writer *w, const struct stub_spec *s) {
    /* rax rdx rcx rsi rdi r8 */
    static const char *const pop[] = {"\x58", "\x5a", "\x59", "\x5e", "\x5f", "\x41\x58"};
    for (int i = saved_count(s); i-- > 0;) {
        w->state.pushed--;
        insn(w, pop[i], strlen(pop[i]));
        if (i == 2 && w->other) {
            uint32_t skip = (uint32_t)(w->size - w->other);
            memcpy(w->out + w->other - 4, &skip, 4);
        }
    }
    if (s->variant & STUB_SAVE_FLAGS) {
        w->state.pushed--;
        INSN(w, "\x9d"); /* popfq */
    }
    if (s->variant & STUB_SKIP_RED_ZONE) {
        w->state.skipped = false;
        INSN(w, "\x48\x8d\xa4\x24\x80\x00\x00\x00"); /* lea 128(%rsp),%rsp */
    }
}

/* Loads the event's stack pointer, or Go's word, into rdx. */
static void load_address(struct writer *w, const struct stub_spec *s) {
    enum { SAVED_RAX = 16 }; /* above rcx and rdx */
    uint32_t up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u);
    if (s->variant & STUB_GO_FIRST)
        INSN32(w, "\x48\x8b\x94\x24", SAVED_RAX); /* mov 16(%rsp),%rdx */
    else if (s->variant & STUB_GO_SECOND)
        INSN(w, "\x48\x89\xda"); /* mov %rbx,%rdx */
    else
        INSN32(w, "\x48\x8d\x94\x24", up); /* lea up(%rsp),%rdx */
    if (s->variant & (STUB_GO_FIRST | STUB_GO_SECOND)) {
        INSN(w, "\x48\xc1\xe2\x10"); /* shl $16,%rdx: events have 48 bits */
        INSN(w, "\x48\xc1\xea\x10"); /* shr $16,%rdx */
    }
}

/* Loads the clock, in an event's format, into rax. */
static void read_clock(struct writer *w) {
    INSN(w, "\x0f\x31");         /* rdtsc */
    INSN(w, "\x48\xc1\xe2\x30"); /* shl $48,%rdx */
    INSN(w, "\x48\xc1\xe0\x10"); /* shl $16,%rax */
    INSN(w, "\x48\x09\xd0");     /* or %rdx,%rax */
}

static void event(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    read_clock(w);
    bool again = s->overflow != OVERFLOW_DROP;
    INSN32(w, "\x48\x8d\x15", 0); /* lea retry|done(%rip),%rdx */
    size_t lea_end = w->size;
    INSN32(w, "\xb9", EVENT_BYTES); /* mov $16,%ecx */
    w->state.reserved = true;
    INSN32(w, "\x65\x48\x0f\xc1\x0c\x25", LANE_HEAD); /* xadd %rcx,%gs:HEAD */
    INSN32(w, "\x65\x48\x3b\x0c\x25", LANE_LIMIT);    /* cmp %gs:LIMIT,%rcx */
    struct agent_entries entries = agent_entries();
    int64_t slow = s->agent + (again ? entries.wait : entries.drop);
    INSN32(w, "\x0f\x83", (uint32_t)(slow - (int64_t)(w->size + 6))); /* jae slow */
    load_address(w, s);
    INSN32(w, "\x81\xe1", s->ring_bytes - 1); /* and $ring-1,%ecx */
    bytes(w, "\x65\xc7\x81\x08\x10\x00\x00", 7);
    w->site_at = (uint32_t)w->size;
    INSN32(w, "", s->site);                              /* movl $site,%gs:RING+8(%rcx) */
    INSN32(w, "\x65\x89\x91", LANE_RING + EVENT_SP_LOW); /* mov %edx,%gs:RING+12(%rcx) */
    INSN(w, "\x48\xc1\xea\x20");                         /* shr $32,%rdx */
    INSN(w, "\x48\x09\xd0");                             /* or %rdx,%rax */
    w->state.reserved = false;
    w->state.committed = true;
    INSN32(w, "\x65\x48\x89\x81", LANE_RING + EVENT_CLOCK_SP); /* mov %rax,%gs:RING(%rcx) */
    uint32_t back = (uint32_t)((again ? w->retry : w->size) - lea_end);
    memcpy(w->out + lea_end - 4, &back, 4);
}
_Static_assert(LANE_RING + EVENT_SITE == 0x1008, "spelt out in event()");

/* The event, and with it the slots before it: what the agent skips if there is no room. AHEAD: from
 * r8 to where it stands. */
static void commit(struct writer *w, const struct stub_spec *s, uint32_t ahead) {
    uint32_t up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u);
    mark(w);
    INSN32(w, "\x48\x8d\xb4\x24", up);                               /* lea up(%rsp),%rsi */
    INSN32(w, "\x65\x41\x89\xb0", LANE_RING + EVENT_SP_LOW + ahead); /* mov %esi,%gs:…(%r8) */
    bytes(w, "\x65\x41\xc7\x80", 4); /* movl $site,%gs:RING+8+ahead(%r8) */
    const uint32_t site_field = LANE_RING + EVENT_SITE + ahead;
    bytes(w, &site_field, sizeof site_field);
    w->site_at = (uint32_t)w->size;
    INSN32(w, "", s->site);
    INSN(w, "\x48\xc1\xee\x20");                                       /* shr $32,%rsi */
    INSN(w, "\x48\x09\xf0");                                           /* or %rsi,%rax */
    INSN32(w, "\x65\x49\x89\x80", LANE_RING + EVENT_CLOCK_SP + ahead); /* mov %rax,%gs:…(%r8) */
    INSN32(w, "\x65\x48\x8b\x0c\x25", LANE_HEAD);                      /* mov %gs:HEAD,%rcx */
    INSN32(w, "\x48\x81\xe1", -s->ring_bytes);                         /* and $-ring,%rcx */
    INSN32(w, "\x4a\x8d\x8c\x01", ahead + EVENT_BYTES); /* lea ahead+16(%rcx,%r8),%rcx */
    if (s->overflow == OVERFLOW_OVERWRITE) {
        INSN(w, "\x48\x8d\x51\xf0");                         /* lea -16(%rcx),%rdx */
        INSN32(w, "\x65\x48\x2b\x14\x25", LANE_HEAD);        /* sub %gs:HEAD,%rdx */
        INSN(w, "\x48\xc1\xea\x04");                         /* shr $4,%rdx */
        INSN32(w, "\x65\x48\x01\x14\x25", LANE_SLICE_SLOTS); /* add %rdx,%gs:SLICE_SLOTS */
    }
    w->state.committed = true;
    INSN32(w, "\x65\x48\x89\x0c\x25", LANE_HEAD); /* mov %rcx,%gs:HEAD */
}

/* The same of a STUB_PLAIN stub, with rcx and a fixed number of slots. */
static void commit_plain(struct writer *w, const struct stub_spec *s, uint32_t ahead) {
    const uint32_t up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u);
    const uint32_t site_field = LANE_RING + EVENT_SITE + ahead, size = ahead + EVENT_BYTES;
    mark(w);
    INSN32(w, "\x48\x8d\x94\x24", up);                           /* lea up(%rsp),%rdx */
    INSN32(w, "\x65\x89\x91", LANE_RING + EVENT_SP_LOW + ahead); /* mov %edx,%gs:…(%rcx) */
    bytes(w, "\x65\xc7\x81", 3); /* movl $site,%gs:RING+8+ahead(%rcx) */
    bytes(w, &site_field, sizeof site_field);
    w->site_at = (uint32_t)w->size;
    INSN32(w, "", s->site);
    INSN(w, "\x48\xc1\xea\x20");                                       /* shr $32,%rdx */
    INSN(w, "\x48\x09\xd0");                                           /* or %rdx,%rax */
    INSN32(w, "\x65\x48\x89\x81", LANE_RING + EVENT_CLOCK_SP + ahead); /* mov %rax,…(%rcx) */
    if (s->overflow == OVERFLOW_OVERWRITE) {
        const uint32_t field = LANE_SLICE_SLOTS;
        bytes(w, "\x65\x48\x81\x04\x25", 5);
        bytes(w, &field, sizeof field);
        INSN32(w, "", ahead / EVENT_BYTES); /* addq $…,%gs:SLICE_SLOTS */
    }
    const uint32_t field = LANE_HEAD;
    bytes(w, "\x65\x48\x81\x04\x25", 5);
    bytes(w, &field, sizeof field);
    w->state.committed = true;
    INSN32(w, "", size); /* addq $bytes,%gs:HEAD */
}

static size_t commit_bytes(const struct writer *now, const struct stub_spec *s) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct writer w = {.out = scratch, .state = now->state};
    commit(&w, s, 0);
    return w.size;
}

static void captured_event(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    read_clock(w);
    w->capture_at = (uint32_t)w->size;
    uint32_t ahead = 0;
    if (s->capture) {
        struct capture_code c = {.out = w->out + w->size,
                                 .up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u),
                                 .retry = (int64_t)w->retry - (int64_t)w->size,
                                 .agent = s->agent - (int64_t)w->size,
                                 .module = s->module - (int64_t)w->size,
                                 .commit_bytes = (uint32_t)commit_bytes(w, s),
                                 .stub = s};
        w->size += capture_emit(&c, &ahead);
    }
    if (stub_is_plain(s->variant))
        commit_plain(w, s, ahead);
    else
        commit(w, s, ahead);
}

static void hook(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    INSN32(w, "\x48\x8d\x15", 5); /* lea done(%rip),%rdx */
    const struct agent_entries entries = agent_entries();
    int64_t target = s->agent + (s->variant & STUB_GUARD ? entries.guard : entries.hook);
    w->state.committed = true; /* what follows is `done` */
    INSN32(w, "\xe9", (uint32_t)(target - (int64_t)(w->size + 5)));
}

static void slice(struct writer *w, const struct stub_spec *s) {
    enum { TO_DONE = 10 };
    uint32_t up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u);
    w->retry = (uint32_t)w->size;
    read_clock(w);
    INSN32(w, "\x48\x8d\x8c\x24", up);               /* lea up(%rsp),%rcx */
    INSN32(w, "\x48\x8d\x15", TO_DONE);              /* lea done(%rip),%rdx */
    INSN32(w, "\xbe", s->overflow != OVERFLOW_DROP); /* mov $wait,%esi */
    int64_t target = s->agent + agent_entries().slice;
    w->state.committed = true; /* what follows is `done` */
    INSN32(w, "\xe9", (uint32_t)(target - (int64_t)(w->size + 5)));
}

static uint32_t restore_bytes(const struct writer *now, const struct stub_spec *s) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct writer w = {.out = scratch, .state = now->state};
    restore(&w, s);
    return (uint32_t)w.size;
}

/* All but the last way out, which goes on to the event. */
static void judge(struct writer *w, const struct stub_spec *s) {
    enum { JUMP_BYTES = 5 };
    const struct stub_state saved = w->state;
    const uint32_t way_out = restore_bytes(w, s), skip = way_out + s->skip;
    w->retry = w->capture_at = (uint32_t)w->size;
    if (s->judged != JUDGED_ENTRY || s->predicate) {
        struct judge_code c = {.out = w->out + w->size,
                               .up = w->state.pushed * 8u + (w->state.skipped ? 128u : 0u),
                               .go = way_out + JUMP_BYTES,
                               .stub = s};
        w->size += judge_emit(&c);
    }
    restore(w, s);
    bytes(w, "\xe9", 1); /* jmp behind the event */
    bytes(w, &skip, sizeof skip);
    w->state = saved;
    mark(w);
}

static void write_stub(struct writer *w, const struct stub_spec *s) {
    save(w, s);
    if (s->variant & STUB_HOOK)
        hook(w, s);
    else if (is_judge(s))
        judge(w, s);
    else if (is_slice(s))
        slice(w, s);
    else if (stub_captures(s->variant))
        captured_event(w, s);
    else
        event(w, s);
    restore(w, s);
}

size_t stub_emit(uint8_t *out, const struct stub_spec *spec) {
    struct writer w = {.out = out};
    write_stub(&w, spec);
    return w.size;
}

/* Writes a stub to a scratch buffer, for its layout. STEPS may be NULL. */
static struct writer lay_out(uint8_t variant, enum overflow overflow, struct step *steps) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct stub_spec spec = {.variant = variant, .ring_bytes = 4096, .overflow = overflow};
    struct writer w = {.out = scratch, .steps = steps};
    write_stub(&w, &spec);
    w.out = NULL;
    return w;
}

uint32_t stub_size(uint8_t variant, enum overflow overflow) {
    return (uint32_t)lay_out(variant, overflow, NULL).size;
}

uint32_t stub_site_offset(uint8_t variant, enum overflow overflow) {
    return lay_out(variant, overflow, NULL).site_at;
}

uint32_t stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow) {
    uint32_t site;
    memcpy(&site, stub + stub_site_offset(variant, overflow), sizeof site);
    return site;
}

uint32_t stub_capture_at(uint8_t variant, enum overflow overflow) {
    return lay_out(variant, overflow, NULL).capture_at;
}

uint32_t stub_capture_bytes(const struct capture *c) {
    uint8_t scratch[STUB_CAPTURE_BYTES];
    struct stub_spec spec = {.capture = c, .ring_bytes = 4096, .overflow = OVERFLOW_WAIT};
    struct capture_code code = {.out = scratch, .stub = &spec};
    uint32_t ahead;
    return (uint32_t)capture_emit(&code, &ahead);
}

uint32_t stub_judge_bytes(enum judged judged, const struct predicate *predicate) {
    uint8_t scratch[JUDGE_MOST_BYTES];
    struct stub_spec spec = {.judged = judged, .predicate = predicate, .ring_bytes = 4096};
    struct judge_code code = {.out = scratch, .stub = &spec};
    return (uint32_t)judge_emit(&code);
}

uint32_t stub_retry(uint8_t variant) { return lay_out(variant, OVERFLOW_WAIT, NULL).retry; }

uint8_t stub_capture_variant(const struct capture *c, enum overflow overflow) {
    const bool plain = overflow != OVERFLOW_DROP && capture_is_plain(c);
    return STUB_CAPTURE | (plain ? STUB_PLAIN : 0);
}

bool stub_state_at(uint8_t variant, enum overflow overflow, uint32_t offset,
                   struct stub_state *ret) {
    struct step steps[MAX_STEPS];
    struct writer w = lay_out(variant, overflow, steps);
    for (size_t i = 0; i < w.step_count; i++) {
        if (steps[i].offset == offset) {
            *ret = steps[i].state;
            return true;
        }
    }
    return false;
}

struct agent_entries agent_entries(void) {
    struct agent_entries entries;
    memcpy(&entries, agent_bytes, sizeof entries);
    return entries;
}
