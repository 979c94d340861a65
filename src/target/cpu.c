/* See cpu.h: reads /proc/cpuinfo once. */
#include "target/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static bool has_shadow_stacks;

static void read_cpuinfo(void) {
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !has_shadow_stacks && getline(&line, &room, f) > 0)
        has_shadow_stacks = strncmp(line, "flags", 5) == 0 && strstr(line, " user_shstk");
    if (f)
        fclose(f);
}

bool cpu_guards_returns(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_cpuinfo);
    return has_shadow_stacks;
}
