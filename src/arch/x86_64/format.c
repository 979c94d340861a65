/* Instructions as text, in the syntax of objdump and gdb. */
#include <stdio.h>

#include "arch/x86_64/operands.h"

static ZydisFormatter formatter;

__attribute__((constructor)) static void init(void) {
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
}

size_t x86_64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct operands o;
    if (x86_64_operands(bytes, room, &o) &&
        ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &o.in, o.at, o.in.operand_count_visible, out, FORMAT_BYTES, addr, NULL)))
        return o.in.length;
    snprintf(out, FORMAT_BYTES, "(bad)");
    return 1;
}
