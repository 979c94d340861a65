/* Reads and keeps the name of a thread that creates others. */
#include "tracer/maker_name.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void maker_name_forget(struct maker_name *last) {
    if (last->file)
        close(last->file);
    *last = (struct maker_name){0};
}

static bool open_maker(struct maker_name *last, pid_t maker) {
    char path[64];
    maker_name_forget(last);
    snprintf(path, sizeof path, "/proc/%d/comm", maker);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file > 0)
        *last = (struct maker_name){maker, file};
    return file > 0;
}

/* Reads of the file fail when its thread has ended, even if another one has its id. */
void maker_name_inherit(struct maker_name *last, pid_t maker, char *ret) {
    char text[TASK_NAME_BYTES + 1] = {0};
    ssize_t n = last->maker == maker ? pread(last->file, text, sizeof text - 1, 0) : 0;
    if (n <= 0 && open_maker(last, maker))
        n = pread(last->file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    memcpy(ret, text, TASK_NAME_BYTES);
    ret[TASK_NAME_BYTES - 1] = '\0';
}
