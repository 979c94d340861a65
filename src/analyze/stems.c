/* See stems.h. Suffixes are taken off the end, one after the other. */
#include "analyze/stems.h"

#include <ctype.h>
#include <stdbool.h>

#include "base/mem.h"

/* Whether a suffix of copies and parts begins at P, behind its dot. *RET_END: behind its name. */
static bool is_copy(const char *p, const char **ret_end) {
    static const char *const names[] = {"isra",     "constprop",  "part", "cold",
                                        "lto_priv", "localalias", "llvm", "specialized"};
    size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length == strlen(names[i]) && memcmp(p, names[i], length) == 0) {
            *ret_end = p + length;
            return true;
        }
    return false;
}

/* Whether all from P to END is such suffixes with their numbers: ".isra.0.part.1". */
static bool is_all_copies(const char *p, const char *end) {
    if (p == end || *p != '.' || !is_copy(p + 1, &p))
        return false;
    while (p < end && *p == '.') {
        if (isdigit((unsigned char)p[1]))
            p += 1 + strspn(p + 1, "0123456789");
        else if (!is_copy(p + 1, &p))
            return false;
    }
    return p == end;
}

/* The length of TEXT without a last " [clone .isra.0]"; LENGTH: it has none. */
static size_t without_bracket(const char *text, size_t length) {
    static const char open[] = " [clone ";
    size_t at = length;
    if (!length || text[length - 1] != ']')
        return length;
    while (at && text[at - 1] != '[')
        at--;
    if (at < 2 || length - at + 2 < sizeof open || memcmp(text + at - 2, open, sizeof open - 1))
        return length;
    return is_all_copies(text + at - 2 + sizeof open - 1, text + length - 1) ? at - 2 : length;
}

/* The length of TEXT without the suffixes behind its first dot that begins one. */
static size_t without_suffix(const char *text, size_t length) {
    for (size_t i = 1; i < length; i++)
        if (text[i] == '.' && is_all_copies(text + i, text + length))
            return i;
    return length;
}

char *stem_of_name(const char *name) {
    size_t length = strlen(name), before;
    do {
        before = length;
        length = without_bracket(name, length);
    } while (length < before);
    length = without_suffix(name, length);
    return mem_printf("%.*s", (int)length, name);
}

/* Whether TEXT up to END is a version: "1.2.3". */
static bool is_version(const char *text, const char *end) {
    return isdigit((unsigned char)*text) && text + strspn(text, "0123456789.") >= end;
}

char *stem_of_module(const char *name) {
    const char *end = name + strlen(name);
    for (const char *so = strstr(name, ".so"); so; so = strstr(so + 1, ".so")) {
        if (so[3] && (so[3] != '.' || !is_version(so + 4, end)))
            continue;
        const char *dash = so;
        while (dash > name && *dash != '-')
            dash--;
        bool has_version = dash > name && *dash == '-' && is_version(dash + 1, so) &&
                           memchr(dash, '.', (size_t)(so - dash)); /* not x86-64 */
        const char *stem = has_version ? dash : so;
        return mem_printf("%.*s.so", (int)(stem - name), name);
    }
    return mem_strdup(name);
}
