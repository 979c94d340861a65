/* See sandbox.h: reads filters. target/filter.c runs them. */
#include "target/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "target/status.h"

/* Reads filter INDEX of TID; 0 is the oldest. −ENOENT: there are fewer. */
static int read_filter(pid_t tid, unsigned long index, struct sock_fprog *ret) {
    long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, NULL);
    if (count < 0)
        return -errno;
    AUTO_FREE struct sock_filter *code = mem_alloc(((size_t)count + 1) * sizeof *code);
    if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)index, code) != count)
        return -EIO;
    *ret = (struct sock_fprog){(unsigned short)count, steal(code)};
    return 0;
}

int sandbox_read(pid_t tid, struct sandbox *ret, struct err *err) {
    struct sandbox s = {.strict = status_seccomp_is_strict(tid)};
    bool any = !s.strict && status_seccomp_filters(tid) > 0;
    int rc = any ? 0 : -ENOENT;
    for (unsigned long i = 0; rc == 0; i++) {
        struct sock_fprog filter;
        rc = read_filter(tid, i, &filter);
        if (rc == 0)
            ARRAY_PUSH(&s.filters, filter);
    }
    if (rc != -ENOENT || (any && !s.filters.count)) {
        sandbox_done(&s);
        return err_set(err, -rc, "sandbox-unknown",
                       "thread %d: cannot read its seccomp filters: %s", tid, strerror(-rc));
    }
    *ret = s;
    return 0;
}

void sandbox_done(struct sandbox *s) {
    for (size_t i = 0; i < s->filters.count; i++)
        free(s->filters.at[i].filter);
    ARRAY_FREE(&s->filters);
}

enum sandbox_answer sandbox_answer(const struct sandbox *s, const struct sandbox_call *call) {
    enum sandbox_answer worst = s->strict ? SANDBOX_HARMS : SANDBOX_ALLOWS;
    for (size_t i = 0; i < s->filters.count; i++) {
        const struct sock_fprog *f = &s->filters.at[i];
        enum sandbox_answer one = filter_answer(f->filter, f->len, call);
        worst = one > worst ? one : worst;
    }
    return worst;
}
