/*
 * Loads the client library at first use: its HTTP client costs many times the start-up time of
 * spoor.
 */
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <stdbool.h>
#include <stdlib.h>

#include "elf/debuginfod.h"

struct client_library {
    __typeof__(debuginfod_begin) *begin;
    __typeof__(debuginfod_find_debuginfo) *find;
    __typeof__(debuginfod_end) *end;
};

/* The library stays loaded: libcurl's globals make unloading unsafe. */
static bool load(struct client_library *library) {
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    library->begin = (__typeof__(library->begin))dlsym(handle, "debuginfod_begin");
    library->find = (__typeof__(library->find))dlsym(handle, "debuginfod_find_debuginfo");
    library->end = (__typeof__(library->end))dlsym(handle, "debuginfod_end");
    return library->begin && library->find && library->end;
}

int debuginfod_open(const uint8_t *build_id, size_t size) {
    struct client_library library;
    if (!load(&library))
        return -1;
    debuginfod_client *client = library.begin();
    if (!client)
        return -1;
    char *path = NULL;
    int fd = library.find(client, build_id, (int)size, &path);
    free(path);
    library.end(client);
    return fd < 0 ? -1 : fd;
}
