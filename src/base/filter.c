/* Builds filters, and decides by them which functions and modules are meant. */
#include "base/filter.h"

#include <fnmatch.h>
#include <string.h>

int patterns_add(pattern_list *list, const char *text, struct err *err) {
    struct pattern *pattern;
    int rc = pattern_new(text, &pattern, err);
    if (rc == 0)
        ARRAY_PUSH(list, pattern);
    return rc;
}

bool filter_letter_has_condition(char letter) { return letter == 'W' || letter == 'T'; }

/* The pattern of VALUE, to be freed. VALUE is PATTERN@SPEC, which is cut at its last "@", or of
 * --where and --trigger PATTERN/CONDITION/, cut at its first "/". Braces around PATTERN are taken
 * off. *RET_SPEC: where SPEC or CONDITION begins, or 0. */
static char *pattern_before_spec(char letter, const char *value, size_t *ret_spec) {
    const bool condition = filter_letter_has_condition(letter);
    const char *brace = condition && *value == '{' ? strstr(value, "}/") : NULL;
    const char *at = !condition ? strrchr(value, '@') : brace ? brace + 1 : strchr(value, '/');
    const char *end = at ? at : value + strlen(value);
    const size_t length = (size_t)(end - value);
    const bool braces = length >= 2 && value[0] == '{' && end[-1] == '}';
    *ret_spec = at ? length + 1 : 0;
    return mem_printf("%.*s", (int)(length - 2 * braces), value + braces);
}

static int add_probe(struct filter *f, const char *value, struct err *err) {
    size_t spec;
    AUTO_FREE char *pattern = pattern_before_spec('U', value, &spec);
    struct probe_option o = {.pattern = NULL};
    int rc = pattern_new(pattern, &o.pattern, err);
    if (rc < 0)
        return rc;
    o.text = mem_strdup(value);
    o.spec = spec ? o.text + spec : NULL;
    ARRAY_PUSH(&f->probes, o);
    return 0;
}

static int add_capture(struct filter *f, char letter, const char *value, struct err *err) {
    size_t spec;
    AUTO_FREE char *pattern = pattern_before_spec(letter, value, &spec);
    struct pattern *made;
    int rc = pattern_new(pattern, &made, err);
    if (rc < 0)
        return rc;
    ARRAY_PUSH(&f->functions, made);
    struct capture_option o = {.letter = letter,
                               .text = mem_strdup(value),
                               .spec = spec ? mem_strdup(value + spec) : NULL,
                               .pattern = made};
    if (filter_letter_has_condition(letter) && o.spec && *o.spec)
        o.spec[strlen(o.spec) - 1] = '\0';
    ARRAY_PUSH(&f->captures, o);
    return 0;
}

int filter_add(struct filter *f, char letter, const char *value, struct err *err) {
    if (letter == 'A' || letter == 'R' || filter_letter_has_condition(letter))
        return add_capture(f, letter, value, err);
    if (letter == 'U')
        return add_probe(f, value, err);
    if (letter == 'L') {
        ARRAY_PUSH(&f->files, mem_strdup(value));
        return 0;
    }
    if (letter != 'M')
        return patterns_add(letter == 'F' ? &f->functions : &f->excluded, value, err);
    ARRAY_PUSH(&f->modules, mem_strdup(value));
    return 0;
}

struct filter filter_copy(const struct filter *f) {
    struct filter copy = {0};
    const char *value;
    char letter;
    for (size_t i = 0; (value = filter_option(f, i, &letter)); i++)
        filter_add(&copy, letter, value, NULL);
    return copy;
}

void patterns_done(pattern_list *list) {
    for (size_t i = 0; i < list->count; i++)
        pattern_free(list->at[i]);
    ARRAY_FREE(list);
}

void filter_done(struct filter *f) {
    patterns_done(&f->functions);
    patterns_done(&f->excluded);
    for (size_t i = 0; i < f->modules.count; i++)
        free(f->modules.at[i]);
    ARRAY_FREE(&f->modules);
    for (size_t i = 0; i < f->files.count; i++)
        free(f->files.at[i]);
    ARRAY_FREE(&f->files);
    for (size_t i = 0; i < f->captures.count; i++) {
        free(f->captures.at[i].text);
        free(f->captures.at[i].spec);
    }
    ARRAY_FREE(&f->captures);
    for (size_t i = 0; i < f->probes.count; i++) {
        free(f->probes.at[i].text);
        pattern_free(f->probes.at[i].pattern);
    }
    ARRAY_FREE(&f->probes);
}

static bool is_of_capture(const struct filter *f, const struct pattern *p) {
    for (size_t i = 0; i < f->captures.count; i++)
        if (f->captures.at[i].pattern == p)
            return true;
    return false;
}

/* The Ith -F. Moves *I down by the number of those if there is none. */
static const char *function_option(const struct filter *f, size_t *i) {
    size_t count = 0;
    for (size_t k = 0; k < f->functions.count; k++) {
        if (is_of_capture(f, f->functions.at[k]))
            continue;
        if (count++ == *i)
            return pattern_text(f->functions.at[k]);
    }
    *i -= count;
    return NULL;
}

const char *filter_option(const struct filter *f, size_t i, char *ret_letter) {
    const char *function = function_option(f, &i);
    *ret_letter = 'F';
    if (function)
        return function;
    *ret_letter = 'N';
    if (i < f->excluded.count)
        return pattern_text(f->excluded.at[i]);
    i -= f->excluded.count;
    *ret_letter = 'M';
    if (i < f->modules.count)
        return f->modules.at[i];
    i -= f->modules.count;
    *ret_letter = 'L';
    if (i < f->files.count)
        return f->files.at[i];
    i -= f->files.count;
    if (i < f->captures.count) {
        *ret_letter = f->captures.at[i].letter;
        return f->captures.at[i].text;
    }
    i -= f->captures.count;
    *ret_letter = 'U';
    return i < f->probes.count ? f->probes.at[i].text : NULL;
}

char *filter_text(const struct filter *f) {
    char *text = mem_strdup("");
    const char *value;
    char letter;
    for (size_t i = 0; (value = filter_option(f, i, &letter)); i++) {
        AUTO_FREE char *before = text;
        AUTO_FREE char *option = letter == 'W'   ? mem_strdup("--where")
                                 : letter == 'T' ? mem_strdup("--trigger")
                                 : letter == 'U' ? mem_strdup("--usdt")
                                                 : mem_printf("-%c", letter);
        text = mem_printf("%s%s%s %s", before, i ? " " : "", option, value);
    }
    return text;
}

/* ---- names ---- */

void function_names_add(struct function_names *names, const char *name) {
    ARRAY_PUSH(&names->list, mem_strdup(name));
}

void function_names_done(struct function_names *names) {
    for (size_t i = 0; i < names->list.count; i++)
        free(names->list.at[i]);
    ARRAY_FREE(&names->list);
}

/* ---- decisions ---- */

typedef bool match_function(const struct pattern *p, const char *module, const char *name);

static bool any_name(const struct function_names *names, const char *module,
                     const struct pattern *p, match_function *match) {
    for (size_t i = 0; i < names->list.count; i++)
        if (match(p, module, names->list.at[i]))
            return true;
    return false;
}

bool function_names_match(const struct function_names *names, const char *module,
                          const struct pattern *p) {
    return any_name(names, module, p, pattern_match);
}

static bool any_pattern(const pattern_list *list, const char *module,
                        const struct function_names *names, match_function *match) {
    for (size_t i = 0; i < list->count; i++)
        if (any_name(names, module, list->at[i], match))
            return true;
    return false;
}

bool patterns_match(const pattern_list *list, const char *module,
                    const struct function_names *names) {
    return any_pattern(list, module, names, pattern_match);
}

static bool any_may_name(const pattern_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (pattern_may_be_name(list->at[i]))
            return true;
    return false;
}

bool filter_may_name(const struct filter *f) {
    return any_may_name(&f->functions) || any_may_name(&f->excluded);
}

static void note_name(const pattern_list *list, const char *module,
                      const struct function_names *names) {
    for (size_t i = 0; i < list->count; i++)
        if (pattern_may_be_name(list->at[i]) && any_name(names, module, list->at[i], pattern_names))
            pattern_be_name(list->at[i]);
}

void filter_note_name(struct filter *f, const char *module, const struct function_names *names) {
    note_name(&f->functions, module, names);
    note_name(&f->excluded, module, names);
}

static bool matches_file(const char *glob, const char *file) {
    bool matches = fnmatch(glob, file, 0) == 0;
    for (const char *slash = strchr(file, '/'); slash && !matches; slash = strchr(slash + 1, '/'))
        matches = fnmatch(glob, slash + 1, 0) == 0;
    return matches;
}

bool filter_has_file(const struct filter *f, const char *file) {
    for (size_t i = 0; file && i < f->files.count; i++)
        if (matches_file(f->files.at[i], file))
            return true;
    return !f->files.count;
}

bool filter_chooses(const struct filter *f, const char *module,
                    const struct function_names *names) {
    return (!f->functions.count || patterns_match(&f->functions, module, names)) &&
           filter_has_file(f, names->file) && !patterns_match(&f->excluded, module, names);
}

bool filter_names(const struct filter *f, const char *module, const struct function_names *names) {
    return any_pattern(&f->functions, module, names, pattern_names) &&
           !patterns_match(&f->excluded, module, names);
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool filter_has_module(const struct filter *f, const char *path) {
    const char *name = file_name(path);
    for (size_t i = 0; i < f->modules.count; i++)
        if (fnmatch(f->modules.at[i], name, 0) == 0 || fnmatch(f->modules.at[i], path, 0) == 0)
            return true;
    return false;
}

bool filter_reaches_module(const struct filter *f, const char *path) {
    const char *name = file_name(path);
    for (size_t i = 0; i < f->functions.count; i++)
        if (pattern_has_module(f->functions.at[i]) &&
            pattern_match_module(f->functions.at[i], name))
            return true;
    return false;
}

bool filter_is_about_modules(const struct filter *f) {
    for (size_t i = 0; i < f->functions.count; i++)
        if (pattern_has_module(f->functions.at[i]))
            return true;
    return f->modules.count > 0;
}
