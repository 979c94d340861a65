/* A stopped thread cannot run a stub: the tool writes its event, with the values that the stub
 * would have captured. */
#pragma once

#include "patch/space.h"

/* The thread stands before the stub. */
struct skipped_stub {
    const struct space *space;
    pid_t tid;
    const struct patched *patched;
    const struct regs *regs;
    uint32_t site;
    bool captures;  /* the stub does */
    uint16_t pops;  /* stub_spec.pops */
    uint64_t value; /* regs_stub_value() */
};
void skipped_stub_put(const struct skipped_stub *stub, struct lane_handle *handle);
