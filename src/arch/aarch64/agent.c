/* The parts of AArch64's agent. */
#include "arch/agent.h"

#include <string.h>

#include "arch/aarch64/agent.h"
#include "wire/lane_lookup.h"

enum { ENTRIES_AT = LANES_BYTES + 48 /* behind twelve branches */ };

const uint8_t *agent_code(void) { return a64_agent_bytes + LANES_BYTES; }
size_t agent_code_size(void) { return a64_agent_size - LANES_BYTES; }
size_t agent_asks(void) { return a64_agent_entries().asks; }
size_t agent_guarded(void) { return a64_agent_entries().guarded; }
size_t agent_call(void) { return a64_agent_entries().call - (size_t)LANES_BYTES; }
size_t agent_series(void) { return 0; }
size_t agent_call_size(void) { return a64_agent_entries().end - a64_agent_entries().call; }

struct agent_remainder agent_remainder(void) {
    struct a64_agent_entries entries = a64_agent_entries();
    const size_t start = LANES_BYTES;
    return (struct agent_remainder){entries.remainder - start, entries.remainder_made - start,
                                    entries.remainder_end - start};
}

struct a64_agent_entries a64_agent_entries(void) {
    struct a64_agent_entries entries;
    memcpy(&entries, a64_agent_bytes + ENTRIES_AT, sizeof entries);
    return entries;
}
