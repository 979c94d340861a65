/* The parts of x86-64's agent. */
#include "arch/agent.h"

#include "arch/x86_64/stub.h"

const uint8_t *agent_code(void) { return agent_bytes; }
size_t agent_code_size(void) { return agent_size; }
size_t agent_guarded(void) { return agent_entries().guarded; }
size_t agent_call(void) { return agent_entries().syscall; }
size_t agent_series(void) { return agent_entries().series; }
size_t agent_call_size(void) { return agent_entries().end - agent_entries().syscall; }
