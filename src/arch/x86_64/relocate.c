/*
 * Writes one instruction anew for another address. Branches get their long form. Those without one
 * (loop, jrcxz) become
 *
 *         loop 1f             a thread here stands at the original instruction
 *         jmp  2f             … at the instruction after it
 *     1:  jmp  target         … at the target
 *     2:
 *
 * A call keeps its return address. It becomes
 *
 *         push 1f(%rip)       a thread here stands at the original instruction
 *         jmp  target         … at the target's first instruction
 *     1:  .quad return address
 *
 * An indirect call jumps through its own word (jmp *slot(%rip)). Calls through other memory are not
 * moved: a fault of the read, after the push, would show a changed stack pointer.
 */
#include <errno.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"

static int copy(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret) {
    memcpy(ret->bytes, bytes, insn->size);
    ret->size = insn->size;
    if (insn->operand == OPERAND_PLAIN)
        return 0;
    ret->displacement_at = insn->field;
    return x86_64_displacement(to + insn->size, insn->target, ret->bytes + insn->field);
}

/* Offset of a direct branch's opcode, behind its prefixes. */
static size_t opcode_at(const struct insn *insn) {
    bool two_bytes = insn->kind == INSN_BRANCH && insn->size - insn->field == 4;
    return insn->field - (two_bytes ? 2u : 1u);
}

static uint8_t condition(const struct insn *insn, const uint8_t *bytes) {
    return bytes[insn->field - 1] & 15;
}

static int jump_to(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                   struct relocated *ret) {
    size_t n = opcode_at(insn);
    memcpy(ret->bytes, bytes, n);
    if (insn->kind == INSN_BRANCH) {
        ret->bytes[n++] = 0x0f;
        ret->bytes[n++] = 0x80 | condition(insn, bytes);
    } else {
        ret->bytes[n++] = 0xe9;
    }
    ret->size = (uint8_t)(n + 4);
    ret->displacement_at = (uint8_t)n;
    return x86_64_displacement(to + ret->size, insn->target, ret->bytes + n);
}

static int loop_to(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                   struct relocated *ret) {
    size_t n = insn->field;
    memcpy(ret->bytes, bytes, n);
    ret->bytes[n++] = 2; /* over the next jump */
    ret->parts[1].offset = (uint8_t)n;
    ret->parts[1].resume = insn->addr + insn->size;
    ret->bytes[n++] = 0xeb;
    ret->bytes[n++] = X86_JUMP_BYTES;
    ret->parts[2].offset = (uint8_t)n;
    ret->parts[2].resume = insn->target;
    ret->part_count = 3;
    ret->size = (uint8_t)(n + X86_JUMP_BYTES);
    ret->displacement_at = ret->size - 4;
    return x86_64_jump(ret->bytes + n, to + n, insn->target);
}

enum { PUSH_BYTES = 6, ADDRESS_BYTES = 8 };
enum { MEMBER = 7 << 3, MEMBER_CALL = 2 << 3, MEMBER_JUMP = 4 << 3 }; /* of opcode ff, in ModRM */

bool x86_64_can_call(const struct insn *insn, const uint8_t *bytes) {
    bool near = insn->kind == INSN_CALL_INDIRECT && insn->operand == OPERAND_PC_MEMORY &&
                (bytes[insn->field - 1] & MEMBER) == MEMBER_CALL;
    return insn->kind == INSN_CALL || near;
}

/* jmp *slot for call *slot */
static int jump_through(const struct insn *insn, const uint8_t *bytes, vaddr_t to, uint8_t *out) {
    memcpy(out, bytes, insn->size);
    out[insn->field - 1] ^= MEMBER_CALL ^ MEMBER_JUMP;
    return x86_64_displacement(to + insn->size, insn->target, out + insn->field);
}

static uint8_t call_jump_bytes(const struct insn *insn) {
    return insn->kind == INSN_CALL ? X86_JUMP_BYTES : insn->size;
}

static int call_to(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                   struct relocated *ret) {
    uint8_t jump = call_jump_bytes(insn);
    /* The word is aligned, as EFLAGS.AC may make other accesses fault. */
    uint8_t gap = (uint8_t)(-(to + PUSH_BYTES + jump) % ADDRESS_BYTES);
    bool direct = insn->kind == INSN_CALL;
    memset(ret->bytes, 0xcc, sizeof ret->bytes);
    memcpy(ret->bytes, (const uint8_t[PUSH_BYTES]){0xff, 0x35, jump + gap}, PUSH_BYTES);
    ret->parts[1].offset = PUSH_BYTES;
    ret->parts[1].resume = insn->target;
    ret->parts[1].through = !direct;
    ret->part_count = 2;
    ret->address_at = PUSH_BYTES + jump + gap;
    ret->address = insn->addr + insn->size;
    ret->size = ret->address_at + ADDRESS_BYTES;
    memset(ret->bytes + ret->address_at, 0, ADDRESS_BYTES);
    ret->displacement_at = PUSH_BYTES + (direct ? X86_JUMP_BYTES - 4 : insn->field);
    return direct ? x86_64_jump(ret->bytes + PUSH_BYTES, to + PUSH_BYTES, insn->target)
                  : jump_through(insn, bytes, to + PUSH_BYTES, ret->bytes + PUSH_BYTES);
}

int x86_64_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                    struct relocated *ret) {
    ret->part_count = 1;
    ret->address_at = 0;
    ret->displacement_at = 0;
    ret->parts[0].offset = 0;
    ret->parts[0].resume = insn->addr;
    switch (insn->kind) {
    case INSN_JUMP:
    case INSN_BRANCH:
        return jump_to(insn, bytes, to, ret);
    case INSN_LOOP:
        return loop_to(insn, bytes, to, ret);
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return call_to(insn, bytes, to, ret);
    default:
        return copy(insn, bytes, to, ret);
    }
}

size_t x86_64_relocated_bytes(const struct insn *insn) {
    switch (insn->kind) {
    case INSN_JUMP:
        return opcode_at(insn) + X86_JUMP_BYTES;
    case INSN_BRANCH:
        return opcode_at(insn) + X86_JUMP_BYTES + 1;
    case INSN_LOOP:
        return insn->field + 1 + 2 + X86_JUMP_BYTES;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return PUSH_BYTES + call_jump_bytes(insn) + ADDRESS_BYTES - 1 + ADDRESS_BYTES;
    default:
        return insn->size;
    }
}

size_t x86_64_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                          uint8_t out[RELOCATED_MAX_BYTES]) {
    if (insn->kind != INSN_BRANCH)
        return 0;
    out[0] = 0x0f;
    out[1] = 0x80 | (condition(insn, bytes) ^ 1);
    memcpy(out + 2, &skip, sizeof skip);
    return 6;
}
