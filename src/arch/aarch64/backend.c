/* The AArch64 backend: struct arch of its parts. */
#include "arch/aarch64/aarch64.h"

#include <elf.h>

#include "arch/aarch64/reading.h"
#include "arch/aarch64/stub.h"
#include "arch/arm_agent.h"

#include "agent-aarch64.inc"

const struct arch arch_aarch64 = {
    .machine = EM_AARCH64,
    .name = "aarch64",
    .word_bytes = 8,
    .sp_register = A64_SP, /* AADWARF64, 4.1 */
    .entry_cfa = 0,        /* the return address is in a register */
    .insn_bytes = A64_BYTES,
    .jump_bytes = A64_BYTES,
    .trap_bytes = A64_BYTES,
    .trap = {0x00, 0x6a, 0x2e, 0xd4}, /* brk #0x7350 */
    .all_flags = 0,                   /* stubs change none */
    .decode = a64_decode,
    .follow = a64_follow,
    .is_return = a64_is_return,
    .is_barred = a64_is_barred,
    .landing = a64_landing,
    .sled = a64_sled,
    .relocate = a64_relocate,
    .can_call = a64_can_call,
    .relocated_bytes = a64_relocated_bytes,
    .jump = a64_jump,
    .skip_unless = a64_skip_unless,
    .dispatch = a64_dispatch,
    .format = a64_format,
    .flags = a64_flags,
    .stack = a64_stack,
    .stub_emit = a64_stub_emit,
    .stub_state = a64_stub_state,
    .stub_size = a64_stub_size,
    .stub_retry = a64_stub_retry,
    .stub_site = a64_stub_site,
    .stub_capture_at = a64_stub_capture_at,
    .stub_capture_bytes = a64_stub_capture_bytes,
    .stub_judge_bytes = a64_stub_judge_bytes,
    .stub_read_switch = a64_read_switch,
    .agent = a64_agent_bytes,
    .agent_size = &a64_agent_size,
    .agent_code = LANES_BYTES,
    .reach = 0x7ff0000, /* of `b`, less some slack */
};
