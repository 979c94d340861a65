/* What stubs and agent of 32-bit Arm (stub.h, src/agent/arm.S) need of a machine: judged on any
 * host. */
#pragma once

#include <stdbool.h>

struct arm_machine {
    const char *platform; /* AT_PLATFORM, such as "v7l"; NULL: not told */
    bool has_counter;     /* programs can read CNTVCT */
    bool shares_counter;  /* all processors show the same in it, as far as the kernel tells */
};
/* What MACHINE lacks, as a clause; NULL: nothing. */
const char *arm_lacks(const struct arm_machine *machine);
