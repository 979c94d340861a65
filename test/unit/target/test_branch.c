/* The tool takes a branch for a stopped thread: the thread goes where the processor would. */
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "child.h"

#define TESTS                                                                                      \
    TEST(conditions_match_the_processor)                                                           \
    TEST(loop_counts)                                                                              \
    TEST(jump_targets)                                                                             \
    TEST(non_branches_untouched)

enum { PLACE = 512, PAGE = 4096, WORD_AT = 256, STACK_AT = 2048 };
enum { CARRY = 1, PARITY = 4, ZERO = 0x40, SIGN = 0x80, OVERFLOWED = 0x800, ALL = 0x8c5 };
enum { RESUME = 0x10000 }; /* set in a thread that stops at a page fault */

struct branch {
    const char *code;
    size_t size;
};
#define BYTES(text)                                                                                \
    { text, sizeof(text) - 1 }

static uint8_t *page; /* shared; executable */
static pid_t child;
static struct regs idle;

static int pause_for_ever(void *arg) {
    (void)arg;
    return pause();
}

static int set_up(void **state) {
    (void)state;
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    child = child_start(pause_for_ever, NULL);
    child_seize(child);
    assert_int_equal(thread_get_regs(child, &idle), 0);
    regs_finish_restart(&idle);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    child_kill(child);
    return munmap(page, PAGE);
}

/* The registers of a thread right before BRANCH. */
static struct regs before(const struct branch *branch, uint64_t flags, uint64_t count) {
    struct regs regs = idle;
    const uint64_t word = (uint64_t)page + 77;
    memset(page, 0x90, PAGE);
    memcpy(page + PLACE, branch->code, branch->size);
    memcpy(page + WORD_AT, &word, sizeof word);
    memcpy(page + STACK_AT, &word, sizeof word);
    regs.raw.rip = (uint64_t)page + PLACE;
    regs.raw.rsp = (uint64_t)page + STACK_AT;
    regs.raw.rcx = count;
    regs.raw.rax = regs.raw.r12 = (uint64_t)page + WORD_AT;
    regs.raw.rdi = 1;
    regs.raw.fs_base = (uint64_t)page;
    regs.raw.eflags = (regs.raw.eflags & ~(uint64_t)ALL) | flags | RESUME;
    assert_int_equal(thread_set_regs(child, &regs), 0);
    return regs;
}

static bool read_own(const void *from, taddr_t at, regs_word_t *ret) {
    (void)from;
    memcpy(ret, (const void *)at, sizeof *ret);
    return true;
}

static bool read_nothing(const void *from, taddr_t at, regs_word_t *ret) {
    (void)from;
    (void)at;
    (void)ret;
    return false;
}

static void check(const struct branch *branch, uint64_t flags, uint64_t count) {
    struct regs taken = before(branch, flags, count), natural;
    const struct regs_access memory = {.read = read_own};
    enum regs_emulated kind = regs_emulate(&taken, page + PLACE, PAGE - PLACE, &memory);
    assert_int_not_equal(kind, REGS_NOT_EMULATED);
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    child_await_stop(child);
    assert_int_equal(thread_get_regs(child, &natural), 0);
    regs_set_trap_flag(&natural, false);
    assert_int_equal(natural.raw.rip, taken.raw.rip);
    natural.raw.orig_rax = taken.raw.orig_rax;
    assert_memory_equal(&natural, &taken, sizeof natural);
}

/* Compares with each combination of the flags that conditions read. */
static void check_by_flags(const struct branch *branch, uint64_t count) {
    static const uint64_t flags[] = {CARRY, PARITY, ZERO, SIGN, OVERFLOWED};
    enum { COUNT = sizeof flags / sizeof *flags };
    for (unsigned set = 0; set < 1U << COUNT; set++) {
        uint64_t all = 0;
        for (unsigned i = 0; i < COUNT; i++)
            all |= set >> i & 1 ? flags[i] : 0;
        check(branch, all, count);
    }
}

static void conditions_match_the_processor(void **state) {
    (void)state;
    for (unsigned condition = 0; condition < 16; condition++) {
        const char near[] = {(char)(0x70 | condition), 20};
        const char far[] = {0x0f, (char)(0x80 | condition), 0, 1, 0, 0};
        check_by_flags(&(struct branch){near, sizeof near}, 0);
        check_by_flags(&(struct branch){far, sizeof far}, 0);
    }
}

static void loop_counts(void **state) {
    (void)state;
    for (unsigned opcode = 0xe0; opcode <= 0xe3; opcode++) {
        const char code[] = {(char)opcode, -20};
        for (uint64_t count = 0; count < 3; count++)
            check_by_flags(&(struct branch){code, sizeof code}, count);
    }
}

static void jump_targets(void **state) {
    (void)state;
    static const struct branch all[] = {
        BYTES("\xeb\x10"),                   /* jmp, short */
        BYTES("\xe9\x00\x01\x00\x00"),       /* jmp */
        BYTES("\xf2\xe9\x00\x01\x00\x00"),   /* bnd jmp */
        BYTES("\xff\xe0"),                   /* jmp *%rax */
        BYTES("\x3e\xff\xe0"),               /* notrack jmp *%rax */
        BYTES("\x41\xff\xe4"),               /* jmp *%r12 */
        BYTES("\xff\x20"),                   /* jmp *(%rax) */
        BYTES("\x41\xff\x24\x24"),           /* jmp *(%r12) */
        BYTES("\xff\x64\xf8\xf8"),           /* jmp *-8(%rax,%rdi,8) */
        BYTES("\xff\x25\xfa\xfe\xff\xff"),   /* jmp *-262(%rip) */
        BYTES("\x64\xff\x24\x25\0\x01\0\0"), /* jmp *%fs:256 */
        BYTES("\xc3"),                       /* ret */
        BYTES("\xf3\xc3"),                   /* rep ret */
        BYTES("\xc2\x20\x00"),               /* ret $32 */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i], 0, 0);
}

static void non_branches_untouched(void **state) {
    (void)state;
    static const struct branch all[] = {
        BYTES("\x90"),             /* nop */
        BYTES("\xe8\x10\x00\x00"), /* cut off */
        BYTES("\xcc"),             /* int3 */
        BYTES("\x0f\x05"),         /* syscall */
        BYTES("\x67\xe2\x10"),     /* loop, counting in ecx */
        BYTES("\x67\xff\x20"),     /* jmp *(%eax) */
        BYTES("\xff\x28"),         /* ljmp *(%rax) */
        BYTES("\xff\x20"),         /* jmp *(%rax), which cannot be read */
        BYTES("\xc3"),             /* ret, likewise */
    };
    const struct regs_access memory = {.read = read_nothing};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct regs regs = before(&all[i], 0, 1), same = regs;
        assert_int_equal(regs_emulate(&regs, (const uint8_t *)all[i].code, all[i].size, &memory),
                         REGS_NOT_EMULATED);
        assert_memory_equal(&regs, &same, sizeof regs);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target branch", tests, set_up, tear_down);
}
