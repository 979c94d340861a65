/* See glob.h: globs by fnmatch(3), regular expressions by regcomp(3). */
#include "base/glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#include "base/mem.h"

struct pattern {
    char *text;   /* as typed */
    char *module; /* glob before '!', or NULL */
    char *glob;   /* glob of the function name, or NULL for a regular expression */
    regex_t regex;
};

static int compile(struct pattern *p, const char *body, struct err *err) {
    size_t n = strlen(body);
    if (n < 2 || body[0] != '/' || body[n - 1] != '/') {
        p->glob = mem_strdup(body);
        return 0;
    }
    AUTO_FREE char *expression = mem_strdup(body + 1);
    expression[n - 2] = '\0';
    int rc = regcomp(&p->regex, expression, REG_EXTENDED | REG_NOSUB);
    if (rc == 0)
        return 0;
    char why[128];
    regerror(rc, &p->regex, why, sizeof why);
    p->glob = mem_strdup(""); /* so that pattern_free() does not free the regex */
    return err_set(err, EINVAL, "bad-pattern", "pattern '%s': %s", p->text, why);
}

int pattern_new(const char *text, struct pattern **ret, struct err *err) {
    struct pattern *p = mem_alloc(sizeof *p);
    p->text = mem_strdup(text);
    const char *bang = text[0] == '/' ? NULL : strchr(text, '!');
    if (bang) {
        p->module = mem_strdup(text);
        p->module[bang - text] = '\0';
    }
    const char *body = bang ? bang + 1 : text;
    int rc = *body ? compile(p, body, err) : compile(p, "*", err);
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
    if (!p->glob)
        regfree(&p->regex);
    free(p->text);
    free(p->module);
    free(p->glob);
    free(p);
}

bool pattern_match_module(const struct pattern *p, const char *module) {
    return !p->module || (module && fnmatch(p->module, module, 0) == 0);
}

bool pattern_match(const struct pattern *p, const char *module, const char *name) {
    if (!pattern_match_module(p, module))
        return false;
    if (!name)
        return p->glob && strcmp(p->glob, "*") == 0;
    if (p->glob)
        return fnmatch(p->glob, name, 0) == 0;
    return regexec(&p->regex, name, 0, NULL, 0) == 0;
}

bool pattern_names(const struct pattern *p, const char *module, const char *name) {
    return p->glob && strcmp(p->glob, name) == 0 && pattern_match_module(p, module);
}

bool pattern_has_module(const struct pattern *p) { return p->module != NULL; }

const char *pattern_text(const struct pattern *p) { return p->text; }
