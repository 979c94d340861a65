/* Loads and unloads a library fifty times. The program and the library call each other. */
#include <dlfcn.h>
#include <stdio.h>

#include "expect.h"

static NOINLINE int callback(int n) {
    ENTER;
    LEAVE;
    return n + 1;
}

static NOINLINE int use(const char *path, int round) {
    ENTER;
    /* the library's calls: constructor, both functions, destructor */
    expect_all("> plugin.so!plugin_begin", "< plugin.so!plugin_begin", NULL);
    void *library = dlopen(path, round % 2 ? RTLD_NOW : RTLD_LAZY);
    if (!library) {
        puts(dlerror());
        return -1;
    }
    int (*work)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, "plugin_work");
    expect_all("> plugin.so!plugin_work", "> plugin.so!plugin_help", NULL);
    int result = work(callback, round);
    expect_all("< plugin.so!plugin_help", "< plugin.so!plugin_work", "> plugin.so!plugin_end",
               "< plugin.so!plugin_end", NULL);
    dlclose(library);
    LEAVE;
    return result;
}

int main(int argc, char **argv) {
    int total = 0;
    if (argc < 2)
        return 2;
    ENTER;
    for (int round = 0; round < 50; round++)
        total += use(argv[1], round);
    printf("%d\n", total);
    LEAVE;
    expect_print();
    return 0;
}
