/* See standing.h. */
#include "target/standing.h"

#include <stddef.h>

#include "base/mem.h"

static _Thread_local struct {
    pid_t tid; /* 0: none */
    char *texts[STANDING_FILES];
} kept;

static void forget(enum standing_file file) {
    free(kept.texts[file]);
    kept.texts[file] = NULL;
}

void standing_begin(pid_t tid) {
    standing_end();
    kept.tid = tid;
}

void standing_end(void) {
    for (int i = 0; i < STANDING_FILES; i++)
        forget(i);
    kept.tid = 0;
}

const char *standing_text(pid_t tid, enum standing_file file) {
    return tid == kept.tid ? kept.texts[file] : NULL;
}

void standing_keep(pid_t tid, enum standing_file file, const char *text) {
    if (tid != kept.tid || kept.texts[file])
        return;
    kept.texts[file] = mem_strdup(text);
}

void standing_ends_for_maps(void) { forget(STANDING_MAPS); }
