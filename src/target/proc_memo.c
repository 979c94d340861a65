/* See proc_memo.h. */
#include "target/proc_memo.h"

#include <stddef.h>

#include "base/mem.h"

static _Thread_local struct {
    pid_t tid; /* 0: none */
    char *texts[MEMO_FILES];
} kept;

static void forget(enum memo_file file) {
    free(kept.texts[file]);
    kept.texts[file] = NULL;
}

void proc_memo_begin(pid_t tid) {
    proc_memo_end();
    kept.tid = tid;
}

void proc_memo_end(void) {
    for (int i = 0; i < MEMO_FILES; i++)
        forget(i);
    kept.tid = 0;
}

const char *proc_memo_text(pid_t tid, enum memo_file file) {
    return tid == kept.tid ? kept.texts[file] : NULL;
}

void proc_memo_keep(pid_t tid, enum memo_file file, const char *text) {
    if (tid != kept.tid || kept.texts[file])
        return;
    kept.texts[file] = mem_strdup(text);
}

void proc_memo_forget_maps(void) { forget(MEMO_MAPS); }
