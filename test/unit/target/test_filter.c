/*
 * Answers of a seccomp filter to a call of which only some arguments are known. The kernel is
 * asked as well.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "target/sandbox.h"

#define TESTS                                                                                      \
    TEST(each_action)                                                                              \
    TEST(numbers_and_architecture)                                                                 \
    TEST(argument_bits)                                                                            \
    TEST(unknown_values_may_be_anything)                                                           \
    TEST(merged_paths_keep_common_values)                                                          \
    TEST(computed_answers)                                                                         \
    TEST(invalid_filters_forbid)                                                                   \
    TEST(kernel_agrees)

enum { NUMBER = 1000 /* of a call that does not exist */ };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LOAD_WORD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_ARG(i, high) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 8 * (i) + 4 * (high))
#define ANSWER(a) BPF_STMT(BPF_RET | BPF_K, (a))
#define IF_EQUAL(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))

static const struct sandbox_call mapping = {
    .number = SYS_mmap, .args = {0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE}, .unknown = 3};

#define ASK(code, call) filter_answer((code), COUNT(code), (call))

static void each_action(void **state) {
    (void)state;
    static const struct {
        uint32_t action;
        enum sandbox_answer answer;
    } cases[] = {
        {SECCOMP_RET_ALLOW, SANDBOX_ALLOWS},       {SECCOMP_RET_ALLOW | 7, SANDBOX_ALLOWS},
        {SECCOMP_RET_LOG, SANDBOX_ALLOWS},         {SECCOMP_RET_ERRNO | EPERM, SANDBOX_FAILS},
        {SECCOMP_RET_ERRNO, SANDBOX_FAILS},        {SECCOMP_RET_TRAP, SANDBOX_HARMS},
        {SECCOMP_RET_TRACE, SANDBOX_HARMS},        {SECCOMP_RET_USER_NOTIF, SANDBOX_HARMS},
        {SECCOMP_RET_KILL_THREAD, SANDBOX_HARMS},  {SECCOMP_RET_KILL_PROCESS, SANDBOX_HARMS},
        {0x12340000 /* unknown */, SANDBOX_HARMS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sock_filter code[] = {ANSWER(cases[i].action)};
        assert_int_equal(ASK(code, &mapping), cases[i].answer);
    }
}

static void numbers_and_architecture(void **state) {
    (void)state;
    struct sock_filter code[] = {
        LOAD_WORD(arch),          IF_EQUAL(AUDIT_ARCH_X86_64, 0, 2), LOAD_WORD(nr),
        IF_EQUAL(SYS_mmap, 1, 0), ANSWER(SECCOMP_RET_KILL),          ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sandbox_call other = {.number = SYS_munmap};
    assert_int_equal(ASK(code, &mapping), SANDBOX_ALLOWS);
    assert_int_equal(ASK(code, &other), SANDBOX_HARMS);
}

/* The filter of systemd's MemoryDenyWriteExecute, as libseccomp makes it. */
static void argument_bits(void **state) {
    (void)state;
    struct sock_filter code[] = {
        LOAD_WORD(nr),
        IF_EQUAL(SYS_mmap, 0, 5),
        LOAD_ARG(2, 1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0),
        IF_EQUAL(0, 0, 2),
        LOAD_ARG(2, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 1, 0),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
    };
    struct sandbox_call both = mapping;
    both.args[2] = PROT_WRITE | PROT_EXEC;
    assert_int_equal(ASK(code, &mapping), SANDBOX_ALLOWS);
    assert_int_equal(ASK(code, &both), SANDBOX_FAILS);
    both.unknown |= 4;
    assert_int_equal(ASK(code, &both), SANDBOX_FAILS);
}

static void unknown_values_may_be_anything(void **state) {
    (void)state;
    struct sock_filter by_address[] = {LOAD_ARG(0, 0), IF_EQUAL(0x1234, 1, 0),
                                       ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_KILL)};
    struct sock_filter by_place[] = {LOAD_WORD(instruction_pointer), IF_EQUAL(0x1234, 0, 1),
                                     ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_ERRNO)};
    struct sandbox_call fixed = mapping;
    fixed.unknown = 0;
    assert_int_equal(ASK(by_address, &mapping), SANDBOX_HARMS);
    assert_int_equal(ASK(by_address, &fixed), SANDBOX_ALLOWS);
    assert_int_equal(ASK(by_place, &fixed), SANDBOX_FAILS);
}

/* Both ways through an unknown condition meet again, with different values. */
static void merged_paths_keep_common_values(void **state) {
    (void)state;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_IMM, 5),
        BPF_STMT(BPF_ST, 0),
        BPF_STMT(BPF_ST, 1),
        LOAD_ARG(0, 0),
        IF_EQUAL(0, 2, 0),
        BPF_STMT(BPF_LD | BPF_IMM, 6),
        BPF_STMT(BPF_ST, 1),
        BPF_STMT(BPF_LD | BPF_MEM, 0),
        IF_EQUAL(5, 0, 3),
        BPF_STMT(BPF_LD | BPF_MEM, 1),
        IF_EQUAL(6, 0, 2),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_KILL), /* not reached */
        ANSWER(SECCOMP_RET_ERRNO),
    };
    assert_int_equal(ASK(code, &mapping), SANDBOX_FAILS);
}

static void computed_answers(void **state) {
    (void)state;
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW - 1),
                                 BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
                                 BPF_STMT(BPF_RET | BPF_A, 0)};
    struct sock_filter unknown[] = {LOAD_ARG(0, 0), BPF_STMT(BPF_RET | BPF_A, 0)};
    assert_int_equal(ASK(code, &mapping), SANDBOX_ALLOWS);
    assert_int_equal(ASK(unknown, &mapping), SANDBOX_HARMS);
}

static void invalid_filters_forbid(void **state) {
    (void)state;
    struct sock_filter endless[] = {BPF_STMT(BPF_LD | BPF_IMM, 1)};
    struct sock_filter astray[] = {BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff)};
    assert_int_equal(ASK(endless, &mapping), SANDBOX_HARMS);
    assert_int_equal(ASK(astray, &mapping), SANDBOX_HARMS);
    assert_int_equal(filter_answer(endless, 0, &mapping), SANDBOX_HARMS);
}

/* ---- comparison with the kernel ---- */

static uint32_t noise(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 16);
}

/* Mostly small numbers, which are often equal. */
static uint32_t constant(void) { return noise() % 4 ? noise() % 8 : noise(); }

enum { BODY = 40, FIRST = 18, ENDS = 2, LENGTH = FIRST + BODY + ENDS };

static uint8_t forward(size_t at) {
    size_t left = LENGTH - 1 - at;
    return (uint8_t)(noise() % (left < 8 ? left : 8));
}

static struct sock_filter random_instruction(size_t at) {
    static const uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
                                          BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
    static const uint16_t conditions[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
    uint16_t operation = operations[noise() % COUNT(operations)];
    uint16_t condition = conditions[noise() % COUNT(conditions)];
    uint16_t source = noise() % 2 ? BPF_X : BPF_K;
    bool shift = operation == BPF_LSH || operation == BPF_RSH;
    switch (noise() % 9) {
    case 0:
        return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, constant());
    case 1:
        return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 4 * (noise() % 12));
    case 2:
        return (struct sock_filter)BPF_STMT((noise() % 2 ? BPF_LD : BPF_LDX) | BPF_MEM,
                                            noise() % BPF_MEMWORDS);
    case 3:
        return (struct sock_filter)BPF_STMT(noise() % 2 ? BPF_ST : BPF_STX, noise() % BPF_MEMWORDS);
    case 4:
        return (struct sock_filter)BPF_STMT(BPF_MISC | (noise() % 2 ? BPF_TAX : BPF_TXA), 0);
    case 5:
        return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0);
    case 6: /* a division by 0 kills, and the kernel refuses shifts by 32 or more */
        if (operation == BPF_DIV || shift)
            return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_K | operation, 1 + noise() % 31);
        source = operation == BPF_NEG ? BPF_K : source;
        return (struct sock_filter)BPF_STMT(BPF_ALU | source | operation, constant());
    default:
        return (struct sock_filter)BPF_JUMP(BPF_JMP | source | condition, constant(), forward(at),
                                            forward(at));
    }
}

/* The filter allows all other calls. It writes all of the scratch memory, as the kernel demands. */
static void make_up(struct sock_filter code[static LENGTH]) {
    size_t n = 0;
    code[n++] = (struct sock_filter)LOAD_WORD(nr);
    code[n++] = (struct sock_filter)IF_EQUAL(NUMBER, 0, LENGTH - 3);
    for (uint32_t i = 0; i < BPF_MEMWORDS; i++)
        code[n++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
    assert_int_equal(n, FIRST);
    for (; n < FIRST + BODY; n++)
        code[n] = random_instruction(n);
    code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EDOM);
    code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
}

struct question {
    struct sock_filter code[LENGTH];
    struct sandbox_call call;
};

static int ask_kernel(void *arg) {
    struct question *q = arg;
    const uint64_t *a = q->call.args;
    struct sock_fprog program = {LENGTH, q->code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 100;
    return syscall(NUMBER, a[0], a[1], a[2], a[3], a[4], a[5]) == -1 ? errno : 101;
}

static void kernel_agrees(void **state) {
    enum { ROUNDS = 300 };
    (void)state;
    unsigned allowed = 0, failed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct question q = {.call = {.number = NUMBER}};
        make_up(q.code);
        for (size_t i = 0; i < 6; i++)
            q.call.args[i] = (uint64_t)constant() << 32 | constant();
        enum sandbox_answer answer = ASK(q.code, &q.call);
        int kernel_answer = child_end(child_start(ask_kernel, &q));
        assert_int_equal(kernel_answer, answer == SANDBOX_ALLOWS ? ENOSYS : EDOM);
        allowed += answer == SANDBOX_ALLOWS;
        failed += answer == SANDBOX_FAILS;
        q.call.unknown = (uint8_t)(noise() & 0x3f);
        assert_true(ASK(q.code, &q.call) >= answer);
    }
    assert_true(allowed > ROUNDS / 10 && failed > ROUNDS / 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target filter", tests, NULL, NULL);
}
