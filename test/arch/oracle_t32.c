/* Decodes T32 instructions by Capstone, and corrects what Capstone 4 reports wrongly. */
#include "oracle_t32.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csh handle;
static cs_insn *scratch;

__attribute__((constructor)) static void init(void) {
    if (cs_open(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_V8, &handle) != CS_ERR_OK)
        abort();
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    scratch = cs_malloc(handle);
}

__attribute__((destructor)) static void done(void) {
    cs_free(scratch, 1);
    cs_close(&handle);
}

static uint32_t general(unsigned reg) {
    if (reg >= ARM_REG_R0 && reg <= ARM_REG_R12)
        return UINT32_C(1) << (reg - ARM_REG_R0);
    return reg == ARM_REG_SP ? 1U << 13 : reg == ARM_REG_LR ? 1U << 14 : 0;
}

static bool is(const cs_insn *in, const char *text) { return strcmp(in->mnemonic, text) == 0; }
static bool starts(const cs_insn *in, const char *text) {
    return strncmp(in->mnemonic, text, strlen(text)) == 0;
}

static bool is_store(const cs_insn *in) {
    return starts(in, "st") || starts(in, "vst") || starts(in, "push") || starts(in, "vpush") ||
           starts(in, "pld") || starts(in, "pli");
}

/* Comparisons, transfers to coprocessors and stores write no register, although they name some
 * first. */
static bool writes_first(const cs_insn *in) {
    static const char *const none[] = {"cmp", "cmn", "tst", "teq", "mcr",  "msr", "cb",   "b",
                                       "tb",  "udf", "svc", "hlt", "bkpt", "ldc", "stc",  "cdp",
                                       "rfe", "srs", "dbg", "hvc", "smc",  "cps", "vmsr", "pop"};
    bool bits = is(in, "bic") || starts(in, "bic.") || starts(in, "bics") || starts(in, "bf");
    for (size_t i = 0; i < sizeof none / sizeof *none && !bits; i++) {
        if (starts(in, none[i]))
            return false;
    }
    return !is_store(in);
}

static bool is_long(const cs_insn *in) {
    return starts(in, "smull") || starts(in, "umull") || starts(in, "smlal") ||
           starts(in, "umlal") || starts(in, "umaal") || starts(in, "smlsld") ||
           starts(in, "ldrd") || starts(in, "ldrexd") || starts(in, "ldaexd") || starts(in, "mrrc");
}

/* Moves two registers from vectors, or to them. */
static bool is_both(const cs_insn *in) {
    return is(in, "vmov") && general(in->detail->arm.operands[0].reg);
}

/* Capstone 4 does not know which operands many instructions write, so the syntax is read. */
static void read_registers(const cs_insn *in, struct oracle_t32 *ret) {
    const cs_arm *a = &in->detail->arm;
    bool list = starts(in, "pop") || starts(in, "ldm");
    bool vector = (starts(in, "v") && !is(in, "vmov") && !is(in, "vmrs")) || starts(in, "f");
    bool status = starts(in, "strex") || starts(in, "stlex");
    for (uint8_t i = 0; i < a->op_count; i++) {
        const cs_arm_op *op = &a->operands[i];
        unsigned reg = op->type == ARM_OP_REG ? op->reg : ARM_REG_INVALID;
        bool transfer = starts(in, "mrc");
        bool first =
            writes_first(in) && !vector && (i == 0 || (i == 1 && (is_long(in) || is_both(in))));
        bool of_list = list && (i > 0 || starts(in, "pop"));
        bool written = (first && !(starts(in, "ldm") && i == 0)) || of_list || (status && i == 0) ||
                       (transfer && op->type == ARM_OP_REG && i >= 1 && i <= 3);
        if (written)
            ret->written |= general(reg);
        ret->names_pc |= reg == ARM_REG_PC && !of_list;
        if (op->type == ARM_OP_MEM && a->writeback)
            ret->written |= general(op->mem.base);
    }
    if (list && a->writeback && !starts(in, "pop"))
        ret->written |= general(a->operands[0].reg);
    bool several = starts(in, "stm") || starts(in, "vstm") || starts(in, "vldm") ||
                   starts(in, "fstm") || starts(in, "fldm");
    if (several && strchr(in->op_str, '!'))
        ret->written |= general(a->operands[0].reg);
    if (starts(in, "push") || starts(in, "pop") || starts(in, "vpush") || starts(in, "vpop"))
        ret->written |= 1U << 13;
}

static void read_flags(const cs_insn *in, struct oracle_t32 *ret) {
    const cs_arm *a = &in->detail->arm;
    bool compares =
        starts(in, "cmp") || starts(in, "cmn") || starts(in, "tst") || starts(in, "teq");
    bool to_flags = strstr(in->op_str, "apsr") || strstr(in->op_str, "cpsr");
    ret->writes_flags = a->update_flags || compares;
    if (starts(in, "uadd8")) /* GE is none of the decoder's flags */
        ret->writes_flags = false;
    if (starts(in, "adc") || starts(in, "sbc") || starts(in, "rrx"))
        ret->writes_flags = in->mnemonic[3] == 's';
    if (starts(in, "msr") || starts(in, "vmrs") || starts(in, "mrc"))
        ret->writes_flags = to_flags;
    ret->reads_flags = (a->cc != ARM_CC_AL && a->cc != ARM_CC_INVALID) || starts(in, "adc") ||
                       starts(in, "sbc") || starts(in, "rrx") || starts(in, "vsel") ||
                       strstr(in->op_str, "rrx") || (starts(in, "mrs") && to_flags);
}

static bool writes_pc(const cs_insn *in) {
    const cs_arm *a = &in->detail->arm;
    bool list = starts(in, "pop") || starts(in, "ldm");
    bool one = starts(in, "mov") || starts(in, "ldr") || starts(in, "add");
    for (uint8_t i = 0; i < a->op_count; i++)
        if (a->operands[i].type == ARM_OP_REG && a->operands[i].reg == ARM_REG_PC)
            return list || (one && i == 0);
    return false;
}

static void read_operand(const cs_insn *in, uint64_t addr, struct oracle_t32 *ret) {
    const cs_arm *a = &in->detail->arm;
    const cs_arm_op *last = a->op_count ? &a->operands[a->op_count - 1] : NULL;
    uint64_t aligned = (addr + 4) & ~(uint64_t)3;
    bool number = last && last->type == ARM_OP_IMM;
    ret->direct = (ret->call || ret->jump || ret->branch) && number && !starts(in, "ldr");
    if (ret->direct)
        ret->target = (uint32_t)last->imm;
    ret->address = starts(in, "adr");
    if (ret->address && last)
        ret->target = (uint32_t)(aligned + (uint64_t)(int64_t)last->imm);
    bool wide = starts(in, "addw") || starts(in, "subw");
    if (wide && a->op_count == 3 && a->operands[1].reg == ARM_REG_PC) {
        ret->address = true;
        int64_t distance = starts(in, "subw") ? -(int64_t)last->imm : last->imm;
        ret->target = (uint32_t)(aligned + (uint64_t)distance);
    }
    for (uint8_t i = 0; i < a->op_count; i++) {
        const cs_arm_op *op = &a->operands[i];
        if (op->type != ARM_OP_MEM || op->mem.base != ARM_REG_PC || starts(in, "tb"))
            continue;
        int64_t distance = op->mem.disp;
        ret->literal = true;
        ret->target = (uint32_t)(aligned + (uint64_t)distance);
    }
}

bool oracle_t32_decode(const uint8_t *bytes, size_t room, uint64_t addr, struct oracle_t32 *ret) {
    const uint64_t at = addr;
    cs_insn *in = scratch;
    *ret = (struct oracle_t32){0};
    if (!cs_disasm_iter(handle, &bytes, &room, &addr, in))
        return false;
    const cs_arm *a = &in->detail->arm;
    bool conditional = a->cc != ARM_CC_INVALID && a->cc != ARM_CC_AL;
    ret->size = (uint8_t)in->size;
    ret->call = in->id == ARM_INS_BL || in->id == ARM_INS_BLX;
    ret->branch =
        (in->id == ARM_INS_B && conditional) || in->id == ARM_INS_CBZ || in->id == ARM_INS_CBNZ;
    ret->jump = (in->id == ARM_INS_B && !conditional) || in->id == ARM_INS_BX ||
                in->id == ARM_INS_TBB || in->id == ARM_INS_TBH || writes_pc(in);
    ret->svc = in->id == ARM_INS_SVC;
    ret->nop = starts(in, "nop");
    ret->load = starts(in, "ldrex") || starts(in, "ldaex");
    ret->exclusive = ret->load || starts(in, "strex") || starts(in, "stlex");
    read_operand(in, at, ret);
    read_registers(in, ret);
    read_flags(in, ret);
    snprintf(ret->mnemonic, sizeof ret->mnemonic, "%s", in->mnemonic);
    snprintf(ret->text, sizeof ret->text, "%s %s", in->mnemonic, in->op_str);
    return true;
}

bool oracle_t32_text(const uint8_t *bytes, size_t room, uint64_t addr, size_t count,
                     char ret[192]) {
    csh own;
    bool good = cs_open(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_V8, &own) == CS_ERR_OK;
    cs_insn *in = cs_malloc(own);
    for (size_t i = 0; good && i <= count; i++)
        good = cs_disasm_iter(own, &bytes, &room, &addr, in);
    if (good)
        snprintf(ret, 192, "%s %s", in->mnemonic, in->op_str);
    cs_free(in, 1);
    cs_close(&own);
    return good;
}
