/* The table of all backends. */
#include "arch/arch.h"

#include "arch/aarch64/aarch64.h"
#include "arch/arm/arm.h"
#include "arch/host.h"
#include "arch/x86_64/x86_64.h"

static const struct arch *const backends[] = {&arch_x86_64, &arch_aarch64, &arch_a32};

const struct arch *arch_for_machine(uint16_t machine) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (backends[i]->machine == machine)
            return backends[i];
    }
    return NULL;
}

const struct arch *arch_host(void) { return arch_for_machine(REGS_ELF_MACHINE); }
