/*
 * Calls libiberty's demanglers in c++filt's order. They return their result in pieces, so a result
 * that is too long can be abandoned: a name of a few hundred bytes may expand to gigabytes.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>

#include "base/mem.h"

enum { DEMANGLED_MAX = 64 << 10 };

struct output {
    ARRAY(char) text;
    jmp_buf too_long;
};

static void append(const char *text, size_t size, void *opaque) {
    struct output *out = opaque;
    if (size > DEMANGLED_MAX - out->text.count)
        longjmp(out->too_long, 1);
    for (size_t i = 0; i < size; i++)
        ARRAY_PUSH(&out->text, text[i]);
}

/* Neither demangler holds memory during a callback, so longjmp() out of it leaks nothing. */
static bool demangle_into(struct output *out, const char *name) {
    int options = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;
    if (setjmp(out->too_long))
        return false;
    if (rust_demangle_callback(name, options, append, out))
        return true;
    out->text.count = 0;
    return cplus_demangle_v3_callback(name, options, append, out);
}

char *demangle(const char *name) {
    if (name[0] != '_')
        return mem_strdup(name);
    struct output out = {0};
    bool mangled = demangle_into(&out, name);
    if (mangled)
        ARRAY_PUSH(&out.text, '\0');
    else
        ARRAY_FREE(&out.text);
    return mangled ? out.text.at : mem_strdup(name);
}
