/*
 * Probes whose arguments have every form that operands have on x86-64. The notes are written by
 * hand, as <sys/sdt.h> writes them, so that the registers are known. It prints what it passed, and
 * the counters (semaphores) while it runs: usdt.py compares.
 *
 *   usdt forms             passes each form once
 *   usdt runs N            passes "demo:turn" N times in calls of turn()
 *   usdt waits             prints the counters until its input ends
 *   usdt forks             a child prints the counters, then itself
 *   usdt tight             passes "demo:tight" three times
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTE(name, semaphore, arguments)                                                           \
    "990: nop\n"                                                                                   \
    ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                   \
    ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                                  \
    "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                    \
    "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n"                              \
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
    __asm__ volatile(
        "mov %0, %%rbx\n mov %1, %%r8\n mov $2, %%r9\n"
        "sub $128, %%rsp\n push $77\n" NOTE(
            "memory", "0",
            "-4@(%%rbx) 4@4(%%rbx) 8f@8(%%rbx) -1@16(%%rbx) 8@24(%%rbx) "
            "8@(%%r8,%%r9,8) 8@-8(%%r8,%%r9,8) 8@(%%rsp) -8@no_such(%%rip)") "add $136, %%rsp\n"
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

__attribute__((noinline)) long turn(long n) {
    long sum = n;
    __asm__ volatile(
        "mov %0, %%rdx\n" NOTE("turn", "shared_counter", "-8@%%rdx") "lea 1(%%rdx), %0\n"
        : "+r"(sum)
        :
        : "rdx");
    __asm__ volatile("mov %0, %%rdx\n" NOTE("again", "shared_counter", "") "lea 1(%%rdx), %0\n"
                     : "+r"(sum)
                     :
                     : "rdx");
    __asm__ volatile("mov %0, %%rdx\n" NOTE("single", "single_counter", "") "lea 1(%%rdx), %0\n"
                     : "+r"(sum)
                     :
                     : "rdx");
    return sum;
}

/* A branch leads behind the nop, so only a breakpoint fits there. */
static __attribute__((noinline)) void tight(long n) {
    __asm__ volatile("test %0, %0\n jz 2f\n" NOTE("tight", "0", "-8@%0") "2: nop\n"
                                                                         "dec %0\n jns 990b\n"
                     : "+r"(n)
                     :
                     : "cc");
}

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
