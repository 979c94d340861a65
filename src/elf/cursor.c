/* Encoded pointers (DW_EH_PE_*). */
#include "elf/cursor.h"

uint64_t cursor_encoded_value(struct cursor *c, uint8_t encoding) {
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_SIGNED:
    case PE_UDATA8:
    case PE_SDATA8:
        return cursor_u64(c);
    case PE_ULEB128:
        return cursor_uleb(c);
    case PE_SLEB128:
        return (uint64_t)cursor_sleb(c);
    case PE_UDATA2:
        return cursor_u16(c);
    case PE_SDATA2:
        return (uint64_t)(int16_t)cursor_u16(c);
    case PE_UDATA4:
        return cursor_u32(c);
    case PE_SDATA4:
        return (uint64_t)(int32_t)cursor_u32(c);
    default:
        c->failed = true;
        return 0;
    }
}

uint8_t cursor_sized_encoding(uint8_t encoding, uint8_t word_bytes) {
    uint8_t format = encoding & PE_FORMAT;
    if (encoding == PE_OMIT || word_bytes == 8 || (format != PE_ABSPTR && format != PE_SIGNED))
        return encoding;
    return (uint8_t)((encoding & ~PE_FORMAT) | (format == PE_SIGNED ? PE_SDATA4 : PE_UDATA4));
}

vaddr_t cursor_pointer(struct cursor *c, uint8_t encoding, const struct pointer_bases *bases) {
    if (encoding == PE_OMIT)
        return 0;
    if ((encoding & PE_BASE) == PE_ALIGNED) {
        cursor_take(c, -cursor_addr(c) & 7);
        return cursor_u64(c);
    }
    vaddr_t here = cursor_addr(c);
    uint64_t value = cursor_encoded_value(c, encoding);
    if (!value)
        return 0;
    switch (encoding & PE_BASE) {
    case PE_PCREL:
        return value + here;
    case PE_TEXTREL:
        return value + bases->text;
    case PE_DATAREL:
        return value + bases->data;
    case PE_FUNCREL:
        return value + bases->function;
    default:
        return value;
    }
}
