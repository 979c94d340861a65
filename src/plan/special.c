/*
 * What names tell. Compilers name parts that they split off functions .cold (GCC, Clang) and
 * .__part.N (Propeller). Functions that cannot be traced as ordinary ones:
 *
 * - Those that return twice with one stack pointer: setjmp, getcontext, vfork.
 *   (swapcontext returns once for each context that it saved; clone's child
 *   never returns.)
 * - Those without a caller's frame or with a calling convention of their own.
 *   Stubs preserve every register, so that most private conventions are fine
 *   (__tls_get_addr and its slow paths, __rust_probestack); what is left
 *   either has no return address where one is expected or runs so often and
 *   tells so little that a probe is of no use (TLS descriptors, mcount).
 * - System calls that are cancellation points in glibc and musl: a signal handler compares the
 *   pc with their bounds.
 * - Retpolines: their return is somebody else's jump.
 */
#include <string.h>

#include "plan/analysis.h"

static const char *const twice[] = {
    "setjmp", "_setjmp", "__setjmp",     "sigsetjmp",  "__sigsetjmp",
    "vfork",  "__vfork", "__libc_vfork", "getcontext", "__getcontext",
};
/* A star stands for any ending. */
static const char *const own[] = {
    "_start",
    "_dl_start_user",
    "_dl_tlsdesc_*",
    "_dl_runtime_resolve*",
    "_dl_runtime_profile*",
    "mcount",
    "_mcount",
    "__mcount",
    "__fentry__",
    "__morestack*",
    "__restore_rt",
    "__syscall_cancel_arch",
    "__syscall_cp_asm",
    "__x86_indirect_*",
    "__x86_return_thunk*",
    "__llvm_retpoline_*",
    "__llvm_lvi_thunk_*",
};
static const char *const thunks[] = {
    "__x86_indirect_thunk_*",
    "__x86_return_thunk*",
    "__llvm_retpoline_*",
};

static bool matches(const char *pattern, const char *name) {
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

bool special_is_part(const char *name) { return strstr(name, ".cold") || strstr(name, ".__part."); }

bool special_is_thunk(const char *name) { return name[0] == '_' && AMONG(thunks, name); }

enum refusal special_refusal(const char *name) {
    if (!strchr("_msvg", name[0]))
        return REFUSED_NOT;
    if (AMONG(twice, name))
        return REFUSED_RETURNS_TWICE;
    return AMONG(own, name) ? REFUSED_OWN_ABI : REFUSED_NOT;
}
