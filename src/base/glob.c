/* See glob.h: globs by fnmatch(3), regular expressions by regcomp(3). */
#include "base/glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "base/mem.h"
#include "base/spelling.h"

struct pattern {
    char *text;       /* as typed */
    char *module;     /* glob before '!', or NULL */
    const char *body; /* in TEXT, behind '!' */
    bool expression;  /* a regular expression */
    bool glob;        /* BODY has wildcards */
    bool short_name;  /* BODY has an ellipsis */
    bool only_name;   /* matches as a name only */
    char *folded;     /* BODY without defaults of the C++ library, or NULL */
    char *escaped;    /* BODY with no set of characters, "[" for itself; NULL: without '[' */
    char *sets;       /* BODY with those that are sets; NULL: without '[' */
    regex_t regex;
};

/* ---- a text that is parsed ---- */

/* True if TEXT has a module's name before the '!' at BANG: "operator!" and "f!(int)" of D are names
 * of functions, but "module!(anonymous namespace)::f" is not; "[!a]" is a set. */
static bool is_prefix(const char *text, const char *bang) {
    static const char unnamed[] = "!(anonymous namespace)";
    if ((bang[1] == '(' && strncmp(bang, unnamed, sizeof unnamed - 1) != 0) ||
        (bang > text && bang[-1] == '['))
        return false;
    for (const char *p = text; p < bang; p++)
        if (*p == '(' || *p == '<' || (p[0] == ':' && p[1] == ':'))
            return false;
    return bang - text < 8 || memcmp(bang - 8, "operator", 8) != 0;
}

static int compile_regex(struct pattern *p, struct err *err) {
    size_t n = strlen(p->body);
    AUTO_FREE char *expression = mem_strdup(p->body + 1);
    expression[n - 2] = '\0';
    int rc = regcomp(&p->regex, expression, REG_EXTENDED | REG_NOSUB);
    p->expression = rc == 0;
    if (rc == 0)
        return 0;
    char why[128];
    regerror(rc, &p->regex, why, sizeof why);
    return err_set(err, EINVAL, "bad-pattern", "pattern '%s': %s", p->text, why);
}

/* True if a '[' at P begins something that is no set of characters. */
static bool is_no_set(const char *p) {
    return strncmp(p, "[clone ", 7) == 0 || strncmp(p, "[abi:", 5) == 0 || p[1] == ']';
}

/* GLOB with a backslash before each '[', or only before those that begin no set. */
static char *escape(const char *glob, bool all) {
    ARRAY(char) out = {0};
    for (const char *p = glob; *p; p++) {
        if (*p == '[' && (all || is_no_set(p)) && (p == glob || p[-1] != '\\'))
            ARRAY_PUSH(&out, '\\');
        ARRAY_PUSH(&out, *p);
    }
    ARRAY_PUSH(&out, '\0');
    return out.at;
}

static int compile(struct pattern *p, struct err *err) {
    size_t n = strlen(p->body);
    if (n >= 2 && p->body[0] == '/' && p->body[n - 1] == '/')
        return compile_regex(p, err);
    p->glob = strpbrk(p->body, "*?[\\") != NULL;
    p->short_name = strstr(p->body, ELLIPSIS) != NULL;
    p->folded = spelling_fold(p->body);
    if (p->glob && strchr(p->body, '[')) {
        p->escaped = escape(p->body, true);
        p->sets = escape(p->body, false);
    }
    return 0;
}

int pattern_new(const char *text, struct pattern **ret, struct err *err) {
    struct pattern *p = mem_alloc(sizeof *p);
    p->text = mem_strdup(text);
    char *bang = text[0] == '/' ? NULL : strchr(p->text, '!');
    p->body = p->text;
    while (bang && !is_prefix(p->text, bang))
        bang = strchr(bang + 1, '!');
    if (bang) {
        p->module = mem_printf("%.*s", (int)(bang - p->text), p->text);
        p->body = bang + 1;
    }
    if (!*p->body)
        p->body = "*";
    int rc = compile(p, err);
    if (rc < 0) {
        pattern_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void pattern_free(struct pattern *p) {
    if (!p)
        return;
    if (p->expression)
        regfree(&p->regex);
    free(p->text);
    free(p->module);
    free(p->folded);
    free(p->escaped);
    free(p->sets);
    free(p);
}

/* ---- comparison ---- */

/* True if NAME is TEXT, but for blanks. */
static bool is_name(const char *text, const char *name) {
    return *text == *name && spelling_match(text, name, false);
}

static bool names(const struct pattern *p, const char *name) {
    return is_name(p->body, name) || (p->folded && is_name(p->folded, name));
}

/* True if the glob matches NAME. "f[clone .isra.0]" never stands for a set of characters. */
static bool glob_matches(const struct pattern *p, const char *name) {
    if (!p->escaped)
        return fnmatch(p->body, name, 0) == 0;
    return fnmatch(p->escaped, name, 0) == 0 || fnmatch(p->sets, name, 0) == 0;
}

bool pattern_match_module(const struct pattern *p, const char *module) {
    return !p->module || (module && fnmatch(p->module, module, 0) == 0);
}

bool pattern_match(const struct pattern *p, const char *module, const char *name) {
    if (!name)
        return pattern_match_module(p, module) && strcmp(p->body, "*") == 0;
    if (p->module && is_name(p->text, name))
        return true; /* a name of D: "map!(f).front" */
    if (!pattern_match_module(p, module))
        return false;
    if (p->expression)
        return regexec(&p->regex, name, 0, NULL, 0) == 0;
    if (names(p, name))
        return true;
    if (p->only_name)
        return false;
    if (p->short_name)
        return spelling_match(p->body, name, true) ||
               (p->folded && spelling_match(p->folded, name, true));
    return p->glob && glob_matches(p, name);
}

bool pattern_names(const struct pattern *p, const char *module, const char *name) {
    return !p->expression && !p->short_name && pattern_match_module(p, module) && names(p, name);
}

bool pattern_may_be_name(const struct pattern *p) {
    return p->glob && !p->only_name &&
           (strpbrk(p->body, "(<[") || strstr(p->body, "operator") != NULL);
}

void pattern_be_name(struct pattern *p) { p->only_name = true; }

bool pattern_has_module(const struct pattern *p) { return p->module != NULL; }

const char *pattern_text(const struct pattern *p) { return p->text; }
const char *pattern_body(const struct pattern *p) { return p->body; }
const char *pattern_module(const struct pattern *p) { return p->module; }
