/*
 * Recognizes functions of T32 that read a table right behind their calls and jump by it. Thumb-1
 * has no `tbb`, so GCC's switches call libgcc (lib1funcs.S):
 *
 *     bl      __gnu_thumb1_case_uqi      push {r1}; mov r1, lr; lsrs r1, #1; lsls r1, #1
 *     .byte   …                          ldrb r1, [r1, r0]; lsls r1, #1; add lr, r1
 *                                        pop {r1}; bx lr
 *
 * Entries of one or two bytes count halfwords from the call's return address. Entries of a word
 * count bytes from there, or from the next whole word. r0 is the entry's number. Any other function
 * that jumps to an address made from its return address is taken for one with an unknown table.
 */
#include "arch/arm/t32.h"

static const struct reader {
    const char *name;
    uint8_t entry_bytes;
    bool is_signed;
    uint16_t code[13];
} readers[] = {
    {"__gnu_thumb1_case_sqi",
     1,
     true,
     {0xb402, 0x4671, 0x0849, 0x0049, 0x5609, 0x0049, 0x448e, 0xbc02, 0x4770}},
    {"__gnu_thumb1_case_uqi",
     1,
     false,
     {0xb402, 0x4671, 0x0849, 0x0049, 0x5c09, 0x0049, 0x448e, 0xbc02, 0x4770}},
    {"__gnu_thumb1_case_shi",
     2,
     true,
     {0xb403, 0x4671, 0x0849, 0x0040, 0x0049, 0x5e09, 0x0049, 0x448e, 0xbc03, 0x4770}},
    {"__gnu_thumb1_case_uhi",
     2,
     false,
     {0xb403, 0x4671, 0x0849, 0x0040, 0x0049, 0x5a09, 0x0049, 0x448e, 0xbc03, 0x4770}},
    {"__gnu_thumb1_case_si",
     4,
     true,
     {0xb403, 0x4671, 0x3102, 0x0889, 0x0080, 0x0089, 0x5808, 0x1840, 0x4686, 0xbc03, 0x46f7}},
};
enum { READERS = sizeof readers / sizeof *readers };

static struct dispatch table_of(const struct reader *r) {
    return (struct dispatch){.kind = DISPATCH_OFFSETS,
                             .entry_bytes = r->entry_bytes,
                             .is_signed = r->is_signed,
                             .shift = r->entry_bytes == ARM_WORD ? 0 : 1};
}

struct dispatch t32_inline_table_named(const char *name) {
    for (size_t i = 0; name && i < READERS; i++)
        if (!strcmp(name, readers[i].name))
            return table_of(&readers[i]);
    return (struct dispatch){.kind = DISPATCH_ANY};
}

static bool is_reader(const struct reader *r, const uint8_t *bytes, size_t room) {
    size_t size = 0;
    while (r->code[size / sizeof *r->code])
        size += sizeof *r->code;
    return size <= room && !memcmp(bytes, r->code, size);
}

/* Bitmaps of registers that hold the return address (the lowest bits may be changed), and of those
 * that hold a sum with it. */
struct made {
    uint32_t returns, moved;
};

static bool holds(uint32_t registers, uint8_t reg) { return registers >> reg & 1; }

/* Bitmap of the registers from which a narrow instruction makes its result (Thumb-1 has no wide
 * ones). *RET_ADDS: the result is a sum; else a copy, except for the lowest bits. */
static uint32_t sources(uint32_t word, bool *ret_adds) {
    *ret_adds = false;
    if ((word & 0xff00) == 0x4600) /* mov */
        return UINT32_C(1) << t32_reg(word, 3);
    if ((word & 0xf000) == 0x0000) /* lsls, lsrs */
        return UINT32_C(1) << t32_low(word, 3);
    if ((word & 0xffc0) == 0x4380 || (word & 0xffc0) == 0x4300) /* bics, orrs */
        return UINT32_C(1) << t32_low(word, 0);
    *ret_adds = true;
    if ((word & 0xff00) == 0x4400) /* add */
        return UINT32_C(1) << t32_high(word) | UINT32_C(1) << t32_reg(word, 3);
    if ((word & 0xfc00) == 0x1800) /* adds, subs */
        return UINT32_C(1) << t32_low(word, 3) | UINT32_C(1) << t32_low(word, 6);
    if ((word & 0xfc00) == 0x1c00)
        return UINT32_C(1) << t32_low(word, 3);
    if ((word & 0xf000) == 0x3000)
        return UINT32_C(1) << t32_low(word, 8);
    return 0;
}

/* Updates MADE by IN, which is no jump. False: the function does not read a table. (Functions that
 * store their return address mostly return to it.) */
static bool follow(struct made *made, const struct t32 *in) {
    struct t32_access a = {0};
    const bool accesses = t32_access_of(in, &a);
    uint32_t from = 0, written = t32_written(in);
    bool adds = false;
    if (in->size != T32_HALF || (in->kind != INSN_OTHER && in->kind != INSN_NOP))
        return false;
    for (uint8_t i = 0; accesses && !a.load && i < a.count; i++)
        if (holds(made->returns | made->moved, a.regs[i]))
            return false;
    if (!accesses)
        from = sources(in->word, &adds);
    const bool moves = from & made->moved || (adds && from & made->returns);
    const bool copies = !moves && from & made->returns;
    made->returns = copies ? made->returns | written : made->returns & ~written;
    made->moved = moves ? made->moved | written : made->moved & ~written;
    return true;
}

static bool jumps_from_return_address(const uint8_t *bytes, size_t room) {
    enum { MOST = 16 };
    struct made made = {.returns = UINT32_C(1) << ARM_LR};
    for (int i = 0; i < MOST && room >= T32_HALF; i++) {
        struct t32 in = t32_classify(bytes, room);
        bool jumps =
            in.row->form == T32_BX || (in.row->form == T32_MOV_HIGH && t32_high(in.word) == ARM_PC);
        if (jumps)
            return (in.kind == INSN_RETURN || in.kind == INSN_JUMP_INDIRECT) &&
                   holds(made.moved, t32_reg(in.word, 3));
        if (!follow(&made, &in))
            return false;
        bytes += in.size;
        room -= in.size;
    }
    return false;
}

struct dispatch t32_inline_table_read(const uint8_t *bytes, size_t room) {
    for (size_t i = 0; i < READERS; i++)
        if (is_reader(&readers[i], bytes, room))
            return table_of(&readers[i]);
    return (struct dispatch){.kind = jumps_from_return_address(bytes, room) ? DISPATCH_OFFSETS
                                                                            : DISPATCH_ANY};
}
