/*
 * Uses 32-bit features in a 64-bit x86-64 program: code in a 32-bit segment, and system calls by
 * "int $0x80", whose numbers differ. Prints "ready" and uses them in turn, in its only thread,
 * until standard input ends; then prints "right". Prints "cannot" and ends with 77 if the kernel
 * lacks these features.
 *
 * With USES_PTRACE its imports make it look like a program that traces others.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

/* Linux arch/x86/entry/syscalls/syscall_32.tbl. IOPERM has the number of ptrace in 64-bit programs.
 */
enum { READ = 3, GETPID = 20, IOPERM = 101, NANOSLEEP = 162, EPOLL_CREATE = 254, EPOLL_WAIT = 256 };
enum { WAIT_MS = 30, TURNS = 100000000, LOW_BYTES = 65536 };

/* Below 4 GB: a page of code, a far pointer to it, memory for calls, and a stack. */
static struct low {
    uint8_t code[4096];
    struct __attribute__((packed)) {
        uint32_t offset;
        uint16_t segment;
    } narrow;
    uint32_t words[64];
    uint8_t stack[LOW_BYTES / 2];
} * low;

KEEP static int call(int number, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    int result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d)
                     : "memory", "r8", "r9", "r10", "r11");
    return result;
}

/* Runs the code at the far pointer RDI on the stack RSI with RDX in ecx; returns its eax. */
uint32_t narrow(const void *pointer, void *stack, uint64_t times);
__asm__(".text\n"
        ".type narrow, @function\n"
        "narrow: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "  mov %rsp, narrow_saved(%rip)\n"
        "  mov %rsi, %rsp\n"
        "  mov %edx, %ecx\n"
        "  lcall *(%rdi)\n"
        "  mov narrow_saved(%rip), %rsp\n"
        "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "  ret\n"
        ".size narrow, . - narrow\n"
        ".lcomm narrow_saved, 8\n");

static uint32_t address(const void *p) { return (uint32_t)(uintptr_t)p; }

static void require(int right, const char *what, long got) {
    if (right)
        return;
    printf("wrong: %s: %ld\n", what, got);
    exit(1);
}

static void prepare(void) {
    /* xor %eax,%eax; 1: inc %eax; dec %ecx; jnz 1b; lret: in 64-bit code these bytes differ in
     * meaning */
    static const uint8_t code[] = {0x31, 0xc0, 0x40, 0x49, 0x75, 0xfc, 0xcb};
    low = mmap(NULL, sizeof *low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
               -1, 0);
    require(low != MAP_FAILED, "mmap", errno);
    memcpy(low->code, code, sizeof code);
    require(mprotect(low->code, sizeof low->code, PROT_READ | PROT_EXEC) == 0, "mprotect", errno);
    low->narrow.offset = address(low->code);
    low->narrow.segment = 0x23; /* __USER32_CS */
}

static int can(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(call(GETPID, 0, 0, 0, 0) != getpid() ||
              narrow(&low->narrow, low->stack + sizeof low->stack, 5) != 5);
    return waitpid(child, &status, 0) == child && status == 0;
}

static void wait_by_calls(int epoll, int pipe_end) {
    int r = call(EPOLL_WAIT, (uint32_t)epoll, address(low->words), 1, WAIT_MS);
    require(r == 0, "epoll_wait", r);
    low->words[0] = 0, low->words[1] = WAIT_MS * 1000000 / 2;
    r = call(NANOSLEEP, address(low->words), 0, 0, 0);
    require(r == 0, "nanosleep", r);
    r = call(READ, (uint32_t)pipe_end, address(low->words), 8, 0);
    require(r == 1, "read", r); /* less than asked for; to 64-bit programs 3 is close() */
    r = call(IOPERM, 0, 0, 1, 0);
    require(r == -EINVAL || r == -ENOSYS, "ioperm", r);
}

int main(int argc, char **argv) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ends[2];
#ifdef USES_PTRACE
    if (argc > 1)
        return (int)ptrace(PTRACE_TRACEME, 0, argv, 0);
#else
    (void)argc, (void)argv;
#endif
    prepare();
    if (!can() || pipe(ends) < 0) {
        puts("cannot");
        return 77;
    }
    int epoll = call(EPOLL_CREATE, 1, 0, 0, 0);
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 0) == 0) {
        uint32_t turns = narrow(&low->narrow, low->stack + sizeof low->stack, TURNS);
        require(turns == TURNS, "turns", turns);
        require(write(ends[1], "x", 1) == 1, "write", errno);
        wait_by_calls(epoll, ends[0]);
    }
    puts("right");
    return 0;
}
