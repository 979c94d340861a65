/*
 * Fuzzes decoders and relocators: each input is code of each instruction set. What they say must
 * hold together; what a relocation writes must be instructions again, and lead where the original
 * does.
 *
 *   clang -g -O1 -D_GNU_SOURCE -Isrc -IBUILD/src/agent -fsanitize=fuzzer,address,undefined \
 *       $(find src/arch -name '*.c' | grep -Ev
 * '/(agent|branch|bridge|regs|.*rest|.*_hosts|one_state).c') \ fuzz/arch_fuzz.c src/base/[a-z]*.c
 * -lZydis -o arch-fuzz && ./arch-fuzz -max_len=64 CORPUS
 *
 * With elf_run.c instead of libFuzzer it replays files: an ordinary test.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/aarch64/aarch64.h"
#include "arch/arm/arm.h"
#include "arch/x86_64/x86_64.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const vaddr_t AT = 0x40000000, ELSEWHERE = 0x40345678;

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool is_movable(const struct insn *in) {
    if (in->stays)
        return false;
    switch (in->kind) {
    case INSN_BAD:
    case INSN_LANDING:
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
    case INSN_SYSCALL:
    case INSN_FIXED:
    case INSN_EXCLUSIVE:
        return false;
    default:
        return true;
    }
}

/* One of the instructions written leads to where INSN does. */
static bool leads_on(const struct arch *arch, const struct insn *insn, const struct relocated *r,
                     vaddr_t to) {
    struct insn in = {.size = 0};
    for (size_t i = 0; i < r->part_count; i++) {
        size_t at = r->parts[i].offset;
        require(arch->decode(r->bytes + at, r->size - at, to + at, &in, NULL));
        if (in.target == insn->target)
            return true;
    }
    return false;
}

static void check_relocation(const struct arch *arch, const struct insn *in, const uint8_t *bytes) {
    const vaddr_t to = ELSEWHERE - ELSEWHERE % arch->insn_bytes;
    struct relocated r = {0};
    if (!is_movable(in) || arch->relocate(in, bytes, to, &r))
        return;
    require(r.size && r.size <= arch->relocated_bytes(in) &&
            arch->relocated_bytes(in) <= RELOCATED_MAX_BYTES);
    require(r.part_count && r.part_count <= RELOCATED_MAX_PARTS && !r.parts[0].offset);
    require(r.parts[0].resume == in->addr && r.copy_at + r.copy_bytes <= r.size);
    for (size_t i = 1; i < r.part_count; i++)
        require(r.parts[i].offset > r.parts[i - 1].offset && r.parts[i].offset < r.size);
    bool branches = in->kind == INSN_JUMP || in->kind == INSN_BRANCH || in->kind == INSN_LOOP;
    require(!branches || leads_on(arch, in, &r, to));
}

static void check_effects(const struct arch *arch, const struct insn *in, const uint8_t *bytes) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = arch->stack(bytes, in->size, effects);
    require(count && count <= STACK_MAX_EFFECTS);
    for (size_t i = 0; i < count; i++) {
        bool writes = effects[i].op == STACK_SET || effects[i].op == STACK_LOAD ||
                      effects[i].op == STACK_ALIGN;
        require(!writes || effects[i].reg < STACK_REGISTERS);
    }
    arch->flags(bytes, in->size);
    arch->is_barred(bytes, in->size);
}

static size_t check_insn(const struct arch *arch, const uint8_t *bytes, size_t room, vaddr_t at,
                         struct trail *trail) {
    struct insn in, whole;
    struct insn_constants constants;
    char text[FORMAT_BYTES];
    bool good = arch->decode(bytes, room, at, &in, &constants);
    require(in.size && in.size <= room && in.size <= UNIT_MAX_BYTES && in.kind < 16);
    require(good == (in.kind != INSN_BAD));
    require(arch->format(bytes, room, at, text) <= room && memchr(text, 0, sizeof text));
    require(arch->landing(bytes, room) <= room);
    if (!good)
        return in.size;
    check_relocation(arch, &in, bytes);
    check_effects(arch, &in, bytes);
    if (arch->follow && arch->follow(trail, &in, bytes, &whole))
        require(whole.operand == OPERAND_PC_ADDRESS || whole.operand == OPERAND_PC_MEMORY ||
                whole.operand == OPERAND_ABSOLUTE);
    return in.size;
}

static void check_dispatch(const struct arch *arch, const uint8_t *bytes, size_t size) {
    const size_t word = arch->insn_bytes;
    struct code_bytes past[DISPATCH_PAST];
    size_t count = 0;
    if (word == 1 || size < 2 * word)
        return;
    for (size_t at = size / word * word - word; at >= word && count < DISPATCH_PAST; at -= word)
        past[count++] = (struct code_bytes){bytes + at - word, (uint8_t)word, AT + at - word};
    size_t last = size / word * word - word;
    arch->dispatch((struct code_bytes){bytes + last, (uint8_t)word, AT + last}, past, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const struct arch *const all[] = {&arch_x86_64, &arch_aarch64, &arch_a32, &arch_t32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct arch *arch = all[i];
        struct trail trail = {.known = 0};
        for (size_t at = 0; at < size;)
            at += check_insn(arch, bytes + at, size - at, AT + at, &trail);
        check_dispatch(arch, bytes, size);
    }
    return 0;
}
