/* Asks Zydis (operands.h). */
#include "arch/x86_64/operands.h"

static ZydisDecoder decoder;

__attribute__((constructor)) static void init(void) {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool x86_64_operands(const uint8_t *bytes, size_t room, struct operands *ret) {
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, &ret->in, ret->at));
}

bool x86_64_instruction(const uint8_t *bytes, size_t room, ZydisDecodedInstruction *ret) {
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, room, ret));
}

uint8_t x86_64_general_number(ZydisRegister part) {
    enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP }; /* System V ABI, AMD64, figure 3.36 */
    static const uint8_t numbers[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI};
    ZydisRegister reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
    if (ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_GPR64)
        return STACK_NO_REGISTER;
    uint8_t id = (uint8_t)ZydisRegisterGetId(reg);
    return id < sizeof numbers ? numbers[id] : id;
}

bool x86_64_is_plain_memory(const ZydisDecodedOperand *o) {
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.index == ZYDIS_REGISTER_NONE &&
           o->mem.segment != ZYDIS_REGISTER_FS && o->mem.segment != ZYDIS_REGISTER_GS &&
           ZydisRegisterGetClass(o->mem.base) == ZYDIS_REGCLASS_GPR64;
}
