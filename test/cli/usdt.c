/*
 * Probes whose arguments have every form that operands have on the machine. The notes are written
 * by hand, as <sys/sdt.h> writes them, so that the registers are known. It prints what it passed,
 * and the counters (semaphores) while it runs: usdt.py compares.
 *
 *   usdt forms             passes each form once
 *   usdt runs N            passes "demo:turn" N times in calls of turn()
 *   usdt waits             prints the counters until its input ends
 *   usdt forks             a child prints the counters, then itself
 *   usdt tight             passes "demo:tight" three times (x86-64)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __arm__
#define WORD ".4byte"
#else
#define WORD ".8byte"
#endif
#define NOTE(name, semaphore, arguments)                                                           \
    "990: nop\n"                                                                                   \
    ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                   \
    ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                                  \
    "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                    \
    "993: " WORD " 990b\n" WORD " _.stapsdt.base\n" WORD " " semaphore "\n"                        \
    ".asciz \"demo\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"                             \
    "994: .balign 4\n.popsection\n"                                                                \
    ".ifndef _.stapsdt.base\n"                                                                     \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                        \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                               \
    "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n"

uint16_t shared_counter __attribute__((section(".probes"), used));
uint16_t single_counter __attribute__((section(".probes"), used));

struct record {
    int32_t first;
    uint32_t second;
    double third;
    int8_t fourth;
    const char *name;
};

#ifdef __x86_64__
struct {
    int32_t number;
    const char *name;
} at_symbol __attribute__((used)) = {-41, "a symbol's"};

static __attribute__((noinline)) void registers(void) {
    __asm__ volatile("movabs $0x1122334455667788, %%rax\n"
                     "mov $-2, %%rbx\n mov $0xfffe, %%r12d\n mov $-3, %%r15\n"
                     "xor %%ecx, %%ecx\n" NOTE(
                         "registers", "0",
                         "8@%%rax -4@%%eax 2@%%ax -1@%%al 1@%%ah 8@%%rbx "
                         "-8@%%rbx 2@%%r12w -1@%%r15b 4@%%r12d -4@$5 8@$-7") "xor %%ecx, %%ecx\n"
                                                                             "nop; nop; nop; nop"
                     :
                     :
                     : "rax", "rbx", "rcx", "r12", "r15");
}

static __attribute__((noinline)) void memory(struct record *r, int64_t *array) {
    __asm__ volatile("mov %0, %%rbx\n mov %1, %%r8\n mov $2, %%r9\n"
                     "sub $128, %%rsp\n push $77\n" NOTE(
                         "memory", "0",
                         "-4@(%%rbx) 4@4(%%rbx) 8f@8(%%rbx) -1@16(%%rbx) 8@24(%%rbx) "
                         "8@(%%r8,%%r9,8) 8@-8(%%r8,%%r9,8) 8@(%%rsp) -8@no_such(%%rip) "
                         "-4@at_symbol(%%rip) 8@at_symbol+8(%%rip)") "add $136, %%rsp\n"
                                                                     "xor %%r9d, %%r9d\n"
                     :
                     : "r"(r), "r"(array)
                     : "rbx", "r8", "r9", "memory");
}

static __attribute__((noinline)) void floats(double d, float f) {
    __asm__ volatile(
        "movapd %0, %%xmm5\n movaps %1, %%xmm14\n"
        "xor %%ecx, %%ecx\n" NOTE(
            "floats", "0", "8f@%%xmm5 4f@%%xmm14 8@%%xmm5") "xor %%ecx, %%ecx\n nop; nop; nop; nop"
        :
        : "x"(d), "x"(f)
        : "rcx", "xmm5", "xmm14");
}
#define COPY(n) "mov " n ", %%rdx\n"
#define PASSED "-8@%%rdx"
#define NEXT(to) "lea 1(%%rdx), " to "\n"
#define COPIED "rdx"

#elif defined(__aarch64__)
static __attribute__((noinline)) void registers(void) {
    __asm__ volatile("ldr x9, =0x1122334455667788\n mov x10, #-2\n mov w11, #0xfffe\n"
                     "mov x20, #-3\n" NOTE("registers", "0",
                                           "8@x9 -4@w9 2@w9 -1@w9 8@x10 -8@x10 2@w11 -1@x20 4@w11 "
                                           "-4@5 8@-7") "b 1f\n.ltorg\n1:\n"
                     :
                     :
                     : "x9", "x10", "x11", "x20");
}

static __attribute__((noinline)) void memory(struct record *r, int64_t *array) {
    __asm__ volatile("mov x9, %0\n mov x10, %1\n mov x11, #2\n mov x12, #77\n"
                     "str x12, [sp, #-16]!\n" NOTE(
                         "memory", "0",
                         "-4@[x9] 4@[x9, 4] 8f@[x9, 8] -1@[x9, 16] 8@[x9, 24] 8@[x10, x11, lsl 3] "
                         "8@[x10, x11, lsl #3] 8@[sp] -8@no_such") "add sp, sp, #16\n"
                     :
                     : "r"(r), "r"(array)
                     : "x9", "x10", "x11", "x12", "memory");
}

static __attribute__((noinline)) void floats(double d, float f) {
    __asm__ volatile(
        "fmov d5, %d0\n fmov s14, %s1\n" NOTE("floats", "0", "8f@d5 4f@s14 8@d5") "nop\n"
        :
        : "w"(d), "w"(f)
        : "v5", "v14");
}
#define COPY(n) "mov x2, " n "\n"
#define PASSED "-8@x2"
#define NEXT(to) "add " to ", x2, #1\n"
#define COPIED "x2"

#else
static __attribute__((noinline)) void registers(void) {
    __asm__ volatile("ldr r4, =0x55667788\n mvn r5, #1\n ldr r6, =0xfffe\n"
                     "mvn r8, #2\n" NOTE("registers", "0",
                                         "4@r4 -4@r4 2@r4 -1@r4 4@r5 -4@r5 2@r6 -1@r8 4@r6 "
                                         "-4@#5 4@#-7") "b 1f\n.ltorg\n1:\n"
                     :
                     :
                     : "r4", "r5", "r6", "r8");
}

static __attribute__((noinline)) void memory(struct record *r, int64_t *array) {
    __asm__ volatile(
        "mov r4, %0\n mov r5, %1\n mov r6, #2\n mov r8, #77\n"
        "str r8, [sp, #-8]!\n" NOTE(
            "memory", "0",
            "-4@[r4] 4@[r4, #4] 8f@[r4, #8] -1@[r4, #16] 4@[r4, #20] "
            "8@[r5, r6, lsl #3] 4@[r5, r6, lsl #2] 4@[sp] -4@no_such") "add sp, sp, #8\n"
        :
        : "r"(r), "r"(array)
        : "r4", "r5", "r6", "r8", "memory");
}

static __attribute__((noinline)) void floats(double d, float f) {
#ifdef __ARM_PCS_VFP
    __asm__ volatile(
        "vmov.f64 d5, %P0\n vmov.f32 s14, %1\n" NOTE("floats", "0", "8f@d5 4f@s14 8@d5") "nop\n"
        :
        : "w"(d), "t"(f)
        : "d5", "s14");
#else
    __asm__ volatile("mov r4, %0\n mov r5, %1\n" NOTE("floats", "0", "8f@[r4] 4f@r5 8@[r4]") "nop\n"
                     :
                     : "r"(&d), "r"(f), "m"(d)
                     : "r4", "r5");
#endif
}
#define COPY(n) "mov r2, " n "\n"
#define PASSED "-4@r2"
#define NEXT(to) "add " to ", r2, #1\n"
#define COPIED "r2"
#endif

__attribute__((noinline)) long turn(long n) {
    long sum = n;
#define PASS(name, semaphore, arguments)                                                           \
    __asm__ volatile(COPY("%0") NOTE(name, semaphore, arguments) NEXT("%0") : "+r"(sum) : : COPIED)
    PASS("turn", "shared_counter", PASSED);
    PASS("again", "shared_counter", "");
    PASS("single", "single_counter", "");
    return sum;
}

#ifdef __x86_64__
/* A branch leads behind the nop, so only a breakpoint fits there. */
static __attribute__((noinline)) void tight(long n) {
    __asm__ volatile("test %0, %0\n jz 2f\n" NOTE("tight", "0", "-8@%0") "2: nop\n"
                                                                         "dec %0\n jns 990b\n"
                     : "+r"(n)
                     :
                     : "cc");
}
#else
static void tight(long n) { (void)n; }
#endif

static void print_counters(void) {
    volatile uint16_t *shared = &shared_counter, *single = &single_counter;
    printf("%u %u\n", *shared, *single);
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct record r = {-12, 4000000000u, 2.5, -3, "a name"};
    int64_t array[] = {100, 200, 300};
    const char *what = argc > 1 ? argv[1] : "forms";
    long sum = 0;
    if (strcmp(what, "forms") == 0) {
        registers();
        memory(&r, array);
        floats(1.25, -0.5f);
        printf("%p\n", (const void *)r.name);
    } else if (strcmp(what, "runs") == 0) {
        for (long i = 0; i < atol(argv[2]); i++)
            sum += turn(i);
        printf("%ld\n", sum);
    } else if (strcmp(what, "tight") == 0) {
        tight(2);
    } else if (strcmp(what, "forks") == 0) {
        if (!fork()) {
            sum = turn(1);
            print_counters();
            _exit(0);
        }
        wait(NULL);
        print_counters();
    } else {
        while (getchar() != EOF) {
            sum += turn(sum & 1);
            print_counters();
        }
    }
    return 0;
}
