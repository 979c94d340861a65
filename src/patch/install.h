/*
 * The memory in a target that is not a module's: the agent's page, and slabs, which hold the lanes
 * and are shared with spoor.
 */
#pragma once

#include "patch/space.h"

/* All threads of the process stand still: maps the agent and a slab. Errors: "sandboxed",
 * "remote-call", "memory", "unreadable". */
int space_install(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* The other way: unmaps slabs, then the agent. No thread needs them any more. Errors:
 * "remote-call", "memory", "read-maps". */
int space_unmap_agent(struct space *space, pid_t caller, struct err *err);

/* Whether CALLER's seccomp filters let us map code. Errors: "sandboxed". */
int space_check_sandbox(const struct space *space, pid_t caller, struct err *err);

/* A lane for a new thread; a sink when none can be had (then the thread goes untraced). */
struct lane_handle *space_take_lane(const struct space_context *ctx, struct space *space,
                                    pid_t caller, uint32_t stream);
