/* Writes code of stubs (code.h). */
#include "arch/x86_64/code.h"

#include <string.h>

enum { DISPLACEMENT = 4, WORD = 8, DWARF_RSP = 7, EXTENDED = 8, NOT_SAVED = -1 };

void code_bytes(struct code *c, const void *p, size_t n) {
    memcpy(c->out + c->size, p, n);
    c->size += n;
}

void code_number(struct code *c, int64_t value) {
    const uint32_t low = (uint32_t)value;
    code_bytes(c, &low, sizeof low);
}

void code_lead(struct code *c, int to) {
    code_number(c, 0);
    labels_add(&c->labels, (struct label_jump){.at = c->size, .to = to});
}

void code_set(struct code *c, int to, uint32_t far) {
    struct label_jump j;
    while (labels_take(&c->labels, to, &j)) {
        const uint32_t distance = (uint32_t)(c->size - j.at) + far;
        memcpy(c->out + j.at - DISPLACEMENT, &distance, DISPLACEMENT);
    }
}

/* The instruction OPCODE with AT(%rsp) and the register TO. */
static void with_stack(struct code *c, uint8_t opcode, uint8_t to, int64_t at) {
    const uint8_t insn[] = {0x48, opcode, (uint8_t)(0x84 | to << 3), 0x24};
    code_bytes(c, insn, sizeof insn);
    code_number(c, at);
}

void code_stack_address(struct code *c, uint8_t to, int64_t at) { with_stack(c, 0x8d, to, at); }
void code_load_stack(struct code *c, uint8_t to, int64_t at) { with_stack(c, 0x8b, to, at); }

uint8_t code_register(uint8_t reg) {
    static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 5, 4};
    return reg < sizeof numbers ? numbers[reg] : reg;
}

/* Where it is above rsp, or NOT_SAVED. */
static int saved_at(const struct code *c, uint8_t reg) {
    static const int8_t order[] = {0, 1, 2, NOT_SAVED, 3, 4, NOT_SAVED, NOT_SAVED, 5};
    if (reg >= sizeof order || order[reg] < 0 || order[reg] >= (int)c->saved)
        return NOT_SAVED;
    return WORD * ((int)c->saved - 1 - order[reg]);
}

bool code_is_saved(const struct code *c, uint8_t reg) { return saved_at(c, reg) != NOT_SAVED; }

void code_load_register(struct code *c, uint8_t to, uint8_t reg) {
    const uint8_t from = code_register(reg);
    const uint8_t mov[] = {(uint8_t)(0x48 | (from >= EXTENDED) << 2), 0x89,
                           (uint8_t)(0xc0 | (from & 7) << 3 | to)};
    if (code_is_saved(c, reg))
        code_load_stack(c, to, saved_at(c, reg));
    else if (reg == DWARF_RSP)
        code_stack_address(c, to, c->up);
    else
        code_bytes(c, mov, sizeof mov);
}

void code_check_owner(struct code *c, int to) {
    INSN32(c, "\x65\x48\x8b\x14\x25", LANE_CONTROL); /* mov %gs:CONTROL,%rdx */
    INSN32(c, "\xf7\x02", CONTROL_OWNER_DIED);       /* testl $DIED,(%rdx) */
    INSN(c, "\x0f\x85");                             /* jnz to */
    code_lead(c, to);
}

void code_check_address(struct code *c, uint8_t address, uint8_t scratch, int to) {
    const uint8_t lea[] = {0x48, 0x8d, (uint8_t)(0x80 | scratch << 3 | address)};
    const uint8_t shr[] = {0x48, 0xc1, (uint8_t)(0xe8 | scratch), 47};
    code_bytes(c, lea, sizeof lea); /* lea -4096(%address),%scratch */
    code_number(c, -4096);
    code_bytes(c, shr, sizeof shr); /* shr $47,%scratch */
    INSN(c, "\x0f\x85");            /* jnz to */
    code_lead(c, to);
    INSN(c, "\x48\x8d\x15"); /* lea to(%rip),%rdx */
    code_lead(c, to);
}
