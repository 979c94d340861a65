/*
 * Calls of all kinds, for any machine, without a library. unwind.py steps through them, one
 * instruction at a time, and notes each caller.
 */
#include <stdarg.h>

#define NOINLINE __attribute__((noinline))

volatile int sink;
static volatile int input = 3;
typedef int operation(int, int);

NOINLINE static int leaf(int a, int b) { return a * 2 + b; }

NOINLINE static int leaf_with_locals(int a, int b) {
    volatile int local[8];
    for (int i = 0; i < 2; i++)
        local[i] = a + b;
    return local[1];
}

NOINLINE static int many_registers(const volatile int *v) {
    int a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    sink = leaf(a, b);
    return a + b * c + d * e + f * g + h + leaf(c, d);
}

NOINLINE static int many_locals(int n) {
    volatile int local[300];
    for (int i = 0; i < 8; i++)
        local[i] = n;
    return many_registers(local);
}

NOINLINE static int variable_size(int n) {
    volatile int *local = __builtin_alloca((unsigned)n * 8 + 32);
    for (int i = 0; i < 8; i++)
        local[i] = n;
    return many_registers(local) + local[0];
}

NOINLINE static int sum(int count, ...) {
    va_list list;
    int total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        total += leaf(va_arg(list, int), i);
    va_end(list);
    return total;
}

NOINLINE static int recursive(int n) { return n ? recursive(n - 1) + leaf_with_locals(n, n) : 0; }

NOINLINE static int tail(int n) { return recursive(n - 1); }

NOINLINE static int by_pointer(operation *f, int n) { return f(n, 2) + 1; }

NOINLINE static int early(int n) {
    if (n < 0)
        return 0;
    volatile int local[20];
    local[0] = leaf(n, n);
    return local[0];
}

#if defined(FLOATING) || defined(__aarch64__) || defined(__x86_64__)
NOINLINE static float floating(float x, int n) {
    float y = x * 1.5f;
    sink = leaf(n, n);
    return x * y + n;
}
#else
#define floating(x, n) leaf(x, n)
#endif

static operation *volatile pointer = leaf_with_locals;

NOINLINE int run(void) {
    int n = input;
    sink = many_locals(n);
    sink = variable_size(n);
    sink = sum(4, n, n, 5, 6);
    sink = tail(n);
    sink = by_pointer(pointer, n);
    sink = early(-n) + early(n);
    sink = (int)floating(n, n);
    return n;
}

#ifdef CORTEX_M
volatile unsigned process_stack; /* its pointer at the last exception, if it was in use */
#endif

/* Never returns: not all compilers keep its return address beyond its first call. */
__attribute__((noreturn)) NOINLINE static void finish(int n) {
    sink = leaf(n, n);
    sink = early(n);
#ifdef CORTEX_M
    process_stack = 0;
#endif
    __builtin_trap();
}

#ifdef __arm__ /* named in unwind tables, but never called */
void __aeabi_unwind_cpp_pr0(void) {}
void __aeabi_unwind_cpp_pr1(void) {}
#endif

#ifdef CORTEX_M
extern unsigned stack_top[];
void reset(void);
void handler(void);

/* The work of an exception handler. */
NOINLINE static int in_handler(int n) { return leaf_with_locals(n, 7); }

void handler(void) {
    unsigned psp;
    __asm__ volatile("mrs %0, psp" : "=r"(psp));
    process_stack = psp;
    sink = in_handler(sink);
#ifdef UNDEFINED
    for (;;)
        sink = in_handler(sink);
#endif
}

__attribute__((used, section(".vectors"))) void *const vectors[16] = {
    stack_top, reset, handler, handler, handler, handler, handler, 0,
    0,         0,     0,       handler, handler, 0,       handler, handler};

NOINLINE static int interrupted(int n) {
    volatile int local[3] = {n, n, n};
#ifdef UNDEFINED
    __asm__ volatile("udf #0");
#else
    __asm__ volatile("svc #0");
#endif
    return local[1];
}

#ifdef PROCESS_STACK
unsigned process[1024] __attribute__((aligned(8)));
#endif

static void set_up(void) {
#ifdef FLOATING
    *(volatile unsigned *)0xe000ed88 |= 0xf << 20; /* CPACR: the floating-point unit */
    __asm__ volatile("dsb\nisb\nvmov.f32 s0, #1.0");
#endif
}

NOINLINE static void work(void) {
    sink = interrupted(2);
    run();
}

__attribute__((used)) void begin(void) {
    set_up();
    work();
    if (input) /* makes compilers assume that it may return */
        finish(2);
}

/* The first function: it has no caller. */
__asm__(
    ".syntax unified\n.thumb\n.section .text.reset,\"ax\",%progbits\n.globl reset\n.thumb_func\n"
    ".type reset, %function\nreset:\n.cfi_sections .debug_frame\n.cfi_startproc\n"
    ".cfi_undefined lr\n.fnstart\n.cantunwind\n"
#ifdef PROCESS_STACK
    "ldr r0, =process + 4096\nmsr psp, r0\nmovs r0, #2\nmsr control, r0\nisb\n"
#endif
    "bl begin\n.fnend\n.cfi_endproc\n.ltorg\n.size reset, . - reset\n.text\n");
#else
/* The first function: it has no caller. */
#if defined(__aarch64__)
__asm__(".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
        "bl begin\n.cfi_endproc\n.size _start, . - _start\n");
#elif defined(__x86_64__)
__asm__(".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
        "call begin\nhlt\n.cfi_endproc\n.size _start, . - _start\n");
#elif defined(__thumb__)
__asm__(".syntax unified\n.thumb\n.globl _start\n.thumb_func\n.type _start, %function\n_start:\n"
        ".cfi_sections .debug_frame\n.cfi_startproc\n.cfi_undefined lr\nbl begin\n"
        ".cfi_endproc\n.size _start, . - _start\n");
#else
__asm__(".globl _start\n.type _start, %function\n_start:\n.cfi_sections .debug_frame\n"
        ".cfi_startproc\n.cfi_undefined lr\nbl begin\n.cfi_endproc\n.size _start, . - _start\n");
#endif

__attribute__((used)) int begin(void) {
    if (run()) /* makes compilers assume that it may return */
        finish(2);
    return 1;
}
#endif
