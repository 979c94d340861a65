/* Chooses, emits, maps and fills a module's area and islands, and has its text written. */
#include "patch/patcher.h"

#include <errno.h>
#include <string.h>

#include "base/page.h"
#include "patch/area.h"
#include "patch/code_cache.h"
#include "patch/code_file.h"
#include "patch/code_image.h"
#include "patch/counters.h"
#include "patch/held.h"
#include "patch/islands.h"
#include "patch/lane_lookup.h"
#include "patch/remote.h"
#include "patch/rewrite.h"
#include "patch/thread_positions.h"
#include "patch/undolog.h"
#include "patch/withdraw.h"
#include "target/cpu.h"
#include "target/maps.h"
#include "target/memory.h"

/* Maps P's area and writes the log there. By the log all later steps can be undone. */
static int map_area(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = undolog_announce(r->space, p, err);
    if (rc == 0)
        rc = code_image_map(p, r) ? 0 : area_map(p, r, p->area, p->area_size, err);
    if (rc < 0) {
        undolog_end(r->space, NULL);
        return rc;
    }
    rc = undolog_link(r->space, p, err);
    if (rc < 0)
        space_unmap(r->space, r->caller, p->area, p->area_size, NULL);
    return rc;
}

int patcher_unmap(struct patched *p, const struct space *s, pid_t caller, struct err *err) {
    if (!p->area)
        return 0;
    int rc = p->log ? undolog_unlink(s, p, err) : 0;
    for (size_t i = 0; i < p->islands && rc == 0;) {
        const struct plan_code *c = &p->code->emitted;
        size_t run = patched_island_run(c, i);
        rc = space_unmap(s, caller, patched_island_at(p, i), run * ISLAND_BYTES, err);
        i += run;
    }
    if (rc == 0)
        rc = space_unmap(s, caller, p->area, p->area_size, err);
    p->area = 0;
    p->imaged = false;
    p->islands = 0;
    p->state = AREA_EMPTY;
    return rc < 0 ? rc : undolog_end(s, err);
}

/* NONE: the empty selection. */
static struct plan_request request_of(const struct patched *p, const struct patch_request *r,
                                      const uint8_t *none) {
    const uint8_t *selected =
        p->first ? p->first->emitted.beyond : p->traced_module->choice.selected;
    return (struct plan_request){
        .bias = p->bias,
        .site_bytes = undolog_site_bytes(),
        .keep_calls = cpu_guards_returns(),
        .selected = r->selected ? selected : none,
        .filtered = r->selected ? p->traced_module->choice.filtered : NULL,
        .sliced = p->traced_module->sliced,
        .captures = p->traced_module->choice.captures.at,
        .capture_count = r->selected ? p->traced_module->choice.captures.count : 0,
        .probes = p->traced_module->choice.marks.at,
        .probe_count = r->selected && !p->first ? p->traced_module->choice.marks.count : 0,
        .caller = r->from,
        .controls = r->controls,
        .without_traps = p->traced_module->without_traps,
        .first_id = p->traced_module->first_id,
        .ring_bytes = r->ring_bytes,
        .overflow = r->overflow,
        .hook = r->hook,
        .guards = {r->guards[0], r->guards[1]},
        .first = p->first ? &p->first->emitted : NULL};
}

static uint8_t *select_nothing(const struct patched *p) {
    return mem_alloc(bitmap_bytes(plan_function_count(p->traced_module->plan)));
}

/* Makes P's code for its area, of KEPT if that serves. KEPT may be NULL. */
static int make_code(struct patched *p, struct plan_request *q, struct code_file *kept,
                     struct err *err) {
    enum { LARGE = 16 << 20 }; /* of less code, not much memory is left over */
    p->code = mem_alloc(sizeof *p->code);
    p->code->refs = 1;
    p->code->bias = p->bias;
    if (kept && code_file_use(kept, q, p))
        return 0;
    int rc = plan_emit(p->traced_module->plan, q, &p->code->emitted, err);
    if (rc == 0 && kept)
        code_file_add(kept, p);
    if (p->code->emitted.area_used >= LARGE) {
        module_leave_files(p->traced_module->module);
        mem_give_back();
    }
    return rc;
}

static int emit(struct patched *p, const struct patch_request *r, size_t most_islands,
                struct code_file *kept, struct err *err) {
    AUTO_FREE uint8_t *none = select_nothing(p);
    struct plan_request q = request_of(p, r, none);
    q.area = p->area;
    q.area_size = p->room - undolog_bytes(p);
    q.most_islands = most_islands;
    AUTO_FREE struct span *taken = maps_taken(r->maps, r->break_start, &q.taken_count);
    q.taken = taken;
    int rc = make_code(p, &q, kept, err);
    if (rc < 0)
        return rc;
    undolog_make(p);
    if (most_islands)
        code_cache_keep(r->codes, &q, p);
    return 0;
}

/* Chooses P's area, and makes its code for that. */
static int place_and_emit(struct patched *p, const struct patch_request *r, struct err *err) {
    AUTO_FREE uint8_t *none = select_nothing(p);
    const struct plan_request q = request_of(p, r, none);
    struct code_file kept = code_file_find(p, &q);
    int rc = area_choose(p, r, kept.need, err);
    if (rc == 0)
        rc = emit(p, r, islands_room(r->space), &kept, err);
    code_file_close(&kept);
    return rc;
}

/* Takes over the code that was emitted for another process, if it serves here. */
static bool take_emitted(struct patched *p, const struct patch_request *r) {
    AUTO_FREE uint8_t *none = select_nothing(p);
    struct plan_request q = request_of(p, r, none);
    struct taken taken;
    AUTO_FREE struct span *spans = maps_taken(r->maps, r->break_start, &taken.count);
    taken.spans = spans;
    q.most_islands = islands_room(r->space);
    if (!code_cache_take(r->codes, &q, &taken, p))
        return false;
    undolog_make(p);
    maps_add(r->maps, p->area, p->area + p->room);
    return true;
}

int patcher_prepare(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = take_emitted(p, r) ? 0 : place_and_emit(p, r, err);
    if (rc < 0) {
        patched_forget(p);
        p->area = 0;
        return rc;
    }
    islands_note(p, r->maps);
    return 0;
}

/* If the islands cannot be mapped, emits again without them: a few functions stay untraced. */
static int map_with_islands_if_possible(struct patched *p, const struct patch_request *r,
                                        struct err *err) {
    taddr_t area = p->area;
    int rc = map_area(p, r, err);
    if (rc < 0 || islands_map(p, r, err) == 0)
        return rc;
    rc = patcher_unmap(p, r->space, r->caller, err);
    patched_forget_code(p);
    p->area = area;
    if (rc < 0)
        return rc;
    rc = emit(p, r, 0, NULL, err);
    return rc < 0 ? rc : map_area(p, r, err);
}

/* Writes the patches that are not held. Sets *RET_MOVED if threads may be in the trampolines now.
 * ESTALE: the text differs, or has changed since it was looked at. */
static int write_free_patches(struct patched *p, const struct space *space, bool *ret_moved,
                              struct err *err) {
    struct text_view view;
    text_view_open(&view, p, space);
    int rc = p->checked ? 0 : held_look(p, &view, &space->writable, err);
    p->checked = false;
    *ret_moved |= rc == 0 && space->positions != NULL;
    if (rc == 0 && space->positions)
        thread_positions_resolve(space->positions, view.memory_fd, p);
    if (rc == 0)
        rc = rewrite_patch(p, &view, err);
    text_view_close(&view);
    return rc;
}

/* Whether none of P's patches is in the text. It may differ from the file: the program has changed
 * it since it was looked at. */
static bool takes_out_all(const struct patched *p, int fd) {
    int rc = rewrite_restore(p, fd, NULL, NULL);
    return rc == 0 || rc == -EBUSY;
}

/* If the text cannot be written, and threads may be in the trampolines, these stay as they are. */
static int write_text(struct patched *p, const struct space *space, struct err *err) {
    int fd = space->remote.memory_fd;
    bool early = p->checked, moved = false;
    int rc = write_free_patches(p, space, &moved, err);
    if (rc == -ESTALE && early && takes_out_all(p, fd))
        rc = write_free_patches(p, space, &moved, err);
    if (rc == 0)
        rc = counters_raise(p, fd, err);
    if (rc < 0) {
        rewrite_restore(p, fd, NULL, NULL);
        p->state = moved ? AREA_UNPATCHABLE : AREA_FILLED;
    }
    return rc;
}

static int write_area(const struct patched *p, int fd, struct err *err) {
    enum { PIECE = 256 << 10 };
    const struct plan_code *c = &p->code->emitted;
    AUTO_FREE uint8_t *bytes = NULL;
    int rc = 0;
    if (p->imaged)
        return code_image_correct(p, fd, err);
    if (!c->source && !c->farther && (!patched_moved(p) || !c->address_count))
        return memory_write(fd, p->area, c->area, c->area_used, err);
    bytes = mem_alloc(PIECE);
    for (size_t at = 0, size; at < c->area_used && rc == 0; at += size) {
        size = plan_code_copy(c, patched_moved(p), at, PIECE, bytes);
        rc = memory_write(fd, p->area + at, bytes, size, err);
    }
    return rc;
}

/* The tables for lane_lookup precede the code in the area, and are no part of it. */
static int fill(struct patched *p, const struct space *space, struct err *err) {
    if (p->state != AREA_EMPTY)
        return 0;
    int rc = write_area(p, space->remote.memory_fd, err);
    if (rc == 0)
        rc = lane_lookup_install(space, p->area, err);
    p->state = rc == 0 ? AREA_FILLED : AREA_EMPTY;
    return rc;
}

int patcher_map(struct patched *p, struct space *space, pid_t caller, struct err *err) {
    const struct patch_request r = {.space = space, .caller = caller};
    int rc = map_area(p, &r, err);
    if (rc < 0)
        p->area = 0;
    else if ((rc = islands_map(p, &r, err)) < 0)
        patcher_unmap(p, space, caller, NULL);
    if (rc < 0)
        patched_forget(p);
    return rc;
}

/* Bytes are written for that: not where the program may write now. */
void patcher_fill(struct patched *p, const struct space *space) {
    struct text_view view;
    if (!p->code || fill(p, space, NULL) < 0 || !p->checked || held_is_open(p, &space->writable))
        return;
    text_view_open(&view, p, space);
    rewrite_touch(p, &view, NULL);
    text_view_close(&view);
}

int patcher_install(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = map_with_islands_if_possible(p, r, err);
    if (rc < 0) {
        p->area = 0;
        patched_forget(p);
        return rc;
    }
    rc = fill(p, r->space, err);
    if (rc == 0)
        rc = write_text(p, r->space, err);
    if (rc < 0 && p->state != AREA_UNPATCHABLE) {
        patcher_unmap(p, r->space, r->caller, NULL);
        patched_forget(p);
    }
    return rc;
}

void patcher_check_early(struct patched *p, const struct space *space) {
    struct text_view view;
    text_view_open(&view, p, space);
    p->checked = held_look(p, &view, &space->writable, NULL) == 0;
    text_view_close(&view);
    if (p->checked)
        code_file_keep(p);
}

int patcher_apply(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = patcher_prepare(p, r, err);
    if (rc == 0)
        rc = patcher_install(p, r, err);
    if (rc == 0)
        code_file_keep(p);
    return rc;
}

int patcher_undo(struct patched *p, int fd, struct pages *pages, struct err *err) {
    if (!p->code)
        return 0;
    int rc = counters_lower(p, fd, err), restored = rewrite_restore(p, fd, pages, err);
    return restored < 0 ? restored : rc;
}

int patcher_redo(struct patched *p, const struct space *space, struct err *err) {
    if (!p->checked)
        patched_spare_none(p);
    int rc = fill(p, space, err);
    return rc < 0 ? rc : write_text(p, space, err);
}

int patcher_withdraw(struct patched *p, int fd, taddr_t addr, struct err *err) {
    vaddr_t at = addr - p->bias;
    for (size_t i = 0; p->code && i < p->code->emitted.patch_count; i++) {
        const struct patch *q = &p->code->emitted.patches[i];
        if (at - q->at < q->window)
            return withdraw_patch(p, fd, i, err);
    }
    return 0;
}
