#include "arch/arm/a32.h"

#include <elf.h>

/* The thread pointer, which lanes are found by, is read-only to programs (TPIDRURO); what the
 * system call set_tls writes there is each thread's own in any case. */
static bool writes_lane(const uint8_t *bytes, size_t size) {
    (void)bytes;
    (void)size;
    return false;
}

/* No instruction of A32 is asked for where branches land. */
static size_t landing(const uint8_t *bytes, size_t room) {
    (void)bytes;
    (void)room;
    return 0;
}

const struct arch arch_a32 = {
    .machine = EM_ARM,
    .name = "a32",
    .other = &arch_t32,
    .word_bytes = ARM_WORD,
    .sp_register = ARM_SP,
    .entry_cfa = 0, /* the return address is in a register */
    .insn_bytes = A32_BYTES,
    .jump_bytes = A32_BYTES,
    .trap_bytes = A32_BYTES,
    /* udf #0x7350. Linux has taken the numbers 0x10 to 0x1f, and 0xfdee (arch/arm/kernel/ptrace.c,
     * arch/arm/probes, kgdb). */
    .trap = {0xf0, 0x35, 0xf7, 0xe7},
    .all_flags = ARM_FLAGS,
    .decode = a32_decode,
    .follow = a32_follow,
    .is_return = a32_is_return,
    .is_barred = a32_is_barred,
    .writes_lane = writes_lane,
    .asks_for_lane = writes_lane,
    .landing = landing,
    .sled = a32_sled,
    .relocate = a32_relocate,
    .can_call = a32_can_call,
    .relocated_bytes = a32_relocated_bytes,
    .jump = a32_jump,
    .skip_unless = a32_skip_unless,
    .dispatch = a32_dispatch,
    .format = a32_format,
    .flags = a32_flags,
    .stack = a32_stack,
    .reach = 0x1ff0000, /* of `b`, less some slack */
};
