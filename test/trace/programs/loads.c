/*
 * Calls a library that it is linked with, or that it loads once. Where dlclose() does nothing, as
 * in musl, a library's constructor runs once, and its destructor at the program's end.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

typedef int (*worker)(int (*)(int), int);
extern int plugin_work(int (*callback)(int), int n) __attribute__((weak));

static NOINLINE int callback(int n) {
    ENTER;
    LEAVE;
    return n + 1;
}

static char marks[8][64]; /* expect_all() keeps pointers to these */

static void name_marks(const char *library) {
    static const char *const functions[] = {
        "> %s!plugin_begin", "< %s!plugin_begin", "> %s!plugin_work", "> %s!plugin_help",
        "< %s!plugin_help",  "< %s!plugin_work",  "> %s!plugin_end",  "< %s!plugin_end"};
    const char *slash = strrchr(library, '/');
    for (int i = 0; i < 8; i++)
        snprintf(marks[i], sizeof marks[i], functions[i], slash ? slash + 1 : library);
}

static NOINLINE worker load(const char *path) {
    ENTER;
    expect_all(marks[0], marks[1], NULL);
    void *library = dlopen(path, RTLD_NOW);
    LEAVE;
    return library ? (worker)dlsym(library, "plugin_work") : NULL;
}

static NOINLINE int use(worker work, int round) {
    ENTER;
    expect_all(marks[2], marks[3], NULL);
    int result = work(callback, round);
    expect_all(marks[4], marks[5], NULL);
    LEAVE;
    return result;
}

int main(int argc, char **argv) {
    int total = 0;
    if (argc < 2)
        return 2;
    name_marks(argv[1]);
    if (plugin_work)
        expect_all(marks[0], marks[1], NULL); /* before main */
    ENTER;
    worker work = plugin_work ? plugin_work : load(argv[1]);
    if (!work) {
        puts(dlerror());
        return 1;
    }
    for (int round = 0; round < 10; round++)
        total += use(work, round);
    printf("%d\n", total);
    LEAVE;
    expect_all(marks[6], marks[7], NULL); /* behind main */
    expect_print();
    return 0;
}
