/*
 * An audit library (rtld-audit(7)). It counts the dynamic linker's calls of its functions, and
 * prints at its end how many calls of each function the trace must have.
 */
#include <link.h>
#include <stdio.h>

#include "expect.h"

#ifdef __aarch64__
#define AUDIT_ENTER la_aarch64_gnu_pltenter
#define AUDIT_EXIT la_aarch64_gnu_pltexit
typedef La_aarch64_regs audit_registers;
typedef La_aarch64_retval audit_results;
#elif defined __arm__
#define AUDIT_ENTER la_arm_gnu_pltenter
#define AUDIT_EXIT la_arm_gnu_pltexit
typedef La_arm_regs audit_registers;
typedef La_arm_retval audit_results;
#else
#define AUDIT_ENTER la_x86_64_gnu_pltenter
#define AUDIT_EXIT la_x86_64_gnu_pltexit
typedef La_x86_64_regs audit_registers;
typedef La_x86_64_retval audit_results;
#endif
#if __ELF_NATIVE_CLASS == 32
#define AUDIT_BIND la_symbind32
#else
#define AUDIT_BIND la_symbind64
#endif
#define TEXT(name) #name
#define NAME(name) TEXT(name)

static volatile int versions, objects, bindings, entered, left;

unsigned int la_version(unsigned int version) {
    versions++;
    return version;
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie) {
    (void)map;
    (void)namespace;
    (void)cookie;
    objects++;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t AUDIT_BIND(ElfW(Sym) * symbol, unsigned int index, uintptr_t *user, uintptr_t *definer,
                     unsigned int *flags, const char *name) {
    (void)index;
    (void)user;
    (void)definer;
    (void)flags;
    (void)name;
    bindings++;
    return symbol->st_value;
}

ElfW(Addr) AUDIT_ENTER(ElfW(Sym) * symbol, unsigned int index, uintptr_t *user, uintptr_t *definer,
                       audit_registers *registers, unsigned int *flags, const char *name,
                       long *frame_size) {
    (void)index;
    (void)user;
    (void)definer;
    (void)registers;
    (void)flags;
    (void)name;
    entered++;
    *frame_size = 64; /* requests a callback at the call's end */
    return symbol->st_value;
}

unsigned int AUDIT_EXIT(ElfW(Sym) * symbol, unsigned int index, uintptr_t *user, uintptr_t *definer,
                        const audit_registers *before, audit_results *after, const char *name) {
    (void)symbol;
    (void)index;
    (void)user;
    (void)definer;
    (void)before;
    (void)after;
    (void)name;
    left++;
    return 0;
}

__attribute__((destructor)) static void auditor_end(void) {
    dprintf(1, "calls: auditor.so!la_version %d\n", versions);
    dprintf(1, "calls: auditor.so!la_objopen %d\n", objects);
    dprintf(1, "calls: auditor.so!%s %d\n", NAME(AUDIT_BIND), bindings);
    dprintf(1, "calls: auditor.so!%s %d\n", NAME(AUDIT_ENTER), entered);
    dprintf(1, "calls: auditor.so!%s %d\n", NAME(AUDIT_EXIT), left);
}
