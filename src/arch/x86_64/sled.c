/*
 * XRay's sleds, as LLVM writes them for x86-64. XRay's runtime stores bytes 2 to 10 at any time,
 * then the first two at once.
 *
 *     entry, tail   jmp +9; nops, 9 bytes      patched: mov $id,%r10d; call
 *     exit          ret; nops, 10 bytes        patched: mov $id,%r10d; jmp
 *     event         jmp over a call            patched: nop of 2 bytes
 */
#include "arch/x86_64/x86_64.h"

enum { SLED_BYTES = 11, RET = 0xc3, JUMP_SHORT = 0xeb };

static bool are_nops(const uint8_t *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        struct insn in;
        if (!x86_64_decode(bytes + at, size - at, 0, &in, NULL) || in.kind != INSN_NOP)
            return false;
        at += in.size;
    }
    return true;
}

size_t x86_64_sled(const uint8_t *bytes, size_t room, enum sled_kind kind) {
    enum { HEAD = 2 };
    if (kind == SLED_EVENT)
        return room >= HEAD && bytes[0] == JUMP_SHORT ? HEAD : 0;
    if (room < SLED_BYTES)
        return 0;
    bool exit = kind == SLED_EXIT;
    size_t head = exit ? 1 : HEAD;
    bool begins = exit ? bytes[0] == RET : bytes[0] == JUMP_SHORT && bytes[1] == SLED_BYTES - HEAD;
    return begins && are_nops(bytes + head, SLED_BYTES - head) ? SLED_BYTES : 0;
}
