/* The library that dlopen.c loads. */
#include "expect.h"

int plugin_work(int (*callback)(int), int n);
int plugin_help(int (*callback)(int), int n);

static volatile int state;

__attribute__((constructor)) static void plugin_begin(void) { state += 100; }
__attribute__((destructor)) static void plugin_end(void) { state -= 100; }

__attribute__((visibility("hidden"))) NOINLINE int plugin_help(int (*callback)(int), int n) {
    return callback(n * 2) + state;
}

int plugin_work(int (*callback)(int), int n) { return plugin_help(callback, n) + 3; }
