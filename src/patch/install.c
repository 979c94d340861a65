/* Maps the agent and slabs by remote calls, and unmaps them. */
#include "patch/install.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "arch/agent.h"
#include "base/log.h"
#include "base/page.h"
#include "patch/foothold.h"
#include "patch/itimers.h"
#include "patch/limits.h"
#include "patch/permits.h"
#include "patch/remote.h"
#include "patch/undolog.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/status.h"

enum {
    AGENT_BYTES = 4096, /* of the agent's page; the name for memfd_create() in the middle */
    NAME_AT = 2240,     /* before UNDO_AT, behind the code that runs in this page */
};

/* A hint for mmap(): room for SIZE bytes that may be anywhere; 0: none. */
static taddr_t take_room(struct space *s, size_t size) {
    taddr_t at = s->room;
    if (at)
        s->room += page_up(size);
    return at;
}

/* The results of the first calls, if they were made together; else negative. */
struct first_calls {
    int64_t agent, memory; /* as of map_agent() and make_memory() */
};

static const char MEMORY_NAME[] = "spoor";
enum { MEMORY_FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING };

static void close_file(struct space *s, pid_t tid, int64_t fd) {
    int64_t ignored;
    space_call(s, tid, &(struct remote_call){SYS_close, {(uint64_t)fd}}, &ignored, NULL);
}

static struct remote_call agent_mapping(taddr_t at) {
    return (struct remote_call){
        REGS_CALL_MMAP,
        {at, AGENT_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~0ul, 0}};
}

/* Makes the calls that depend on no other, and reads the interval timers. */
static struct first_calls make_first_calls(struct space *s, pid_t tid) {
    char name[sizeof MEMORY_NAME];
    memcpy(name, MEMORY_NAME, sizeof name);
    struct itimers_look look;
    struct remote_step steps[2 + ITIMERS] = {
        {.call = agent_mapping(s->room)},
        {.call = {SYS_memfd_create, {0, MEMORY_FLAGS}}, .data = {0, sizeof name, name}}};
    size_t count = 2 + itimers_add_look(s, tid, &look, steps + 2);
    if (!space_calls(s, tid, steps, count))
        return (struct first_calls){-1, -1};
    itimers_note_look(s, &look, steps + 2, count - 2);
    if (steps[0].result >= 0)
        take_room(s, AGENT_BYTES);
    return (struct first_calls){steps[0].result, steps[1].result};
}

/* Maps one page, if FIRST has not, and writes the agent into it. Remote calls are made there from
 * then on. */
static int map_agent(struct space *s, pid_t tid, const struct first_calls *first, struct err *err) {
    int64_t at = first->agent;
    int rc = 0;
    if (at < 0) {
        const struct remote_call call = agent_mapping(take_room(s, AGENT_BYTES));
        rc = space_call(s, tid, &call, &at, err);
    }
    if (rc < 0)
        return rc;
    s->agent = (taddr_t)at;
    space_set_state(s, SPACE_PATCHED);
    uint8_t page[AGENT_BYTES] = {0};
    struct undo_head head = undolog_head(s);
    memcpy(page, agent_code(), agent_code_size() < NAME_AT ? agent_code_size() : NAME_AT);
    memcpy(page + NAME_AT, MEMORY_NAME, sizeof MEMORY_NAME);
    memcpy(page + UNDO_AT, &head, sizeof head);
    rc = memory_write(s->remote.memory_fd, s->agent, page, sizeof page, err);
    if (rc < 0)
        return rc; /* further calls are made where the first ones were */
    s->remote.code = s->agent + agent_call();
    s->remote.series = agent_series() ? s->agent + agent_series() : 0;
    return 0;
}

/* Duplicates descriptor FD of TID's process into spoor. −1 with errno. */
static int take_fd(pid_t tid, int fd) {
    AUTO_FD int process = (int)syscall(SYS_pidfd_open, status_process_of(tid), 0);
    int fd_here = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    if (fd_here >= 0)
        return fd_here;
    AUTO_FREE char *name = mem_printf("/proc/%d/fd/%d", tid, fd); /* its main thread has ended */
    return open(name, O_RDWR | O_CLOEXEC);
}

/* Sets the memfd's SIZE, whatever spoor's limit for files (RLIMIT_FSIZE), and seals it: the target
 * could shrink memory that spoor reads. */
static int size_memory(int fd, size_t size) {
    struct rlimit limit, raised;
    getrlimit(RLIMIT_FSIZE, &limit);
    raised = limit;
    raised.rlim_cur = raised.rlim_max = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &raised) < 0) {
        raised = (struct rlimit){limit.rlim_max, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &raised);
    }
    int rc = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        rc = -errno;
    return rc;
}

static int too_large(const struct space *s, size_t size, int code, struct err *err) {
    return err_set(err, code, "remote-call",
                   "process %d: cannot share %zu MB of memory with it: %s: raise its limits "
                   "(ulimit), or choose a smaller --buffer",
                   s->pid, size >> 20, strerror(code));
}

/* The target makes a memfd, even if it has as many open files as its limit allows. */
static int make_memory(struct space *s, pid_t tid, int64_t *ret_fd, struct err *err) {
    const struct remote_call make = {SYS_memfd_create, {s->agent + NAME_AT, MEMORY_FLAGS}};
    struct rlimit before;
    int rc = space_call(s, tid, &make, ret_fd, err);
    if (rc != -EMFILE || !limits_allow_file(tid, &before))
        return rc;
    rc = space_call(s, tid, &make, ret_fd, err);
    limits_take_back_file(tid, &before);
    return rc;
}

/* The target's descriptor of a memfd that spoor has sized. */
struct memory {
    int64_t fd;
    size_t size;
};

static struct remote_call slab_mapping(taddr_t at, struct memory m) {
    return (struct remote_call){
        REGS_CALL_MMAP, {at, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, (uint64_t)m.fd, 0}};
}

/* The target maps M, keeps it out of core dumps, and closes the descriptor; in one series of calls,
 * which may be impossible (false). */
static bool map_slab_at_once(struct space *s, pid_t tid, struct memory m, int64_t *ret_at) {
    struct remote_step steps[] = {
        {.call = slab_mapping(s->room, m), .into = {{.step = 1, .argument = 0}}},
        {.call = {SYS_madvise, {0, m.size, MADV_DONTDUMP}}},
        {.call = {SYS_close, {(uint64_t)m.fd}}}};
    if (!space_calls(s, tid, steps, sizeof steps / sizeof *steps))
        return false;
    *ret_at = steps[0].result;
    return true;
}

/* The same, call by call if need be. The descriptor is closed also on error. */
static int map_slab(struct space *s, pid_t tid, struct memory m, int64_t *ret_at, struct err *err) {
    int64_t ignored;
    const bool at_once = map_slab_at_once(s, tid, m, ret_at);
    if (at_once && *ret_at >= 0) {
        take_room(s, m.size);
        return 0;
    }
    if (at_once)
        return space_call_failed(s, tid, REGS_CALL_MMAP, *ret_at, err);
    const struct remote_call map = slab_mapping(take_room(s, m.size), m);
    int rc = space_call(s, tid, &map, ret_at, err);
    close_file(s, tid, m.fd);
    if (rc == 0)
        space_call(s, tid,
                   &(struct remote_call){SYS_madvise, {(uint64_t)*ret_at, m.size, MADV_DONTDUMP}},
                   &ignored, NULL); /* keeps it out of core dumps */
    return rc;
}

static int cannot_take(const struct space *s, struct err *err) {
    return err_set(err, errno, "remote-call",
                   "process %d: cannot take the memory that it is to share: %s", s->pid,
                   strerror(errno));
}

struct wanted_slab {
    uint32_t lanes;
    int64_t made; /* the target's descriptor of a memfd that is made already; negative: none */
};

/* The target makes a memfd, spoor takes and sizes it, both map it, the target closes it. */
static int share(const struct space_context *ctx, struct space *s, pid_t tid,
                 struct wanted_slab *wanted, struct err *err) {
    const uint32_t lanes = wanted->lanes;
    size_t size = slab_bytes(ctx->ring_bytes, lanes);
    int64_t fd = wanted->made, at, ignored;
    int rc = fd < 0 ? make_memory(s, tid, &fd, err) : 0;
    wanted->made = -1;
    if (rc < 0)
        return rc;
    AUTO_FD int fd_here = take_fd(tid, (int)fd);
    if (fd_here < 0)
        rc = cannot_take(s, err);
    else if ((rc = size_memory(fd_here, size)) < 0)
        too_large(s, size, -rc, err);
    if (rc < 0) {
        close_file(s, tid, fd);
        return rc;
    }
    rc = map_slab(s, tid, (struct memory){fd, size}, &at, err);
    if (rc == -ENOMEM && !space_maps_full(s, tid, err))
        too_large(s, size, ENOMEM, err);
    if (rc < 0)
        return rc;
    struct slab *slab = slab_new(fd_here, (taddr_t)at, ctx->ring_bytes, lanes);
    if (!slab) {
        space_call(s, tid, &(struct remote_call){SYS_munmap, {(uint64_t)at, size}}, &ignored, NULL);
        return err_set(err, ENOMEM, "remote-call",
                       "process %d: cannot map the memory shared with it", s->pid);
    }
    slab_sign(slab, s->agent);
    ARRAY_PUSH(&s->slabs, slab);
    s->remote.frame = slab_frame(s->slabs.at[0]);
    return 0;
}

/* The first slab has room for all present threads: each further slab takes time while they are
 * stopped. */
static int add_slab(const struct space_context *ctx, struct space *s, pid_t tid, int64_t made,
                    struct err *err) {
    const uint32_t usual = slab_lane_count(ctx->ring_bytes, 0);
    struct wanted_slab wanted = {slab_lane_count(ctx->ring_bytes, s->slabs.count ? 0 : s->threads),
                                 made};
    if (wanted.lanes > usual && share(ctx, s, tid, &wanted, NULL) == 0)
        return 0;
    wanted.lanes = usual;
    return share(ctx, s, tid, &wanted, err);
}

int space_check_sandbox(const struct space *s, pid_t caller, struct err *err) {
    return permits_check(s, caller, PERMIT_CODE, "what it loads from now on is left untraced", err);
}

static int check_sandbox(struct space *s, pid_t tid, struct err *err) {
    s->filters = permits_trusted(tid);
    return permits_check(s, tid, PERMIT_CODE | PERMIT_LANES | PERMIT_LEAVE, "it is left untraced",
                         err);
}

/* With 32-bit addresses, jumps reach no farther than the shared memory is large. The kernel
 * would map it next to the libraries and leave no room for their trampolines; so spoor maps it
 * elsewhere. */
static taddr_t room_in_the_middle(const struct maps *maps) {
    const struct span middle = {0x50000000, 0x90000000};
    return REGS_WORD_BYTES < 8 ? maps_find_room_between(maps, middle, 256 << 20) : 0;
}

static int take_foothold(struct space *s, pid_t tid, struct foothold *ret, struct err *err) {
    struct maps maps;
    int rc = maps_read(tid, &maps, err);
    if (rc < 0)
        return rc;
    if (!s->room)
        s->room = room_in_the_middle(&maps);
    rc = foothold_take(s->remote.memory_fd, &maps, tid, ret, err);
    maps_done(&maps);
    return rc;
}

static int move_in(const struct space_context *ctx, struct space *s, pid_t tid, struct err *err) {
    struct foothold foothold;
    int rc = take_foothold(s, tid, &foothold, err);
    if (rc < 0)
        return rc;
    s->remote = foothold_site(&foothold);
    const struct first_calls first = make_first_calls(s, tid);
    rc = map_agent(s, tid, &first, err);
    if (rc == 0)
        rc = add_slab(ctx, s, tid, first.memory, err);
    else if (first.memory >= 0)
        close_file(s, tid, first.memory);
    int back = foothold_leave(&foothold, rc < 0 ? NULL : err);
    return rc < 0 ? rc : back;
}

int space_install(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    int rc = check_sandbox(s, caller, err);
    if (s->remote.memory_fd >= 0)
        close(s->remote.memory_fd); /* the process may have executed another program since */
    s->remote.memory_fd = -1;
    if (rc == 0)
        rc = memory_open(caller, &s->remote.memory_fd, err);
    return rc < 0 ? rc : move_in(ctx, s, caller, err);
}

/* Closes descriptors that a killed spoor would have closed after mapping a slab. */
static void close_files(struct space *s, pid_t caller) {
    if (!s->inherited || !s->inherited->files.count || !permits(s, caller, PERMIT_LANES))
        return;
    for (size_t i = 0; i < s->inherited->files.count; i++)
        close_file(s, caller, s->inherited->files.at[i]);
}

int space_unmap_agent(struct space *s, pid_t caller, struct err *err) {
    struct foothold foothold;
    int rc = take_foothold(s, caller, &foothold, err);
    if (rc < 0)
        return rc;
    s->remote = foothold_site(&foothold);
    close_files(s, caller);
    for (size_t i = s->slabs.count; i-- > 0 && rc == 0;) {
        const struct slab *slab = s->slabs.at[i];
        rc = space_unmap(s, caller, slab->at, slab->size, err);
    }
    if (rc == 0)
        rc = space_unmap(s, caller, s->agent, AGENT_BYTES, err);
    if (rc == 0)
        limits_lower(s, caller);
    int back = foothold_leave(&foothold, rc < 0 ? NULL : err);
    return rc < 0 ? rc : back;
}

bool space_has_lane(const struct space *s) {
    bool any = false;
    for (size_t i = 0; i < s->slabs.count && !any; i++)
        any = slab_has_lane(s->slabs.at[i]);
    return any;
}

struct lane_handle *space_take_lane(const struct space_context *ctx, struct space *s, pid_t caller,
                                    uint32_t stream) {
    bool limitless = ctx->options->overflow == OVERFLOW_OVERWRITE;
    struct err err = {0};
    struct lane_handle *handle = NULL;
    for (size_t i = 0; i < s->slabs.count && !handle; i++)
        handle = slab_take(s->slabs.at[i], stream, limitless);
    if (!handle &&
        permits_check(s, caller, PERMIT_LANES, "its new threads are left untraced", &err) == 0 &&
        add_slab(ctx, s, caller, -1, &err) == 0)
        handle = slab_take(s->slabs.at[s->slabs.count - 1], stream, limitless);
    struct lane_handle *sink = slab_sink(s->slabs.at[0]);
    if (!handle) {
        log_print(1, "no lane for thread %d: %s", caller, err.text);
        return sink;
    }
    handle->sink = sink->lane;
    return handle;
}
