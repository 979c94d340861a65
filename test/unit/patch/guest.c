/* Starts the child, patches its functions, and steps it through calls. */
#include "guest.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../target/hold.h"
#include "patch/install.h"
#include "patch/modules.h"
#include "patch/patcher.h"
#include "patch/space_lifecycle.h"
#include "patch/unpatch.h"
#include "target/memory.h"

enum {
    RED_ZONE_BYTES = 128,
    TRAP_FLAG = 0x100,
    CARRY_FLAG = 1,
    RESUME_FLAG = 0x10000,
    ARITHMETIC_FLAGS = 0x8d5
};

static void *library;

static int pause_for_ever(void *arg) {
    (void)arg;
    return pause();
}

struct guest *guest_new_bare(void) {
    struct guest *g = mem_alloc(sizeof *g);
    if (!library)
        library = dlopen(SITES, RTLD_NOW);
    assert_non_null(library);
    g->pid = child_start(pause_for_ever, NULL);
    child_seize(g->pid);
    assert_int_equal(thread_get_regs(g->pid, &g->idle), 0);
    regs_finish_restart(&g->idle); /* the guest never returns to that call */
    assert_int_equal(memory_open(g->pid, &g->memory_fd, NULL), 0);
    return g;
}

static void fail_on_warning(void *ctx, const char *text) {
    (void)ctx;
    fail_msg("warning: %s", text);
}

static struct trace_writer *open_writer(struct guest *g) {
    static const char *const command[] = {"guest", NULL};
    struct trace_session session = {.version = "0", .arch = "x86_64", .command = command};
    struct trace_writer *w;
    static unsigned number;
    g->trace = mem_printf("/tmp/spoor-guest-%d-%u", getpid(), number++);
    assert_int_equal(trace_writer_open(g->trace, &session, &w, NULL), 0);
    return w;
}

struct captured_options {
    const char *arguments, *results, *where; /* NULL: none */
    const char *module;                      /* is traced, too; NULL: none */
};

static struct guest *make(enum overflow overflow, uint32_t stack_frames,
                          struct captured_options captures) {
    struct guest *g = guest_new_bare();
    g->options = (struct record_options){.stacks.frames = stack_frames,
                                         .overflow = overflow,
                                         .strings = 32,
                                         .report.warn = fail_on_warning};
    filter_add(&g->options.filter, 'M', "libsites.so", NULL);
    if (captures.module)
        filter_add(&g->options.filter, 'M', captures.module, NULL);
    if (captures.arguments)
        filter_add(&g->options.filter, 'A', captures.arguments, NULL);
    if (captures.results)
        filter_add(&g->options.filter, 'R', captures.results, NULL);
    if (captures.where)
        filter_add(&g->options.filter, 'W', captures.where, NULL);
    struct trace_writer *writer = open_writer(g);
    g->context = (struct space_context){.options = &g->options,
                                        .writer = writer,
                                        .module_table = module_table_new(&g->options, writer),
                                        .ring_bytes = GUEST_RING_BYTES};
    struct err err = {0};
    if (space_new(&g->context, g->pid, &g->space, &err) < 0 ||
        space_update(&g->context, g->space, g->pid, &err) < 0)
        fail_msg("%s", err.text);
    g->handle = space_take_lane(&g->context, g->space, g->pid, 0);
    assert_false(g->handle->unread);
    g->handle->values.captures = module_table_captures(g->context.module_table);
    thread_set_lane(g->pid, g->handle->at);
    assert_int_equal(thread_get_regs(g->pid, &g->idle), 0);
    regs_finish_restart(&g->idle);
    return g;
}

struct guest *guest_new(enum overflow overflow) {
    return make(overflow, 0, (struct captured_options){0});
}

struct guest *guest_new_sliced(enum overflow overflow) {
    enum { BYTES = 32 };
    struct guest *g = make(overflow, 1, (struct captured_options){0});
    taddr_t sp = regs_sp(&g->idle);
    lane_handle_set_slices(g->handle, BYTES, (struct span){sp - 4096, sp + 4096});
    return g;
}

struct guest *guest_new_capturing(enum overflow overflow, const char *arguments,
                                  const char *results) {
    return make(overflow, 0, (struct captured_options){arguments, results, NULL, NULL});
}

struct guest *guest_new_judging(enum overflow overflow, const char *where) {
    return make(overflow, 0, (struct captured_options){.where = where});
}

struct guest *guest_new_judging_linker(enum overflow overflow, const char *where) {
    return make(overflow, 0, (struct captured_options){.where = where, .module = "ld-linux-*"});
}

void guest_filter(struct guest *g, struct span from) {
    struct space *s = g->space;
    assert_int_equal(space_restore(s, g->pid, NULL), 0);
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        const struct traced_module *e = p->traced_module;
        if (e->choice.selected)
            memcpy(e->choice.filtered, e->choice.selected, plan_function_count(e->plan) / 8 + 1);
        patcher_unmap(p, s, g->pid, NULL);
        patched_forget(p);
    }
    s->modules.count = 0;
    s->program.text = from;
    assert_int_equal(space_update(&g->context, s, g->pid, NULL), 0);
    assert_int_equal(thread_get_regs(g->pid, &g->idle), 0);
    regs_finish_restart(&g->idle);
}

void guest_free(struct guest *g) {
    child_kill(g->pid);
    close(g->memory_fd);
    if (g->space) {
        space_unref(g->space);
        slabs_reap();
        module_table_free(g->context.module_table);
        filter_done(&g->options.filter);
        trace_writer_abandon(g->context.writer);
        AUTO_FREE char *part = mem_printf("%s.part", g->trace);
        unlink(part);
        free(g->trace);
    }
    free(g);
}

struct patched *guest_sites(const struct guest *g) {
    for (size_t i = 0; i < g->space->modules.count; i++)
        if (g->space->modules.at[i].traced)
            return &g->space->modules.at[i];
    fail_msg("the sites are not patched");
    return NULL;
}

static void empty_lane(struct guest *g) {
    struct lane *lane = g->handle->lane;
    memset((uint8_t *)lane + LANE_RING, 0, GUEST_RING_BYTES + KEPT_BYTES);
    lane->head = lane->lost = lane->hook = lane->waits = lane->wait_since = 0;
    lane->limit = g->options.overflow == OVERFLOW_OVERWRITE ? UINT64_MAX : GUEST_RING_BYTES;
}

static uint64_t guest_stack[4096] __attribute__((aligned(64)));
enum { STACK_TOP = 4000 };

/* The same values in all guests, and different ones in all registers. */
static void set_general(struct user_regs_struct *r) {
    unsigned long long *const all[] = {&r->rax, &r->rbx, &r->rcx, &r->rdx, &r->rbp, &r->r8, &r->r9,
                                       &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = 0x1234567890abcdef * (i + 3);
    r->rsp = (uint64_t)(guest_stack + STACK_TOP) - 8; /* as after a call */
}

void guest_enter(struct guest *g, const struct call *call) {
    struct {
        uint8_t below[2 * RED_ZONE_BYTES];
        uint64_t return_address;
    } stack = {.return_address = (uint64_t)hold_trap};
    struct regs regs = g->idle;
    memset(stack.below, 0xa5, sizeof stack.below);
    set_general(&regs.raw);
    regs.raw.rip = (uint64_t)dlsym(RTLD_DEFAULT, call->function);
    if (!regs.raw.rip)
        regs.raw.rip = (uint64_t)dlsym(library, call->function);
    assert_true(regs.raw.rip);
    regs.raw.rdi = call->rdi;
    regs.raw.rsi = call->rsi;
    regs.raw.eflags = (regs.raw.eflags & ~(uint64_t)CARRY_FLAG) | call->carry;
    assert_int_equal(
        memory_write(g->memory_fd, regs.raw.rsp - sizeof stack.below, &stack, sizeof stack, NULL),
        0);
    assert_int_equal(thread_set_regs(g->pid, &regs), 0);
    if (g->handle)
        empty_lane(g);
}

static void end_step(const struct guest *g) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    if (!regs_trap_flag(&regs))
        return;
    regs_set_trap_flag(&regs, false);
    assert_int_equal(thread_set_regs(g->pid, &regs), 0);
}

/* Clears the trap flag that pushf has pushed for a stepped thread. */
static void hide_trap_flag(const struct guest *g) {
    struct regs regs;
    uint64_t flags;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    assert_int_equal(memory_read(g->memory_fd, regs_sp(&regs), &flags, sizeof flags, NULL), 0);
    flags &= ~(uint64_t)TRAP_FLAG;
    assert_int_equal(memory_write(g->memory_fd, regs_sp(&regs), &flags, sizeof flags, NULL), 0);
}

bool guest_step(struct guest *g) {
    enum { PUSHF = 0x9c };
    struct regs regs;
    uint8_t opcode;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    if (regs_pc(&regs) == (taddr_t)hold_trap)
        return false;
    assert_int_equal(memory_read(g->memory_fd, regs_pc(&regs), &opcode, 1, NULL), 0);
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, g->pid, NULL, NULL), 0);
    child_await_signal(g->pid, SIGTRAP);
    if (opcode == PUSHF)
        hide_trap_flag(g);
    end_step(g);
    return true;
}

/* Waits for the next stop, and meanwhile lets the guest out of the hook. */
static int await_stop(struct guest *g) {
    int status;
    while (waitpid(g->pid, &status, __WALL | WNOHANG) == 0) {
        if (g->handle && __atomic_load_n(&g->handle->lane->hook, __ATOMIC_ACQUIRE))
            __atomic_store_n(&g->handle->lane->hook, 0, __ATOMIC_RELEASE);
        sched_yield();
    }
    return status;
}

void guest_finish(struct guest *g) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    if (regs_pc(&regs) != (taddr_t)hold_trap)
        guest_finish_with(g, 0);
}

void guest_finish_with(struct guest *g, int sig) {
    struct regs regs;
    assert_int_equal(thread_continue(g->pid, sig), 0);
    int status = await_stop(g);
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    if (status >> 8 != SIGTRAP || regs_pc(&regs) != (taddr_t)hold_trap + 1)
        fail_msg("a call ends with status %#x at %#lx", status, regs_pc(&regs));
    regs_set_pc(&regs, (taddr_t)hold_trap);
    assert_int_equal(thread_set_regs(g->pid, &regs), 0);
}

uint32_t *guest_owner(const struct guest *g) { return (uint32_t *)g->space->slabs.at[0]->local; }

static taddr_t stack_part(const struct snapshot *s) {
    return (taddr_t)(guest_stack + STACK_TOP) - sizeof s->stack;
}

void guest_save(const struct guest *g, struct snapshot *s) {
    assert_int_equal(thread_get_regs(g->pid, &s->regs), 0);
    assert_int_equal(memory_read(g->memory_fd, stack_part(s), s->stack, sizeof s->stack, NULL), 0);
    s->lane = *g->handle->lane;
    s->owner = *guest_owner(g);
    memcpy(s->ring, (uint8_t *)g->handle->lane + LANE_RING, sizeof s->ring);
}

void guest_restore(struct guest *g, const struct snapshot *s) {
    assert_int_equal(thread_set_regs(g->pid, &s->regs), 0);
    assert_int_equal(memory_write(g->memory_fd, stack_part(s), s->stack, sizeof s->stack, NULL), 0);
    *g->handle->lane = s->lane;
    *guest_owner(g) = s->owner;
    memcpy((uint8_t *)g->handle->lane + LANE_RING, s->ring, sizeof s->ring);
}

bool same_regs(const struct regs *a, const struct regs *b) {
    struct regs x = *a, y = *b;
    struct regs *const both[] = {&x, &y};
    for (int i = 0; i < 2; i++) {
        both[i]->raw.eflags &= ~(uint64_t)(TRAP_FLAG | RESUME_FLAG | ARITHMETIC_FLAGS);
        both[i]->raw.orig_rax = 0; /* none */
        both[i]->raw.gs_base = 0;  /* the lane */
    }
    return memcmp(&x, &y, sizeof x) == 0;
}
