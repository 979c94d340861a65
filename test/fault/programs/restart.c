/*
 * A restartable sequence (rseq) is interrupted at a slow instruction inside the bytes that the
 * patch for the return would cover. It must continue at its abort handler. A tracer sees signals,
 * so signals could not show this: another thread interrupts by membarrier().
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#include "self_check.h"

enum { ROUNDS = 20, ROOM_BYTES = 8 << 20 };

/* The directives before a function's code, and the distance of the pc that the code reads. */
#if defined __thumb__
#define STATE ".syntax unified\n.thumb\n.thumb_func\n"
#define AHEAD "4"
#elif defined __arm__
#define STATE ".arm\n"
#define AHEAD "8"
#else
#define STATE
#endif

/* Fills SIZE bytes and adds 1 to *COUNTER. Returns 0 if it was interrupted and has not added. */
long restart_fill(char *to, long *counter, struct rseq *area, size_t size);

__asm__(".text\n" STATE ".globl restart_fill\n"
        ".type restart_fill, %function\n"
        "restart_fill:\n"
        "    .cfi_startproc\n"
#if defined __aarch64__
        "    adrp x4, 3f\n"
        "    add x4, x4, :lo12:3f\n"
        "    str x4, [x2, #8]\n"
        "1:  cbz x3, 5f\n"
        "    strb wzr, [x0], #1\n"
        "    sub x3, x3, #1\n"
        "    b 1b\n"
        "5:  ldr x4, [x1]\n"
        "    add x4, x4, #1\n"
        "    str x4, [x1]\n"
        "2:  ret\n"
        "    .inst 0xd428bc00\n"
        "4:  mov x0, #0\n"
        "    ret\n"
#elif defined __arm__
        "    ldr r12, 6f\n"
        "7:  add r12, r12, pc\n"
        "    str r12, [r2, #8]\n"
        "    mov r12, #0\n"
        "1:  cmp r3, #0\n"
        "    beq 5f\n"
        "    strb r12, [r0], #1\n"
        "    sub r3, r3, #1\n"
        "    b 1b\n"
        "5:  ldr r12, [r1]\n"
        "    add r12, r12, #1\n"
        "    str r12, [r1]\n"
        "2:  bx lr\n"
        "    .balign 4\n"
        "6:  .word 3f - (7b + " AHEAD ")\n"
        "    .word 0xe7f5def3\n"
        "4:  mov r0, #0\n"
        "    bx lr\n"
#else
        "    lea 3f(%rip), %rax\n"
        "    mov %rax, 8(%rdx)\n"
        "1:  rep stosb\n"
        "    incq (%rsi)\n"
        "2:  ret\n"
        "    .byte 0x0f, 0xb9, 0x3d\n"
        "    .long 0x53053053\n"
        "4:  xor %eax, %eax\n"
        "    ret\n"
#endif
        "    .cfi_endproc\n"
        ".size restart_fill, . - restart_fill\n"
        ".pushsection __rseq_cs, \"aw\"\n"
        ".balign 32\n"
        "3:  .long 0, 0\n"
#ifdef __arm__
        "    .long 1b, 0, 2b - 1b, 0, 4b, 0\n"
#else
        "    .quad 1b, 2b - 1b, 4b\n"
#endif
        ".popsection\n");

static volatile int ended;

static void membarrier(int command) {
    check(syscall(SYS_membarrier, command, 0, 0) == 0, "membarrier");
}

static void *interrupt(void *arg) {
    while (!ended)
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
    return arg;
}

int main(void) {
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    char *room = malloc(ROOM_BYTES);
    long counter = 0, done = 0;
    pthread_t thread;
    check(room && __rseq_size, "rseq");
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ);
    pthread_create(&thread, NULL, interrupt, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        while (restart_fill(room, &counter, area, ROOM_BYTES))
            check(++done < 1000, "an abort");
        check(counter == done, "the counter");
        check_work();
    }
    ended = 1;
    pthread_join(thread, NULL);
    return right();
}
