/*
 * Maps memory that belongs to no module: the agent's page, and slabs, which hold lanes and are
 * shared with spoor.
 */
#pragma once

#include "patch/space.h"

/* Maps the agent and a slab. All threads of the process are stopped. Errors: "sandboxed",
 * "remote-call", "memory", "unreadable". */
int space_install(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* Unmaps slabs, then the agent. No thread needs them any more. Errors: "remote-call", "memory",
 * "read-maps". */
int space_unmap_agent(struct space *space, pid_t caller, struct err *err);

/* Whether CALLER's seccomp filters let spoor map code. Errors: "sandboxed". */
int space_check_sandbox(const struct space *space, pid_t caller, struct err *err);

/* Whether a lane is free for a new thread: space_take_lane() maps nothing. */
bool space_has_lane(const struct space *space);
/* A lane for a new thread. If there is none left, the sink: the thread is untraced. */
struct lane_handle *space_take_lane(const struct space_context *ctx, struct space *space,
                                    pid_t caller, uint32_t stream);
