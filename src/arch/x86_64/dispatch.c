/*
 * Finds out from the instructions before an indirect jump of x86-64 how it gets its target. The
 * forms are those of GCC, Clang, rustc and hand-written code of glibc:
 *
 *     movslq (%base,%i,4),%r; add %base,%r; jmp *%r           offsets
 *     mov (%base,%i),%e; cltq; … add %base,%r; jmp *%r        offsets, -O0
 *     jmp *table(,%i,8)    jmp *(%base,%i,8)                  addresses
 *     mov table(,%i,8),%r; jmp *%r                            addresses
 *     lea place(%rip),%b; lea (%b,%i,2),%r; jmp *%r           computed
 *     lea place(,%i,2),%r; jmp *%r                            computed
 *     jmp *variable(%rip)                                     a variable
 *     mov %r,%rsp; … jmp *%r                                  another stack
 *     jmp __x86_indirect_thunk_r                              as jmp *%r
 */
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { RSP = 4, RBP = 5 };
enum { ANY_REGISTER = 16, SCALE_8 = 3, NO_BASE = 5 };

/* An instruction with ModRM; enough for the few forms that matter. */
struct form {
    uint8_t opcode, mod, reg, rm; /* reg and rm with REX bits */
    bool wide, sib;
    uint8_t scale, base, index; /* base without REX.B */
    const uint8_t *disp;
};

static bool parse(struct code_bytes code, struct form *ret) {
    const uint8_t *p = code.at, *end = code.at + code.size;
    uint8_t rex = 0;
    while (p < end && (*p == 0x3e || *p == 0xf2 || *p == 0x2e))
        p++;
    if (p < end && (*p & 0xf0) == 0x40)
        rex = *p++;
    if (end - p < 2)
        return false;
    *ret = (struct form){.opcode = p[0], .mod = p[1] >> 6, .wide = rex & 8};
    ret->reg = ((p[1] >> 3) & 7) | ((rex & 4) << 1);
    ret->rm = (p[1] & 7) | ((rex & 1) << 3);
    ret->sib = ret->mod != 3 && (p[1] & 7) == 4;
    ret->disp = p + 2;
    if (ret->sib) {
        if (end - p < 3)
            return false;
        ret->scale = p[2] >> 6;
        ret->base = p[2] & 7;
        ret->index = ((p[2] >> 3) & 7) | ((rex & 2) << 2);
        ret->disp = p + 3;
    }
    return true;
}

/* The table's address in `(,%i,8)` forms; 0: it is in a register. */
static vaddr_t absolute_table(struct code_bytes code, const struct form *f) {
    int32_t table;
    if (f->mod != 0 || f->base != NO_BASE || code.at + code.size < f->disp + 4)
        return 0;
    memcpy(&table, f->disp, sizeof table);
    return (vaddr_t)(int64_t)table;
}

/* Does F add something into REG? add r,r/m; add r/m,r; lea (a,b),r. */
static bool adds_into(const struct form *f, uint8_t reg) {
    if (!f->wide)
        return false;
    bool any = reg == ANY_REGISTER;
    if (f->opcode == 0x01)
        return f->mod == 3 && (any || f->rm == reg);
    return (f->opcode == 0x03 || (f->opcode == 0x8d && f->sib)) && (any || f->reg == reg);
}

static bool is_cltq(struct code_bytes code) {
    return code.size == 2 && code.at[0] == 0x48 && code.at[1] == 0x98;
}

/* ---- computed places ---- */

enum { MOV = 0x89, MOV_LOAD = 0x8b, LEA = 0x8d, ADD = 0x01, ADD_LOAD = 0x03, IN_RIP = 5 };

/* REG's bit in a bitmap by DWARF numbers, as in stack effects. */
static uint32_t bit_of(uint8_t reg) {
    static const uint8_t dwarf[] = {0, 2, 1, 3, 7, 6, 4, 5}; /* System V ABI, AMD64, figure 3.36 */
    return 1u << (reg < sizeof dwarf ? dwarf[reg] : reg);
}

/* Registers that CODE changes, as a bitmap. */
static uint32_t changes(struct code_bytes code) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = x86_64_stack(code.at, code.size, effects);
    uint32_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        changed |= effects[i].changed;
        if (effects[i].op != STACK_NONE && effects[i].op != STACK_STORE)
            changed |= 1u << effects[i].reg;
    }
    return changed;
}

static bool is_copy(const struct form *f) {
    return f->mod == 3 && (f->opcode == MOV || f->opcode == MOV_LOAD);
}

/* The registers whose sum or copy F puts into one of FROM; 0: F does something else. */
static uint32_t summands(const struct form *f, uint32_t from) {
    uint32_t rm = bit_of(f->rm), reg = bit_of(f->reg);
    if (!f->wide)
        return 0;
    if (is_copy(f))
        return f->opcode == MOV ? reg : rm;
    if (f->opcode == ADD && f->mod == 3)
        return from & rm ? rm | reg : 0;
    if (f->opcode == ADD_LOAD && f->mod == 3)
        return from & reg ? rm | reg : 0;
    if (f->opcode == LEA && f->sib && from & reg)
        return bit_of(f->base | (f->rm & 8)) | bit_of(f->index);
    return 0;
}

/* The address that `lea place(%rip)` loads; 0: another instruction. */
static vaddr_t place_of(struct code_bytes code, const struct form *f) {
    int32_t place;
    if (f->opcode != LEA || !f->wide || f->mod != 0 || (f->rm & 7) != IN_RIP ||
        code.at + code.size != f->disp + sizeof place)
        return 0;
    memcpy(&place, f->disp, sizeof place);
    return code.addr + code.size + (vaddr_t)(int64_t)place;
}

/* The address from which the jump through REG counts its target; 0: the target is not counted. */
static vaddr_t computed_from(uint8_t reg, const struct code_bytes *past, size_t count) {
    uint32_t from = bit_of(reg); /* one of these registers depends on that address */
    bool added = false;
    for (size_t i = 0; i < count && from; i++) {
        struct form f = {0};
        uint32_t changed = changes(past[i]) & from;
        if (!changed)
            continue;
        bool known = parse(past[i], &f);
        uint32_t parts = known ? summands(&f, from) : 0;
        if (parts && f.opcode == LEA && f.mod == 0 && f.base == NO_BASE)
            return absolute_table(past[i], &f);
        vaddr_t place = known && added ? place_of(past[i], &f) : 0;
        if (place)
            return place;
        from = (from & ~changed) | parts;
        added |= parts && !is_copy(&f);
    }
    return 0;
}

static struct dispatch computed(uint8_t reg, const struct code_bytes *past, size_t count) {
    vaddr_t place = reg == ANY_REGISTER ? 0 : computed_from(reg, past, count);
    return (struct dispatch){.kind = place ? DISPATCH_COMPUTED : DISPATCH_ANY, .table = place};
}

static struct dispatch through_register(uint8_t reg, const struct code_bytes *past, size_t count) {
    bool added = false, extended = false;
    for (size_t i = 0; i < count; i++) {
        struct form f;
        extended |= is_cltq(past[i]);
        if (!parse(past[i], &f))
            continue;
        added |= adds_into(&f, reg);
        if (added && f.mod != 3 && f.opcode == 0x63 && f.wide)
            return (struct dispatch){.kind = DISPATCH_OFFSETS};
        if (added && f.sib && f.opcode == 0x8b && extended && !f.wide)
            return (struct dispatch){.kind = DISPATCH_OFFSETS};
        bool loads = f.opcode == 0x8b && f.wide && (f.reg == reg || reg == ANY_REGISTER);
        if (loads && !added && f.sib && f.scale == SCALE_8)
            return (struct dispatch){.kind = DISPATCH_ADDRESSES,
                                     .table = absolute_table(past[i], &f)};
        if (loads && !added && f.mod != 3 && reg != ANY_REGISTER)
            return (struct dispatch){.kind = DISPATCH_ANY}; /* earlier values do not matter */
    }
    return computed(reg, past, count);
}

/* mov r/m,%rsp and mov %r,%rsp, except from %rbp, which leaves a frame. */
static bool loads_sp(const struct code_bytes *code) {
    struct form f;
    if (!parse(*code, &f) || !f.wide)
        return false;
    if (f.opcode == 0x8b)
        return f.reg == RSP && !(f.mod == 3 && f.rm == RBP);
    return f.opcode == 0x89 && f.mod == 3 && f.rm == RSP && f.reg != RBP;
}

struct dispatch x86_64_dispatch(struct code_bytes jump, const struct code_bytes *past,
                                size_t count) {
    struct form f;
    for (size_t i = 0; i < count; i++) {
        if (loads_sp(&past[i]))
            return (struct dispatch){.kind = DISPATCH_STACK};
    }
    if (!parse(jump, &f) || f.opcode != 0xff) /* a jump to a thunk */
        return through_register(ANY_REGISTER, past, count);
    if (f.mod == 3)
        return through_register(f.rm, past, count);
    if (f.sib && f.scale == SCALE_8)
        return (struct dispatch){.kind = DISPATCH_ADDRESSES, .table = absolute_table(jump, &f)};
    if (f.mod == 0 && (f.rm & 7) == 5)
        return (struct dispatch){.kind = DISPATCH_VARIABLE};
    return (struct dispatch){.kind = DISPATCH_ANY};
}
