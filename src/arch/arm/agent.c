/* The parts of 32-bit Arm's agent. */
#include "arch/agent.h"

#include <string.h>

#include "arch/arm/agent.h"

enum { ENTRIES_AT = LANES_BYTES + 48 /* behind twelve branches */ };

const uint8_t *agent_code(void) { return arm_agent_bytes + LANES_BYTES; }
size_t agent_code_size(void) { return arm_agent_size - LANES_BYTES; }
size_t agent_asks(void) { return arm_agent_entries().asks; }
size_t agent_guarded(void) { return arm_agent_entries().guarded; }
size_t agent_call(void) { return arm_agent_entries().call - (size_t)LANES_BYTES; }
size_t agent_series(void) { return 0; }
size_t agent_call_size(void) { return arm_agent_entries().end - arm_agent_entries().call; }

struct agent_remainder agent_remainder(void) {
    struct arm_agent_entries entries = arm_agent_entries();
    const size_t start = LANES_BYTES;
    return (struct agent_remainder){entries.remainder - start, entries.remainder_made - start,
                                    entries.remainder_end - start};
}

struct arm_agent_entries arm_agent_entries(void) {
    struct arm_agent_entries entries;
    memcpy(&entries, arm_agent_bytes + ENTRIES_AT, sizeof entries);
    return entries;
}
