/*
 * Recognizes special functions by their names. Compilers name parts that they split off functions
 * .cold (GCC, Clang) and .__part.N (Propeller).
 *
 * Some calls return twice: setjmp, getcontext, vfork. These functions are traced as any other. The
 * second return is a control site (window/controls.c). swapcontext returns once for each saved
 * context, and clone's child never returns.
 *
 * On 32-bit Arm, code built for the profiler (-pg) pushes its return address for __gnu_mcount_nc,
 * which pops it. Linkers name stubs for that function after it, if it is too far away or in the
 * other state.
 *
 * Functions with a convention of their own cannot be traced:
 * - Functions without a return address where one is expected. Stubs preserve every register, so
 *   other private conventions are fine (TLS descriptors, mcount, __rust_probestack).
 * - Cancellation points of glibc and musl: a signal handler compares the pc with their bounds.
 * - Retpolines: their return is another function's jump.
 */
#include <string.h>

#include "plan/code/roles.h"

static const char *const returning_twice[] = {
    "setjmp", "_setjmp", "__setjmp",     "sigsetjmp",  "__sigsetjmp",
    "vfork",  "__vfork", "__libc_vfork", "getcontext", "__getcontext",
};
/* A star matches any ending. */
static const char *const own[] = {
    "_start",
    "_dl_start_user",
    "_dl_runtime_resolve*",
    "_dl_runtime_profile*",
    "__morestack*",
    "__restore_rt",
    "__syscall_cancel_arch",
    "__syscall_cp_asm",
    "__x86_indirect_*",
    "__x86_return_thunk*",
    "__llvm_retpoline_*",
    "__llvm_lvi_thunk_*",
    "__default_sa_restorer*",
    "__default_rt_sa_restorer*", /* signal restorers of Arm */
};
static const char *const popping_word[] = {
    "__gnu_mcount_nc",
    "____gnu_mcount_nc_*",
};
static const char *const thunks[] = {
    "__x86_indirect_thunk_*",
    "__x86_return_thunk*",
    "__llvm_retpoline_*",
};

/* Most names differ in the first two letters. */
static bool matches(const char *pattern, const char *name) {
    if (pattern[0] != name[0] || pattern[1] != name[1])
        return false;
    size_t n = strcspn(pattern, "*");
    return pattern[n] ? !strncmp(pattern, name, n) : !strcmp(pattern, name);
}

#define AMONG(list, name) among(list, sizeof(list) / sizeof *(list), name)
static bool among(const char *const *patterns, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (matches(patterns[i], name))
            return true;
    }
    return false;
}

static const char *part_suffix(const char *name) {
    const char *cold = strstr(name, ".cold");
    return cold ? cold : strstr(name, ".__part.");
}

bool role_is_part(const char *name) { return part_suffix(name); }

size_t role_whole_length(const char *name) { return (size_t)(part_suffix(name) - name); }

bool role_is_thunk(const char *name) { return name[0] == '_' && AMONG(thunks, name); }

bool role_returns_twice(const char *name) {
    return strchr("_svg", name[0]) && AMONG(returning_twice, name);
}

bool role_pops_word(const char *name) { return name[0] == '_' && AMONG(popping_word, name); }

enum refusal role_refusal(const char *name) {
    return name[0] == '_' && AMONG(own, name) ? REFUSED_OWN_ABI : REFUSED_NOT;
}
