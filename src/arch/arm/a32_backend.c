/* The A32 backend: struct arch of its parts. */
#include "arch/arm/a32.h"

#include <elf.h>

#include "arch/arm/stub.h"
#include "arch/arm_agent.h"

size_t arm_landing(const uint8_t *bytes, size_t room) {
    (void)bytes, (void)room;
    return 0;
}

#include "agent-arm.inc"

const struct arch arch_a32 = {
    .machine = EM_ARM,
    .name = "arm",
    .other = &arch_t32,
    .word_bytes = ARM_WORD,
    .sp_register = ARM_SP,
    .entry_cfa = 0, /* the return address is in a register */
    .insn_bytes = A32_BYTES,
    .jump_bytes = A32_BYTES,
    /* For large modules only; their holes have room for a far jump. */
    .hop_bytes = A32_BYTES,
    .hop_back = -0x800,
    .hop_on = 0x800,
    .far_bytes = 2 * A32_BYTES,
    .trap_bytes = A32_BYTES,
    /* Linux' own breakpoint (arm_break_hook in arch/arm/kernel/ptrace.c), udf #16. Others raise
     * SIGILL. */
    .trap = {0xf0, 0x01, 0xf0, 0xe7},
    .all_flags = 0, /* stubs always save the flags */
    .changed_by_calls = ARM_CHANGED_BY_CALLS,
    .decode = a32_decode,
    .follow = a32_follow,
    .is_return = a32_is_return,
    .is_barred = a32_is_barred,
    .landing = arm_landing,
    .sled = a32_sled,
    .relocate = a32_relocate,
    .can_call = a32_can_call,
    .relocated_bytes = a32_relocated_bytes,
    .jump = a32_jump,
    .far_jump = a32_far_jump,
    .hop = a32_jump,
    .skip_unless = a32_skip_unless,
    .return_pops = a32_return_pops,
    .return_loads_sp = a32_return_loads_sp,
    .dispatch = a32_dispatch,
    .format = a32_format,
    .flags = a32_flags,
    .stack = a32_stack,
    .condition = a32_condition_number,
    .stack_if = a32_stack_if,
    .stub_emit = a32_stub_emit,
    .stub_state = a32_stub_state,
    .stub_size = a32_stub_size,
    .stub_retry = a32_stub_retry,
    .stub_site = a32_stub_site,
    .stub_capture_at = a32_stub_capture_at,
    .stub_capture_bytes = a32_stub_capture_bytes,
    .stub_judge_bytes = a32_stub_judge_bytes,
    .stub_read_switch = a32_stub_read_switch,
    .agent = arm_agent_bytes,
    .agent_size = &arm_agent_size,
    .agent_code = LANES_BYTES,
    .reach = 0x1ff0000, /* of `b`, less some slack */
};
