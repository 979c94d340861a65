/* Calls into the libraries of twin.c, with their marks. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

struct twin {
    void *library;
    const char *const *marks;
    int (*work)(int), (*pick)(int);
    void *base;
};

enum { TWIN_BEGIN, TWIN_WORK = 2, TWIN_END = 10, TWIN_MARKS = 12 };

/* The marks of MODULE's functions, named for TWIN, in the order of the enum. */
#define TWIN_MARKS_OF(module, twin)                                                                \
    {                                                                                              \
        "> " module "!" twin "_begin", "< " module "!" twin "_begin",                              \
            "> " module "!" twin "_work", "> " module "!" twin "_help",                            \
            "< " module "!" twin "_help", "> " module "!" twin "_pick",                            \
            "< " module "!" twin "_pick", "< " module "!" twin "_work",                            \
            "> " module "!" twin "_other", "< " module "!" twin "_other",                          \
            "> " module "!" twin "_end", "< " module "!" twin "_end",                              \
    }

static inline void twin_mark(const struct twin *t, int from, int to) {
    for (int i = from; i < to; i++)
        expect(t->marks[i][0], t->marks[i] + 2);
}

/* NAMESPACE as for dlmopen(). Ends the program if the library cannot be loaded. */
static inline struct twin twin_open(Lmid_t namespace, const char *path, const char *const *marks) {
    struct twin t = {.marks = marks};
    Dl_info info;
    twin_mark(&t, TWIN_BEGIN, TWIN_WORK);
    t.library = dlmopen(namespace, path, RTLD_NOW);
    if (!t.library) {
        puts(dlerror());
        exit(1);
    }
    *(void **)&t.work = dlsym(t.library, strchr(marks[TWIN_WORK], '!') + 1);
    *(void **)&t.pick = dlsym(t.library, "twin_pick");
    dladdr(*(void **)&t.work, &info);
    t.base = info.dli_fbase;
    return t;
}

static inline int twin_use(const struct twin *t, int n) {
    twin_mark(t, TWIN_WORK, TWIN_END);
    int result = t->work(n);
    return result + t->pick(n);
}

static inline void twin_close(const struct twin *t) {
    twin_mark(t, TWIN_END, TWIN_MARKS);
    dlclose(t->library);
}
