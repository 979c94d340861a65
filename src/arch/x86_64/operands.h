/* Instructions with their operands, as Zydis finds them. Private to this folder. */
#pragma once

#include <Zydis/Zydis.h>

#include "arch/x86_64/x86_64.h"

struct operands {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand at[ZYDIS_MAX_OPERAND_COUNT];
};

/* False: it is not an instruction. */
bool x86_64_operands(const uint8_t *bytes, size_t room, struct operands *ret);
/* The same, without operands. */
bool x86_64_instruction(const uint8_t *bytes, size_t room, ZydisDecodedInstruction *ret);

/* DWARF number of the general register that PART is, or is a part of; STACK_NO_REGISTER: it is
 * none. */
uint8_t x86_64_general_number(ZydisRegister part);

/* Memory at a register plus a constant. */
bool x86_64_is_plain_memory(const ZydisDecodedOperand *o);
