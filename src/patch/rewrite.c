#include "patch/rewrite.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/page.h"
#include "target/memory.h"

enum {
    CHUNK_BYTES = 64 * 1024, /* text is read, changed and written in pieces up to this size */
    NEAR_BYTES = 4096,       /* patches this close share a piece */
    APART = 256,             /* patches this far apart do not need each other */
    PIECE_BYTES = PAGES_LOOK_BYTES, /* room for one, to whole pages */
};
_Static_assert(CHUNK_BYTES + 2 * PAGE_MOST_BYTES <= PIECE_BYTES, "a piece fits");

/* Patches FIRST..END-1 lie in one piece of text. */
struct piece {
    size_t first, end;
};
typedef ARRAY(struct piece) piece_array;

/* Whether patches I - 1 and I lie on different pages. */
static bool parts_pages(const struct patch *patches, size_t i) {
    return page_down(patches[i - 1].at + patches[i - 1].size - 1) != page_down(patches[i].at);
}

/* What belongs together, such as a short jump and the hole that it leads to, is rarely cut, and
 * pages, which are to be given back as a whole, hardly ever. */
static size_t cut(const struct patch *patches, size_t first, size_t end) {
    size_t apart = 0;
    for (size_t i = end; i > first + (end - first) / 2; i--) {
        if (patches[i].at - patches[i - 1].at < APART)
            continue;
        if (parts_pages(patches, i))
            return i;
        apart = apart ? apart : i;
    }
    return apart ? apart : end;
}

static void find_pieces(const struct patched *p, piece_array *ret) {
    const struct patch *patches = p->code->emitted.patches;
    size_t count = p->code->emitted.patch_count;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && patches[end].at - patches[end - 1].at < NEAR_BYTES &&
               patches[end].at + patches[end].size - patches[i].at <= CHUNK_BYTES)
            end++;
        if (end < count && patches[end].at - patches[end - 1].at < NEAR_BYTES)
            end = cut(patches, i, end);
        struct piece piece = {i, end};
        ARRAY_PUSH(ret, piece);
        i = end;
    }
}

enum action { CHECK, TOUCH, WRITE, RESTORE };

struct rewriting {
    const struct patched *patched;
    int fd;
    enum action action;
    struct pages *pages; /* that can be their file's again; or NULL */
    size_t alien;        /* patches in whose place something else stands, which stays */
    bool changed;        /* the piece at hand */
};

/* Whether patch Q stands in TEXT, or a part of it: a tool may have been killed while it wrote. */
static bool is_patch(const struct patch *q, const uint8_t *text) {
    if (memcmp(text, q->after, q->size) == 0)
        return true;
    for (unsigned i = 0; i < q->size; i++)
        if (q->yields || (text[i] != q->after[i] && text[i] != q->before[i]))
            return false;
    return true;
}

static void put(struct rewriting *w, uint8_t *text, const uint8_t *bytes, size_t size) {
    memcpy(text, bytes, size);
    w->changed = true;
}

/* Changes TEXT, where patch Q is or will be, if that is not the program's by now. Returns whether
 * it may. */
static bool treat_patch(struct rewriting *w, const struct patch *q, uint8_t *text) {
    bool before = memcmp(text, q->before, q->size) == 0;
    if (w->action == WRITE && before)
        put(w, text, q->after, q->size);
    else if (w->action == RESTORE && !before && is_patch(q, text))
        put(w, text, q->before, q->size);
    else if (w->action == RESTORE)
        w->alien += !before && !q->yields;
    return before || q->yields || w->action == RESTORE;
}

/* Patch number I, restored by itself. */
static int put_back(const struct patched *p, int fd, size_t i, struct err *err) {
    const struct patch *q = &p->code->emitted.patches[i];
    uint8_t text[sizeof q->after];
    taddr_t at = q->at + p->bias;
    int rc = patched_is_spared(p, i) ? 0 : memory_read(fd, at, text, q->size, err);
    if (rc < 0 || patched_is_spared(p, i) || memcmp(text, q->before, q->size) == 0 ||
        !is_patch(q, text))
        return rc; /* a page that was given back must not be written any more */
    return memory_write(fd, at, q->before, q->size, err);
}

/* The patch from whose site patch number I is reached, if that is on its way; else I itself. */
static size_t site_of(const struct patched *p, size_t i) {
    taddr_t site = patched_way_back(p, p->code->emitted.patches[i].at + p->bias);
    return site ? patched_patch_at(&p->code->emitted, site - p->bias) : i;
}

int rewrite_withdraw(const struct patched *p, int fd, size_t i, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    const struct patch *patches = c->patches, *q = &patches[i];
    int rc = 0;
    for (size_t j = i + 1; j < c->patch_count && patches[j].at < q->at + q->window && rc == 0;
         j++) {
        size_t hop = site_of(p, j);
        if (hop != j)
            rc = rewrite_withdraw(p, fd, hop, err);
        if (rc == 0)
            rc = put_back(p, fd, j, err);
    }
    for (size_t j = i; j-- > 0 && patches[j].at + PUN_MAX_BYTES > q->at && rc == 0;) {
        if (patches[j].at + patches[j].reads > q->at)
            rc = rewrite_withdraw(p, fd, j, err);
    }
    return rc < 0 ? rc : put_back(p, fd, i, err);
}

/* What is below run-time address AT will be restored at another time than what is above: so that
 * nothing leads from one to the other, sites near AT are restored one by one. */
static int prepare_cut(const struct rewriting *w, taddr_t at, struct err *err) {
    const struct plan_code *c = &w->patched->code->emitted;
    vaddr_t cut = at - w->patched->bias;
    size_t end = patched_patch_at(c, cut + APART), first = patched_patch_at(c, cut - APART);
    size_t middle = patched_patch_at(c, cut);
    int rc = 0;
    for (size_t i = first; i < end && first < middle && middle < end && rc == 0; i++)
        if (site_of(w->patched, i) == i)
            rc = rewrite_withdraw(w->patched, w->fd, i, err);
    return rc;
}

struct text { /* of a piece, to whole pages where some may be given back */
    const struct piece *piece;
    taddr_t start;
    size_t size;
    uint8_t now[PIECE_BYTES], then[PIECE_BYTES];
};

/* Its patches may be restored before or after others. */
static int prepare_ends(const struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct plan_code *c = &w->patched->code->emitted;
    taddr_t bias = w->patched->bias;
    int rc = w->action == RESTORE ? prepare_cut(w, c->patches[piece->first].at + bias, err) : 0;
    if (rc == 0 && w->action == RESTORE && piece->end < c->patch_count)
        rc = prepare_cut(w, c->patches[piece->end].at + bias, err);
    return rc;
}

/* Writes T from FROM to TO after what is below has been given back. */
static int put_between(struct rewriting *w, const struct text *t, size_t from, size_t to,
                       struct err *err) {
    int rc = prepare_ends(w, t->piece, err);
    if (rc == 0)
        rc = prepare_cut(w, t->start + from, err);
    if (rc == 0)
        rc = prepare_cut(w, t->start + to, err);
    if (rc < 0)
        return rc;
    pages_flush(w->pages);
    return w->pages->failed ? -EBUSY
                            : memory_write(w->fd, t->start + from, t->then + from, to - from, err);
}

/* Pages that their file holds as they will be are made that's, the others are written if they
 * change. */
static int put_pages(struct rewriting *w, const struct text *t, struct err *err) {
    int rc = 0;
    pages_look(w->pages, t->start, t->size);
    for (size_t at = 0, end; at < t->size && rc == 0; at = end) {
        end = at + page_bytes();
        if (pages_hold(w->pages, at, t->then + at)) {
            pages_give(w->pages, t->start + at);
            continue;
        }
        while (end < t->size && !pages_hold(w->pages, end, t->then + end))
            end += page_bytes();
        if (memcmp(t->now + at, t->then + at, end - at) != 0)
            rc = put_between(w, t, at, end, err);
    }
    return rc == 0 && w->pages->failed ? -EBUSY : rc;
}

/* Writes a byte that is there already to each page that patches FIRST..END-1 begin in: it becomes
 * the process's own, which takes long, before that has to stand still for it. Never where the
 * program itself may write. */
static int touch_pages(const struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct patched *p = w->patched;
    taddr_t last = 0;
    int rc = 0;
    for (size_t i = piece->first; i < piece->end && rc == 0; i++) {
        const struct patch *q = &p->code->emitted.patches[i];
        taddr_t at = q->at + p->bias;
        if (q->yields || (last != 0 && page_down(at) == page_down(last)))
            continue;
        rc = memory_write(w->fd, at, q->before, 1, err);
        last = at;
    }
    return rc;
}

/* Rewrites the piece in one go, or only sees whether it may be. */
static int treat_piece(struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct patched *p = w->patched;
    const struct patch *patches = p->code->emitted.patches;
    uint64_t mask = w->pages ? page_bytes() - 1 : 0;
    taddr_t end = patches[piece->end - 1].at + patches[piece->end - 1].size + p->bias;
    struct text t;
    t.piece = piece;
    t.start = (patches[piece->first].at + p->bias) & ~mask;
    t.size = ((end + mask) & ~mask) - t.start;
    int rc = 0;
    if (!w->pages || !memory_read_fast(w->pages->caller, t.start, t.then, t.size))
        rc = memory_read(w->fd, t.start, t.then, t.size, err);
    if (rc == 0 && w->pages)
        memcpy(t.now, t.then, t.size);
    w->changed = false;
    for (size_t i = piece->first; i < piece->end && rc == 0; i++) {
        const struct patch *q = &patches[i];
        if (!patched_is_spared(p, i) && !treat_patch(w, q, t.then + (q->at + p->bias - t.start)))
            return err_set(err, ESTALE, "text-differs",
                           "%s: its code in memory is not its file's: left untraced",
                           p->entry->module->path);
    }
    if (rc == 0 && w->action == TOUCH)
        return touch_pages(w, piece, err);
    if (rc == 0 && w->pages)
        return put_pages(w, &t, err);
    if (rc == 0 && w->changed)
        rc = prepare_ends(w, piece, err);
    return rc < 0 || !w->changed ? rc : memory_write(w->fd, t.start, t.then, t.size, err);
}

/*
 * All pieces. Puns borrow bytes of what stands behind them, which must be as they read it for as
 * long as they stand: so what is higher is written first, and restored last. Who dies in between
 * leaves code that runs.
 */
static int treat(struct rewriting *w, struct err *err) {
    piece_array pieces = {0};
    int rc = 0;
    find_pieces(w->patched, &pieces);
    for (size_t i = 0; i < pieces.count && rc == 0; i++) {
        size_t which = w->action == WRITE ? pieces.count - 1 - i : i;
        rc = treat_piece(w, &pieces.at[which], err);
    }
    ARRAY_FREE(&pieces);
    return rc;
}

int rewrite_check(const struct patched *p, int fd, struct err *err) {
    return treat(&(struct rewriting){.patched = p, .fd = fd, .action = CHECK}, err);
}

int rewrite_touch(const struct patched *p, int fd, struct err *err) {
    return treat(&(struct rewriting){.patched = p, .fd = fd, .action = TOUCH}, err);
}

int rewrite_patch(const struct patched *p, int fd, struct err *err) {
    return treat(&(struct rewriting){.patched = p, .fd = fd, .action = WRITE}, err);
}

static int restore(const struct patched *p, int fd, struct pages *pages, struct err *err) {
    struct rewriting w = {.patched = p, .fd = fd, .action = RESTORE, .pages = pages};
    int rc = treat(&w, err);
    if (rc == 0 && w.alien)
        return err_set(err, EBUSY, "text-changed",
                       "code at 0x%jx: %zu places that tracing has changed were changed again by "
                       "others: they stay so, and what they may lead to stays mapped",
                       p->text, w.alien);
    return rc;
}

int rewrite_restore(const struct patched *p, int fd, struct pages *pages, struct err *err) {
    if (!pages || !pages->space)
        return restore(p, fd, NULL, err);
    pages->failed = false;
    int rc = restore(p, fd, pages, err);
    pages_flush(pages);
    return pages->failed ? restore(p, fd, NULL, err) : rc;
}
