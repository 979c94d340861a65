/* Writes the code of captures (capture.h). */
#include "arch/x86_64/capture.h"

#include <string.h>

#include "arch/x86_64/stub.h"
#include "values/slots.h"

enum {
    RSI = 6, /* numbers of registers in instructions */
    RDI = 7,
    MOST_LENGTHS = 9,
    VALUE_MOST_BYTES = 1536 /* of the code of a value, at most */
};

struct coder {
    const struct capture_code *code;
    size_t size;
    size_t skips[64]; /* ends of 32-bit displacements to the end of the value */
    size_t skip_count;
    uint32_t word; /* number of the next word */
};

static void bytes(struct coder *c, const void *p, size_t n) {
    memcpy(c->code->out + c->size, p, n);
    c->size += n;
}
#define INSN(c, text) bytes(c, text, sizeof(text) - 1)

static void number(struct coder *c, int64_t value) {
    const uint32_t low = (uint32_t)value;
    bytes(c, &low, sizeof low);
}
#define INSN32(c, text, value) (bytes(c, text, sizeof(text) - 1), number(c, value))

/* A displacement to the end of the present value. */
static void to_next(struct coder *c) {
    number(c, 0);
    c->skips[c->skip_count++] = c->size;
}

static void end_value(struct coder *c) {
    for (size_t i = 0; i < c->skip_count; i++) {
        const uint32_t far = (uint32_t)(c->size - c->skips[i]);
        memcpy(c->code->out + c->skips[i] - 4, &far, sizeof far);
    }
    c->skip_count = 0;
}

/* Waits for room, or goes on without values. Returns where the displacement to the event ends, to
 * be set at the end of the code; 0: there is none. */
static size_t reserve(struct coder *c, const struct capture *capture) {
    const struct capture_code *code = c->code;
    const bool waits = code->stub->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(capture) * EVENT_BYTES;
    const struct agent_entries entries = agent_entries();
    INSN32(c, "\x65\x48\x8b\x0c\x25", LANE_HEAD); /* mov %gs:HEAD,%rcx */
    INSN32(c, "\x48\x8d\x15", 0);                 /* lea retry|event(%rip),%rdx */
    const size_t lea_end = c->size;
    INSN32(c, "\xbe", waits ? size : code->commit_bytes); /* mov $bytes|$behind,%esi */
    INSN32(c, "\x48\x8d\xb9", size);                      /* lea bytes(%rcx),%rdi */
    INSN32(c, "\x65\x48\x3b\x3c\x25", LANE_LIMIT);        /* cmp %gs:LIMIT,%rdi */
    INSN(c, "\x0f\x87");                                  /* ja agent */
    number(c, code->agent + (waits ? entries.room : entries.cramped) - (int64_t)(c->size + 4));
    const uint32_t back = (uint32_t)(code->retry - (int64_t)lea_end);
    if (waits)
        memcpy(code->out + lea_end - 4, &back, sizeof back);
    return waits ? 0 : lea_end;
}

/* rdx becomes the index in the ring of the next slot. */
static void find_slot(struct coder *c) {
    INSN(c, "\x89\xca");                                  /* mov %ecx,%edx */
    INSN32(c, "\x81\xe2", c->code->stub->ring_bytes - 1); /* and $ring-1,%edx */
}

/* Completes the slot at rdx. */
static void end_slot(struct coder *c, uint32_t id) {
    INSN32(c, "\x65\xc7\x82", LANE_RING + EVENT_SITE); /* movl $site,%gs:RING+8(%rdx) */
    number(c, id << 2 | EVENT_CONTROL);
    INSN32(c, "\x65\x48\x89\x82", LANE_RING + EVENT_CLOCK_SP); /* mov %rax,%gs:RING(%rdx) */
}

static void next_slot(struct coder *c) { INSN(c, "\x48\x83\xc1\x10"); /* add $16,%rcx */ }

static void begin(struct coder *c) {
    find_slot(c);
    INSN32(c, "\x65\xc7\x82", LANE_RING + EVENT_SP_LOW); /* movl $number,%gs:RING+12(%rdx) */
    number(c, c->code->stub->capture_number);
    end_slot(c, CAPTURE_BEGIN);
    next_slot(c);
}

/* Writes the upper 16 bits of rdi, if the lower 48 do not tell them. */
static void put_high(struct coder *c, uint32_t word) {
    INSN(c, "\x48\x89\xfa\x48\xc1\xe2\x10\x48\xc1\xfa\x10"); /* mov %rdi,%rdx; shl, sar $16,%rdx */
    INSN(c, "\x48\x39\xfa\x74");                             /* cmp %rdi,%rdx; je … */
    const size_t je = c->size++;
    find_slot(c);
    INSN(c, "\x49\x89\xf8\x49\xc1\xe8\x30");                 /* mov %rdi,%r8; shr $48,%r8 */
    INSN32(c, "\x65\x44\x89\x82", LANE_RING + EVENT_SP_LOW); /* mov %r8d,%gs:RING+12(%rdx) */
    end_slot(c, CAPTURE_HIGH + word);
    next_slot(c);
    c->code->out[je] = (uint8_t)(c->size - je - 1);
}

/* Writes the lower SIZE bytes of rdi as word WORD. */
static void put_word(struct coder *c, unsigned size, uint32_t word) {
    if (size > 6)
        put_high(c, word);
    find_slot(c);
    INSN32(c, "\x65\x89\xba", LANE_RING + EVENT_SP_LOW); /* mov %edi,%gs:RING+12(%rdx) */
    end_slot(c, CAPTURE_WORD + word);
    if (size > 4) {
        INSN(c, "\x48\xc1\xef\x20");                               /* shr $32,%rdi */
        INSN32(c, "\x66\x65\x89\xba", LANE_RING + EVENT_CLOCK_SP); /* mov %di,%gs:RING(%rdx) */
    }
    next_slot(c);
}

/* mov AT(%rsp),%TO */
static void load_stack(struct coder *c, uint8_t to, int64_t at) {
    const uint8_t insn[] = {0x48, 0x8b, (uint8_t)(0x84 | to << 3), 0x24};
    bytes(c, insn, sizeof insn);
    number(c, at);
}

/* The register with number REG in DWARF (System V ABI, AMD64, figure 3.36) as it was at the site.
 */
static void load_register(struct coder *c, uint8_t to, uint8_t reg) {
    static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 5, 4};
    static const int8_t saved[] = {40, 32, 24, -1, 16, 8, -1, -1, 0}; /* above rsp */
    enum { RSP = 7, EXTENDED = 8 };
    if (reg < sizeof saved && saved[reg] >= 0) {
        load_stack(c, to, saved[reg]);
        return;
    }
    if (reg == RSP) {
        const uint8_t lea[] = {0x48, 0x8d, (uint8_t)(0x84 | to << 3), 0x24};
        bytes(c, lea, sizeof lea);
        number(c, c->code->up);
        return;
    }
    const uint8_t from = reg < EXTENDED ? numbers[reg] : reg & 7;
    const uint8_t mov[] = {(uint8_t)(0x48 | (reg >= EXTENDED) << 2), 0x89,
                           (uint8_t)(0xc0 | from << 3 | to)};
    bytes(c, mov, sizeof mov);
}

/* movq %xmm,%to; its upper half by way of the stack. */
static void load_vector(struct coder *c, uint8_t to, const struct capture_value *v) {
    const uint8_t extended = (uint8_t)((v->reg >> 3 & 1) << 2), reg = v->reg & 7;
    if (!v->part) {
        const uint8_t movq[] = {0x66, (uint8_t)(0x48 | extended), 0x0f, 0x7e,
                                (uint8_t)(0xc0 | reg << 3 | to)};
        bytes(c, movq, sizeof movq);
        return;
    }
    enum { SCRATCH = -40 };
    const uint8_t movhps[] = {(uint8_t)(0x40 | extended), 0x0f, 0x17,
                              (uint8_t)(0x44 | reg << 3), 0x24, (uint8_t)SCRATCH};
    bytes(c, movhps, sizeof movhps);
    load_stack(c, to, SCRATCH);
}

/* Where the stack pointer at the function's entry was, from rsp. */
static int64_t entry_sp(const struct coder *c) { return c->code->up + c->code->stub->pops; }

/* rsi becomes a register and an index. */
static void load_sum(struct coder *c, const struct capture_value *v) {
    enum { RDX = 2, INDEX = 63 };
    const uint8_t shl[] = {0x48, 0xc1, 0xe2, (uint8_t)(v->part >> 6)};
    load_register(c, RDX, v->part & INDEX);
    bytes(c, shl, sizeof shl); /* shl $…,%rdx */
    load_register(c, RSI, v->reg);
    INSN(c, "\x48\x01\xd6"); /* add %rdx,%rsi */
}

/* The word with which V's program begins. PART: of a value of several words. */
static void load_first(struct coder *c, uint8_t to, const struct capture_value *v, unsigned part) {
    const int64_t at = entry_sp(c) + v->stack_offset + 8 * (int64_t)part;
    const uint8_t lea[] = {0x48, 0x8d, (uint8_t)(0x84 | to << 3), 0x24};
    switch (v->from) {
    case FROM_REGISTER:
        load_register(c, to, v->reg);
        break;
    case FROM_VECTOR:
        load_vector(c, to, v);
        break;
    case FROM_STACK:
        load_stack(c, to, at);
        break;
    case FROM_INDEXED:
        load_sum(c, v);
        break;
    default: /* FROM_STACK_ADDRESS */
        bytes(c, lea, sizeof lea);
        number(c, at);
    }
}

static void check_owner(struct coder *c) {
    INSN32(c, "\x65\x48\x8b\x14\x25", LANE_CONTROL); /* mov %gs:CONTROL,%rdx */
    INSN32(c, "\xf7\x02", CONTROL_OWNER_DIED);       /* testl $DIED,(%rdx) */
    INSN(c, "\x0f\x85");                             /* jnz next */
    to_next(c);
}

/* rsi is an address: goes on with the next value if no program has memory there. */
static void check_address(struct coder *c) {
    INSN32(c, "\x4c\x8d\x86", -4096); /* lea -4096(%rsi),%r8 */
    INSN(c, "\x49\xc1\xe8\x2f");      /* shr $47,%r8 */
    INSN(c, "\x0f\x85");              /* jnz next */
    to_next(c);
    INSN(c, "\x48\x8d\x15"); /* lea next(%rip),%rdx */
    to_next(c);
}

static void add_offset(struct coder *c, int32_t offset) {
    if (offset)
        INSN32(c, "\x48\x81\xc6", offset); /* add $offset,%rsi */
}

/* Loads the SIZE bytes at rsi + AT into rdi. */
static void load_bytes(struct coder *c, unsigned size, unsigned at) {
    const unsigned whole = size == 8 ? 8 : size & 4 ? 4 : size & 2 ? 2 : 1;
    static const char *const loads[] = {[1] = "\x0f\xb6\xbe", [2] = "\x0f\xb7\xbe"};
    if (whole == 8)
        INSN32(c, "\x48\x8b\xbe", at); /* mov at(%rsi),%rdi */
    else if (whole == 4)
        INSN32(c, "\x8b\xbe", at); /* mov at(%rsi),%edi */
    else {
        bytes(c, loads[whole], 3); /* movzbl|movzwl at(%rsi),%edi */
        number(c, at);
    }
    for (unsigned done = whole; done < size; done++) { /* 3, 5, 6 and 7 bytes */
        INSN32(c, "\x44\x0f\xb6\x86", at + done);      /* movzbl at(%rsi),%r8d */
        const uint8_t shl[] = {0x49, 0xc1, 0xe0, (uint8_t)(8 * done)};
        bytes(c, shl, sizeof shl); /* shl $8*done,%r8 */
        INSN(c, "\x4c\x09\xc7");   /* or %r8,%rdi */
    }
}

static bool has_length(const struct capture_value *v) { return v->string && v->length_of >= 0; }

/* How many of the first COUNT values are texts with a length of their own. */
static int lengths(const struct capture *capture, size_t count) {
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += has_length(&capture->values[i]);
    return n;
}

/* Where the length of the text number PLACE, of those that have one, is kept. */
static int32_t length_at(int place) { return -48 - 8 * place; }

/* Stores the lower SIZE bytes of rdi, or all of it, at AT(%rsp), where 0 is. What is above an
 * argument in its register is not defined. */
static void store_length(struct coder *c, unsigned size, int32_t at) {
    if (size == 1)
        INSN32(c, "\x40\x88\xbc\x24", at); /* mov %dil,at(%rsp) */
    else if (size == 2)
        INSN32(c, "\x66\x89\xbc\x24", at); /* mov %di,at(%rsp) */
    else if (size == 4)
        INSN32(c, "\x89\xbc\x24", at); /* mov %edi,at(%rsp) */
    else
        INSN32(c, "\x48\x89\xbc\x24", at); /* mov %rdi,at(%rsp) */
}

/* rdi is the word of VALUE: keeps it for the texts whose length it is. */
static void keep_length(struct coder *c, const struct capture *capture, size_t value) {
    for (size_t i = value; i < capture->count; i++) {
        const struct capture_value *v = &capture->values[i];
        if (has_length(v) && (size_t)v->length_of == value)
            store_length(c, capture->values[value].bytes, length_at(lengths(capture, i)));
    }
}

/* rdi becomes the length in bytes of a text that has its own. */
static void load_length(struct coder *c, const struct capture_value *v, int place) {
    load_stack(c, RDI, length_at(place));
    INSN32(c, "\xba", v->most / v->unit);    /* mov $most,%edx */
    INSN(c, "\x48\x39\xd7\x48\x0f\x47\xfa"); /* cmp %rdx,%rdi; cmova %rdx,%rdi */
    const uint8_t shl[] = {0x48, 0xc1, 0xe7, (uint8_t)(v->unit / 2)};
    bytes(c, shl, sizeof shl);       /* shl $…,%rdi */
    INSN(c, "\x48\x85\xff\x0f\x84"); /* test %rdi,%rdi; jz next */
    to_next(c);
}

/* The text at rsi. PLACE: of its length, or −1. */
static void put_text(struct coder *c, const struct capture_value *v, int place) {
    const struct agent_entries entries = agent_entries();
    const uint16_t at = v->length_of >= 0 ? entries.text_counted
                        : v->unit == 4    ? entries.text_long
                        : v->unit == 2    ? entries.text_wide
                                          : entries.text;
    if (place >= 0)
        load_length(c, v, place);
    else
        INSN32(c, "\xbf", v->most); /* mov $most,%edi */
    INSN(c, "\xc7\x44\x24\xf8");    /* movl $site,-8(%rsp) */
    number(c, (CAPTURE_WORD + c->word) << 2 | EVENT_CONTROL);
    INSN32(c, "\x48\x8d\x15", 5); /* lea behind(%rip),%rdx */
    INSN(c, "\xe9");              /* jmp agent */
    number(c, c->code->agent + at - (int64_t)(c->size + 4));
}

/* Leads from the word in rsi to the address of what is recorded. */
static void follow(struct coder *c, const struct capture_value *v) {
    for (int i = 0; i + 1 < v->steps; i++) {
        add_offset(c, v->step[i].offset);
        check_address(c);
        INSN(c, "\x48\x8b\x36"); /* mov (%rsi),%rsi */
    }
    if (v->steps)
        add_offset(c, v->step[v->steps - 1].offset);
}

static void put_words(struct coder *c, const struct capture *capture, size_t value,
                      bool in_memory) {
    const struct capture_value *v = &capture->values[value];
    for (unsigned done = 0; done < v->bytes; done += 8) {
        const unsigned size = v->bytes - done < 8 ? v->bytes - done : 8;
        if (in_memory) {
            if (done)
                INSN(c, "\x48\x8d\x15"), to_next(c); /* lea next(%rip),%rdx */
            load_bytes(c, size, done);
        } else {
            load_first(c, RDI, v, done / 8);
        }
        if (!done)
            keep_length(c, capture, value);
        put_word(c, size, c->word + done / 8);
    }
}

static void put_value(struct coder *c, const struct capture *capture, size_t value) {
    const struct capture_value *v = &capture->values[value];
    const bool loads = v->steps || v->string;
    if (v->from == FROM_X87 || !capture_value_records(v))
        return;
    if (loads) {
        load_first(c, RSI, v, 0);
        check_owner(c);
        follow(c, v);
    }
    if (v->string) {
        check_address(c);
        put_text(c, v, has_length(v) ? lengths(capture, value) : -1);
    } else if (v->address_only) {
        INSN(c, "\x48\x89\xf7"); /* mov %rsi,%rdi */
        put_word(c, v->bytes, c->word);
    } else {
        if (loads)
            check_address(c);
        put_words(c, capture, value, loads);
    }
    end_value(c);
}

size_t capture_emit(const struct capture_code *code) {
    struct coder c = {.code = code};
    const struct capture *capture = code->stub->capture;
    const int length_count = lengths(capture, capture->count);
    if (length_count > MOST_LENGTHS)
        return 0;
    const size_t to_event = reserve(&c, capture);
    begin(&c);
    for (int i = 0; i < length_count; i++) {
        INSN32(&c, "\x48\xc7\x84\x24", length_at(i)); /* movq $0,at(%rsp) */
        number(&c, 0);
    }
    for (size_t i = 0; i < capture->count; i++) {
        if (c.size + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES)
            return 0;
        put_value(&c, capture, i);
        c.word += capture_value_words(&capture->values[i]);
    }
    if (to_event) {
        const uint32_t far = (uint32_t)(c.size - to_event);
        memcpy(code->out + to_event - 4, &far, sizeof far);
    }
    return c.size;
}

uint32_t capture_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    enum { JAE = 0x83, JUMP_REST = 5 }; /* the second byte of the jump, and its displacement */
    uint8_t check[64];
    const struct capture_code code = {.out = check};
    struct coder c = {.code = &code};
    check_owner(&c);
    const uint32_t size = (uint32_t)c.size - JUMP_REST;
    *ret_byte = JAE;
    for (uint32_t i = at; i-- > 0;)
        if (i + size < at && memcmp(stub + i, check, size) == 0)
            return i + size;
    return 0;
}
