/* Decodes A64 words by Capstone, and corrects what Capstone 4 reports wrongly. */
#include "oracle_a64.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csh handle;
static cs_insn *scratch;

__attribute__((constructor)) static void init(void) {
    if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK)
        abort();
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    scratch = cs_malloc(handle);
}

__attribute__((destructor)) static void done(void) {
    cs_free(scratch, 1);
    cs_close(&handle);
}

static uint32_t general(unsigned reg) {
    if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP)
        return UINT32_C(1) << 31;
    if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
        return UINT32_C(1) << (reg == ARM64_REG_X29 ? 29 : 30);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        return UINT32_C(1) << (reg - ARM64_REG_W0);
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return UINT32_C(1) << (reg - ARM64_REG_X0);
    return 0;
}

static void read_registers(const cs_insn *in, struct oracle_a64 *ret) {
    cs_regs read, written;
    uint8_t read_count, written_count;
    if (cs_regs_access(handle, in, read, &read_count, written, &written_count) != CS_ERR_OK)
        return;
    for (uint8_t i = 0; i < read_count; i++)
        ret->reads_flags |= read[i] == ARM64_REG_NZCV;
    for (uint8_t i = 0; i < written_count; i++) {
        ret->writes_flags |= written[i] == ARM64_REG_NZCV;
        ret->written |= general(written[i]);
    }
    const cs_arm64 *a = &in->detail->arm64;
    if (a->writeback)
        for (uint8_t i = 0; i < a->op_count; i++)
            ret->written |=
                a->operands[i].type == ARM64_OP_MEM ? general(a->operands[i].mem.base) : 0;
}

static void read_target(const cs_insn *in, struct oracle_a64 *ret) {
    const cs_arm64 *a = &in->detail->arm64;
    const cs_arm64_op *last = a->op_count ? &a->operands[a->op_count - 1] : NULL;
    bool number = last && last->type == ARM64_OP_IMM;
    bool flow = ret->call || ret->jump || ret->branch;
    ret->direct = flow && number;
    ret->address = in->id == ARM64_INS_ADR;
    ret->page = in->id == ARM64_INS_ADRP;
    bool load = in->id == ARM64_INS_LDR || in->id == ARM64_INS_LDRSW || in->id == ARM64_INS_PRFM;
    ret->literal = load && number && a->op_count == 2;
    if (ret->direct || ret->address || ret->page || ret->literal)
        ret->target = (uint64_t)last->imm;
}

static bool starts(const cs_insn *in, const char *text) {
    return strncmp(in->mnemonic, text, strlen(text)) == 0;
}

bool oracle_a64_decode(uint32_t word, uint64_t addr, struct oracle_a64 *ret) {
    const uint8_t *bytes = (const uint8_t *)&word;
    size_t room = sizeof word;
    cs_insn *in = scratch;
    *ret = (struct oracle_a64){0};
    if (!cs_disasm_iter(handle, &bytes, &room, &addr, in))
        return false;
    const cs_arm64 *a = &in->detail->arm64;
    bool conditional = a->cc != ARM64_CC_INVALID && a->cc != ARM64_CC_AL && a->cc != ARM64_CC_NV;
    ret->call = in->id == ARM64_INS_BL || in->id == ARM64_INS_BLR || starts(in, "blra");
    ret->ret = in->id == ARM64_INS_RET || starts(in, "reta");
    ret->jump =
        (in->id == ARM64_INS_B && !conditional) || in->id == ARM64_INS_BR || starts(in, "bra");
    ret->branch = (in->id == ARM64_INS_B && conditional) || in->id == ARM64_INS_CBZ ||
                  in->id == ARM64_INS_CBNZ || in->id == ARM64_INS_TBZ || in->id == ARM64_INS_TBNZ;
    ret->svc = in->id == ARM64_INS_SVC;
    ret->nop = strcmp(in->mnemonic, "nop") == 0;
    ret->load =
        starts(in, "ldxr") || starts(in, "ldaxr") || starts(in, "ldxp") || starts(in, "ldaxp");
    ret->exclusive = ret->load || starts(in, "stxr") || starts(in, "stlxr") || starts(in, "stxp") ||
                     starts(in, "stlxp");
    read_target(in, ret);
    read_registers(in, ret);
    /* Capstone 4 does not report: always-true conditions, compares and the kernel write no
     * register, and mrs and msr access NZCV, too. */
    if (a->cc == ARM64_CC_AL || a->cc == ARM64_CC_NV)
        ret->reads_flags = false;
    if (ret->svc || starts(in, "cmp") || starts(in, "cmn") || starts(in, "tst"))
        ret->written = 0;
    ret->reads_flags |= in->id == ARM64_INS_MRS && strstr(in->op_str, "nzcv");
    ret->writes_flags |= in->id == ARM64_INS_MSR && strstr(in->op_str, "nzcv");
    snprintf(ret->text, sizeof ret->text, "%s %s", in->mnemonic, in->op_str);
    return true;
}
