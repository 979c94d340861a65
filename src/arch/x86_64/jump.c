/*
 * Jumps: the ordinary one, the short one, and puns. A pun is an ordinary jump of which only the
 * first bytes are written. The program's own bytes behind them are the upper part of the
 * displacement:
 *
 *     own 3    e9 xx xx | b1 b2          displacement b2 b1 xx xx: a choice of 2^16 addresses
 *     form 1   3e e9 xx | b1 b2 b3       a prefix without effect moves the displacement
 */
#include <errno.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { PREFIX = 0x3e, JUMP = 0xe9, SHORT_JUMP = 0xeb };

int x86_64_displacement(vaddr_t end, vaddr_t to, uint8_t out[4]) {
    int64_t distance = (int64_t)(to - end);
    int32_t field = (int32_t)distance;
    if (field != distance)
        return -ERANGE;
    memcpy(out, &field, sizeof field);
    return 0;
}

int x86_64_jump(uint8_t *out, vaddr_t at, vaddr_t to) {
    out[0] = JUMP;
    return x86_64_displacement(at + X86_JUMP_BYTES, to, out + 1);
}

int x86_64_hop(uint8_t *out, vaddr_t at, vaddr_t to) {
    int64_t distance = (int64_t)(to - (at + X86_HOP_BYTES));
    if (distance < INT8_MIN || distance > INT8_MAX)
        return -ERANGE;
    out[0] = SHORT_JUMP;
    out[1] = (uint8_t)distance;
    return 0;
}

bool x86_64_pun(const uint8_t *bytes, vaddr_t at, uint8_t own, uint8_t form, struct pun *ret) {
    uint8_t size = X86_JUMP_BYTES + form;
    int free = own - 1 - form;
    if (free < 0 || own >= X86_JUMP_BYTES)
        return false;
    int32_t fixed;
    memcpy(&fixed, bytes + 1 + form, sizeof fixed);
    fixed &= -(INT32_C(1) << 8 * free);
    *ret = (struct pun){at + size + (uint64_t)(int64_t)fixed, UINT32_C(1) << 8 * free, size};
    return true;
}

void x86_64_pun_write(uint8_t *out, vaddr_t at, uint8_t own, uint8_t form, vaddr_t to) {
    uint8_t jump[PUN_MAX_BYTES];
    uint32_t field = (uint32_t)(to - (at + X86_JUMP_BYTES + form));
    memset(jump, PREFIX, form);
    jump[form] = JUMP;
    memcpy(jump + form + 1, &field, sizeof field);
    memcpy(out, jump, own);
}
