/* Decodes A32 and T32 instructions, and IT blocks as one, by Capstone. */
#include "oracle_arm.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 2, WORD = 4 };
static csh handles[2];

__attribute__((constructor)) static void init(void) {
    static const cs_mode modes[] = {CS_MODE_ARM | CS_MODE_V8, CS_MODE_THUMB | CS_MODE_V8};
    for (int i = 0; i < 2; i++) {
        if (cs_open(CS_ARCH_ARM, modes[i], &handles[i]) != CS_ERR_OK)
            abort();
        cs_option(handles[i], CS_OPT_DETAIL, CS_OPT_ON);
    }
}

__attribute__((destructor)) static void done(void) {
    for (int i = 0; i < 2; i++)
        cs_close(&handles[i]);
}

static bool starts(const cs_insn *in, const char *text) {
    return strncmp(in->mnemonic, text, strlen(text)) == 0;
}

/* Whether the pc is among the registers that it loads or computes. */
static bool writes_pc(const cs_insn *in) {
    const cs_arm *a = &in->detail->arm;
    bool list = starts(in, "pop") || starts(in, "ldm");
    bool one = !starts(in, "st") && !starts(in, "push") && !starts(in, "cmp") &&
               !starts(in, "tst") && !starts(in, "teq") && !starts(in, "cmn");
    for (uint8_t i = 0; i < a->op_count; i++) {
        if (a->operands[i].type == ARM_OP_REG && a->operands[i].reg == ARM_REG_PC &&
            (list || (one && i == 0)))
            return true;
    }
    return false;
}

/* Returns through lr or the stack, or through frames of the older procedure call standard, whose
 * list has sp. */
static bool is_return(const cs_insn *in) {
    static const char *const texts[] = {"bx lr", "mov pc, lr", "ldr pc, [sp], "};
    char text[sizeof in->mnemonic + sizeof in->op_str];
    snprintf(text, sizeof text, "%.*s %s", in->mnemonic[0] == 'b' ? 2 : 3, in->mnemonic,
             in->op_str);
    bool ret = starts(in, "pop") || (starts(in, "ldm") && strstr(in->op_str, "sp"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ret |= strncmp(text, texts[i], strlen(texts[i])) == 0;
    return ret;
}

static bool is_padding(const cs_insn *in) {
    static const char *const moves[] = {"r0, r0", "r8, r8"};
    bool padding = starts(in, "nop") || strcmp(in->mnemonic, "hint") == 0;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        padding |= strcmp(in->mnemonic, "mov") == 0 && strcmp(in->op_str, moves[i]) == 0;
    return padding;
}

static void read_insn(const cs_insn *in, struct oracle_insn *ret) {
    const cs_arm *a = &in->detail->arm;
    const cs_arm_op *last = a->op_count ? &a->operands[a->op_count - 1] : NULL;
    bool always = a->cc == ARM_CC_AL || a->cc == ARM_CC_INVALID;
    bool zero = in->id == ARM_INS_CBZ || in->id == ARM_INS_CBNZ;
    bool leaves = in->id == ARM_INS_B || in->id == ARM_INS_BX || in->id == ARM_INS_TBB ||
                  in->id == ARM_INS_TBH || writes_pc(in);
    bool number = last && last->type == ARM_OP_IMM && !starts(in, "ldr") && !starts(in, "mov") &&
                  !starts(in, "add") && !starts(in, "sub");
    ret->call |= in->id == ARM_INS_BL || in->id == ARM_INS_BLX;
    ret->jump = leaves && always;
    ret->branch = zero || (leaves && !always);
    if ((ret->call || ret->jump || ret->branch) && number) {
        ret->direct = true;
        ret->target = (uint32_t)last->imm;
    }
    ret->through |= leaves && !number && !is_return(in);
    ret->padding = is_padding(in);
    ret->syscall |= in->id == ARM_INS_SVC;
    bool load = starts(in, "ldrex") || starts(in, "ldaex");
    ret->exclusive |= load || starts(in, "strex") || starts(in, "stlex");
    ret->exclusive_load |= load;
    snprintf(ret->text, sizeof ret->text, "%s %s", in->mnemonic, in->op_str);
}

/* The number of instructions that the IT at BYTES governs; 0: it is no IT. */
static size_t governed(const uint8_t *bytes) {
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    unsigned mask = half & 15;
    return (half & 0xff00) == 0xbf00 && mask ? 4 - (size_t)__builtin_ctz(mask) : 0;
}

bool oracle_arm_decode(bool t32, const uint8_t *bytes, size_t room, uint64_t addr,
                       struct oracle_insn *ret) {
    const size_t least = t32 ? HALF : WORD;
    *ret = (struct oracle_insn){.size = (uint8_t)(room < least ? room : least)};
    if (room < least)
        return false;
    if (t32 && (bytes[1] & 0xf8) >= 0xe8 && room >= WORD)
        ret->size = WORD;
    size_t wanted = 1 + (t32 ? governed(bytes) : 0);
    cs_insn *list;
    size_t count = cs_disasm(handles[t32], bytes, room, addr, wanted, &list);
    if (count == wanted)
        ret->size = 0;
    for (size_t i = 0; count == wanted && i < count; i++) {
        read_insn(&list[i], ret);
        ret->size = (uint8_t)(ret->size + list[i].size);
    }
    if (wanted > 1) /* their effects are conditional */
        ret->jump = false;
    if (count)
        cs_free(list, count);
    return count == wanted;
}
