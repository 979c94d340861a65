/* Searches memory and deliveries for frames of signal handlers, and decides which of them count. */
#include "patch/parked_sigframes.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/page.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/status.h"
#include "target/thread.h"
#include "unwind/own_stack.h"

enum { CHUNK = 64 << 10, WORDS = CHUNK / sizeof(regs_word_t), LOOKED_AT = 512 /* pages at once */ };
static const uint64_t MOST_BYTES = UINT64_C(2) << 30; /* a second of one processor */
static const taddr_t LARGE = 64 << 20;                /* most maps of stacks are smaller */
static const size_t BEFORE = REGS_CONTEXT_WORDS - 1;  /* a frame may span two chunks */

/* Adds the frames in the COUNT words at AT. */
static void add_frames(const regs_word_t *words, size_t count, taddr_t at,
                       struct parked_sigframes *ret) {
    struct parked_sigframe frame;
    for (size_t i = 0; i + BEFORE < count; i++) {
        if (!regs_look_like_context(&words[i], &frame.context))
            continue;
        frame.at = at + i * sizeof *words;
        ARRAY_PUSH(&ret->frames, frame);
    }
}

/* ---- all of a process's memory ---- */

struct look {
    const struct parked_search_pace *pace;
    struct parked_sigframes *parked;
    int memory_fd;
    pid_t tid; /* a thread of the process, for /proc */
    int pages; /* /proc/PID/pagemap */
    uint64_t left;
};

/* `between` lets spoor answer the reports of tracees meanwhile. */
static void search_run(struct look *l, taddr_t start, taddr_t end) {
    regs_word_t words[WORDS];
    for (taddr_t at = start; at < end;) {
        size_t size = end - at < CHUNK ? end - at : CHUNK;
        if (l->left < size)
            return;
        l->left -= size;
        if (memory_read_fast(l->tid, at, words, size) ||
            memory_read(l->memory_fd, at, words, size, NULL) == 0)
            add_frames(words, size / sizeof *words, at, l->parked);
        l->pace->between(l->pace->ctx);
        if (at + size == end)
            return;
        at += size - BEFORE * sizeof *words;
    }
}

/* Documentation/admin-guide/mm/pagemap.rst: in memory, and not a file's. */
static bool is_private(uint64_t page) {
    const uint64_t present = UINT64_C(1) << 63, of_file = UINT64_C(1) << 61;
    return page & present && !(page & of_file);
}

/* Skips pages that were never written: reading would allocate them. */
static void search_map(struct look *l, const struct map *m) {
    uint64_t pages[LOOKED_AT];
    const uint64_t size = page_bytes();
    taddr_t start = 0; /* of a run of written pages; 0: none */
    for (taddr_t at = m->start; at < m->end;) {
        size_t left = (m->end - at) / size, count = left < LOOKED_AT ? left : LOOKED_AT;
        ssize_t got =
            pread(l->pages, pages, count * sizeof *pages, (off_t)(at / size * sizeof *pages));
        if (got < (ssize_t)sizeof *pages)
            break;
        for (size_t i = 0; i < (size_t)got / sizeof *pages; i++, at += size) {
            if (is_private(pages[i])) {
                start = start ? start : at;
            } else if (start) {
                search_run(l, start, at);
                start = 0;
            }
        }
    }
    if (start)
        search_run(l, start, m->end);
}

static void search_maps(struct look *l, const struct maps *maps, bool large) {
    for (const struct map *m = maps->list.at; m < maps->list.at + maps->list.count; m++)
        if (m->readable && m->writable && !m->shared && (m->end - m->start > LARGE) == large)
            search_map(l, m);
}

void parked_sigframes_search(struct parked_sigframes **parked, int memory_fd, pid_t tid,
                             const struct parked_search_pace *pace) {
    struct look l = {.pace = pace, .memory_fd = memory_fd, .tid = tid, .left = MOST_BYTES};
    struct maps maps;
    AUTO_FREE char *name = mem_printf("/proc/%d/pagemap", l.tid);
    parked_sigframes_forget(parked);
    *parked = l.parked = mem_alloc(sizeof **parked);
    if (maps_read(l.tid, &maps, NULL) < 0)
        return;
    l.pages = open(name, O_RDONLY | O_CLOEXEC);
    if (l.pages >= 0) {
        search_maps(&l, &maps, false);
        search_maps(&l, &maps, true);
        close(l.pages);
    }
    maps_done(&maps);
}

void parked_sigframes_forget(struct parked_sigframes **parked) {
    if (!*parked)
        return;
    ARRAY_FREE(&(*parked)->frames);
    free(*parked);
    *parked = NULL;
}

/* ---- deliveries ---- */

void parked_sigframes_note(struct parked_sigframes *parked, pid_t tid) {
    struct regs regs;
    if (!parked || thread_get_regs(tid, &regs) < 0)
        return;
    const struct parked_sigframe frame = {0, {regs_pc(&regs), regs_sp(&regs), 0}};
    if (!parked->frames.count ||
        parked->frames.at[parked->frames.count - 1].context.sp != frame.context.sp)
        ARRAY_PUSH(&parked->frames, frame);
}

/* Finds the frame of a signal that was delivered at stack pointer SP, if it is on the same stack.
 * The state of all vector registers may precede it. */
static void find_below(int memory_fd, taddr_t sp, struct parked_sigframes *ret) {
    enum { LARGEST_FRAME = 16 << 10 };
    regs_word_t words[LARGEST_FRAME / sizeof(regs_word_t)];
    struct parked_sigframes found = {.frames = {0}};
    taddr_t start = (sp & -(taddr_t)sizeof *words) - sizeof words;
    if (memory_read(memory_fd, start, words, sizeof words, NULL) < 0)
        return;
    add_frames(words, sizeof words / sizeof *words, start, &found);
    for (size_t i = 0; i < found.frames.count; i++)
        if (found.frames.at[i].context.sp == sp)
            ARRAY_PUSH(&ret->frames, found.frames.at[i]);
    ARRAY_FREE(&found.frames);
}

void parked_sigframes_collect(const struct parked_sigframes *known, int fd,
                              struct parked_sigframes *ret) {
    for (size_t i = 0; known && i < known->frames.count; i++) {
        const struct parked_sigframe *f = &known->frames.at[i];
        regs_word_t words[REGS_CONTEXT_WORDS];
        if (!f->at)
            find_below(fd, f->context.sp, ret);
        else if (memory_read(fd, f->at, words, sizeof words, NULL) == 0)
            add_frames(words, REGS_CONTEXT_WORDS, f->at, ret);
    }
}

/* ---- which frames count ---- */

/* The kernel writes the thread's struct sigaltstack before the context. A stack that is disarmed
 * while a handler runs on it (SS_AUTODISARM) is meant to be switched away from: its frames are
 * treated as all others. */
static bool is_on_signal_stack(int memory_fd, const struct parked_sigframe *f) {
    enum { BASE, FLAGS, SIZE, FIELDS };
    static const regs_word_t autodisarm = (regs_word_t)1 << 31; /* linux/signal.h */
    regs_word_t stack[FIELDS];
    taddr_t at = f->at - REGS_CONTEXT_STACK * sizeof(regs_word_t);
    return memory_read(memory_fd, at, stack, sizeof stack, NULL) == 0 &&
           !(stack[FLAGS] & autodisarm) && f->at - stack[BASE] < stack[SIZE];
}

/* Whether a thread's stack pointer is in the map that holds SP, or that map is gone. */
static bool is_in_use(taddr_t sp, const pid_t *tids, size_t count) {
    struct maps maps;
    struct regs regs;
    if (!count || maps_read(tids[0], &maps, NULL) < 0)
        return false;
    const struct map *m = maps_at(&maps, sp);
    bool found = !m;
    for (size_t i = 0; i < count && !found; i++)
        found = thread_get_regs(tids[i], &regs) == 0 && maps_at(&maps, regs_sp(&regs)) == m;
    maps_done(&maps);
    return found;
}

/* Whether F is on TID's own stack below its stack pointer: its handler has returned, or the
 * thread's own frames lead to it. */
static bool is_on_running_stack(const struct parked_sigframe *f, pid_t tid) {
    struct regs regs;
    const struct span none = {0, 0};
    bool first = status_process_of(tid) == tid;
    if (thread_get_regs(tid, &regs) < 0)
        return false;
    struct span own = own_stack(tid, first ? OWN_STACK_OF_FIRST : OWN_STACK_OF_RUNNING, &none);
    taddr_t sp = regs_sp(&regs);
    return sp >= own.start && sp < own.end && f->at >= own.start && f->at < sp;
}

bool parked_sigframe_counts(const struct parked_sigframe *frame, int memory_fd, const pid_t *tids,
                            size_t count) {
    if (is_on_signal_stack(memory_fd, frame))
        return !is_in_use(frame->context.sp, tids, count);
    for (size_t i = 0; i < count; i++)
        if (is_on_running_stack(frame, tids[i]))
            return false;
    return true;
}
