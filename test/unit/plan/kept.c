/* See kept.h. */
#include "kept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/flat.h"
#include "base/mem.h"

typedef ARRAY(uint8_t) byte_array;

static int append(void *ctx, const void *bytes, size_t count) {
    byte_array *file = ctx;
    ARRAY_RESERVE(file, file->count + count);
    memcpy(file->at + file->count, bytes, count);
    file->count += count;
    return 0;
}

/* Pages, as those of a mapped file. */
static uint8_t *pages_of(const byte_array *file) {
    void *pages =
        mmap(NULL, file->count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    return memcpy(pages, file->at, file->count);
}

struct kept_code kept_make(const struct plan *plan, const struct plan_request *request,
                           const struct plan_code *code, kept_write *write) {
    static const struct span text = {17, 34};
    const struct kept_code kept = {.code = *code,
                                   .need = plan_need(plan, request),
                                   .bias = request->bias,
                                   .area = request->area,
                                   .area_size = request->area_size,
                                   .first_id = request->first_id,
                                   .text = &text,
                                   .text_count = 1};
    byte_array file = {0};
    struct kept_code ret;
    struct flat_writer w;
    assert_true(plan_code_may_be_kept(plan, code));
    flat_writer_init(&w, append, &file);
    write(plan, &kept, &w);
    assert_int_equal(flat_writer_done(&w), 0);
    uint8_t *pages = pages_of(&file);
    struct flat_reader r = {pages, pages + file.count};
    assert_true(plan_code_read_flat(plan, &r, &ret));
    assert_memory_equal(&ret.need, &kept.need, sizeof kept.need);
    ret.code.pages = pages;
    ret.code.pages_size = file.count;
    ARRAY_FREE(&file);
    return ret;
}

/* ---- memory that is filled later ---- */

struct withheld {              /* what PAGES would have */
    struct code_source source; /* the first member */
    uint8_t *pages, *bytes;
    bool *filled; /* by byte */
    size_t size;
};

static bool copy_withheld(struct code_source *source, const void *at, size_t size, void *ret) {
    const struct withheld *w = (struct withheld *)source;
    const size_t from = (size_t)((const uint8_t *)at - w->pages);
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)ret)[i] = (w->filled[from + i] ? w->pages : w->bytes)[from + i];
    return true;
}

static bool fill_withheld(struct code_source *source, const void *at, size_t size) {
    const struct withheld *w = (struct withheld *)source;
    const size_t from = (size_t)((const uint8_t *)at - w->pages);
    for (size_t i = from; i < from + size; i++) {
        w->pages[i] = w->filled[i] ? w->pages[i] : w->bytes[i];
        w->filled[i] = true;
    }
    return true;
}

static void close_withheld(struct code_source *source) {
    struct withheld *w = (struct withheld *)source;
    mem_unmap(w->pages, w->size);
    free(w->bytes);
    free(w->filled);
    free(w);
}

void kept_withhold(struct kept_code *kept) {
    struct plan_code *c = &kept->code;
    struct withheld *w = mem_alloc(sizeof *w);
    struct span later[PLAN_CODE_LATER];
    *w = (struct withheld){{fill_withheld, copy_withheld, close_withheld},
                           c->pages,
                           mem_alloc(c->pages_size),
                           mem_alloc(c->pages_size * sizeof *w->filled),
                           c->pages_size};
    memcpy(w->bytes, w->pages, w->size);
    plan_code_later(&(struct flat_reader){w->pages, w->pages + w->size}, later);
    assert_ptr_equal(w->pages + later[0].start, c->area);
    assert_ptr_equal(w->pages + later[1].start, c->marks);
    for (size_t i = 0; i < PLAN_CODE_LATER; i++)
        memset(w->pages + later[i].start, 0xee, later[i].end - later[i].start);
    c->source = &w->source;
}

void kept_free(struct kept_code *kept) { plan_code_done(&kept->code); }

uint8_t *kept_area(const struct plan_code *code, uint64_t moved) {
    enum { PIECE = 64 };
    uint8_t *area = mem_alloc(code->area_used + PIECE);
    for (size_t at = 0, size; at < code->area_used; at += size) {
        size = plan_code_copy(code, moved, at, PIECE, area + at);
        assert_in_range(size, 1, PIECE);
    }
    return area;
}

static void assert_same_text(const struct plan_code *a, const struct plan_code *b) {
    assert_int_equal(a->patch_count, b->patch_count);
    for (size_t i = 0; i < a->patch_count; i++) {
        const struct patch *p = &a->patches[i], *q = &b->patches[i];
        if (p->at != q->at || p->size != q->size || memcmp(p->after, q->after, p->size) != 0)
            fail_msg("the patch at %#lx differs", (unsigned long)p->at);
    }
    assert_memory_equal(a->patches, b->patches, a->patch_count * sizeof *a->patches);
    assert_int_equal(a->way_count, b->way_count);
    if (a->way_count)
        assert_memory_equal(a->ways, b->ways, a->way_count * sizeof *a->ways);
}

static void assert_same_islands(const struct plan_code *a, uint64_t moved,
                                const struct plan_code *b) {
    assert_int_equal(a->island_count, b->island_count);
    for (size_t i = 0; i < a->island_count; i++) {
        assert_int_equal(a->islands[i].at + moved, b->islands[i].at);
        assert_memory_equal(a->islands[i].bytes, b->islands[i].bytes, ISLAND_BYTES);
    }
    assert_int_equal(a->lost_count, b->lost_count);
    if (a->lost_count)
        assert_memory_equal(a->lost, b->lost, a->lost_count * sizeof *a->lost);
}

static void assert_same_traps(const struct plan_code *a, const struct plan_code *b) {
    assert_int_equal(a->trap_count, b->trap_count);
    for (size_t i = 0; i < a->trap_count; i++) {
        assert_int_equal(a->traps[i].at, b->traps[i].at);
        assert_int_equal(a->traps[i].trampoline, b->traps[i].trampoline);
        assert_int_equal(a->traps[i].function, b->traps[i].function);
        assert_int_equal(a->traps[i].window, b->traps[i].window);
    }
}

static void assert_same_functions(const struct plan *plan, const struct plan_code *a,
                                  const struct plan_code *b) {
    const size_t bytes = plan_function_count(plan) / 8 + 1;
    assert_int_equal(a->sites, b->sites);
    assert_memory_equal(a->missed_exits, b->missed_exits, sizeof a->missed_exits);
    assert_memory_equal(a->trapped_exits, b->trapped_exits, sizeof a->trapped_exits);
    assert_memory_equal(a->missed, b->missed, bytes);
    assert_memory_equal(a->inexact, b->inexact, bytes);
    assert_memory_equal(a->beyond, b->beyond, bytes);
    assert_memory_equal(a->trapped, b->trapped, bytes);
}

void kept_assert_as_new(const struct plan *plan, const struct kept_code *kept,
                        const struct plan_request *request, const struct plan_code *fresh) {
    const struct plan_code *code = &kept->code;
    const uint64_t moved = request->bias - kept->bias;
    assert_int_equal(code->area_used, fresh->area_used);
    uint8_t *area = kept_area(code, moved);
    for (size_t i = 0; i < code->area_used; i++)
        if (area[i] != fresh->area[i])
            fail_msg("the area differs at offset %#zx", i);
    free(area);
    assert_int_equal(code->mark_count, fresh->mark_count);
    for (size_t i = 0; i < code->mark_count; i++)
        assert_memory_equal(plan_code_mark(code, i), &fresh->marks[i], sizeof *fresh->marks);
    assert_same_text(code, fresh);
    assert_same_islands(code, moved, fresh);
    assert_same_traps(code, fresh);
    assert_same_functions(plan, code, fresh);
}
