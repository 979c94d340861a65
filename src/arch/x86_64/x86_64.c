/* The x86-64 backend: struct arch of its parts. */
#include "arch/x86_64/x86_64.h"

#include <elf.h>

#include "arch/x86_64/capture.h"
#include "arch/x86_64/stub.h"

static bool restores_flags(const uint8_t *bytes, size_t size) {
    enum { POPFQ = 0x9d };
    return size == 1 && bytes[0] == POPFQ;
}

const struct arch arch_x86_64 = {
    .machine = EM_X86_64,
    .name = "x86_64",
    .word_bytes = 8,
    .sp_register = 7, /* System V ABI, AMD64, figure 3.36 */
    .entry_cfa = 8,   /* the return address */
    .insn_bytes = 1,
    .jump_bytes = X86_JUMP_BYTES,
    .hop_bytes = X86_HOP_BYTES,
    .hop_back = X86_HOP_BYTES + INT8_MIN,
    .hop_on = X86_HOP_BYTES + INT8_MAX,
    .trap_bytes = 1,
    .trap = {0xcc}, /* int3 */
    .all_flags = X86_FLAGS,
    .decode = x86_64_decode,
    .is_return = x86_64_is_return,
    .is_barred = x86_64_is_barred,
    .writes_lane = x86_64_writes_lane,
    .may_write_lane = x86_64_may_write_lane,
    .asks_for_lane = x86_64_asks_for_lane,
    .landing = x86_64_landing,
    .sled = x86_64_sled,
    .relocate = x86_64_relocate,
    .can_call = x86_64_can_call,
    .relocated_bytes = x86_64_relocated_bytes,
    .jump = x86_64_jump,
    .displacement_at = X86_JUMP_BYTES - 4,
    .hop = x86_64_hop,
    .pun = x86_64_pun,
    .pun_write = x86_64_pun_write,
    .skip_unless = x86_64_skip_unless,
    .dispatch = x86_64_dispatch,
    .format = x86_64_format,
    .restores_flags = restores_flags,
    .flags = x86_64_flags,
    .stack = x86_64_stack,
    .data = x86_64_data,
    .find_uses = x86_64_find_uses,
    .stub_emit = stub_emit,
    .stub_state = stub_state_at,
    .stub_size = stub_size,
    .stub_retry = stub_retry,
    .stub_site = stub_site,
    .stub_site_at = stub_site_offset,
    .stub_capture_at = stub_capture_at,
    .stub_capture_bytes = stub_capture_bytes,
    .stub_capture_variant = stub_capture_variant,
    .stub_judge_bytes = stub_judge_bytes,
    .stub_read_switch = capture_read_switch,
    .agent = agent_bytes,
    .agent_size = &agent_size,
    .reach = 0x7fff0000, /* of a 32-bit displacement, less some slack */
};
