/* Where stubs enter the agent: its first instructions are branches, at these offsets. */
#pragma once

enum {
    A64_AGENT_SEEK = 0,
    A64_AGENT_WAIT = 4,
    A64_AGENT_DROP = 8,
    A64_AGENT_SLICE = 12,
    A64_AGENT_HOOK = 16,
    A64_AGENT_GUARD = 20,
    A64_AGENT_ROOM = 24,
    A64_AGENT_CRAMPED = 28,
    A64_AGENT_TEXT = 32,
    A64_AGENT_TEXT_WIDE = 36,
    A64_AGENT_TEXT_LONG = 40,
    A64_AGENT_TEXT_COUNTED = 44
};
