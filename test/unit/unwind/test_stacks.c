/*
 * Stacks of real programs that were stopped, compared with the calls that their functions have
 * noted (noted_calls.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../target/child.h"
#include "target/memory.h"
#include "unwind/unwind.h"

#define TESTS                                                                                      \
    TEST(deep_recursion)                                                                           \
    TEST(handler_on_its_own_stack)                                                                 \
    TEST(handler_on_the_same_stack)                                                                \
    TEST(end_at_the_outermost_function)                                                            \
    TEST(frame_pointers_without_cfi)                                                               \
    TEST(signal_return_by_its_instructions)                                                        \
    TEST(several_threads)                                                                          \
    TEST(every_instruction)                                                                        \
    TEST(truncated_copy)                                                                           \
    TEST(arbitrary_stacks)                                                                         \
    TEST(circular_stacks)                                                                          \
    TEST(missing_files_leave_frame_pointers)

enum { LINKS = 1024, CHAINS = 8, FUNCTION_BYTES = 4096, RED_ZONE = 128 };

struct chain { /* laid out as in noted_calls.c */
    struct {
        taddr_t function, cfa;
    } links[LINKS];
    uint64_t count, tid;
};

struct stopped {
    pid_t pid;
    int memory_fd;
    struct maps maps;
    struct unwinder *unwinder;
    taddr_t chains; /* the address of the program's chains */
    size_t cut;     /* the size limit of stack copies */
    enum unwind_end end;
    unwind_frames frames;
};

/* ---- programs ---- */

static int open_file(void *ctx, const struct map *map) {
    const struct stopped *s = ctx;
    if (strcmp(map->path, "[vdso]") == 0)
        return unwind_image(s->memory_fd, map);
    return open(map->path, O_RDONLY | O_CLOEXEC);
}

static void run_program(const char *build, const char *place, int out, int in) {
    AUTO_FREE char *path = mem_printf("%s/noted-calls-%s", PROGRAMS, build);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, 1);
    dup2(in, 0);
    execl(path, path, place, NULL);
    _exit(127);
}

static bool is_built(const char *build) {
    AUTO_FREE char *path = mem_printf("%s/noted-calls-%s", PROGRAMS, build);
    return access(path, X_OK) == 0;
}

static struct stopped *stopped_new(const char *build, const char *place, int announcements) {
    int announced[2], quiet[2];
    struct stopped *s = mem_alloc(sizeof *s);
    assert_int_equal(pipe2(announced, O_CLOEXEC) | pipe2(quiet, O_CLOEXEC), 0);
    s->pid = fork();
    if (!s->pid)
        run_program(build, place, announced[1], quiet[0]);
    close(announced[1]);
    for (int i = 0; i < announcements; i++)
        assert_int_equal(read(announced[0], &s->chains, sizeof s->chains), sizeof s->chains);
    close(announced[0]);
    close(quiet[0]);
    child_seize(s->pid);
    /* Stays open, so that the program reads for ever. */
    assert_int_equal(fcntl(quiet[1], F_SETFD, FD_CLOEXEC), 0);
    assert_int_equal(memory_open(s->pid, &s->memory_fd, NULL), 0);
    assert_int_equal(maps_read(s->pid, &s->maps, NULL), 0);
    s->unwinder = unwinder_new(&s->maps, &(struct unwind_files){s, open_file});
    s->cut = SIZE_MAX;
    return s;
}

static void stopped_free(struct stopped *s) {
    kill(s->pid, SIGKILL); /* the process ends after all its threads' ends have been taken */
    while (waitpid(-1, NULL, __WALL) > 0)
        continue;
    unwinder_free(s->unwinder);
    maps_done(&s->maps);
    close(s->memory_fd);
    ARRAY_FREE(&s->frames);
    free(s);
}

/* ---- copies ---- */

static struct unwind_piece copy_from(const struct stopped *s, taddr_t at) {
    const struct map *m = maps_at(&s->maps, at);
    assert_non_null(m);
    size_t size = m->end - at < s->cut ? m->end - at : s->cut;
    uint8_t *bytes = mem_alloc(size);
    assert_int_equal(memory_read(s->memory_fd, at, bytes, size, NULL), 0);
    return (struct unwind_piece){at, bytes, size};
}

static taddr_t main_stack(const struct stopped *s) {
    for (size_t i = 0; i < s->maps.list.count; i++)
        if (strcmp(s->maps.list.at[i].path, "[stack]") == 0)
            return s->maps.list.at[i].start;
    fail_msg("no stack");
    return 0;
}

/* Unwinds the stopped thread TID from a copy of its own stack, and of the main one if that is
 * another. */
static void unwind(struct stopped *s, pid_t tid) {
    struct unwind_piece pieces[2];
    struct unwind_stack stack = {.pieces = pieces, .count = 1};
    assert_int_equal(thread_get_regs(tid, &stack.regs), 0);
    /* Rules in epilogues may point to restored values below the stack pointer. */
    pieces[0] = copy_from(s, regs_sp(&stack.regs) - RED_ZONE);
    if (strcmp(maps_at(&s->maps, pieces[0].at)->path, "[stack]") != 0)
        pieces[stack.count++] = copy_from(s, main_stack(s));
    s->frames.count = 0;
    s->end = unwind_stack(s->unwinder, &stack, &s->frames);
    for (size_t i = 0; i < stack.count; i++)
        free((void *)pieces[i].bytes);
}

static struct chain *chain_of(const struct stopped *s, pid_t tid) {
    struct chain *c = mem_alloc(sizeof *c);
    for (int i = 0; i < CHAINS; i++) {
        taddr_t at = s->chains + (taddr_t)i * sizeof *c;
        assert_int_equal(memory_read(s->memory_fd, at, c, sizeof *c, NULL), 0);
        if (c->tid == (uint64_t)tid)
            return c;
    }
    fail_msg("no notes of thread %d", tid);
    return c;
}

static void fail_with_frames(const struct stopped *s, const struct chain *c, uint64_t missing) {
    for (size_t i = 0; i < s->frames.count; i++) {
        const struct unwind_frame *f = &s->frames.at[i];
        const struct map *m = maps_at(&s->maps, f->pc);
        print_message("%3zu  pc %jx cfa %jx how %d  %s\n", i, f->pc, f->cfa, f->how,
                      m ? m->path : "?");
    }
    fail_msg("end %d; link %lu of %lu is missing: function %lx, cfa %lx", s->end, missing, c->count,
             c->links[missing].function, c->links[missing].cfa);
}

/* Each link of the chain except the innermost LEAVE is a frame, in this order. No other frame
 * between them is in the program's own text. */
static void check_chain(struct stopped *s, pid_t tid, uint64_t leave, enum unwind_how how) {
    AUTO_FREE struct chain *c = chain_of(s, tid);
    size_t at = 0, last = 0;
    for (uint64_t n = c->count - leave; n-- > 0;) {
        while (at < s->frames.count && s->frames.at[at].cfa != c->links[n].cfa)
            at++;
        if (at == s->frames.count)
            fail_with_frames(s, c, n);
        const struct unwind_frame *f = &s->frames.at[at];
        assert_true(f->pc - c->links[n].function < FUNCTION_BYTES);
        assert_int_equal(f->how, how);
        if (n + 1 < c->count) /* only the kernel's frame and the handler's return are between */
            assert_true(at - last <= 2);
        last = at++;
    }
}

static void expect_chain(const char *build, const char *place, enum unwind_how how) {
    struct stopped *s = stopped_new(build, place, 1);
    unwind(s, s->pid);
    check_chain(s, s->pid, 0, how);
    assert_int_equal(s->end, UNWIND_BOTTOM);
    stopped_free(s);
}

static const char *const with_cfi[] = {"cfi", "plain", "static", "stripped", "debugframe"};
enum { WITH_CFI = sizeof with_cfi / sizeof *with_cfi };

/* ---- tests ---- */

static void deep_recursion(void **state) {
    (void)state;
    for (int i = 0; i < WITH_CFI; i++)
        expect_chain(with_cfi[i], "deep", UNWIND_CFI);
}

static void handler_on_its_own_stack(void **state) {
    (void)state;
    for (int i = 0; i < WITH_CFI; i++)
        expect_chain(with_cfi[i], "signal", UNWIND_CFI);
}

static void handler_on_the_same_stack(void **state) {
    (void)state;
    for (int i = 0; i < WITH_CFI; i++)
        expect_chain(with_cfi[i], "plain", UNWIND_CFI);
}

static void end_at_the_outermost_function(void **state) {
    (void)state;
    for (int i = 0; i < WITH_CFI; i++)
        expect_chain(with_cfi[i], "bottom", UNWIND_CFI);
}

static void frame_pointers_without_cfi(void **state) {
    (void)state;
    static const char *const places[] = {"deep", "signal", "plain", "bottom"};
    for (int i = 0; i < 4; i++)
        expect_chain("pointers", places[i], UNWIND_FRAME_POINTER);
}

/* musl has no unwind information for itself or for its read(), where the thread is. The caller of
 * read() is found by its frame pointer only. */
static void signal_return_by_its_instructions(void **state) {
    (void)state;
    static const char *const places[] = {"plain", "signal"};
    for (int i = 0; i < 2; i++) {
        if (!is_built("musl"))
            skip();
        struct stopped *s = stopped_new("musl", places[i], 1);
        unwind(s, s->pid);
        check_chain(s, s->pid, 1, UNWIND_CFI);
        stopped_free(s);
    }
}

static void several_threads(void **state) {
    (void)state;
    enum { THREADS = 6 };
    struct stopped *s = stopped_new("cfi", "threads", THREADS);
    unwind(s, s->pid);
    check_chain(s, s->pid, 0, UNWIND_CFI);
    struct chain all[CHAINS];
    assert_int_equal(memory_read(s->memory_fd, s->chains, all, sizeof all, NULL), 0);
    for (int i = 1; i <= THREADS; i++) {
        pid_t tid = (pid_t)all[i].tid;
        child_seize(tid);
        unwind(s, tid);
        check_chain(s, tid, 0, UNWIND_CFI);
        assert_int_equal(s->end, UNWIND_BOTTOM);
    }
    stopped_free(s);
}

/* The callers are found at every instruction, also in prologues and epilogues. */
static void every_instruction(void **state) {
    (void)state;
    enum { STEPS = 4000 };
    for (int i = 0; i < WITH_CFI; i++) {
        struct stopped *s = stopped_new(with_cfi[i], "turns", 1);
        for (int k = 0; k < STEPS; k++) {
            assert_int_equal(ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0), 0);
            child_await_stop(s->pid);
            if (k % 4 && k > STEPS / 8)
                continue;
            unwind(s, s->pid);
            check_chain(s, s->pid, 0, UNWIND_CFI);
        }
        stopped_free(s);
    }
}

static void truncated_copy(void **state) {
    (void)state;
    enum { CUT = 4096 };
    struct stopped *s = stopped_new("cfi", "deep", 1);
    s->cut = CUT;
    unwind(s, s->pid);
    assert_int_equal(s->end, UNWIND_CUT);
    AUTO_FREE struct chain *c = chain_of(s, s->pid);
    size_t found = 0;
    for (size_t i = 0; i < s->frames.count; i++) {
        const struct unwind_frame *f = &s->frames.at[i];
        found += found < c->count && f->cfa == c->links[c->count - 1 - found].cfa;
    }
    assert_in_range(found, 20, 200);
    assert_true(s->frames.count <= found + 2); /* read() */
    stopped_free(s);
}

static uint64_t random_next(uint64_t *x) {
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 24;
}

/* Replaces words, mostly by other words of the stack, which look right. */
static void corrupt(uint8_t *bytes, size_t size, uint64_t seed) {
    uint64_t x = seed * 2 + 1;
    for (uint64_t n = 1 + random_next(&x) % 64; n; n--) {
        uint64_t *to = (uint64_t *)(void *)(bytes + random_next(&x) % (size / 8) * 8);
        const uint64_t *from = (uint64_t *)(void *)(bytes + random_next(&x) % (size / 8) * 8);
        *to = random_next(&x) % 4 ? *from : random_next(&x) << (random_next(&x) % 40);
    }
}

static void arbitrary_stacks(void **state) {
    (void)state;
    static const char *const builds[] = {"cfi", "pointers"};
    enum { ROUNDS = 1500, NEAR = 4096 };
    for (int i = 0; i < 2; i++) {
        struct stopped *s = stopped_new(builds[i], "plain", 1);
        struct unwind_stack stack = {.count = 1};
        assert_int_equal(thread_get_regs(s->pid, &stack.regs), 0);
        s->cut = NEAR;
        struct unwind_piece piece = copy_from(s, regs_sp(&stack.regs));
        AUTO_FREE uint8_t *bytes = mem_alloc(piece.size);
        for (uint64_t k = 0; k < ROUNDS; k++) {
            memcpy(bytes, piece.bytes, piece.size);
            corrupt(bytes, piece.size, k);
            s->frames.count = 0;
            stack.pieces = &(struct unwind_piece){piece.at, bytes, piece.size};
            unwind_stack(s->unwinder, &stack, &s->frames);
            assert_true(s->frames.count <= UNWIND_MAX);
            if (k % 8 == 0)
                stack.regs.raw.rbp = stack.regs.raw.rsp + k % NEAR;
        }
        free((void *)piece.bytes);
        stopped_free(s);
    }
}

/* A signal frame that leads to itself has no end. */
static void circular_stacks(void **state) {
    (void)state;
    struct stopped *s = stopped_new("cfi", "plain", 1);
    struct unwind_stack stack = {.count = 1};
    assert_int_equal(thread_get_regs(s->pid, &stack.regs), 0);
    struct unwind_piece piece = copy_from(s, regs_sp(&stack.regs));
    unwind(s, s->pid);
    size_t i = 0;
    while (i < s->frames.count && s->frames.at[i].how != UNWIND_SIGNAL)
        i++;
    assert_true(i && i < s->frames.count);
    /* The signal has interrupted the code at which the thread is. */
    uint64_t inner[REGS_DWARF_COUNT];
    regs_dwarf(&stack.regs, inner);
    taddr_t frame = s->frames.at[i - 1].cfa;
    for (int r = 0; r < REGS_DWARF_COUNT; r++)
        memcpy((uint8_t *)piece.bytes + (frame + regs_signal_offset(r) - piece.at), &inner[r], 8);
    stack.pieces = &piece;
    s->frames.count = 0;
    assert_int_equal(unwind_stack(s->unwinder, &stack, &s->frames), UNWIND_DEEP);
    assert_int_equal(s->frames.count, UNWIND_MAX);
    free((void *)piece.bytes);
    stopped_free(s);
}

/* Without the files only frame pointers are left, and the end of their chain is unknown. */
static int open_nothing(void *ctx, const struct map *map) {
    (void)ctx, (void)map;
    return -1;
}

static void missing_files_leave_frame_pointers(void **state) {
    (void)state;
    struct stopped *s = stopped_new("pointers", "turns", 1);
    unwinder_free(s->unwinder);
    s->unwinder = unwinder_new(&s->maps, &(struct unwind_files){NULL, open_nothing});
    unwind(s, s->pid);
    assert_true(s->frames.count > 0);
    assert_true(s->end != UNWIND_DEEP);
    stopped_free(s);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("unwind stacks", tests, NULL, NULL);
}
