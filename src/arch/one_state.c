/* Hosts whose code has one state, and where no part of relocated code has pushed a register: all
 * but 32-bit Arm. */
#include "arch/regs.h"

bool regs_is_other(const struct regs *regs) {
    (void)regs;
    return false;
}
taddr_t regs_code_pointer(const struct regs *regs, taddr_t addr) {
    (void)regs;
    return addr;
}

void regs_set_state(struct regs *regs, bool other, uint8_t it) {
    (void)regs, (void)other, (void)it;
}
void regs_pop(struct regs *regs, uint8_t number, uint64_t value) {
    (void)regs, (void)number, (void)value;
}
