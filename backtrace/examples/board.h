/* The serial ports of the boards that QEMU emulates: one of -DMICROBIT, -DMPS2, -DMPS2_SECURE,
 * -DVIRT. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

static volatile uint32_t *board_register(uint32_t address) {
    return (volatile uint32_t *)(uintptr_t)address;
}

#if defined(MICROBIT) /* nRF51 Series Reference Manual, UART */
enum { UART = 0x40002000, START = 0x008, READY = 0x11c, ENABLE = 0x500, DATA = 0x51c };

static void board_putchar(char c) {
    *board_register(UART + ENABLE) = 4;
    *board_register(UART + START) = 1;
    *board_register(UART + READY) = 0;
    *board_register(UART + DATA) = (unsigned char)c;
    while (!*board_register(UART + READY))
        ;
}
#elif defined(VIRT) /* PrimeCell UART (PL011) Technical Reference Manual */
enum { UART = 0x09000000, DATA = 0, FLAGS = 0x18, FULL = 0x20 };

static void board_putchar(char c) {
    while (*board_register(UART + FLAGS) & FULL)
        ;
    *board_register(UART + DATA) = (unsigned char)c;
}
#else /* Cortex-M System Design Kit, APB UART; the Cortex-M33 starts in the secure state */
enum { DATA = 0, STATE = 4, CONTROL = 8, DIVIDER = 16, FULL = 1, TRANSMIT = 1 };
#ifdef MPS2_SECURE
#define UART 0x50200000u
#else
#define UART 0x40004000u
#endif

static void board_putchar(char c) {
    *board_register(UART + DIVIDER) = 16;
    *board_register(UART + CONTROL) = TRANSMIT;
    while (*board_register(UART + STATE) & FULL)
        ;
    *board_register(UART + DATA) = (unsigned char)c;
}
#endif

#endif
