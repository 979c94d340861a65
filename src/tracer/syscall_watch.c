/* Finds out whether a program uses ptrace() or the lanes' register. */
#include "tracer/syscall_watch.h"

#include <string.h>
#include <sys/stat.h>

#include "elf/file_checks.h"
#include "tracer/gs_conflict.h"

/* The last answer is valid as long as the same file is asked about. */
bool syscall_watch_traces_others(pid_t tid) {
    static struct {
        dev_t device;
        ino_t inode;
        struct timespec changed;
        bool watched;
    } last;
    AUTO_FREE char *program = mem_printf("/proc/%d/exe", tid);
    struct stat file;
    if (stat(program, &file) < 0)
        return false;
    if (file.st_dev != last.device || file.st_ino != last.inode ||
        memcmp(&file.st_ctim, &last.changed, sizeof last.changed) != 0) {
        last.device = file.st_dev;
        last.inode = file.st_ino;
        last.changed = file.st_ctim;
        last.watched = elf_program_uses(program, "ptrace");
    }
    return last.watched;
}

void syscall_watch_decide(const struct plan_cache *cache, struct task *task) {
    task->watched =
        syscall_watch_traces_others(task->tid) || gs_conflict_is_possible(cache, task->tid);
    task->nested = (struct task_nested){.reported = false};
}
