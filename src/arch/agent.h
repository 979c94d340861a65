/* The host's agent (src/agent), as those see it who put it into a target. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Its code, without what stands before that in trampoline areas. */
const uint8_t *agent_code(void);
size_t agent_code_size(void);
/* The code for remote calls (target/thread.h), which can stand alone: where it is in that, and its
 * size. */
enum { AGENT_CALL_MOST = 16 };
size_t agent_call(void);
size_t agent_call_size(void);
/* The place for rests of calls (arch/remainder.h): where the call is made, behind that, and its
 * end. */
struct agent_remainder {
    size_t begin, made, end;
};
struct agent_remainder agent_remainder(void);
/* Where each trampoline area has its struct lane_asks (wire/lane_lookup.h); of hosts with such a
 * table. */
size_t agent_asks(void);
