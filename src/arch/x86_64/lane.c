/*
 * Finds programs that use gs themselves; spoor keeps the thread's lane in its base. AMD64
 * Architecture Programmer's Manual, volume 3: WRGSBASE, MOV, POP and LGS of the segment register.
 */
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { REPEAT = 0xf3, OPERAND_SIZE = 0x66, TWO_BYTES = 0x0f, GS = 5, WRGSBASE = 3 };

static bool is_rex(uint8_t byte) { return byte >> 4 == 4; }
static uint8_t reg_of(uint8_t modrm) { return modrm >> 3 & 7; }

bool x86_64_writes_lane(const uint8_t *bytes, size_t size) {
    bool repeat = false;
    size_t i = 0;
    for (; i < size && (bytes[i] == REPEAT || bytes[i] == OPERAND_SIZE || is_rex(bytes[i])); i++)
        repeat |= bytes[i] == REPEAT;
    if (size - i < 2)
        return false;
    const uint8_t *op = bytes + i;
    if (op[0] == 0x8e) /* mov */
        return reg_of(op[1]) == GS;
    if (op[0] != TWO_BYTES)
        return false;
    if (op[1] == 0xa9 || op[1] == 0xb5) /* pop, lgs */
        return true;
    return op[1] == 0xae && repeat && size - i > 2 && op[2] >> 6 == 3 && reg_of(op[2]) == WRGSBASE;
}

/* All code of a program goes through here, so many bytes are compared at once. */
typedef uint8_t vector __attribute__((vector_size(16)));

static inline vector are(vector bytes, uint8_t value) { return (vector)(bytes == value); }

/* Which of the COUNT bytes at BYTES may be such an opcode; one more follows them. */
static inline vector may_write(const uint8_t *bytes, size_t count) {
    vector at = {0}, next = {0};
    memcpy(&at, bytes, count);
    memcpy(&next, bytes + 1, count);
    return (are(at, 0x8e) & are(next & 0x38, GS << 3)) |
           (are(at, TWO_BYTES) & (are(next, 0xa9) | are(next, 0xae) | are(next, 0xb5)));
}

bool x86_64_may_write_lane(const uint8_t *bytes, size_t size) {
    vector any = {0};
    uint64_t words[sizeof any / sizeof(uint64_t)], found = 0;
    size_t i = 0;
    for (; i + sizeof any < size; i += sizeof any)
        any |= may_write(bytes + i, sizeof any);
    if (i + 1 < size)
        any |= may_write(bytes + i, size - 1 - i);
    memcpy(words, &any, sizeof any);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        found |= words[k];
    return found;
}

/* Whether FIELD is the constant of a `mov $imm32` to the register with number REG. */
static bool is_move(const uint8_t *bytes, const uint8_t *field, uint8_t reg) {
    size_t before = (size_t)(field - bytes);
    return (before >= 1 && field[-1] == (0xb8 | reg)) ||
           (before >= 2 && field[-2] == 0xc7 && field[-1] == (0xc0 | reg));
}

/* Whether code in BYTES loads the number of arch_prctl(2) into REG. */
static bool loads_number(const uint8_t *bytes, size_t size, uint8_t reg) {
    static const uint8_t arch_prctl[] = {158, 0, 0, 0};
    const uint8_t *end = bytes + size, *at = bytes;
    while ((at = memmem(at, (size_t)(end - at), arch_prctl, sizeof arch_prctl))) {
        if (is_move(bytes, at, reg))
            return true;
        at++;
    }
    return false;
}

/* Whether an instruction soon after AT calls a function within BYTES that is a wrapper of
 * arch_prctl(2). */
static bool calls_wrapper(const uint8_t *bytes, const uint8_t *end, const uint8_t *at) {
    enum { NEAR = 16, CALL = 0xe8, CALL_BYTES = 5 };
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t wrapper[] = {0xb8, 158, 0, 0, 0, 0x0f, 0x05};
    for (const uint8_t *p = at; p < at + NEAR && end - p >= CALL_BYTES; p++) {
        int32_t far;
        memcpy(&far, p + 1, sizeof far);
        int64_t to = p + CALL_BYTES - bytes + far, room = end - bytes - to;
        if (*p != CALL || to < 0 || room < (int64_t)(sizeof landing + sizeof wrapper))
            continue;
        bool lands = memcmp(bytes + to, landing, sizeof landing) == 0;
        if (memcmp(bytes + to + (lands ? sizeof landing : 0), wrapper, sizeof wrapper) == 0)
            return true;
    }
    return false;
}

/* Whether the bytes of ARCH_SET_GS at AT are an argument of arch_prctl(2). They are if code loads
 * them into the argument's register of the call, or of the C library's syscall(). It must load the
 * call's number near by. */
static bool asks_at(const uint8_t *bytes, const uint8_t *end, const uint8_t *at) {
    enum { NEAR = 48, RAX = 0, RSI = 6, RDI = 7 };
    const uint8_t *low = at - bytes > NEAR ? at - NEAR : bytes;
    size_t room = (size_t)((end - at > NEAR ? at + NEAR : end) - low);
    if (is_move(bytes, at, RDI))
        return loads_number(low, room, RAX) || calls_wrapper(bytes, end, at + 4);
    return is_move(bytes, at, RSI) && loads_number(low, room, RDI);
}

enum { NUMBER_BYTES = 4, BLOCK = 4096 };
static bool is_set_gs(const uint8_t *p) {
    return (p[0] == 0x01) & (p[1] == 0x10) & (p[2] == 0) & (p[3] == 0);
}

/* Written so that compilers vectorize it: all text of a program goes through here. */
static bool may_hold_set_gs(const uint8_t *bytes, size_t count) {
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= is_set_gs(bytes + i);
    return any;
}

bool x86_64_asks_for_lane(const uint8_t *bytes, size_t size) {
    for (size_t at = 0; at + NUMBER_BYTES <= size; at += BLOCK) {
        size_t left = size - NUMBER_BYTES + 1 - at, count = left < BLOCK ? left : BLOCK;
        if (!may_hold_set_gs(bytes + at, count))
            continue;
        for (const uint8_t *p = bytes + at; p < bytes + at + count; p++)
            if (is_set_gs(p) && asks_at(bytes, bytes + size, p))
                return true;
    }
    return false;
}
