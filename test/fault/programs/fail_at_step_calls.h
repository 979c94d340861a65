/* What differs between processors in calls of the kernel: fail_at_step.c's own, and remote ones. */
#pragma once

#ifdef __arm__
typedef struct user_regs registers;
enum { CALL_MMAP = SYS_mmap2 };
#else
typedef struct user_regs_struct registers;
enum { CALL_MMAP = SYS_mmap };
#endif

/* Returns the kernel's result. */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f);
/* Whether REGS begin a remote call; PEEK reads the program's text. */
static int is_call(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t);
static unsigned long *call_number(registers *regs);
static unsigned long *call_argument(registers *regs, int i);

#if defined __x86_64__
static const enum __ptrace_request SET_REGISTERS = PTRACE_SETREGS;
static registers *registers_of(void *data) { return data; }
#else
static const enum __ptrace_request SET_REGISTERS = PTRACE_SETREGSET;
static registers *registers_of(void *data) { return ((struct iovec *)data)->iov_base; }
#endif

#if defined __x86_64__
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* The pc is at a system call instruction, and no call is to be restarted. */
static int is_call(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t pid) {
    return (peek(pid, regs->rip) & 0xffff) == 0x050f && regs->orig_rax == (unsigned long)-1;
}

static unsigned long *call_number(registers *regs) { return (unsigned long *)&regs->rax; }
static unsigned long *call_argument(registers *regs, int i) {
    return (unsigned long *[]){(unsigned long *)&regs->rdi, (unsigned long *)&regs->rsi,
                               (unsigned long *)&regs->rdx, (unsigned long *)&regs->r10,
                               (unsigned long *)&regs->r8,  (unsigned long *)&regs->r9}[i];
}
#elif defined __aarch64__
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

/* The pc is at a system call instruction, with rt_sigreturn behind it. */
static int is_call(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t pid) {
    return peek(pid, regs->pc) == 0xd2801168d4000001;
}

static unsigned long *call_number(registers *regs) { return (unsigned long *)&regs->regs[8]; }
static unsigned long *call_argument(registers *regs, int i) {
    return (unsigned long *)&regs->regs[i];
}
#else
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long r7 __asm__("r7") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c, r3 __asm__("r3") = d, r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(r0)
                     : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

/* As on AArch64. */
static int is_call(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t pid) {
    uint32_t at = regs->uregs[15];
    return (uint32_t)peek(pid, at) == 0xef000000 && (uint32_t)peek(pid, at + 4) == 0xe3a070ad;
}

static unsigned long *call_number(registers *regs) { return &regs->uregs[7]; }
static unsigned long *call_argument(registers *regs, int i) { return &regs->uregs[i]; }
#endif

/* 64-bit numbers, which 32-bit Arm passes in pairs of registers, beginning with an even one. */
#ifdef __arm__
static long call_at(long number, long a, long b, long c, uint64_t at) {
    return call_kernel(number, a, b, c, 0, (long)(uint32_t)at, (long)(at >> 32));
}
static long set_size(int fd, uint64_t size) {
    return call_kernel(SYS_ftruncate64, fd, 0, (long)(uint32_t)size, (long)(size >> 32), 0, 0);
}
#else
static long call_at(long number, long a, long b, long c, uint64_t at) {
    return call_kernel(number, a, b, c, (long)at, 0, 0);
}
static long set_size(int fd, uint64_t size) {
    return call_kernel(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0);
}
#endif

/* ---- series ---- */

/*
 * Series of remote calls (src/target/remote_call.c), which the agent of x86-64 makes: a table holds
 * them, and rbx points at it. Each counts as a remote call, but the last, which is the signal.
 */

#if defined __x86_64__
struct series_entry { /* struct entry of remote_call.c */
    uint64_t number, args[6], results[2];
};

/* The series' first instructions: mov (%rbx),%rax; mov 8(%rbx),%rdi. */
static uint64_t series_table(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t pid) {
    return (peek(pid, regs->rip) & 0xffffffffffffff) == 0x087b8b48038b48 ? regs->rbx : 0;
}

static unsigned series_count(const registers *regs) { return (unsigned)regs->rbp - 1; }
#else
struct series_entry {
    uint64_t number, args[6];
};
static uint64_t series_table(const registers *regs, uint64_t (*peek)(pid_t, uint64_t), pid_t pid) {
    (void)regs;
    (void)peek;
    (void)pid;
    return 0;
}
static unsigned series_count(const registers *regs) {
    (void)regs;
    return 0;
}
#endif
