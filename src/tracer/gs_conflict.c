/* Looks in mapped files for code that uses the lanes' register, and remembers the answers. */
#include "tracer/gs_conflict.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "elf/file_checks.h"
#include "patch/lane_guard.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/status.h"
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

/* Whether the file asks the kernel for the register: by the C library's function for it, or by the
 * function for any system call; programs also by a system call instruction of their own. */
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
    static const char *const how[] = {[LANE_CONFLICT_NONE] =
                                          "has instructions that write", /* a guard is lost */
                                      [LANE_CONFLICT_CODE] = "has instructions that write",
                                      [LANE_CONFLICT_PLACE] = "runs a function that may write",
                                      [LANE_CONFLICT_VALUE] = "keeps something of its own in"};
    if (!space->lane_conflict && lane_guards_are_set(space))
        return 0;
    return set_lane_taken(space->pid, how[space->lane_conflict], "it cannot be traced", err);
}

/* Whether a word of the stack in RANGE leads past a guard. */
static bool returns_past_guard(const struct space *space, struct span range) {
    enum { CHUNK = 64 * 1024 };
    regs_word_t words[CHUNK / sizeof(regs_word_t)];
    for (taddr_t at = range.start; at < range.end; at += CHUNK) {
        size_t size = range.end - at < CHUNK ? range.end - at : CHUNK;
        if (memory_read(space->remote.memory_fd, at, words, size, NULL) < 0)
            return false;
        for (size_t i = 0; i < size / sizeof *words; i++)
            if (lane_guard_is_passed(space, regs_plain_address(words[i])))
                return true;
    }
    return false;
}

/* The same for the stack of stack pointer SP, to the end of its map. */
static bool returns_past_guard_from(const struct space *space, const struct maps *maps,
                                    taddr_t sp) {
    const struct map *m = maps_at(maps, sp);
    return m && m->writable &&
           returns_past_guard(space,
                              (struct span){sp & ~(taddr_t)(sizeof(regs_word_t) - 1), m->end});
}

/* A handler may run on another stack than what it has interrupted. */
static bool is_past_guard(const struct space *space, const struct maps *maps, pid_t tid) {
    struct regs regs;
    sigframe_array frames = {0};
    taddr_t sp = 0;
    bool past = false;
    if (thread_get_regs(tid, &regs) == 0) {
        past = lane_guard_is_passed(space, regs_pc(&regs));
        sp = regs_sp(&regs);
    } else if (!status_stack_of(tid, &sp)) { /* TID is suspended in vfork() */
        return false;
    }
    past = past || returns_past_guard_from(space, maps, sp);
    sigframes_find(space->remote.memory_fd, maps, tid, &frames);
    for (size_t i = 0; i < frames.count && !past; i++)
        past = lane_guard_is_passed(space, frames.at[i].pc) ||
               returns_past_guard_from(space, maps, frames.at[i].sp);
    ARRAY_FREE(&frames);
    return past;
}

bool gs_conflict_is_entered(const struct space *space, const struct maps *maps,
                            const struct thread_positions *threads) {
    bool any = false;
    if (!lane_guards_exist(space))
        return false;
    for (size_t i = 0; i < threads->tids.count && !any; i++)
        any = is_past_guard(space, maps, threads->tids.at[i]);
    for (size_t i = 0; i < threads->stacks.count && !any; i++)
        any = returns_past_guard(space, threads->stacks.at[i]);
    return any;
}

void gs_conflict_describe(pid_t pid, struct err *err) {
    set_lane_taken(pid, "takes", "it and processes that share its memory are not traced any more",
                   err);
}
