/* The T32 backend: struct arch of its parts. */
#include "arch/arm/t32.h"

#include <elf.h>

#include "arch/arm/stub.h"
#include "arch/arm_agent.h"

static bool is_return(const uint8_t *bytes, size_t room) {
    struct t32 in = t32_classify(bytes, room);
    return in.kind == INSN_RETURN && (in.row->form == T32_BX || in.row->form == T32_MOV_HIGH);
}

static bool is_barred(const uint8_t *bytes, size_t size) {
    return t32_classify(bytes, size).row->form == T32_PRIVILEGED;
}

/* lld's filler, as in A32; elsewhere it is `bmi`. */
static bool is_filler(const uint8_t *bytes, size_t room) {
    return room >= T32_HALF && t32_half(bytes) == 0xd4d4;
}

/* XRay's sleds are A32 code (compiler-rt, xray_arm.cpp). */
static size_t sled(const uint8_t *bytes, size_t room, enum sled_kind kind) {
    (void)bytes, (void)room, (void)kind;
    return 0;
}

static struct flags_use flags(const uint8_t *bytes, size_t size) {
    struct t32 in = t32_classify(bytes, size);
    struct t32_block block;
    struct flags_use all = {0};
    if (!in.size)
        return (struct flags_use){.tested = ARM_FLAGS};
    if (in.row->form != T32_IT)
        return t32_flags_of(&in, false);
    if (!t32_block_at(bytes, size, &block))
        return (struct flags_use){.tested = ARM_FLAGS};
    for (uint8_t i = 0; i < block.count; i++)
        all.tested |=
            t32_flags_of(&block.at[i].in, true).tested | arm_tested_by(block.at[i].condition);
    return all;
}

const struct arch arch_t32 = {
    .machine = EM_ARM,
    .name = "arm",
    .other = &arch_a32,
    .word_bytes = ARM_WORD,
    .sp_register = ARM_SP, /* AADWARF32, 4.1 */
    .entry_cfa = 0,        /* the return address is in a register */
    .insn_bytes = T32_HALF,
    .jump_bytes = 2 * T32_HALF,
    .far_bytes = 5 * T32_HALF,
    .hop_bytes = T32_HALF,
    .hop_back = -0x800 + T32_PC,
    .hop_on = 0x7fe + T32_PC,
    .trap_bytes = T32_HALF,
    .trap = {0x01, 0xde}, /* Linux' own, as in A32: udf #1 */
    .all_flags = 0,       /* stubs always save the flags */
    .changed_by_calls = ARM_CHANGED_BY_CALLS,
    .decode = t32_decode,
    .follow = t32_follow,
    .is_return = is_return,
    .is_barred = is_barred,
    .is_filler = is_filler,
    .landing = arm_landing,
    .sled = sled,
    .relocate = t32_relocate,
    .can_call = t32_can_call,
    .relocated_bytes = t32_relocated_bytes,
    .jump = t32_jump,
    .far_jump = t32_far_jump,
    .hop = t32_hop,
    .skip_unless = t32_skip_unless,
    .split_exit = t32_split_exit,
    .return_pops = t32_return_pops,
    .dispatch = t32_dispatch,
    .inline_table_named = t32_inline_table_named,
    .inline_table_read = t32_inline_table_read,
    .format = t32_format,
    .flags = flags,
    .stack = t32_stack,
    .condition = t32_condition_number,
    .stack_if = t32_stack_if,
    .stub_emit = t32_stub_emit,
    .stub_state = t32_stub_state,
    .stub_size = t32_stub_size,
    .stub_retry = t32_stub_retry,
    .stub_site = t32_stub_site,
    .stub_capture_at = t32_stub_capture_at,
    .stub_capture_bytes = t32_stub_capture_bytes,
    .stub_judge_bytes = t32_stub_judge_bytes,
    .stub_read_switch = t32_stub_read_switch,
    .agent = arm_agent_bytes,
    .agent_size = &arm_agent_size,
    .agent_code = LANES_BYTES,
    .reach = 0xff0000, /* of `b.w`, less some slack */
};
