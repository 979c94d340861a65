#include "arch/x86_64/x86_64.h"

#include <errno.h>
#include <string.h>

int x86_64_displacement(vaddr_t end, vaddr_t to, uint8_t out[4]) {
    int64_t distance = (int64_t)(to - end);
    int32_t field = (int32_t)distance;
    if (field != distance)
        return -ERANGE;
    memcpy(out, &field, sizeof field);
    return 0;
}

int x86_64_jump(uint8_t *out, vaddr_t at, vaddr_t to) {
    out[0] = 0xe9;
    return x86_64_displacement(at + X86_JUMP_BYTES, to, out + 1);
}
