/* See parameters.h. */
#include "page/parameters.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cmd/values.h"

static bool read_number(const char **text, uint64_t *ret) {
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *ret = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static int bad(const char *name, const char *value, const char *wanted, struct err *err) {
    return err_set(err, EINVAL, "bad-value", "%s: '%.40s' is not %s", name, value, wanted);
}

int parameter_number(const struct request *r, const char *name, uint64_t otherwise, uint64_t *ret,
                     struct err *err) {
    const char *value = r->parameter(r->ctx, name), *end = value;
    *ret = otherwise;
    if (!value)
        return 0;
    return read_number(&end, ret) && !*end ? 0 : bad(name, value, "a number", err);
}

int parameter_function(const struct request *r, uint32_t *ret, struct err *err) {
    uint64_t number;
    int rc = parameter_number(r, "function", UINT64_MAX, &number, err);
    if (rc == 0 && number >= shown_functions(r->shown))
        return err_set(err, EINVAL, "bad-value", "function: no function of this trace is given");
    if (rc == 0)
        *ret = (uint32_t)number;
    return rc;
}

int parameter_choice(const struct request *r, const char *name, const char *words, unsigned *ret,
                     struct err *err) {
    const char *value = r->parameter(r->ctx, name);
    int choice = value ? value_choice(value, strlen(value), words) : 0;
    if (choice < 0)
        return err_set(err, EINVAL, "bad-value", "%s: '%.40s' is not one of %s", name, value,
                       words);
    *ret = (unsigned)choice;
    return 0;
}

/* "1,5,7" */
static int read_streams(const char *value, size_t count, uint8_t *streams, struct err *err) {
    uint64_t stream;
    for (const char *p = value;; p++) {
        if (!read_number(&p, &stream) || stream >= count || (*p && *p != ','))
            return bad("streams", value, "a list of threads of this trace", err);
        streams[stream] = 1;
        if (!*p)
            return 0;
    }
}

int parameter_range(const struct request *r, const char *suffix, struct summary_range *ret,
                    uint8_t **ret_streams, struct err *err) {
    char since[16], until[16];
    const char *streams = r->parameter(r->ctx, "streams");
    snprintf(since, sizeof since, "since%s", suffix);
    snprintf(until, sizeof until, "until%s", suffix);
    int rc = parameter_number(r, since, 0, &ret->since_ns, err);
    if (rc == 0)
        rc = parameter_number(r, until, UINT64_MAX, &ret->until_ns, err);
    if (rc < 0 || !streams)
        return rc;
    size_t count = trace_reader_stream_count(shown_reader(r->shown));
    ret->streams = *ret_streams = mem_alloc(count + 1);
    return read_streams(streams, count, *ret_streams, err);
}
