/*
 * Code whose places symbolize.py knows, by the words MARK and CALL and by labels. Freestanding, for
 * any machine.
 */
volatile int sink;

#define LABEL(name) __asm__ volatile(".globl at_" #name "\nat_" #name ":")

static inline __attribute__((always_inline)) void leaf(int x) {
    sink = x;
    LABEL(leaf);
    sink = 1; /* MARK leaf */
}

static inline __attribute__((always_inline)) void middle(int x) { leaf(x + 1); /* CALL leaf */ }

__attribute__((noinline)) void outer(int x) {
    middle(x * 2); /* CALL middle */
    sink = 2;
}

__attribute__((noinline, noreturn)) void stop(void) {
    for (;;)
        sink = 3;
}

/* The call is the last instruction: another function follows. */
__attribute__((noinline)) void last(void) {
    sink = 4;
    stop(); /* CALL stop */
}

__attribute__((used)) void follower(void) { sink = 5; }

#ifdef __arm__ /* a label of assembly, without type or size */
__asm__(".text\n.globl bare\n.thumb_func\nbare: nop\nnop\nnop\n.size anything, 0\n");
#endif

void _start(void) {
    outer(1);
    LABEL(behind);
    sink = 6; /* MARK behind */
    last();
}
