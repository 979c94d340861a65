/* Looks in mapped files for code that uses the lanes' register, and remembers the answers. */
#include "tracer/gs_conflict.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "elf/file_checks.h"
#include "target/maps.h"
#include "tracer/identity.h"

/* The answer for a file. */
struct file_answer {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    bool asks;
};
static ARRAY(struct file_answer) files;

static bool is_of(const struct file_answer *f, const struct stat *s) {
    return f->device == s->st_dev && f->inode == s->st_ino &&
           f->changed.tv_sec == s->st_ctim.tv_sec && f->changed.tv_nsec == s->st_ctim.tv_nsec;
}

enum { LARGE_BYTES = 1 << 20 }; /* answers about smaller files are found as fast as in the cache */

/* Whether the file asks the kernel for the register: by the C library's function for it, by the
 * function for any system call or, for programs only, by a system call instruction of its own. */
static bool asks(const char *path, bool program) {
    const struct arch *arch = arch_host();
    if (elf_imports(path, "arch_prctl"))
        return true;
    return arch->asks_for_lane && (program || elf_imports(path, "syscall")) &&
           elf_has_code(path, arch->asks_for_lane);
}

/* As asks(), from the cache if it is known there. S: of the file, before it is read. */
static bool asks_or_asked(const struct plan_cache *cache, const char *path, const struct stat *s,
                          bool program) {
    const char *question = program ? "asks for the register" : "asks for the register, library";
    const struct file_id file = file_id_of(s);
    bool answer;
    if (s->st_size < LARGE_BYTES)
        return asks(path, program);
    if (plan_cache_recall(cache, &file, question, &answer))
        return answer;
    answer = asks(path, program);
    plan_cache_remember(cache, &file, question, answer);
    return answer;
}

static bool file_asks(const struct plan_cache *cache, const char *path,
                      const struct stat *program) {
    struct stat s;
    if (stat(path, &s) < 0)
        return false;
    bool is_program = s.st_dev == program->st_dev && s.st_ino == program->st_ino;
    for (size_t i = 0; i < files.count; i++)
        if (is_of(&files.at[i], &s))
            return files.at[i].asks;
    struct file_answer f = {s.st_dev, s.st_ino, s.st_ctim,
                            asks_or_asked(cache, path, &s, is_program)};
    ARRAY_PUSH(&files, f);
    return f.asks;
}

bool gs_conflict_is_possible(const struct plan_cache *cache, pid_t pid) {
    AUTO_FREE char *exe = mem_printf("/proc/%d/exe", pid);
    struct stat program = {0};
    struct maps maps = {0};
    bool possible = false;
    stat(exe, &program);
    if (maps_read(pid, &maps, NULL) < 0)
        return false;
    for (size_t i = 0; i < maps.list.count && !possible; i++) {
        const struct map *m = &maps.list.at[i];
        if (!m->executable || m->path[0] != '/')
            continue;
        AUTO_FREE char *path = mem_printf("/proc/%d/root%s", pid, m->path);
        possible = file_asks(cache, path, &program);
    }
    maps_done(&maps);
    return possible;
}

static int set_lane_taken(pid_t pid, const char *how, const char *what, struct err *err) {
    struct identity id;
    identity_of_process(pid, &id);
    return err_set(err, EBUSY, "lane-taken",
                   "process %d (%s): %s the gs base, which spoor needs for itself: %s", pid,
                   id.command, how, what);
}

/* Whether ADDR is mapped. An address that is not is left from a spoor that attached to this thread
 * while it waited in vfork(). */
static bool is_mapped(pid_t tid, taddr_t addr) {
    struct maps maps = {0};
    bool mapped = maps_read(tid, &maps, NULL) < 0 || maps_at(&maps, addr);
    maps_done(&maps);
    return mapped;
}

int gs_conflict_check_thread(pid_t tid, struct err *err) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) < 0 || !regs_lane_taken(&regs) ||
        !is_mapped(tid, regs_lane(&regs)))
        return 0;
    return set_lane_taken(tid, "keeps something of its own in", "it cannot be traced", err);
}

int gs_conflict_check_code(const struct space *space, struct err *err) {
    if (!space->writes_lane_register)
        return 0;
    return set_lane_taken(space->pid, "has instructions that write", "it cannot be traced", err);
}

void gs_conflict_describe(pid_t pid, struct err *err) {
    set_lane_taken(pid, "takes", "it and processes that share its memory are not traced any more",
                   err);
}
