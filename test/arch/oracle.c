/* Decodes x86-64 instructions by Capstone. */
#include "oracle.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csh handle;
static cs_insn *scratch;

__attribute__((constructor)) static void init(void) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
        abort();
    cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    scratch = cs_malloc(handle);
}

__attribute__((destructor)) static void done(void) {
    cs_free(scratch, 1);
    cs_close(&handle);
}

/* Writes operands to OUT, "rip ± n" as an absolute address. */
static void write_operands(const cs_insn *in, char *out, size_t room) {
    const char *rip = strstr(in->op_str, "rip");
    if (!rip) {
        snprintf(out, room, "%s %s", in->mnemonic, in->op_str);
        return;
    }
    const cs_x86 *x86 = &in->detail->x86;
    uint64_t absolute = in->address + in->size + (uint64_t)x86->disp;
    const char *end = strchr(rip, ']');
    snprintf(out, room, "%s %.*s%#llx%s", in->mnemonic, (int)(rip - in->op_str), in->op_str,
             (unsigned long long)absolute, end ? end : "");
}

static bool is_branch(unsigned id) {
    switch (id) {
    case X86_INS_LOOP:
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
    case X86_INS_JRCXZ:
    case X86_INS_JECXZ:
        return true;
    default:
        return id >= X86_INS_JAE && id <= X86_INS_JS && id != X86_INS_JMP && id != X86_INS_LJMP;
    }
}

bool oracle_decode(const uint8_t *bytes, size_t room, uint64_t addr, struct oracle_insn *ret) {
    cs_insn *in = scratch;
    if (!cs_disasm_iter(handle, &bytes, &room, &addr, in))
        return false;
    const cs_x86 *x86 = &in->detail->x86;
    *ret = (struct oracle_insn){.size = (uint8_t)in->size};
    ret->call = in->id == X86_INS_CALL || in->id == X86_INS_LCALL;
    ret->ret = in->id == X86_INS_RET;
    ret->jump = in->id == X86_INS_JMP || in->id == X86_INS_LJMP;
    ret->branch = is_branch(in->id);
    ret->padding = in->id == X86_INS_NOP || in->id == X86_INS_INT3 ||
                   (in->size == 2 && in->bytes[0] == 0x66 && in->bytes[1] == 0x90);
    ret->landing = in->id == X86_INS_ENDBR64;
    ret->syscall = in->id == X86_INS_SYSCALL || in->id == X86_INS_SYSENTER || in->id == X86_INS_INT;
    bool flow = ret->call || ret->jump || ret->branch;
    ret->direct = flow && x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;
    if (ret->direct)
        ret->target = (uint64_t)x86->operands[0].imm;
    write_operands(in, ret->text, sizeof ret->text);
    return true;
}
