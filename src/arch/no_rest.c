/* Where what a stop has cut short stays so (doc/LIMITS.md): on hosts other than x86-64. */
#include "arch/rest.h"

enum rest_of rest_is_due(const struct regs *regs, struct rest_call *ret) {
    (void)regs;
    (void)ret;
    return REST_OF_NONE;
}

bool rest_is_where(const struct regs *regs, const struct rest_call *call) {
    (void)regs;
    (void)call;
    return false;
}

uint64_t rest_argument(const struct regs *regs, int number) {
    (void)regs;
    (void)number;
    return 0;
}

void rest_set_argument(struct regs *regs, int number, uint64_t value) {
    (void)regs;
    (void)number;
    (void)value;
}

void rest_begin(struct regs *regs, taddr_t agent, const struct rest_call *call, struct rest *ret) {
    (void)regs;
    (void)agent;
    (void)call;
    (void)ret;
}

bool rest_is_made(const struct regs *regs, taddr_t agent) {
    (void)regs;
    (void)agent;
    return false;
}

void rest_give_up(struct regs *regs, const struct rest *rest) {
    (void)regs;
    (void)rest;
}

bool rest_end(struct regs *regs, taddr_t agent, const struct rest *rest, struct rest_call *ret) {
    (void)regs;
    (void)agent;
    (void)rest;
    (void)ret;
    return false;
}
