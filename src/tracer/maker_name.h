/* Names of new threads and processes, from their makers. */
#pragma once

#include <sys/types.h>

enum { TASK_NAME_BYTES = 16 }; /* linux/sched.h, TASK_COMM_LEN */

/*
 * The name of the last thread that has created threads: its file stays open, as a thread that
 * creates one mostly creates more.
 */
struct maker_name {
    pid_t maker;
    int file; /* 0: none */
};
/* MAKER is stopped and has just created a thread or process, whose name is MAKER's: writes it to
 * RET, of TASK_NAME_BYTES. "": unknown. */
void maker_name_inherit(struct maker_name *last, pid_t maker, char *ret);
void maker_name_forget(struct maker_name *last);
