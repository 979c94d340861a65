/* Instructions as text, in the syntax of objdump and gdb. */
#include <Zydis/Zydis.h>
#include <stdio.h>

#include "arch/x86_64/x86_64.h"

static ZydisDecoder decoder;
static ZydisFormatter formatter;

__attribute__((constructor)) static void init(void) {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
}

size_t x86_64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, &in, operands)) &&
        ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &in, operands, in.operand_count_visible, out, FORMAT_BYTES, addr, NULL)))
        return in.length;
    snprintf(out, FORMAT_BYTES, "(bad)");
    return 1;
}
