/* See labels.h. Short names depend on each other, so all are made when the first one is needed. */
#include "cmd/labels.h"

#include <string.h>

#include "analyze/places.h"
#include "base/mem.h"
#include "base/short_names.h"
#include "base/text.h"

struct labels {
    struct names *names;
    struct term term;
    struct short_names *shorts; /* by function; NULL: not yet made */
};

struct labels *labels_new(struct names *names, const struct term *term) {
    struct labels *l = mem_alloc(sizeof *l);
    l->names = names;
    l->term = *term;
    return l;
}

void labels_free(struct labels *l) {
    if (l)
        short_names_free(l->shorts);
    free(l);
}

static struct short_names *shorts(struct labels *l) {
    if (l->shorts)
        return l->shorts;
    uint32_t count = names_count(l->names);
    AUTO_FREE const char **list = mem_alloc(count * sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        if (names_instrumented(l->names, i))
            list[i] = names_function(l->names, i);
    return l->shorts = short_names_new(list, count);
}

const char *labels_at(struct labels *l, uint32_t function) {
    if (l->term.names == NAMES_MANGLED)
        return names_symbol(l->names, function);
    const char *text = l->term.names == NAMES_SHORT ? short_names_at(shorts(l), function) : NULL;
    return text ? text : names_function(l->names, function);
}

char *labels_fit(struct labels *l, uint32_t function, size_t columns) {
    const char *text = labels_at(l, function);
    columns = columns ? columns : 1;
    if (l->term.names == NAMES_SHORT && l->term.width && short_names_at(shorts(l), function))
        return short_names_fit(shorts(l), function, columns);
    return label_cut(&l->term, text, columns);
}

void labels_fit_all(struct labels *l, const uint32_t *list, size_t count, size_t columns,
                    char **ret) {
    bool known = l->term.names == NAMES_SHORT && l->term.width;
    for (size_t i = 0; i < count && known; i++)
        known = short_names_at(shorts(l), list[i]) != NULL;
    if (known)
        short_names_fit_all(shorts(l), list, count, columns ? columns : 1, ret);
    for (size_t i = 0; i < count && !known; i++)
        ret[i] = labels_fit(l, list[i], columns);
}

char *labels_place(struct labels *l, struct places *places, uint32_t function) {
    if (function < names_count(l->names))
        return mem_strdup(labels_at(l, function));
    return label_single(&l->term, places_function(places, function),
                        places_symbol(places, function));
}

char *label_single(const struct term *term, const char *readable, const char *symbol) {
    if (term->names == NAMES_SHORT)
        return short_name(readable);
    return mem_strdup(term->names == NAMES_MANGLED && symbol ? symbol : readable);
}

char *label_cut(const struct term *term, const char *text, size_t columns) {
    return term->width ? text_fit(text, columns ? columns : 1) : mem_strdup(text);
}
