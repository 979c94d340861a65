/* See cpu.h: reads /proc/cpuinfo once. */
#include "target/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static bool guards;

static void look(void) {
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !guards && getline(&line, &room, f) > 0)
        guards = strncmp(line, "flags", 5) == 0 && strstr(line, " user_shstk");
    if (f)
        fclose(f);
}

bool cpu_guards_returns(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return guards;
}
