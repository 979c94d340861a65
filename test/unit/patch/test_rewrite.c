/* Text of a process that is rewritten by several threads: pieces, shares, and threads that may not
 * write. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../target/child.h"
#include "base/clock.h"
#include "base/page.h"
#include "base/workers.h"
#include "patch/pieces.h"
#include "patch/rewrite.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(shares_do_not_depend_on_each_other)                                                       \
    TEST(pieces_fill_their_share)                                                                  \
    TEST(each_patch_is_written_and_restored)                                                       \
    TEST(threads_that_may_not_write)                                                               \
    TEST(text_that_differs_in_one_share)                                                           \
    TEST(overwritten_patches_are_counted)

enum { PATCHES = 40000, THREADS = 4, PATCH_BYTES = 5, TEXT_BYTES = 8 << 20 };

static pthread_t tracer;
static bool only_tracer_writes;
static atomic_int refused;

int __real_memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err);
int __wrap_memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err);
/* As on a kernel with proc_mem.force_override=ptrace. The tracer's thread waits until another one
 * was refused. */
int __wrap_memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err) {
    const uint64_t patience_ns = UINT64_C(20000000000), begin = clock_monotonic_ns();
    const bool is_tracer = pthread_equal(pthread_self(), tracer);
    if (only_tracer_writes && !is_tracer) {
        refused++;
        return err_set(err, EIO, "memory", "refused");
    }
    while (only_tracer_writes && !refused && clock_monotonic_ns() - begin < patience_ns)
        ;
    return __real_memory_write(fd, addr, bytes, size, err);
}

struct lab {
    pid_t child;
    int fd;
    uint8_t *text; /* at the same address in the child */
    struct module module;
    struct traced_module traced_module;
    struct code code;
    struct patched patched;
    struct text_view view;
};

static int wait_for_signals(void *unused) {
    (void)unused;
    for (;;)
        pause();
    return 0;
}

/* Distances from 5 bytes to some pages, most of them below 256 bytes. The last third is dense. */
static size_t distance(size_t i) {
    size_t random = (i * 2654435761U) >> 7;
    if (i > PATCHES / 3 * 2)
        return PATCH_BYTES + random % 60;
    return i % 1000 == 999 ? 9000 : i % 7 == 0 ? 256 + random % 500 : PATCH_BYTES + random % 200;
}

/* Where text is not dense, every third patch is the hole of the one before, a short jump. */
static bool is_hole(size_t i) { return i % 3 == 2 && i <= PATCHES / 3 * 2; }

static void make_patches(struct lab *l) {
    struct plan_code *c = &l->code.emitted;
    vaddr_t at = 16;
    c->patches = mem_alloc(PATCHES * sizeof *c->patches);
    c->patch_count = PATCHES;
    c->ways = mem_alloc(PATCHES * sizeof *c->ways);
    for (size_t i = 0; i < PATCHES; i++) {
        struct patch *q = &c->patches[i];
        *q = (struct patch){.at = at, .window = PATCH_BYTES, .size = PATCH_BYTES};
        if (is_hole(i)) {
            q->window = 0;
            c->ways[c->way_count++] = (struct way){at, q[-1].at};
        }
        memset(q->before, (int)(i % 100), PATCH_BYTES);
        memset(q->after, (int)(100 + i % 100), PATCH_BYTES);
        memcpy(l->text + at, q->before, PATCH_BYTES);
        at += distance(i);
    }
    assert_true(at < TEXT_BYTES);
}

static int begin(void **state) {
    struct lab *l = mem_alloc(sizeof *l);
    l->text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(l->text, 0xcc, TEXT_BYTES);
    make_patches(l);
    mprotect(l->text, TEXT_BYTES, PROT_READ);
    l->child = child_start(wait_for_signals, NULL);
    assert_int_equal(memory_open(l->child, &l->fd, NULL), 0);
    l->module.path = (char *)"a module";
    l->traced_module.module = &l->module;
    l->patched = (struct patched){
        .traced_module = &l->traced_module, .code = &l->code, .bias = (taddr_t)(uintptr_t)l->text};
    l->view = text_view_by_reading(&l->patched, l->fd);
    tracer = pthread_self();
    workers_limit(THREADS);
    *state = l;
    return 0;
}

static int end(void **state) {
    struct lab *l = *state;
    only_tracer_writes = false;
    refused = 0;
    child_kill(l->child);
    close(l->fd);
    munmap(l->text, TEXT_BYTES);
    free(l->code.emitted.patches);
    free(l->code.emitted.ways);
    free(l);
    return 0;
}

static const struct patch *patch_of(const struct lab *l, size_t i) {
    return &l->code.emitted.patches[i];
}

/* Whether the child's text has all patches, or none, and is as it was elsewhere. */
static bool is_text(const struct lab *l, bool patched) {
    AUTO_FREE uint8_t *now = mem_alloc(TEXT_BYTES), *expected = mem_alloc(TEXT_BYTES);
    assert_int_equal(memory_read(l->fd, l->patched.bias, now, TEXT_BYTES, NULL), 0);
    memcpy(expected, l->text, TEXT_BYTES);
    for (size_t i = 0; patched && i < PATCHES; i++)
        memcpy(expected + patch_of(l, i)->at, patch_of(l, i)->after, PATCH_BYTES);
    return memcmp(now, expected, TEXT_BYTES) == 0;
}

static void shares_do_not_depend_on_each_other(void **state) {
    const struct lab *l = *state;
    piece_array shares = {0};
    pieces_find_shares(&l->patched, &shares);
    assert_in_range(shares.count, PATCHES / 1500, PATCHES / 1024 + 1);
    assert_int_equal(shares.at[0].first, 0);
    assert_int_equal(shares.at[shares.count - 1].end, PATCHES);
    for (size_t i = 1; i < shares.count; i++) {
        const struct patch *q = patch_of(l, shares.at[i].first);
        assert_int_equal(shares.at[i].first, shares.at[i - 1].end);
        assert_false(is_hole(shares.at[i].first));
        assert_true(page_down(q[-1].at + q[-1].size - 1) < page_down(q->at));
    }
    ARRAY_FREE(&shares);
}

static void pieces_fill_their_share(void **state) {
    const struct lab *l = *state;
    const struct piece share = {300, 9000};
    piece_array pieces = {0};
    size_t next = share.first;
    pieces_find(&l->code.emitted, share, &pieces);
    for (size_t i = 0; i < pieces.count; i++) {
        const struct piece *p = &pieces.at[i];
        assert_int_equal(p->first, next);
        assert_true(patch_of(l, p->end - 1)->at + PATCH_BYTES - patch_of(l, p->first)->at <=
                    PIECE_TEXT_BYTES);
        next = p->end;
    }
    assert_int_equal(next, share.end);
    ARRAY_FREE(&pieces);
}

static void each_patch_is_written_and_restored(void **state) {
    struct lab *l = *state;
    assert_int_equal(rewrite_patch(&l->patched, &l->view, NULL), 0);
    assert_true(is_text(l, true));
    assert_int_equal(rewrite_restore(&l->patched, l->fd, NULL, NULL), 0);
    assert_true(is_text(l, false));
    l->view.tid = l->child;
    assert_int_equal(rewrite_patch(&l->patched, &l->view, NULL), 0);
    assert_true(is_text(l, true));
}

static void threads_that_may_not_write(void **state) {
    struct lab *l = *state;
    only_tracer_writes = true;
    assert_int_equal(rewrite_patch(&l->patched, &l->view, NULL), 0);
    assert_true(refused > 0);
    assert_true(is_text(l, true));
    refused = 0;
    assert_int_equal(rewrite_restore(&l->patched, l->fd, NULL, NULL), 0);
    assert_true(refused > 0);
    assert_true(is_text(l, false));
}

static void text_that_differs_in_one_share(void **state) {
    struct lab *l = *state;
    struct err err = {0};
    const uint8_t other = 0xee;
    const taddr_t at = l->patched.bias + patch_of(l, PATCHES / 2)->at;
    memory_write(l->fd, at, &other, 1, NULL);
    assert_int_equal(rewrite_patch(&l->patched, &l->view, &err), -ESTALE);
    assert_string_equal(err.tag, "text-differs");
    assert_int_equal(rewrite_restore(&l->patched, l->fd, NULL, &err), -EBUSY);
    memory_write(l->fd, at, patch_of(l, PATCHES / 2)->before, 1, NULL);
    assert_true(is_text(l, false));
}

static void overwritten_patches_are_counted(void **state) {
    struct lab *l = *state;
    struct err err = {0};
    const uint8_t other[PATCH_BYTES] = {0xee, 0xee, 0xee, 0xee, 0xee};
    assert_int_equal(rewrite_patch(&l->patched, &l->view, NULL), 0);
    for (size_t i = 10; i < PATCHES; i += PATCHES / 5)
        memory_write(l->fd, l->patched.bias + patch_of(l, i)->at, other, PATCH_BYTES, NULL);
    assert_int_equal(rewrite_restore(&l->patched, l->fd, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.text, "has overwritten 5 patches"));
    for (size_t i = 10; i < PATCHES; i += PATCHES / 5)
        memory_write(l->fd, l->patched.bias + patch_of(l, i)->at, patch_of(l, i)->before,
                     PATCH_BYTES, NULL);
    assert_true(is_text(l, false));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
