/* Judges machines of 32-bit Arm (needs.h). */
#include "arch/arm/needs.h"

#include <stddef.h>
#include <stdlib.h>

enum { OLDEST = 7 };

/* The N of "vNl" or "vNb" (elf_platform in Linux' arch/arm/kernel/setup.c; COMPAT_ELF_PLATFORM of
 * its arm64); 0: another text. */
static long version_of(const char *platform) {
    return platform && platform[0] == 'v' ? strtol(platform + 1, NULL, 10) : 0;
}

const char *arm_lacks(const struct arm_machine *machine) {
    long version = version_of(machine->platform);
    if (version && version < OLDEST)
        return "its processor is older than Armv7-A, which spoor's stubs need";
    if (!machine->has_counter)
        return "programs cannot read its counter (CNTVCT of the generic timer), the clock of all "
               "events";
    if (!machine->shares_counter)
        return "its kernel says that the processors' counters (CNTVCT), the clock of all events, "
               "differ";
    return NULL;
}
