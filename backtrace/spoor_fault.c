/*
 * spoor_fault: see spoor_fault.h for the contract; the other headers spoor_fault_... are parts of
 * this file, one for each kind of processor: how a fault is entered, and what its registers say.
 */
#include "spoor_fault.h"

#if defined(__aarch64__)
#include "spoor_fault_a64.h"
#elif __ARM_ARCH_PROFILE == 'M'
#include "spoor_fault_m.h"
#else
#include "spoor_fault_a32.h"
#endif

#if defined(__aarch64__)
enum { REGISTERS = 33, IN_A_LINE = 3 };
#else
enum { REGISTERS = 16, IN_A_LINE = 4 };
#endif

static void print_name(void (*put)(char c), unsigned n) {
#if defined(__aarch64__)
    if (n >= SPOOR_A64_SP) {
        print(put, n == SPOOR_A64_SP ? " sp" : " pc");
        return;
    }
    if (n < 10)
        put(' ');
    put('x');
#else
    if (n >= SPOOR_SP) {
        print(put, n == SPOOR_SP ? "sp" : n == SPOOR_LR ? "lr" : "pc");
        return;
    }
    put('r');
#endif
    if (n >= 10)
        put((char)('0' + n / 10));
    put((char)('0' + n % 10));
}

/* The registers of what was interrupted: the walk has them when it is there. */
static void print_registers(void (*put)(char c), const struct spoor_walk *walk) {
    for (unsigned n = 0; n < REGISTERS; n++) {
        spoor_word thumb = REGISTERS == 16 && n == SPOOR_PC;
        print_name(put, n);
        put(' ');
        print_hex(put, walk->regs.r[n] & ~thumb);
        print(put, n % IN_A_LINE == IN_A_LINE - 1 ? "\n" : "  ");
    }
}

void spoor_fault_print(const struct spoor_image *image, const struct spoor_regs *regs,
                       void (*put)(char c)) {
    struct spoor_walk walk;
    struct spoor_frame frame;
    enum spoor_result result;
    print(put, "spoor: ");
    print_cause(put);
    put('\n');
    spoor_walk_begin(&walk, image, regs, SPOOR_INTERRUPTED);
    for (unsigned n = 0; (result = spoor_walk_next(&walk, &frame)) == SPOOR_FRAME && n < 100; n++) {
        if (n == 0) {
            print_registers(put, &walk);
            print_state(put);
        }
        put('#');
        if (n >= 10)
            put((char)('0' + n / 10));
        put((char)('0' + n % 10));
        print(put, " 0x");
        print_hex(put, frame.site | (REGISTERS == 16 ? frame.pc & 1 : 0));
        print(put, frame.trust == SPOOR_PROVEN ? "\n" : " ?\n");
    }
    print(put, spoor_result_name(result));
    put('\n');
}

__attribute__((weak)) void spoor_fault_image(struct spoor_image *ret_image) {
    spoor_image_find(ret_image);
}

__attribute__((weak)) void spoor_fault(const struct spoor_regs *regs) {
    struct spoor_image image;
    spoor_fault_image(&image);
    spoor_fault_print(&image, regs, spoor_putchar);
    for (;;)
        __asm__ volatile("");
}
