/* Splits FUNC/EXPR/>TIME at the last '>' that a time follows. */
#include "cmd/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/values.h"
#include "values/condition.h"

/* True if the user meant TEXT, which follows a '>', as a time. */
static bool looks_like_time(const char *text) {
    text += *text == '=';
    while (isspace((unsigned char)*text))
        text++;
    return isdigit((unsigned char)*text) || *text == '.';
}

/* Whether TEXT, which has no time, ends with a condition. Between slashes alone it is a regular
 * expression. */
static bool has_condition(const char *text) {
    const char *slash = strchr(text, '/');
    return slash && slash != text && text[strlen(text) - 1] == '/';
}

/* FUNC/EXPR/ */
static int add_condition(struct trigger *t, const char *text, struct err *err) {
    AUTO_FREE char *pattern = NULL;
    const char *expression;
    struct condition *condition = NULL;
    int rc = condition_split(text, &pattern, &expression, err);
    rc = rc ? rc : condition_parse(expression, &condition, err);
    rc = rc ? rc : filter_add(&t->filter, 'T', text, err);
    if (rc == 0)
        t->at_exit |= condition_has_result(condition);
    condition_free(condition);
    return rc;
}

int trigger_parse(const char *text, struct trigger *ret, struct err *err) {
    struct trigger t = {.text = text};
    AUTO_FREE char *name = mem_strdup(text);
    char *sign = strrchr(name, '>');
    if (sign && !has_condition(name) && looks_like_time(sign + 1)) {
        const char *time = sign + 1 + strspn(sign + 1, " ");
        if (!value_time(time, &t.longer_ns))
            return err_set(err, EINVAL, "bad-value",
                           "option '--trigger': '%s' is not FUNC>TIME, like 'handle>5ms'", text);
        t.at_exit = true;
        while (sign > name && sign[-1] == ' ')
            sign--;
        *sign = '\0';
    }
    if (!*name)
        return err_set(err, EINVAL, "bad-value", "option '--trigger': '%s' names no function",
                       text);
    int rc =
        has_condition(name) ? add_condition(&t, name, err) : filter_add(&t.filter, 'F', name, err);
    if (rc == 0)
        *ret = t;
    return rc;
}
