/*
 * Instructions moved to other addresses mean the same there: judged by
 * Capstone, and by running them where they can.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "oracle.h"

#define TESTS                                                                                      \
    TEST(moved_forms_mean_the_same)                                                                \
    TEST(loop_over_a_long_jump)                                                                    \
    TEST(call_as_push_and_jump)                                                                    \
    TEST(call_through_memory_as_jump)                                                              \
    TEST(other_indirect_calls_stay)                                                                \
    TEST(targets_out_of_reach_refused)                                                             \
    TEST(inverted_branch_skip)                                                                     \
    NATIVE(moved_instructions_compute_the_same)

static const vaddr_t FROM = 0x200000000;
/* Relative to FROM. */
static const int64_t places[] = {-0x7ff00000, -5, 1, 0x100000, 0x7ff00000};

struct form {
    const char *what, *bytes;
    uint8_t size;
};
#define FORM(what, text)                                                                           \
    { what, text, sizeof(text) - 1 }

static const struct form forms[] = {
    FORM("push %rbx", "\x53"),
    FORM("push %r12", "\x41\x54"),
    FORM("mov %rsp,%rbp", "\x48\x89\xe5"),
    FORM("sub $0x18,%rsp", "\x48\x83\xec\x18"),
    FORM("mov $0x12345678,%edi", "\xbf\x78\x56\x34\x12"),
    FORM("movabs", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
    FORM("mov %fs:0x28,%rax", "\x64\x48\x8b\x04\x25\x28\x00\x00\x00"),
    FORM("lea x(%rip),%rdi", "\x48\x8d\x3d\x34\x12\x00\x00"),
    FORM("mov x(%rip),%eax", "\x8b\x05\x00\x10\x00\x00"),
    FORM("mov %rax,-x(%rip)", "\x48\x89\x05\x00\xf0\xff\xff"),
    FORM("cmpb $7,x(%rip)", "\x80\x3d\x10\x20\x00\x00\x07"),
    FORM("cmpl $imm32,x(%rip)", "\x81\x3d\x10\x20\x00\x00\x44\x33\x22\x11"),
    FORM("movq $imm32,x(%rip)", "\x48\xc7\x05\x10\x20\x00\x00\x44\x33\x22\x11"),
    FORM("lock incl x(%rip)", "\xf0\xff\x05\x10\x20\x00\x00"),
    FORM("movss x(%rip),%xmm0", "\xf3\x0f\x10\x05\x10\x20\x00\x00"),
    FORM("palignr $8,x(%rip),%xmm0", "\x66\x0f\x3a\x0f\x05\x10\x20\x00\x00\x08"),
    FORM("vmovaps x(%rip),%xmm0", "\xc5\xf8\x28\x05\x10\x20\x00\x00"),
    FORM("vpbroadcastd x(%rip),%ymm1", "\xc4\xe2\x7d\x58\x0d\x10\x20\x00\x00"),
    FORM("vmovaps x(%rip),%zmm0", "\x62\xf1\x7c\x48\x28\x05\x10\x20\x00\x00"),
    FORM("jmp *x(%rip)", "\xff\x25\x10\x20\x00\x00"),
    FORM("notrack jmp *%rax", "\x3e\xff\xe0"),
    FORM("bnd jmp *x(%rip)", "\xf2\xff\x25\x10\x20\x00\x00"),
    FORM("jmp *0x40(,%rax,8)", "\xff\x24\xc5\x40\x00\x00\x00"),
    FORM("jmp rel8", "\xeb\x10"),
    FORM("jmp rel8 back", "\xeb\xf0"),
    FORM("jmp rel32", "\xe9\x00\x10\x00\x00"),
    FORM("bnd jmp rel32", "\xf2\xe9\x00\x10\x00\x00"),
    FORM("je rel8", "\x74\x20"),
    FORM("jg rel8 back", "\x7f\x80"),
    FORM("jne rel32", "\x0f\x85\x00\x10\x00\x00"),
    FORM("jb rel8, not taken", "\x2e\x72\x20"),
    FORM("ja rel32, taken", "\x3e\x0f\x87\x00\x10\x00\x00"),
    FORM("ret", "\xc3"),
    FORM("rep ret", "\xf3\xc3"),
    FORM("ret $8", "\xc2\x08\x00"),
    FORM("nopw", "\x66\x0f\x1f\x44\x00\x00"),
};

static void relocate_one(const struct form *form, vaddr_t to, struct relocated *out,
                         struct insn *in) {
    const struct arch *arch = arch_for_machine(EM_X86_64);
    const uint8_t *bytes = (const uint8_t *)form->bytes;
    assert_true(arch->decode(bytes, form->size, FROM, in, NULL));
    assert_int_equal(arch->relocate(in, bytes, to, out), 0);
    assert_in_range(arch->relocated_bytes(in) - out->size, 0, out->address_at ? 7 : 0);
}

static void moved_forms_mean_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
            struct relocated out;
            struct insn in;
            struct oracle_insn before, after;
            relocate_one(&forms[i], FROM + (vaddr_t)places[j], &out, &in);
            assert_true(
                oracle_decode((const uint8_t *)forms[i].bytes, forms[i].size, FROM, &before));
            assert_true(oracle_decode(out.bytes, out.size, FROM + (vaddr_t)places[j], &after));
            assert_int_equal(after.size, out.size);
            assert_string_equal(after.text, before.text);
            assert_int_equal(out.part_count, 1);
            assert_int_equal(out.parts[0].resume, FROM);
        }
    }
}

static void loop_over_a_long_jump(void **state) {
    (void)state;
    static const struct form loops[] = {
        FORM("loop", "\xe2\xf0"),  FORM("loope", "\xe1\x10"),     FORM("loopne", "\xe0\x10"),
        FORM("jrcxz", "\xe3\x20"), FORM("jecxz", "\x67\xe3\x20"),
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        vaddr_t to = FROM + 0x1000000;
        struct relocated out;
        struct insn in;
        struct oracle_insn loop, around, jump, before;
        relocate_one(&loops[i], to, &out, &in);
        oracle_decode((const uint8_t *)loops[i].bytes, loops[i].size, FROM, &before);
        assert_true(oracle_decode(out.bytes, out.size, to, &loop));
        size_t second = loop.size;
        assert_true(oracle_decode(out.bytes + second, out.size - second, to + second, &around));
        size_t third = second + around.size;
        assert_true(oracle_decode(out.bytes + third, out.size - third, to + third, &jump));
        assert_int_equal(loop.target, to + third);
        assert_int_equal(around.target, to + out.size);
        assert_int_equal(jump.target, before.target);
        assert_int_equal(third + jump.size, out.size);
        assert_int_equal(out.part_count, 3);
        assert_int_equal(out.parts[1].offset, second);
        assert_int_equal(out.parts[1].resume, FROM + loops[i].size); /* not taken */
        assert_int_equal(out.parts[2].offset, third);
        assert_int_equal(out.parts[2].resume, before.target); /* taken */
    }
}

static void call_as_push_and_jump(void **state) {
    (void)state;
    const struct form form = FORM("call", "\xe8\x00\x10\x00\x00");
    vaddr_t to = FROM + 0x1000001;
    struct relocated out;
    struct insn in;
    struct oracle_insn push, jump;
    relocate_one(&form, to, &out, &in);
    assert_true(oracle_decode(out.bytes, out.size, to, &push));
    assert_true(oracle_decode(out.bytes + push.size, out.size - push.size, to + push.size, &jump));
    int32_t operand; /* the pushed value */
    memcpy(&operand, out.bytes + 2, sizeof operand);
    assert_memory_equal(out.bytes, "\xff\x35", 2);
    assert_int_equal(push.size + operand, out.address_at);
    assert_in_range(out.address_at - (push.size + jump.size), 0, 7);
    assert_int_equal((to + out.address_at) % 8, 0);
    assert_int_equal(out.address_at + 8, out.size);
    assert_int_equal(out.address, FROM + form.size);
    assert_int_equal(jump.target, FROM + form.size + 0x1000);
    assert_int_equal(out.part_count, 2);
    assert_int_equal(out.parts[1].offset, push.size);
    assert_int_equal(out.parts[1].resume, jump.target);
}

static void call_through_memory_as_jump(void **state) {
    (void)state;
    static const struct form calls[] = {
        FORM("call *x(%rip)", "\xff\x15\x10\x20\x00\x00"),
        FORM("bnd call *x(%rip)", "\xf2\xff\x15\x10\x20\x00\x00"),
        FORM("notrack call *x(%rip)", "\x3e\xff\x15\x10\x20\x00\x00"),
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        vaddr_t to = FROM + 0x1000000;
        struct relocated out = {0};
        struct insn in;
        struct oracle_insn push, jump, call;
        relocate_one(&calls[i], to, &out, &in);
        oracle_decode((const uint8_t *)calls[i].bytes, calls[i].size, FROM, &call);
        assert_true(oracle_decode(out.bytes, out.size, to, &push));
        assert_true(
            oracle_decode(out.bytes + push.size, out.size - push.size, to + push.size, &jump));
        assert_true(jump.jump && !jump.direct);
        assert_string_equal(strstr(jump.text, "qword"),
                            strstr(call.text, "qword")); /* the same word */
        assert_int_equal(out.address, FROM + calls[i].size);
        assert_in_range(out.address_at - (push.size + jump.size), 0, 7);
        assert_int_equal((to + out.address_at) % 8, 0);
        assert_int_equal(out.part_count, 2);
        assert_true(out.parts[1].through);
        assert_int_equal(out.parts[1].resume, FROM + calls[i].size + 0x2010);
    }
}

static void other_indirect_calls_stay(void **state) {
    (void)state;
    static const struct form calls[] = {FORM("call *%rax", "\xff\xd0"),
                                        FORM("call *8(%rdi)", "\xff\x57\x08"),
                                        FORM("call *8(%rsp)", "\xff\x54\x24\x08"),
                                        FORM("lcall *x(%rip)", "\xff\x1d\x10\x20\x00\x00")};
    const struct arch *arch = arch_for_machine(EM_X86_64);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct insn in;
        assert_true(arch->decode((const uint8_t *)calls[i].bytes, calls[i].size, FROM, &in, NULL));
        assert_false(arch->can_call(&in, (const uint8_t *)calls[i].bytes));
    }
}

static void targets_out_of_reach_refused(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    static const struct form list[] = {FORM("jmp", "\xeb\x10"), FORM("je", "\x74\x10"),
                                       FORM("loop", "\xe2\x10"),
                                       FORM("mov", "\x8b\x05\x00\x00\x00\x00")};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct insn in;
        struct relocated out;
        const uint8_t *bytes = (const uint8_t *)list[i].bytes;
        arch->decode(bytes, list[i].size, FROM, &in, NULL);
        assert_int_equal(arch->relocate(&in, bytes, FROM + 0x80001000ull, &out), -ERANGE);
        assert_int_equal(arch->relocate(&in, bytes, FROM + 0x7ff00000ull, &out), 0);
    }
    uint8_t jump[8];
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x80001000ull), -ERANGE);
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x7ffffff0ull), 0);
}

static void inverted_branch_skip(void **state) {
    (void)state;
    static const char *const opposite[] = {"jno", "jo", "jae", "jb", "jne", "je", "ja", "jbe",
                                           "jns", "js", "jnp", "jp", "jge", "jl", "jg", "jle"};
    const struct arch *arch = arch_for_machine(EM_X86_64);
    for (uint8_t cc = 0; cc < 16; cc++) {
        uint8_t bytes[2] = {0x70 | cc, 0x10}, out[RELOCATED_MAX_BYTES];
        struct insn in;
        struct oracle_insn skip;
        arch->decode(bytes, 2, FROM, &in, NULL);
        size_t size = arch->skip_unless(&in, bytes, 300, out);
        assert_true(oracle_decode(out, size, FROM, &skip));
        assert_int_equal(skip.size, size);
        assert_int_equal(skip.target, FROM + size + 300);
        assert_memory_equal(skip.text, opposite[cc], strlen(opposite[cc]));
    }
    struct insn loop;
    uint8_t bytes[] = {0xe2, 0x10}, out[RELOCATED_MAX_BYTES];
    arch->decode(bytes, 2, FROM, &loop, NULL);
    assert_int_equal(arch->skip_unless(&loop, bytes, 300, out), 0);
}

/* ---- running moved code ---- */

#ifdef __x86_64__

/* Functions of %edi that return %eax. Jumps stay within each. */
static const struct form snippets[] = {
    FORM("mov %edi,%eax; ret", "\x89\xf8\xc3"),
    FORM("xor eax; test edi; je 1f; mov $7,eax; 1: ret",
         "\x31\xc0\x85\xff\x74\x05\xb8\x07\x00\x00\x00\xc3"),
    FORM("xor eax; mov edi,ecx; jrcxz 1f; 2: inc eax; loop 2b; 1: ret",
         "\x31\xc0\x89\xf9\xe3\x04\xff\xc0\xe2\xfc\xc3"),
    FORM("mov data(%rip),%eax; add edi,eax; ret; data: .long 77",
         "\x8b\x05\x03\x00\x00\x00\x01\xf8\xc3\x4d\x00\x00\x00"),
    FORM("lea data(%rip),%rax; mov (%rax),%eax; ret; data: .long 78",
         "\x48\x8d\x05\x03\x00\x00\x00\x8b\x00\xc3\x4e\x00\x00\x00"),
    FORM("cmp $3,edi; ja 1f; mov $1,eax; jmp 2f; 1: mov $2,eax; 2: ret",
         "\x83\xff\x03\x77\x07\xb8\x01\x00\x00\x00\xeb\x05\xb8\x02\x00\x00\x00\xc3"),
};

typedef int (*function)(int);

/* Moves as many of the SIZE bytes at CODE to FAR as a jump takes, in whole instructions. */
static void divert(uint8_t *code, size_t size, uint8_t *far) {
    const struct arch *arch = arch_for_machine(EM_X86_64);
    vaddr_t from = (vaddr_t)(uintptr_t)code, to = (vaddr_t)(uintptr_t)far;
    size_t taken = 0, used = 0;
    while (taken < arch->jump_bytes && taken < size) {
        struct insn in;
        struct relocated out;
        assert_true(arch->decode(code + taken, size - taken, from + taken, &in, NULL));
        assert_int_equal(arch->relocate(&in, code + taken, to + used, &out), 0);
        memcpy(far + used, out.bytes, out.size);
        used += out.size;
        taken += in.size;
    }
    assert_int_equal(arch->jump(far + used, to + used, from + taken), 0);
    assert_int_equal(arch->jump(code, from, to), 0);
}

static void moved_instructions_compute_the_same(void **state) {
    (void)state;
    enum { ROOM = 0x10000000, SLOT = 256, ARGUMENTS = 9 };
    uint8_t *map = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(map != MAP_FAILED);
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) {
        uint8_t *original = map + SLOT * 2 * i, *patched = original + SLOT;
        memcpy(original, snippets[i].bytes, snippets[i].size);
        memcpy(patched, snippets[i].bytes, snippets[i].size);
        divert(patched, snippets[i].size, map + ROOM / 2 + SLOT * i);
        for (int n = 0; n < ARGUMENTS; n++)
            assert_int_equal(((function)(uintptr_t)patched)(n), ((function)(uintptr_t)original)(n));
    }
    munmap(map, ROOM);
}

#endif

int main(void) {
#define TEST(name) cmocka_unit_test(name),
#ifdef __x86_64__
#define NATIVE TEST
#else
#define NATIVE(name)
#endif
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
