/* The host's agent (src/agent), for the rooms that put it into a target. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The code, without the tables that precede it in trampoline areas. */
const uint8_t *agent_code(void);
size_t agent_code_size(void);
/* The code for remote calls (target/thread.h): offset in agent_code(), and size. It also works
 * alone. Part of it is the code for several calls in a row (0: there is none). */
enum { AGENT_CALL_MOST = 64 };
size_t agent_call(void);
size_t agent_series(void);
size_t agent_call_size(void);
/* Code for remainders of calls (arch/remainder.h): offsets of the call, behind it, and of the
 * end. */
struct agent_remainder {
    size_t begin, made, end;
};
struct agent_remainder agent_remainder(void);
/* Offset of struct guarded (wire/ring.h) in each trampoline area. */
size_t agent_guarded(void);
/* Offset of struct lane_asks (wire/lane_lookup.h) in each trampoline area; of hosts with tables. */
size_t agent_asks(void);
