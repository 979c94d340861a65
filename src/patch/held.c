/* Compares text in memory with its file, and decides which patches stay out of it. */
#include "patch/held.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/page.h"
#include "base/search.h"
#include "elf/sort.h"
#include "patch/rewrite.h"
#include "patch/thread_positions.h"
#include "target/memory.h"

enum { BUFFER_BYTES = 64 << 10 };

struct look {
    const struct patched *p;
    const struct text_view *view;
    const struct writable_text *text;
    struct span within; /* link-time addresses: functions with a part here are looked at */
    bool patched;       /* P's patches are in the text */
    bool any_writable;  /* some of what was looked at is */
    uint8_t *touched;   /* bitmaps by function: looked at; to be held; differs */
    uint8_t *held, *changed;
    uint8_t *out;              /* bitmap by patch: patches that must be out */
    ARRAY(struct span) ranges; /* all that was looked at */
    struct {
        vaddr_t at;
        size_t size;
        bool of_file;                /* they are, so they were not read */
        uint8_t bytes[BUFFER_BYTES]; /* as without P's patches */
    } now;
    bool looked_at_rest; /* of the text, by one look at which pages are the file's */
};

static const struct plan *plan_of(const struct look *l) { return l->p->traced_module->plan; }

static const struct plan_code *code_of(const struct look *l) { return &l->p->code->emitted; }

static bool overlap(struct span a, struct span b) { return a.start < b.end && b.start < a.end; }

/* The function to which patch number I belongs; UINT32_MAX: to none. */
static uint32_t function_of(const struct look *l, size_t i) {
    return plan_function_at(plan_of(l), code_of(l)->patches[patched_site_of(l->p, i)].at);
}

/* What the plan has read for patch number I. */
static struct span read_for(const struct look *l, size_t i) {
    const struct patch *q = &code_of(l)->patches[i];
    uint8_t size = q->size;
    size = q->window > size ? q->window : size;
    size = q->reads > size ? q->reads : size;
    return (struct span){q->at, q->at + size};
}

static struct span range_of(const struct plan *plan, uint32_t function) {
    const struct plan_function *f = plan_function(plan, function);
    return (struct span){f->addr, f->addr + f->size};
}

/* ---- writable text ---- */

/* Whether some of RANGE, link-time addresses of P, is writable. XRay's runtime makes all text
 * writable, and writes only where no patch is. */
static bool is_writable(const struct patched *p, const struct writable_text *w, struct span range) {
    if (plan_has_sleds(p->traced_module->plan))
        return false;
    struct span at = {range.start + p->bias, range.end + p->bias};
    size_t i = SEARCH(k, w->list.count, w->list.at[k].end <= at.start);
    return i < w->list.count && overlap(w->list.at[i], at);
}

static struct span text_of(const struct patched *p) {
    const struct module *m = p->traced_module->module;
    return (struct span){m->text_low, m->text_high};
}

bool held_is_open(const struct patched *p, const struct writable_text *text) {
    return is_writable(p, text, text_of(p));
}

/* ---- text ---- */

/* Puts the original bytes into the buffer where it has P's. */
static void take_patches_out(struct look *l) {
    const struct plan_code *c = code_of(l);
    size_t first =
        patched_patch_at(c, l->now.at > PATCH_MAX_BYTES ? l->now.at - PATCH_MAX_BYTES : 0);
    for (const struct patch *q = c->patches + first;
         q < c->patches + c->patch_count && q->at < l->now.at + l->now.size; q++)
        for (size_t k = 0; k < q->size; k++) {
            size_t offset = q->at + k - l->now.at;
            if (offset < l->now.size && l->now.bytes[offset] == q->after[k])
                l->now.bytes[offset] = q->before[k];
        }
}

/* Reads text from AT on; if not all of it is mapped, to the end of the page. */
static bool load(struct look *l, vaddr_t at) {
    const struct segment *s = module_segment_at(l->p->traced_module->module, at);
    vaddr_t end = s ? s->start + s->file_size : 0;
    size_t size = at < end ? end - at : 0, page = page_up(at + 1) - at;
    const int fd = l->view->memory_fd;
    l->now.at = at;
    l->now.of_file = size && !l->looked_at_rest && text_view_is_file(l->view, at, size);
    l->looked_at_rest = true; /* in most processes all is the file's, which one look tells */
    if (!l->now.of_file) {
        size = size < BUFFER_BYTES ? size : BUFFER_BYTES;
        l->now.of_file = size && text_view_is_file(l->view, at, size);
    }
    if (!l->now.of_file && size && memory_read(fd, at + l->p->bias, l->now.bytes, size, NULL) < 0) {
        size = size < page ? size : page;
        size = memory_read(fd, at + l->p->bias, l->now.bytes, size, NULL) < 0 ? 0 : size;
    }
    l->now.size = size;
    if (l->patched && !l->now.of_file)
        take_patches_out(l);
    return size;
}

static bool is_equal(const struct look *l, vaddr_t at, const uint8_t *file, size_t size) {
    const uint8_t *now = l->now.bytes + (at - l->now.at);
    if (l->now.of_file || memcmp(now, file, size) == 0)
        return true;
    for (size_t i = 0; i < size; i++)
        if (now[i] != file[i] && !plan_is_in_sled(plan_of(l), at + i))
            return false;
    return true;
}

static bool is_as_in_file(struct look *l, struct span range) {
    for (vaddr_t at = range.start; at < range.end;) {
        if (at - l->now.at >= l->now.size && !load(l, at))
            return false;
        size_t left = l->now.at + l->now.size - at;
        size_t size = range.end - at < left ? range.end - at : left;
        const uint8_t *file = module_bytes(l->p->traced_module->module, at, size);
        if (!file || !is_equal(l, at, file, size))
            return false;
        at += size;
    }
    return true;
}

/* ---- functions ---- */

static void look_at(struct look *l, uint32_t function, struct span range) {
    if (bitmap_test(l->held, function))
        return;
    bool writable = is_writable(l->p, l->text, range);
    l->any_writable |= writable;
    ARRAY_PUSH(&l->ranges, range);
    if (!writable && !is_as_in_file(l, range))
        bitmap_set(l->changed, function);
    if (writable || bitmap_test(l->changed, function))
        bitmap_set(l->held, function);
}

/* Sets the bits of all functions in BITMAP that share code with one there. */
static void add_groups(const struct plan *plan, uint8_t *bitmap) {
    size_t count = plan_function_count(plan);
    AUTO_FREE uint8_t *groups = mem_alloc(bitmap_bytes(count) + 1);
    for (uint32_t f = 0; f < count; f++)
        if (bitmap_test(bitmap, f))
            bitmap_set(groups, plan_group(plan, f));
    for (uint32_t f = 0; f < count; f++)
        if (bitmap_test(groups, plan_group(plan, f)))
            bitmap_set(bitmap, f);
}

static bool is_held(const struct patched *p, size_t patch) {
    return p->held && bitmap_test(p->held, patch);
}

/* Chooses the functions to look at: of those that have patches. */
static void touch(struct look *l) {
    const struct plan *plan = plan_of(l);
    AUTO_FREE uint8_t *patched = mem_alloc(patched_function_bytes(l->p));
    struct span part;
    for (size_t i = 0; i < code_of(l)->patch_count; i++) {
        uint32_t f = function_of(l, i);
        if (f == UINT32_MAX)
            continue;
        bitmap_set(patched, f);
        if (is_held(l->p, i) || overlap(read_for(l, i), l->within))
            bitmap_set(l->touched, f);
    }
    for (uint32_t f = 0; f < plan_function_count(plan); f++)
        if (overlap(range_of(plan, f), l->within))
            bitmap_set(l->touched, f);
    for (size_t n = 0; plan_part(plan, n, &part); n++)
        if (overlap(part, l->within))
            bitmap_set(l->touched, plan_function_at(plan, part.start));
    add_groups(plan, l->touched);
    add_groups(plan, patched);
    for (size_t i = 0; i < patched_function_bytes(l->p); i++)
        l->touched[i] &= patched[i];
}

static void look_at_functions(struct look *l) {
    const struct plan *plan = plan_of(l);
    struct span part;
    for (uint32_t f = 0; f < plan_function_count(plan); f++)
        if (bitmap_test(l->touched, f))
            look_at(l, f, range_of(plan, f));
    for (size_t n = 0; plan_part(plan, n, &part); n++) {
        uint32_t f = plan_function_at(plan, part.start);
        if (bitmap_test(l->touched, f))
            look_at(l, f, part);
    }
}

/* Windows may borrow bytes outside their functions. */
static void look_at_patches(struct look *l) {
    for (size_t i = 0; i < code_of(l)->patch_count; i++) {
        struct span range = read_for(l, i);
        uint32_t f = function_of(l, i);
        bool touched = f == UINT32_MAX ? is_held(l->p, i) || overlap(range, l->within)
                                       : bitmap_test(l->touched, f);
        bool known = f != UINT32_MAX && plan_function_at(plan_of(l), range.start) == f &&
                     plan_function_at(plan_of(l), range.end - 1) == f;
        if (!touched || known)
            continue;
        if (f == UINT32_MAX)
            ARRAY_PUSH(&l->ranges, range);
        if (f != UINT32_MAX)
            look_at(l, f, range);
        else if (is_writable(l->p, l->text, range) || !is_as_in_file(l, range))
            bitmap_set(l->out, i);
    }
}

/* Patches of held functions are out, and those that depend on them. */
static void choose_patches(struct look *l) {
    struct patched view = *l->p;
    size_t count = code_of(l)->patch_count;
    view.spared = mem_alloc(bitmap_bytes(count) + 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t f = function_of(l, i);
        if (!bitmap_test(l->out, i) && (f == UINT32_MAX || !bitmap_test(l->held, f)))
            continue;
        patched_spare_patch(&view, patched_site_of(l->p, i));
        patched_spare_patch(&view, i);
    }
    free(l->out);
    l->out = view.spared;
}

static struct look *look_new(const struct patched *p, const struct text_view *view,
                             const struct writable_text *text, struct span within) {
    struct look *l = mem_alloc(sizeof *l);
    l->p = p;
    l->view = view;
    l->text = text;
    l->within = within;
    l->touched = mem_alloc(patched_function_bytes(p));
    l->held = mem_alloc(patched_function_bytes(p));
    l->changed = mem_alloc(patched_function_bytes(p));
    l->out = mem_alloc(bitmap_bytes(p->code->emitted.patch_count) + 1);
    return l;
}

static void look_free(struct look *l) {
    free(l->touched);
    free(l->held);
    free(l->changed);
    free(l->out);
    ARRAY_FREE(&l->ranges);
    free(l);
}

static void look(struct look *l) {
    touch(l);
    look_at_functions(l);
    look_at_patches(l);
    add_groups(plan_of(l), l->held);
    choose_patches(l);
}

/* ---- text that was looked at before, in another process ---- */

/* No function is held. Other processes use L's code, too, and the same text is compared in each:
 * keeps its ranges. Joins ranges that are next to each other. */
static void keep_ranges(struct look *l) {
    enum { NEAR = 64 };
    struct code *code = l->p->code;
    sort_by_address(l->ranges.at, l->ranges.count, sizeof *l->ranges.at);
    for (size_t i = 0; i < l->ranges.count; i++) {
        struct span s = l->ranges.at[i];
        struct span *last = code->looked.count ? &code->looked.at[code->looked.count - 1] : NULL;
        if (!last || s.start > last->end + NEAR)
            ARRAY_PUSH(&code->looked, s);
        else if (s.end > last->end)
            last->end = s.end;
    }
}

/* Whether all text that look() would look at is not writable, and as in the file. */
static bool is_known_text(struct look *l) {
    const struct code *code = l->p->code;
    bool same = code->looked.count;
    for (size_t i = 0; i < code->looked.count && same; i++)
        same =
            !is_writable(l->p, l->text, code->looked.at[i]) && is_as_in_file(l, code->looked.at[i]);
    return same;
}

int held_look(struct patched *p, const struct text_view *view, const struct writable_text *text,
              struct err *err) {
    struct look *l = look_new(p, view, text, (struct span){0, UINT64_MAX});
    size_t count = p->code->emitted.patch_count, bytes = bitmap_bytes(count);
    patched_spare_none(p);
    if (is_known_text(l)) {
        look_free(l);
        return 0;
    }
    look(l);
    size_t out = bitmap_count(l->out, count);
    if (!out && !p->code->looked.count)
        keep_ranges(l);
    if (out) {
        p->held = steal(l->out);
        p->spared = memcpy(mem_alloc(bytes), p->held, bytes);
        p->untraced = steal(l->held);
        p->changed = steal(l->changed);
    }
    bool none = out && out == count && !l->any_writable;
    look_free(l);
    return none ? err_set(err, ESTALE, "text-differs",
                          "%s: its code in memory differs from its file: left untraced",
                          p->traced_module->module->path)
                : 0;
}

bool held_concerns(const struct patched *p, struct span pages) {
    if (!p->code || !p->traced_module || plan_has_sleds(p->traced_module->plan))
        return false;
    struct span text = text_of(p);
    return overlap(pages, (struct span){text.start + p->bias, text.end + p->bias});
}

/* ---- while the program is traced ---- */

/* A copy of P with the patches of CHOSEN only: the others are spared. The caller frees `spared`. */
static struct patched only(const struct patched *p, const uint8_t *chosen) {
    struct patched view = *p;
    size_t bytes = bitmap_bytes(p->code->emitted.patch_count);
    view.spared = mem_alloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        view.spared[i] = (uint8_t)~chosen[i];
    return view;
}

/* Patches that the program has overwritten unseen stay as they are, and count as taken out. */
static int take_out(const struct look *l, struct err *err) {
    const struct patched *p = l->p;
    size_t bytes = bitmap_bytes(code_of(l)->patch_count);
    AUTO_FREE uint8_t *chosen = mem_alloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        chosen[i] = l->out[i] & (uint8_t) ~(p->spared ? p->spared[i] : 0);
    struct patched view = only(p, chosen);
    int rc = rewrite_restore(&view, l->view->memory_fd, NULL, err);
    free(view.spared);
    return rc == -EBUSY ? 0 : rc;
}

/* Writes the patches that are held no longer, and clears their bits in P's bitmaps. */
static int put_in(const struct look *l, struct patched *p, const struct thread_positions *positions,
                  bool *ret_written, struct err *err) {
    size_t bytes = bitmap_bytes(code_of(l)->patch_count);
    AUTO_FREE uint8_t *chosen = mem_alloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        chosen[i] = p->held[i] & (uint8_t)~l->out[i];
    struct patched view = only(p, chosen);
    const struct text_view text = text_view_by_reading(&view, l->view->memory_fd);
    thread_positions_resolve(positions, text.memory_fd, &view);
    int rc = rewrite_patch(&view, &text, err);
    for (size_t i = 0; i < bytes && rc == 0; i++) {
        uint8_t written = chosen[i] & (uint8_t)~view.spared[i];
        *ret_written |= written;
        p->held[i] &= (uint8_t)~written;
        p->spared[i] &= (uint8_t)~written;
    }
    free(view.spared);
    return rc;
}

static void join(uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] |= from[i];
}

/* Enters the result of L into P's bitmaps, which are allocated. */
static void keep(const struct look *l, struct patched *p) {
    for (size_t i = 0; i < patched_function_bytes(p); i++) {
        uint8_t rest = (uint8_t)~l->touched[i];
        p->untraced[i] = (p->untraced[i] & rest) | l->held[i];
        p->changed[i] = (p->changed[i] & rest) | l->changed[i];
    }
    join(p->spared, l->out, bitmap_bytes(code_of(l)->patch_count));
    join(p->held, l->out, bitmap_bytes(code_of(l)->patch_count));
}

static void allocate(struct patched *p) {
    size_t bytes = bitmap_bytes(p->code->emitted.patch_count);
    p->spared = p->spared ? p->spared : mem_alloc(bytes);
    p->held = p->held ? p->held : mem_alloc(bytes);
    p->untraced = p->untraced ? p->untraced : mem_alloc(patched_function_bytes(p));
    p->changed = p->changed ? p->changed : mem_alloc(patched_function_bytes(p));
}

int held_update(struct patched *p, const struct held_change *change, bool *ret_written,
                struct err *err) {
    struct span pages = change->pages;
    struct span within = {pages.start > p->bias ? pages.start - p->bias : 0, pages.end - p->bias};
    const struct text_view view = text_view_by_reading(p, change->memory_fd);
    struct look *l = look_new(p, &view, change->text, within);
    l->patched = true;
    look(l);
    int rc = take_out(l, err);
    if (rc == 0) {
        allocate(p);
        keep(l, p);
        rc = put_in(l, p, change->positions, ret_written, err);
    }
    look_free(l);
    return rc;
}
