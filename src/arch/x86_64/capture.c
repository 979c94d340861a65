/* Writes the code of captures (capture.h). */
#include "arch/x86_64/capture.h"

#include <string.h>

#include "arch/capture.h"
#include "arch/x86_64/code.h"
#include "arch/x86_64/stub.h"

enum {
    SAVED = 6,       /* registers that the stub has pushed, and … */
    SAVED_PLAIN = 3, /* … with STUB_PLAIN */
    SCRATCH = -40,
    DWARF_RSP = 7,
    R8 = 8,
    EXTENDED = R8,           /* the first register whose number has one bit more */
    VALUE_MOST_BYTES = 1536, /* of the code of a value, at most */
    X87_NUMBERS = 32, /* in what fxsave64 writes: st(0) (Intel SDM, volume 1, table 10-2), and … */
    X87_NUMBER_BYTES = 16, /* … from there to st(1) */
    NEXT = 0,              /* the only label: the end of the value */
};

struct coder {
    const struct capture_code *given;
    struct code code;
    uint8_t index, free; /* registers: the index in the ring, and one for anything */
    uint8_t loaded;      /* the register that words are loaded to */
    uint32_t ahead;      /* from `index` to where the next slot stands */
    bool moves;          /* the value may be left out, so its slots move r8 */
    uint8_t word;        /* the register that is the word */
    unsigned intact;     /* bits: saved registers that are as at the site */
    bool x87_copied;     /* the floating-point state is in the lane */
};

static void change(struct coder *c, uint8_t reg) { c->intact &= ~(1U << reg); }

/* ---- slots ---- */

/* mov %reg,%gs:RING+FIELD+ahead(%index) */
static void store(struct coder *c, uint8_t reg, uint32_t field) {
    const uint8_t mov[] = {0x65, (uint8_t)(0x48 | (reg >= EXTENDED) << 2 | (c->index >= EXTENDED)),
                           0x89, (uint8_t)(0x80 | (reg & 7) << 3 | (c->index & 7))};
    code_bytes(&c->code, mov, sizeof mov);
    code_number(&c->code, LANE_RING + field + c->ahead);
}

static void add_to_slot(struct coder *c, uint32_t bytes) {
    INSN32(&c->code, "\x41\x81\xc0", bytes); /* add $bytes,%r8d */
}

static void next_slot(struct coder *c) {
    if (c->moves)
        add_to_slot(c, EVENT_BYTES);
    else
        c->ahead += EVENT_BYTES;
}

/* r8 becomes where the next slot stands. */
static void catch_up(struct coder *c) {
    if (c->ahead)
        add_to_slot(c, c->ahead);
    c->ahead = 0;
}

/* What SIZE leaves out of the word the reader leaves out, too. */
static void put_word(void *ctx, unsigned size, uint32_t number) {
    struct coder *c = ctx;
    const uint8_t lea[] = {0x48, 0x8d, (uint8_t)(0x80 | c->free << 3)};
    (void)size;
    store(c, c->word, EVENT_SITE);
    code_bytes(&c->code, lea, sizeof lea); /* lea WHOLE|number(%rax),%free */
    code_number(&c->code, CAPTURE_WHOLE | number);
    store(c, c->free, EVENT_CLOCK_SP);
    next_slot(c);
}

/* A jump over the next COUNT bytes, where there is room. */
static void skip_unless_above(struct coder *c, uint8_t count) {
    const uint8_t jbe[] = {0x76, count};
    code_bytes(&c->code, jbe, sizeof jbe);
}

static void jump_to_agent(struct coder *c, const struct capture_code *given, uint16_t entry) {
    INSN(&c->code, "\xe9");
    code_number(&c->code, given->agent + entry - (int64_t)(c->code.size + 4));
}

enum { LEA_BYTES = 7, MOV_BYTES = 5, MOV_R8_BYTES = 6, MOVE_BYTES = 3, JMP_BYTES = 5 };

static void load_retry(struct coder *c, const struct capture_code *given) {
    const int64_t far = given->retry - (int64_t)(c->code.size + LEA_BYTES);
    INSN32(&c->code, "\x48\x8d\x15", far); /* lea retry(%rip),%rdx */
}

/* Where the code that leads to the agent has numbers that are known at the end. */
struct to_set {
    size_t lea_end, ahead_end;
};

/* The same as reserve() by fewer registers: rcx becomes where the first slot stands. */
static void reserve_plain(struct coder *c, const struct capture_code *given) {
    const struct stub_spec *s = given->stub;
    const uint32_t size = capture_slots(s->capture) * EVENT_BYTES;
    const struct agent_entries entries = agent_entries();
    INSN32(&c->code, "\x65\x48\x8b\x0c\x25", LANE_HEAD);  /* mov %gs:HEAD,%rcx */
    INSN32(&c->code, "\x48\x8d\x91", size);               /* lea bytes(%rcx),%rdx */
    INSN32(&c->code, "\x65\x48\x3b\x14\x25", LANE_LIMIT); /* cmp %gs:LIMIT,%rdx */
    skip_unless_above(c, LEA_BYTES + MOV_BYTES + JMP_BYTES);
    load_retry(c, given);
    INSN32(&c->code, "\xb9", size); /* mov $bytes,%ecx */
    jump_to_agent(c, given, entries.room);
    INSN32(&c->code, "\x81\xe1", s->ring_bytes - 1);    /* and $ring-1,%ecx */
    INSN32(&c->code, "\x81\xf9", s->ring_bytes - size); /* cmp $ring-bytes,%ecx */
    skip_unless_above(c, LEA_BYTES + JMP_BYTES);
    load_retry(c, given);
    jump_to_agent(c, given, entries.pad);
}

/* r8 becomes where the first slot stands. Waits for room, or goes on without values. No slot stands
 * beyond the ring's end. */
static struct to_set reserve(struct coder *c, const struct capture_code *given) {
    const struct stub_spec *s = given->stub;
    const bool waits = s->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(s->capture) * EVENT_BYTES;
    const struct agent_entries entries = agent_entries();
    struct to_set ends;
    INSN32(&c->code, "\x65\x4c\x8b\x04\x25", LANE_HEAD);  /* mov %gs:HEAD,%r8 */
    INSN32(&c->code, "\x49\x8d\x88", size);               /* lea bytes(%r8),%rcx */
    INSN32(&c->code, "\x65\x48\x3b\x0c\x25", LANE_LIMIT); /* cmp %gs:LIMIT,%rcx */
    skip_unless_above(c, LEA_BYTES + MOV_BYTES + MOV_R8_BYTES + JMP_BYTES);
    load_retry(c, given); /* or the event */
    ends.lea_end = c->code.size;
    INSN32(&c->code, "\xb9", waits ? size : given->commit_bytes); /* mov $bytes|$behind,%ecx */
    INSN32(&c->code, "\x41\xb8", 0);                              /* mov $ahead,%r8d */
    ends.ahead_end = c->code.size;
    jump_to_agent(c, given, waits ? entries.room : entries.cramped);
    INSN32(&c->code, "\x41\x81\xe0", s->ring_bytes - 1);    /* and $ring-1,%r8d */
    INSN32(&c->code, "\x41\x81\xf8", s->ring_bytes - size); /* cmp $ring-bytes,%r8d */
    skip_unless_above(c, LEA_BYTES + MOVE_BYTES + JMP_BYTES);
    load_retry(c, given);
    INSN(&c->code, "\x4c\x89\xc1"); /* mov %r8,%rcx */
    jump_to_agent(c, given, entries.pad);
    return ends;
}

/* Its site and its number by one store. */
static void put_begin(struct coder *c) {
    const uint64_t both = (uint64_t)c->code.stub->capture_number << 32 |
                          ((uint32_t)CAPTURE_BEGIN << 2 | EVENT_CONTROL);
    const uint8_t movabs[] = {0x48, (uint8_t)(0xb8 | c->free)};
    code_bytes(&c->code, movabs, sizeof movabs); /* movabs $both,%free */
    code_bytes(&c->code, &both, sizeof both);
    store(c, c->free, EVENT_SITE);
    store(c, CODE_RAX, EVENT_CLOCK_SP);
    next_slot(c);
}

/* ---- where values begin ---- */

/* movq %xmm,%to; its upper half by way of the stack. */
static void load_vector(struct coder *c, uint8_t to, const struct capture_value *v) {
    const uint8_t extended = (uint8_t)((v->reg >> 3 & 1) << 2), reg = v->reg & 7;
    if (!v->part) {
        const uint8_t movq[] = {0x66, (uint8_t)(0x48 | extended), 0x0f, 0x7e,
                                (uint8_t)(0xc0 | reg << 3 | to)};
        code_bytes(&c->code, movq, sizeof movq);
        return;
    }
    const uint8_t movhps[] = {(uint8_t)(0x40 | extended), 0x0f, 0x17,
                              (uint8_t)(0x44 | reg << 3), 0x24, (uint8_t)SCRATCH};
    code_bytes(&c->code, movhps, sizeof movhps);
    code_load_stack(&c->code, to, SCRATCH);
}

/* A word of st(n). All of the state is copied, as instructions that store ten bytes pop them: a
 * thread that is stopped behind one could not go back to the site. */
static void load_x87(struct coder *c, uint8_t to, const struct capture_value *v, unsigned part) {
    const uint32_t copy = LANE_RING + c->code.stub->ring_bytes + KEPT_X87;
    const uint8_t mov[] = {0x65, 0x48, 0x8b, (uint8_t)(0x04 | to << 3), 0x25};
    if (!c->x87_copied)
        INSN32(&c->code, "\x65\x48\x0f\xae\x04\x25", copy); /* fxsave64 %gs:copy */
    c->x87_copied = true;
    code_bytes(&c->code, mov, sizeof mov); /* mov %gs:copy+…,%to */
    code_number(&c->code, copy + X87_NUMBERS + v->part * X87_NUMBER_BYTES + 8 * part);
}

/* rsi becomes the sum of a register and an index. */
static void load_sum(struct coder *c, const struct capture_value *v) {
    enum { INDEX = 63 };
    const uint8_t shl[] = {0x48, 0xc1, 0xe2, (uint8_t)(v->part >> 6)};
    code_load_register(&c->code, CODE_RDX, v->part & INDEX);
    code_bytes(&c->code, shl, sizeof shl); /* shl $…,%rdx */
    code_load_register(&c->code, CODE_RSI, v->reg);
    INSN(&c->code, "\x48\x01\xd6"); /* add %rdx,%rsi */
}

/* TO becomes an address in the module. If it is too far from here, the value is left out. */
static void load_module_address(struct coder *c, uint8_t to, uint64_t address) {
    const int64_t far = (int64_t)address + c->given->module - (int64_t)(c->code.size + LEA_BYTES);
    const uint8_t lea[] = {0x48, 0x8d, (uint8_t)(0x05 | to << 3)};
    if (far == (int32_t)far) {
        code_bytes(&c->code, lea, sizeof lea); /* lea address(%rip),%to */
        code_number(&c->code, far);
    } else {
        INSN(&c->code, "\xe9"); /* jmp next */
        code_lead(&c->code, NEXT);
        INSN(&c->code, "\x66\x90"); /* as long as the other one */
    }
}

/* TO becomes the word with which V's program begins. PART: of a value of several words. */
static void load_first(struct coder *c, uint8_t to, const struct capture_value *v, unsigned part) {
    const int64_t entry_sp = (int64_t)c->code.up + c->code.stub->pops;
    const int64_t at = entry_sp + v->stack_offset + 8 * (int64_t)part;
    switch (v->from) {
    case FROM_REGISTER:
        code_load_register(&c->code, to, v->reg);
        break;
    case FROM_VECTOR:
        load_vector(c, to, v);
        break;
    case FROM_X87:
        load_x87(c, to, v, part);
        break;
    case FROM_STACK:
        code_load_stack(&c->code, to, at);
        break;
    case FROM_INDEXED:
        load_sum(c, v);
        break;
    case FROM_MODULE:
        load_module_address(c, to, v->constant);
        break;
    default: /* FROM_STACK_ADDRESS */
        code_stack_address(&c->code, to, at);
    }
}

/* Whether V's word is in a register already. */
static bool is_in_register(const struct coder *c, const struct capture_value *v) {
    return v->from == FROM_REGISTER && v->reg != DWARF_RSP &&
           (!code_is_saved(&c->code, v->reg) || c->intact >> code_register(v->reg) & 1);
}

static void begin(void *ctx, const struct capture_value *v, unsigned part, bool address) {
    struct coder *c = ctx;
    if (address && v->string)
        catch_up(c);
    c->moves = address;
    if (!address && is_in_register(c, v)) {
        c->word = code_register(v->reg);
        return;
    }
    c->word = address ? CODE_RSI : c->loaded;
    load_first(c, c->word, v, part);
    change(c, c->word);
}

/* ---- memory ---- */

static void check_owner(void *ctx) { code_check_owner(&((struct coder *)ctx)->code, NEXT); }

static void check_address(void *ctx) {
    struct coder *c = ctx;
    code_check_address(&c->code, CODE_RSI, CODE_RDI, NEXT);
    change(c, CODE_RDI);
}

static void add_offset(void *ctx, int32_t offset) {
    INSN32(&((struct coder *)ctx)->code, "\x48\x81\xc6", offset); /* add $offset,%rsi */
}

static void follow(void *ctx) {
    INSN(&((struct coder *)ctx)->code, "\x48\x8b\x36"); /* mov (%rsi),%rsi */
}

/* 3, 5, 6 or 7 bytes, the upper ones first. */
static void load_odd(struct code *c, unsigned size, unsigned at) {
    unsigned left = size - (size & 1 ? 1 : 2);
    if (size & 1)
        INSN32(c, "\x0f\xb6\xbe", at + left); /* movzbl at(%rsi),%edi */
    else
        INSN32(c, "\x0f\xb7\xbe", at + left); /* movzwl at(%rsi),%edi */
    while (left) {
        left -= 2;
        INSN(c, "\x48\xc1\xe7\x10");          /* shl $16,%rdi */
        INSN32(c, "\x66\x8b\xbe", at + left); /* mov at(%rsi),%di */
    }
}

static void load(void *ctx, unsigned size, unsigned at) {
    struct coder *c = ctx;
    if (size == 8)
        INSN32(&c->code, "\x48\x8b\xbe", at); /* mov at(%rsi),%rdi */
    else if (size == 4)
        INSN32(&c->code, "\x8b\xbe", at); /* mov at(%rsi),%edi */
    else if (size == 2)
        INSN32(&c->code, "\x0f\xb7\xbe", at); /* movzwl at(%rsi),%edi */
    else if (size == 1)
        INSN32(&c->code, "\x0f\xb6\xbe", at); /* movzbl at(%rsi),%edi */
    else
        load_odd(&c->code, size, at);
    c->word = CODE_RDI;
    change(c, CODE_RDI);
}

static void keep_address(void *ctx) { ((struct coder *)ctx)->word = CODE_RSI; }

/* ---- texts ---- */

/* Where the length with PLACE is kept. */
static int32_t length_at(int place) { return -48 - 8 * place; }

/* Stores the lower SIZE bytes of the word, or all of it, where 0 is. What is above an argument in
 * its register is not defined. */
static void keep_length(void *ctx, unsigned size, int place) {
    struct coder *c = ctx;
    const bool whole = size != 1 && size != 2 && size != 4;
    const uint8_t mov[] = {(uint8_t)(0x40 | whole << 3 | (c->word >= EXTENDED) << 2),
                           size == 1 ? 0x88 : 0x89, (uint8_t)(0x84 | (c->word & 7) << 3), 0x24};
    if (size == 2)
        INSN(&c->code, "\x66");
    code_bytes(&c->code, mov, sizeof mov);
    code_number(&c->code, length_at(place));
}

/* rdi becomes the length in bytes of a text that has its own. */
static void load_length(struct code *c, const struct capture_value *v, int place) {
    code_load_stack(c, CODE_RDI, length_at(place));
    INSN32(c, "\xba", v->most / v->unit);    /* mov $most,%edx */
    INSN(c, "\x48\x39\xd7\x48\x0f\x47\xfa"); /* cmp %rdx,%rdi; cmova %rdx,%rdi */
    const uint8_t shl[] = {0x48, 0xc1, 0xe7, (uint8_t)(v->unit / 2)};
    code_bytes(c, shl, sizeof shl);  /* shl $…,%rdi */
    INSN(c, "\x48\x85\xff\x0f\x84"); /* test %rdi,%rdi; jz next */
    code_lead(c, NEXT);
}

static void put_text(void *ctx, const struct capture_value *v, int place, uint32_t number) {
    struct coder *c = ctx;
    const struct agent_entries entries = agent_entries();
    const struct capture_code *given = c->given;
    const uint16_t entry = place >= 0     ? entries.text_counted
                           : v->unit == 4 ? entries.text_long
                           : v->unit == 2 ? entries.text_wide
                                          : entries.text;
    if (place >= 0)
        load_length(&c->code, v, place);
    else
        INSN32(&c->code, "\xbf", capture_text_bytes(v)); /* mov $most,%edi */
    const uint16_t first = (uint16_t)(CAPTURE_WHOLE | number);
    INSN(&c->code, "\x66\xb8"); /* mov $first,%ax */
    code_bytes(&c->code, &first, sizeof first);
    INSN32(&c->code, "\x48\x8d\x15", JMP_BYTES); /* lea behind(%rip),%rdx */
    jump_to_agent(c, given, entry);
    INSN(&c->code, "\x66\x31\xc0"); /* xor %ax,%ax */
}

static void end_value(void *ctx) { code_set(&((struct coder *)ctx)->code, NEXT, 0); }

static const struct value_reader reader = {begin,      check_owner, check_address,
                                           add_offset, follow,      load};
static const struct capture_machine machine = {&reader,     keep_address, put_word,
                                               keep_length, put_text,     end_value};

/* The numbers that are known at the end of the code. */
static void set(const struct coder *c, struct to_set ends, bool to_event) {
    const uint32_t far = (uint32_t)(c->code.size - ends.lea_end);
    memcpy(c->code.out + ends.ahead_end - sizeof c->ahead, &c->ahead, sizeof c->ahead);
    if (to_event)
        memcpy(c->code.out + ends.lea_end - sizeof far, &far, sizeof far);
}

bool capture_is_plain(const struct capture *c) {
    enum { SLOT_MOST_BYTES = 48, RESERVE_MOST_BYTES = 128 };
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i].steps || c->values[i].string)
            return false;
    return capture_slots(c) * SLOT_MOST_BYTES + RESERVE_MOST_BYTES <= STUB_CAPTURE_BYTES;
}

/* The code of a capture that leaves no value out. */
static size_t emit_plain(const struct capture_code *given, uint32_t *ret_ahead) {
    struct coder c = {
        .code = {given->out, .up = given->up, .saved = SAVED_PLAIN, .stub = given->stub},
        .given = given,
        .index = CODE_RCX,
        .free = CODE_RDX,
        .loaded = CODE_RDX};
    const struct capture *capture = given->stub->capture;
    uint32_t number = 0;
    reserve_plain(&c, given);
    put_begin(&c);
    for (size_t i = 0; i < capture->count; i++) {
        capture_put_value(&machine, &c, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    *ret_ahead = c.ahead;
    return c.code.size;
}

size_t capture_emit(const struct capture_code *given, uint32_t *ret_ahead) {
    struct coder c = {.code = {given->out, .up = given->up, .saved = SAVED, .stub = given->stub},
                      .given = given,
                      .index = R8,
                      .free = CODE_RCX,
                      .loaded = CODE_RDI,
                      .intact = 1U << CODE_RSI | 1U << CODE_RDI};
    const struct capture *capture = given->stub->capture;
    if (stub_is_plain(given->stub->variant))
        return emit_plain(given, ret_ahead);
    const int lengths = capture_lengths(capture);
    uint32_t number = 0;
    if (lengths > CAPTURE_MOST_LENGTHS)
        return 0;
    const struct to_set ends = reserve(&c, given);
    put_begin(&c);
    for (int i = 0; i < lengths; i++) {
        INSN32(&c.code, "\x48\xc7\x84\x24", length_at(i)); /* movq $0,at(%rsp) */
        code_number(&c.code, 0);
    }
    for (size_t i = 0; i < capture->count; i++) {
        if (c.code.size + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES)
            return 0;
        capture_put_value(&machine, &c, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    set(&c, ends, given->stub->overflow == OVERFLOW_DROP);
    *ret_ahead = c.ahead;
    return c.code.size;
}

uint32_t capture_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    enum { JAE = 0x83, JUMP_REST = 5 }; /* the second byte of the jump, and its displacement */
    uint8_t check[64];
    struct code c = {.out = check};
    code_check_owner(&c, NEXT);
    const uint32_t size = (uint32_t)c.size - JUMP_REST;
    *ret_byte = JAE;
    for (uint32_t i = at; i-- > 0;)
        if (i + size < at && memcmp(stub + i, check, size) == 0)
            return i + size;
    return 0;
}
