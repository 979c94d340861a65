/* What stubs and agent of 32-bit Arm (stub.h, src/agent/arm.S) need of a machine. Built on all
 * hosts. */
#pragma once

#include <stdbool.h>

struct arm_machine {
    const char *platform; /* AT_PLATFORM, such as "v7l"; NULL: not known */
    bool has_counter;     /* programs can read CNTVCT */
    bool shares_counter;  /* the kernel does not say that the processors' counters differ */
};
/* What MACHINE lacks, as a sentence; NULL: nothing. */
const char *arm_lacks(const struct arm_machine *machine);
