/* Decodes A32 words by Capstone, and corrects what Capstone 4 reports wrongly. */
#include "oracle_a32.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PC = 15 };

static csh handle;
static cs_insn *scratch;

__attribute__((constructor)) static void init(void) {
    if (cs_open(CS_ARCH_ARM, CS_MODE_ARM | CS_MODE_V8, &handle) != CS_ERR_OK)
        abort();
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    scratch = cs_malloc(handle);
}

__attribute__((destructor)) static void done(void) {
    cs_free(scratch, 1);
    cs_close(&handle);
}

static uint32_t general(unsigned reg) {
    switch (reg) {
    case ARM_REG_SP:
        return UINT32_C(1) << 13;
    case ARM_REG_LR:
        return UINT32_C(1) << 14;
    case ARM_REG_PC:
        return UINT32_C(1) << PC;
    default:
        return reg >= ARM_REG_R0 && reg <= ARM_REG_R12 ? UINT32_C(1) << (reg - ARM_REG_R0) : 0;
    }
}

static bool starts(const cs_insn *in, const char *text) {
    return strncmp(in->mnemonic, text, strlen(text)) == 0;
}

/* Capstone 4 reports wrong accesses for some: lists of registers, and stored registers. */
static void read_registers(const cs_insn *in, struct oracle_a32 *ret) {
    const cs_arm *a = &in->detail->arm;
    for (uint8_t i = 0; i < a->op_count; i++) {
        const cs_arm_op *op = &a->operands[i];
        if (op->type == ARM_OP_REG && op->access & CS_AC_WRITE)
            ret->written |= general((unsigned)op->reg);
        if (op->type == ARM_OP_REG && op->access & CS_AC_READ)
            ret->reads_pc |= op->reg == ARM_REG_PC;
        if (op->type != ARM_OP_MEM)
            continue;
        ret->reads_pc |= op->mem.base == ARM_REG_PC || op->mem.index == ARM_REG_PC;
        bool single = starts(in, "ldr") || starts(in, "str");
        if (a->writeback || (single && strstr(in->op_str, "],")))
            ret->written |= general(op->mem.base);
    }
    bool list = starts(in, "ldm") || starts(in, "pop");
    for (uint8_t i = starts(in, "ldm"); list && i < a->op_count; i++)
        ret->written |= general((unsigned)a->operands[i].reg);
    bool stores = starts(in, "stm") || starts(in, "push") || starts(in, "str") || starts(in, "stl");
    for (uint8_t i = 0; stores && i < a->op_count; i++)
        ret->reads_pc |= a->operands[i].type == ARM_OP_REG && a->operands[i].reg == ARM_REG_PC;
    if ((starts(in, "stm") || starts(in, "ldm")) && a->writeback)
        ret->written |= general((unsigned)a->operands[0].reg);
    if (starts(in, "push") || starts(in, "pop"))
        ret->written |= general(ARM_REG_SP);
}

static void read_flow(const cs_insn *in, struct oracle_a32 *ret) {
    const cs_arm *a = &in->detail->arm;
    const cs_arm_op *first = &a->operands[0];
    ret->call = in->id == ARM_INS_BL || in->id == ARM_INS_BLX;
    bool branch = in->id == ARM_INS_B || in->id == ARM_INS_BX || in->id == ARM_INS_BXJ;
    ret->direct = (branch || ret->call) && first->type == ARM_OP_IMM;
    ret->turns = ret->direct && in->id == ARM_INS_BLX;
    ret->target = ret->direct ? (uint32_t)first->imm : 0;
    ret->leaves = branch || ret->written >> PC & 1;
    ret->written &= ~(UINT32_C(1) << PC);
    if (branch || ret->call)
        ret->reads_pc = false;
}

/* Writes GE, which sel reads: these bits are no condition flags. */
static bool writes_others(const cs_insn *in) {
    const char *name = in->mnemonic + 1;
    bool parallel = strncmp(name, "add", 3) == 0 || strncmp(name, "sub", 3) == 0 ||
                    strncmp(name, "asx", 3) == 0 || strncmp(name, "sax", 3) == 0;
    return parallel && (in->mnemonic[0] == 's' || in->mnemonic[0] == 'u');
}

bool oracle_a32_decode(uint32_t word, uint64_t addr, struct oracle_a32 *ret) {
    const uint8_t *bytes = (const uint8_t *)&word;
    size_t room = sizeof word;
    cs_insn *in = scratch;
    *ret = (struct oracle_a32){0};
    if (!cs_disasm_iter(handle, &bytes, &room, &addr, in))
        return false;
    const cs_arm *a = &in->detail->arm;
    ret->conditional = a->cc != ARM_CC_INVALID && a->cc != ARM_CC_AL;
    ret->reads_flags = ret->conditional || starts(in, "adc") || starts(in, "sbc") ||
                       starts(in, "rsc") || starts(in, "rrx") || strstr(in->op_str, "rrx");
    bool carries = in->id == ARM_INS_ADC || in->id == ARM_INS_SBC || in->id == ARM_INS_RSC;
    ret->reads_flags |= in->id == ARM_INS_MRS && strstr(in->op_str, "apsr");
    ret->writes_flags = carries ? in->mnemonic[3] == 's' : a->update_flags;
    if (writes_others(in))
        ret->writes_flags = false;
    if (in->id == ARM_INS_MSR)
        ret->writes_flags = strcspn(in->op_str, "fn") < strcspn(in->op_str, ",");
    ret->writes_flags |= in->id == ARM_INS_CMP || in->id == ARM_INS_CMN || in->id == ARM_INS_TST ||
                         in->id == ARM_INS_TEQ;
    ret->svc = in->id == ARM_INS_SVC;
    ret->load = starts(in, "ldrex") || starts(in, "ldaex");
    ret->exclusive = ret->load || starts(in, "strex") || starts(in, "stlex");
    read_registers(in, ret);
    read_flow(in, ret);
    snprintf(ret->mnemonic, sizeof ret->mnemonic, "%s", in->mnemonic);
    snprintf(ret->text, sizeof ret->text, "%s %s", in->mnemonic, in->op_str);
    return true;
}
