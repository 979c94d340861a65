/* Detects withheld rights; lets a process exec its program again, untraced. */
#include "target/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/mem.h"
#include "target/memory.h"
#include "target/program_path.h"
#include "target/status.h"

/* The capabilities that the file gives to every user; linux/capability.h, struct vfs_cap_data. */
static uint64_t file_capabilities(const char *path) {
    struct vfs_ns_cap_data data = {0};
    ssize_t size = getxattr(path, "security.capability", &data, sizeof data);
    if (size < (ssize_t)XATTR_CAPS_SZ_1)
        return 0;
    uint64_t high = size >= (ssize_t)XATTR_CAPS_SZ_2 ? data.data[1].permitted : 0;
    return high << 32 | data.data[0].permitted;
}

bool privileges_withheld(pid_t tid) {
    AUTO_FREE char *path = mem_printf("/proc/%d/exe", tid);
    struct status_credentials has;
    struct statvfs system;
    struct stat file;
    if (stat(path, &file) < 0 || statvfs(path, &system) < 0 || system.f_flag & ST_NOSUID)
        return false;
    status_credentials(tid, &has);
    if (has.no_new_privileges)
        return false;
    bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    return (file.st_mode & S_ISUID && file.st_uid != has.user) ||
           (group && file.st_gid != has.group) ||
           file_capabilities(path) & has.bounding & ~has.permitted;
}

/* Finds the address, in TID, of a path to its program: the one that it was started by, or
 * "/proc/self/exe", written below its stack pointer SP. */
static int find_path(pid_t tid, int memory_fd, taddr_t sp, taddr_t *ret, struct err *err) {
    enum { BELOW = 64 }; /* in the red zone, which a frame for the call keeps clear of */
    static const char self[] = "/proc/self/exe";
    char path[PROGRAM_PATH_ROOM];
    if (program_path(tid, memory_fd, path, ret))
        return 0;
    *ret = sp - BELOW;
    return memory_write(memory_fd, *ret, self, sizeof self, err);
}

/* At a program's start the stack holds argc, argv, a null pointer, the environment (System V ABI,
 * "Process Initialization"). */
int privileges_exec_again(pid_t tid, const struct remote_site *site, struct err *err) {
    struct regs regs;
    taddr_t path;
    regs_word_t argc;
    if (thread_get_regs(tid, &regs) < 0)
        return err_set(err, ESRCH, "remote-call", "process %d: has ended", tid);
    taddr_t sp = regs_sp(&regs);
    int rc = memory_read(site->memory_fd, sp, &argc, sizeof argc, err);
    if (rc == 0)
        rc = find_path(tid, site->memory_fd, sp, &path, err);
    if (rc < 0)
        return rc;
    taddr_t argv = sp + sizeof argc, environment = argv + (argc + 1) * sizeof argc;
    struct remote_call call = {SYS_execve, {path, argv, environment}};
    return thread_detach_by_call(tid, site, &call, err);
}
