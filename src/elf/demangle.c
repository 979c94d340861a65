/*
 * Calls libiberty's demanglers. Those for Rust and C++ return their result in pieces, so a result
 * that is too long can be abandoned: a name of a few hundred bytes may expand to gigabytes. That
 * for D does not: the size to which its back references expand is estimated first.
 */
#include "elf/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>

#include "base/mem.h"

enum { DEMANGLED_MAX = 64 << 10, D_NAME_MAX = 8 << 10, D_EXPANDED_MAX = 16 << 20 };
enum { PLAIN = DMGL_PARAMS | DMGL_ANSI, VERBOSE = PLAIN | DMGL_VERBOSE };

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

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *opaque);

/* No demangler holds memory during a callback, so longjmp() out of it leaks nothing. */
static bool run_into(struct output *out, demangler *run, const char *name, int options) {
    return setjmp(out->too_long) == 0 && run(name, options, append, out);
}

/* NULL: NAME is not of this language, or its readable form is too long. */
static char *collect(demangler *run, const char *name, int options) {
    struct output out = {0};
    if (run_into(&out, run, name, options)) {
        ARRAY_PUSH(&out.text, '\0');
        return out.text.at;
    }
    ARRAY_FREE(&out.text);
    return NULL;
}

/* ---- D ---- */

/* The distance of a back reference at AT, a number in base 26 whose last digit is a small letter.
 * 0: it is none. */
static size_t d_distance(const char *at) {
    size_t distance = 0;
    for (at++; isupper((unsigned char)*at) && distance < D_NAME_MAX; at++)
        distance = distance * 26 + (size_t)(*at - 'A');
    return islower((unsigned char)*at) ? distance * 26 + (size_t)(*at - 'a') : 0;
}

/* True if NAME surely expands to fewer than D_EXPANDED_MAX bytes. A back reference to an identifier
 * repeats that, one to a type at most all that lies between the type and the reference. */
static bool d_is_short(const char *name) {
    size_t length = strlen(name);
    if (length > D_NAME_MAX)
        return false;
    AUTO_FREE size_t *sum = mem_alloc((length + 1) * sizeof *sum); /* of what lies before a byte */
    for (size_t i = 0; i < length; i++) {
        size_t back = name[i] == 'Q' ? d_distance(name + i) : 0, room = 1;
        const char *target = back && back <= i ? name + i - back : NULL;
        if (target && isdigit((unsigned char)*target))
            room = strtoul(target, NULL, 10);
        else if (target && !islower((unsigned char)*target))
            room = sum[i] - sum[i - back] + 1;
        sum[i + 1] = sum[i] + room;
        if (sum[i + 1] > D_EXPANDED_MAX)
            return false;
    }
    return true;
}

/* A suffix that the compiler has added is shown as that of a C++ name. */
static char *d_demangle(const char *name) {
    AUTO_FREE char *mangled = mem_strdup(name);
    char *suffix = strchr(mangled, '.');
    if (suffix)
        *suffix = '\0';
    AUTO_FREE char *readable = d_is_short(mangled) ? dlang_demangle(mangled, PLAIN) : NULL;
    if (!readable || strlen(readable) > DEMANGLED_MAX)
        return NULL;
    return suffix ? mem_printf("%s [clone .%s]", readable, suffix + 1) : steal(readable);
}

/* ---- all languages ---- */

static enum language demangle_into(const char *name, char **ret) {
    if (name[0] != '_')
        return LANGUAGE_PLAIN;
    if ((*ret = collect(rust_demangle_callback, name, PLAIN)))
        return LANGUAGE_RUST;
    if ((*ret = collect(cplus_demangle_v3_callback, name, VERBOSE)))
        return LANGUAGE_CXX;
    if (name[1] == 'D' && (*ret = d_demangle(name)))
        return LANGUAGE_D;
    return LANGUAGE_PLAIN;
}

char *demangle_as(const char *name, enum language *ret) {
    char *readable = NULL;
    *ret = demangle_into(name, &readable);
    return readable ? readable : mem_strdup(name);
}

char *demangle(const char *name) {
    enum language ignored;
    return demangle_as(name, &ignored);
}

char *demangle_with_hash(const char *name) {
    return collect(rust_demangle_callback, name, VERBOSE);
}
