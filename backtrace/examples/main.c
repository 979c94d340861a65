/*
 * What a program does for backtraces of faults: give the library's handlers to the vector table
 * (below for a Cortex-M, in start.S for others), and a function that prints. It sends three
 * packets; the third one's length is wrong.
 */
#include "board.h"
#include "spoor_fault.h"

void spoor_putchar(char c) { board_putchar(c); }

static void print(const char *text) {
    while (*text)
        board_putchar(*text++);
}

/* What "cannot happen" ends in. */
#ifndef FAULT
#define FAULT __asm__ volatile("udf #0")
#endif

static volatile unsigned sent;

__attribute__((noinline)) static unsigned checksum(const unsigned char *bytes, unsigned size) {
    unsigned sum = 0;
    for (unsigned i = 0; i < size; i++)
        sum = sum * 31 + bytes[i];
    if (size > 64)
        FAULT;
    return sum;
}

__attribute__((noinline)) static unsigned send_packet(unsigned size) {
    unsigned char packet[64];
    for (unsigned i = 0; i < size && i < sizeof packet; i++)
        packet[i] = (unsigned char)i;
    return checksum(packet, size) + 1;
}

__attribute__((noinline)) static void send_all(void) {
    static const unsigned sizes[] = {8, 64, 65};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        print("packet\n");
        sent += send_packet(sizes[i]);
    }
}

void reset(void);
void reset(void) {
    send_all();
    print("all sent\n");
    for (;;)
        ;
}

#if !defined(__aarch64__) && __ARM_ARCH_PROFILE == 'M'
/* The stack's top, then the handlers: reset, NMI, HardFault, MemManage, BusFault, UsageFault. */
extern const char stack_top[];
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top,
    (const void *)reset,
    (const void *)spoor_fault_handler,
    spoor_fault_handler,
    (const void *)spoor_fault_handler,
    (const void *)spoor_fault_handler,
    spoor_fault_handler};
#endif
