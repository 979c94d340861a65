/*
 * Classifies x86-64 instructions. Zydis finds length, opcode and fields in its minimal mode (no
 * operands); the opcode gives the other facts (Intel SDM volume 2, appendix A). As every byte of a
 * program is decoded, common.c does it for most instructions.
 */
#include <string.h>

#include <Zydis/Zydis.h>

#include "arch/x86_64/x86_64.h"

static ZydisDecoder minimal;

__attribute__((constructor)) static void init(void) {
    ZydisDecoderInit(&minimal, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&minimal, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

static bool has_prefix(const uint8_t *bytes, size_t end, uint8_t prefix) {
    for (size_t i = 0; i < end; i++) {
        if (bytes[i] == prefix)
            return true;
    }
    return false;
}

static enum insn_kind direct_kind(const ZydisDecodedInstruction *in) {
    bool plain = in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
        return INSN_CALL;
    case ZYDIS_MNEMONIC_JMP:
        return INSN_JUMP;
    case ZYDIS_MNEMONIC_XBEGIN:
        return INSN_FIXED;
    default:
        break;
    }
    if (plain && in->opcode >= 0xe0 && in->opcode <= 0xe3)
        return INSN_LOOP;
    bool short_branch = plain && (in->opcode & 0xf0) == 0x70;
    bool long_branch = in->opcode_map == ZYDIS_OPCODE_MAP_0F && (in->opcode & 0xf0) == 0x80;
    return short_branch || long_branch ? INSN_BRANCH : INSN_FIXED;
}

static enum insn_kind plain_kind(const ZydisDecodedInstruction *in, const uint8_t *bytes) {
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
        return INSN_NOP;
    case ZYDIS_MNEMONIC_XCHG: /* 66 90 */
        return bytes[in->length - 1] == 0x90 && in->length == 2 && bytes[0] == 0x66 ? INSN_NOP
                                                                                    : INSN_OTHER;
    case ZYDIS_MNEMONIC_ENDBR64:
        return INSN_LANDING;
    case ZYDIS_MNEMONIC_RET: /* c2, c3; ca and cb are far */
        return (in->opcode & 0xfe) == 0xc2 ? INSN_RETURN : INSN_FIXED;
    case ZYDIS_MNEMONIC_CALL:
        return INSN_CALL_INDIRECT;
    case ZYDIS_MNEMONIC_JMP:
        return in->raw.modrm.reg == 4 ? INSN_JUMP_INDIRECT : INSN_FIXED;
    case ZYDIS_MNEMONIC_INT3:
        return INSN_BREAK;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return INSN_TRAP;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
        return INSN_SYSCALL;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_RSM:
        return INSN_FIXED;
    default:
        return INSN_OTHER;
    }
}

/* The displacement is tested as moves of control registers ignore ModRM.mod. */
static bool is_pc_relative(const ZydisDecodedInstruction *in) {
    return (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) && in->raw.modrm.mod == 0 &&
           in->raw.modrm.rm == 5 && in->raw.disp.size;
}

_Static_assert(ZYDIS_OPCODE_MAP_DEFAULT == 0 && ZYDIS_OPCODE_MAP_0F == 1, "as x86_64.h counts");

bool x86_64_reads_flags(uint8_t map, uint8_t op, uint8_t reg) {
    if (map == 1)
        return (op & 0xf0) == 0x40 || (op & 0xf0) == 0x80 || (op & 0xf0) == 0x90;
    if (map)
        return false;
    bool group1 = op >= 0x80 && op <= 0x83 && (reg & 6) == 2;
    return group1 || (op & 0xf0) == 0x70 || (op >= 0x10 && op <= 0x1d) || op == 0x9c || op == 0x9f;
}

bool x86_64_writes_flags(uint8_t map, uint8_t op) {
    if (map)
        return true;
    return !((op >= 0x50 && op <= 0x5f) || (op >= 0x88 && op <= 0x8b) || op == 0x8d ||
             (op >= 0xb0 && op <= 0xbf) || op == 0xc6 || op == 0xc7 || op == 0x63);
}

static void find_constants(const ZydisDecodedInstruction *in, struct insn_constants *ret) {
    *ret = (struct insn_constants){0};
    for (int i = 0; i < 2; i++) {
        uint8_t size = in->raw.imm[i].size;
        if (size == 32)
            ret->immediate[ret->immediate_count++] = (uint32_t)in->raw.imm[i].value.u;
        else if (size == 64)
            ret->immediate[ret->immediate_count++] = in->raw.imm[i].value.u;
    }
    ret->has_displacement = in->raw.disp.size >= 32;
    ret->displacement = (uint64_t)in->raw.disp.value;
}

bool x86_64_decode_any(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                       struct insn_constants *constants) {
    ZydisDecodedInstruction in;
    *ret = (struct insn){.addr = addr, .size = 1, .kind = INSN_BAD};
    if (constants)
        *constants = (struct insn_constants){0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&minimal, NULL, bytes, room, &in)))
        return false;
    ret->size = in.length;
    ret->reads_flags = x86_64_reads_flags(in.opcode_map, in.opcode, in.raw.modrm.reg);
    ret->writes_flags = x86_64_writes_flags(in.opcode_map, in.opcode);
    if (in.raw.imm[0].is_relative) {
        ret->kind = direct_kind(&in);
        ret->field = in.raw.imm[0].offset;
        ret->target = addr + in.length + (uint64_t)in.raw.imm[0].value.s;
        /* Processors disagree on an operand-size prefix here. With a later field the branch's long
         * form would have too many bytes. */
        enum { LATEST_FIELD = INSN_MAX_BYTES - 5 };
        bool is_short = ret->size == ret->field + 1;
        if (ret->kind != INSN_CALL &&
            (has_prefix(bytes, ret->field, 0x66) || (is_short && ret->field > LATEST_FIELD)))
            ret->kind = INSN_FIXED;
        return true;
    }
    ret->kind = plain_kind(&in, bytes);
    if (is_pc_relative(&in) && ret->kind != INSN_NOP) {
        ret->operand =
            bytes[in.raw.disp.offset - 2] == 0x8d && in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT
                ? OPERAND_PC_ADDRESS
                : OPERAND_PC_MEMORY;
        ret->field = in.raw.disp.offset;
        ret->target = addr + in.length + (uint64_t)in.raw.disp.value;
        if (in.address_width != 64)
            ret->kind = INSN_FIXED;
    } else if (constants && ret->kind != INSN_NOP) {
        find_constants(&in, constants);
    }
    return true;
}

/* Clang's -fsanitize=function checks a pointer's first words: a short jump over a mark and the
 * offset of the function's type (CodeGen's prologue signature, Clang 3.2 to 16). Callers read them,
 * so they stay in place, like an endbr64. */
static size_t type_mark(const uint8_t *bytes, size_t room) {
    static const uint8_t mark[] = {0xeb, 0x06, 'v', '2'};
    enum { TYPE_BYTES = 4 };
    bool found = room >= sizeof mark + TYPE_BYTES && memcmp(bytes, mark, sizeof mark) == 0;
    return found ? sizeof mark + TYPE_BYTES : 0;
}

static size_t landing_instruction(const uint8_t *bytes, size_t room) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return room >= sizeof endbr64 && memcmp(bytes, endbr64, sizeof endbr64) == 0 ? sizeof endbr64
                                                                                 : 0;
}

bool x86_64_is_return(const uint8_t *bytes, size_t room) {
    enum { RET = 0xc3, REP = 0xf3, BND = 0xf2 };
    return bytes[0] == RET || (room > 1 && (bytes[0] == REP || bytes[0] == BND) && bytes[1] == RET);
}

/* ins and outs. They have no operand bytes; as text they are the letters l to o, common in data. */
bool x86_64_is_barred(const uint8_t *bytes, size_t size) {
    enum { INSB = 0x6c, OUTSD = 0x6f, LONGEST = 4 };
    for (size_t i = 0; i + 1 < size; i++) {
        bool prefix = (bytes[i] & 0xf0) == 0x40 || bytes[i] == 0x66 || bytes[i] == 0x67 ||
                      bytes[i] == 0xf2 || bytes[i] == 0xf3;
        if (!prefix)
            return false;
    }
    return size <= LONGEST && bytes[size - 1] >= INSB && bytes[size - 1] <= OUTSD;
}

size_t x86_64_landing(const uint8_t *bytes, size_t room) {
    size_t size = type_mark(bytes, room);
    return size + landing_instruction(bytes + size, room - size);
}
