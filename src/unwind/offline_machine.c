/* The processors: names of registers, calling conventions, call instructions. */
#include "unwind/offline_machine.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "arch/arch.h"

/* ---- call instructions ---- */

static uint32_t load(const uint8_t *at, size_t size) {
    uint32_t value = 0;
    memcpy(&value, at, size);
    return value;
}

/* T32: BL and BLX (immediate) have 4 bytes, BLX and BLXNS (register) 2 (Arm ARM). */
static bool t32_call(const uint8_t *end, size_t size, bool *ret_indirect) {
    *ret_indirect = size >= 2 && (load(end - 2, 2) & 0xff83) == 0x4780;
    return *ret_indirect || (size >= 4 && (load(end - 4, 2) & 0xf800) == 0xf000 &&
                             (load(end - 2, 2) & 0xc000) == 0xc000);
}

/* A32: BL and BLX; before Armv5 "mov lr, pc" and any jump behind it. */
static bool a32_call(const uint8_t *end, size_t size, bool *ret_indirect) {
    uint32_t last = size >= 4 ? load(end - 4, 4) : 0;
    *ret_indirect =
        (last & 0x0ffffff0) == 0x012fff30 || (size >= 8 && load(end - 8, 4) == 0xe1a0e00f);
    return *ret_indirect || (last & 0x0f000000) == 0x0b000000 || (last & 0xfe000000) == 0xfa000000;
}

static bool arm_follows_call(uint64_t pc, const uint8_t *before, size_t size, bool *ret_indirect) {
    const uint8_t *end = before + size;
    return pc & 1 ? t32_call(end, size, ret_indirect) : a32_call(end, size, ret_indirect);
}

/* A64: BL; BLR and BLRAA, BLRAB, BLRAAZ, BLRABZ. */
static bool a64_follows_call(uint64_t pc, const uint8_t *before, size_t size, bool *ret_indirect) {
    uint32_t insn = size >= 4 ? load(before + size - 4, 4) : 0;
    *ret_indirect = (insn & 0xfffffc1f) == 0xd63f0000 || (insn & 0xfefff800) == 0xd63f0800;
    return pc % 4 == 0 && (*ret_indirect || (insn & 0xfc000000) == 0x94000000);
}

/* The low COUNT bits of VALUE as a signed number. */
static uint64_t sign_extend(uint64_t value, unsigned count) {
    uint64_t sign = (uint64_t)1 << (count - 1);
    return ((value & (2 * sign - 1)) ^ sign) - sign;
}

static uint64_t t32_called(uint64_t pc, const uint8_t *end) {
    uint32_t first = load(end - 4, 2), second = load(end - 2, 2), sign = first >> 10 & 1;
    uint32_t i1 = ~(second >> 13 ^ sign) & 1, i2 = ~(second >> 11 ^ sign) & 1;
    uint32_t bits =
        sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
    uint64_t target = (pc & ~(uint64_t)1) + sign_extend(bits, 25);
    return (uint32_t)(second & 0x1000 ? target | 1 : target & ~(uint64_t)3);
}

static uint64_t arm_called(uint64_t pc, const uint8_t *before, size_t size) {
    const uint8_t *end = before + size;
    if (size < 4)
        return 0;
    if (pc & 1)
        return t32_called(pc, end);
    uint32_t insn = load(end - 4, 4);
    uint64_t target = pc + 4 + 4 * sign_extend(insn, 24);
    return (uint32_t)(insn >> 28 == 15 ? target + (insn >> 23 & 2) + 1 : target);
}

static uint64_t a64_called(uint64_t pc, const uint8_t *before, size_t size) {
    return size < 4 ? 0 : pc - 4 + 4 * sign_extend(load(before + size - 4, 4), 26);
}

static bool x86_follows_call(uint64_t pc, const uint8_t *before, size_t size, bool *ret_indirect) {
    enum { LEAST = 2, MOST = 7 };
    const struct arch *arch = arch_for_machine(EM_X86_64);
    struct insn insn;
    for (size_t n = size < MOST ? size : MOST; n >= LEAST; n--) {
        if (!arch->decode(before + size - n, n, pc - n, &insn, NULL) || insn.size != n)
            continue;
        *ret_indirect = insn.kind == INSN_CALL_INDIRECT;
        if (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT)
            return true;
    }
    return false;
}

/* ---- machines ---- */

static const char *const arm_names[] = {
    "r0", "r1",    "r2",     "r3",     "r4",     "r5",     "r6",     "r7",
    "r8", "r9 sb", "r10 sl", "r11 fp", "r12 ip", "r13 sp", "r14 lr", "r15 pc",
};

static const char *const a64_names[] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",     "x8",     "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",    "x19",    "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29 fp", "x30 lr", "sp",  "pc",
};

static const char *const x86_names[] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp fp", "rsp sp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15",    "rip pc",
};

#define BITS(first, last) ((((uint64_t)2 << (last)) - 1) & ~(((uint64_t)1 << (first)) - 1))

static const struct offline_machine machines[] = {
    {EM_ARM, 4, 16, 13, 15, true, BITS(0, 3) | BITS(12, 12) | BITS(14, 14), arm_names,
     arm_follows_call, arm_called},
    {EM_AARCH64, 8, 33, 31, 32, false, BITS(0, 18) | BITS(30, 30), a64_names, a64_follows_call,
     a64_called},
    {EM_X86_64, 8, 17, 7, 16, false, BITS(0, 2) | BITS(4, 5) | BITS(8, 11), x86_names,
     x86_follows_call, NULL},
};

const struct offline_machine *offline_machine(uint16_t machine) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return &machines[i];
    return NULL;
}

uint64_t offline_sp(const struct offline_machine *machine, const struct offline_registers *r) {
    return r->value[machine->sp];
}

/* ---- registers as people write them ---- */

/* True if the LENGTH bytes at NAME are one of the words of NAMES. */
static bool is_among(const char *names, const char *name, size_t length) {
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ");
        if (n == length && strncasecmp(p, name, length) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

static int number_of(const struct offline_machine *m, const char *name, size_t length) {
    for (int i = 0; i < m->count; i++)
        if (is_among(m->names[i], name, length))
            return i;
    return -1;
}

/* True for registers that say nothing about the stack. */
static bool is_ignored(const char *name, size_t length) {
    static const char others[] =
        "xpsr cpsr psr apsr spsr pstate eflags rflags msp primask basepri "
        "faultmask control fpscr fpcr fpsr esr far elr hfsr cfsr bfar mmfar "
        "cs ss ds es fs gs fs_base gs_base orig_rax";
    return is_among(others, name, length);
}

static bool read_value(const char *text, size_t length, uint64_t *ret) {
    unsigned base = length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10;
    uint64_t value = 0;
    for (size_t i = base == 16 ? 2 : 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned digit = isdigit(c) ? c - '0' + 0u : isxdigit(c) ? (c | 0x20u) - 'a' + 10u : 99u;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return length > 0;
}

static int read_one(const struct offline_machine *m, const char *text, size_t length,
                    struct offline_registers *r, struct err *err) {
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    uint64_t value;
    int number = number_of(m, text, name);
    bool is_psp = m->stacks_exceptions && name == 3 && strncasecmp(text, "psp", name) == 0;
    if (number < 0 && !is_psp && !is_ignored(text, name))
        return err_set(err, EINVAL, "bad-register", "%.*s: is no register of this machine",
                       (int)name, text);
    if (!equals || !read_value(equals + 1, length - name - 1, &value) ||
        (m->word == 4 && value > UINT32_MAX))
        return err_set(err, EINVAL, "bad-register",
                       "%.*s: has no value: write it as in sp=0x20001000", (int)length, text);
    if (is_psp) {
        r->psp = value;
        r->psp_is_known = true;
    } else if (number >= 0) {
        r->value[number] = value;
        r->known |= (uint64_t)1 << number;
    }
    return 0;
}

int offline_registers_read(const struct offline_machine *m, const char *text,
                           struct offline_registers *ret, struct err *err) {
    static const char separators[] = ", \t\r\n";
    *ret = (struct offline_registers){0};
    for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
        size_t length = strcspn(text, separators);
        int rc = read_one(m, text, length, ret, err);
        if (rc < 0)
            return rc;
        text += length;
    }
    if (!(ret->known >> m->sp & 1))
        return err_set(err, EINVAL, "no-register", "the stack pointer is missing: give sp=VALUE");
    if (!(ret->known >> m->pc & 1))
        return err_set(err, EINVAL, "no-register", "the pc is missing: give pc=VALUE");
    return 0;
}
