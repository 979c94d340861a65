/* Writes patches and original bytes in pieces of text, in an order that keeps the code runnable if
 * spoor is killed between two writes. */
#include "patch/rewrite.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "arch/arch.h"
#include "base/page.h"
#include "base/workers.h"
#include "patch/pieces.h"
#include "patch/withdraw.h"
#include "target/memory.h"

enum action { TOUCH, WRITE, RESTORE };

struct rewriting {
    const struct patched *patched;
    struct text_view *view; /* of `patched` */
    int fd;
    enum action action;
    struct piece share;  /* the present one: no other thread changes its text */
    struct pages *pages; /* where pages may be dropped; or NULL */
    size_t overwritten;  /* patches that the program has overwritten; they stay */
    bool changed;        /* the present piece */
};

static void set_text(struct rewriting *w, uint8_t *text, const uint8_t *bytes, size_t size) {
    memcpy(text, bytes, size);
    w->changed = true;
}

/* Changes TEXT, the place of patch Q, unless the program has changed it. Returns whether the text
 * is as expected. */
static bool rewrite_one(struct rewriting *w, const struct patch *q, uint8_t *text) {
    bool before = memcmp(text, q->before, q->size) == 0;
    if (w->action == WRITE && before)
        set_text(w, text, q->after, q->size);
    else if (w->action == RESTORE && !before && withdraw_is_patch(q, text))
        set_text(w, text, q->before, q->size);
    else if (w->action == RESTORE)
        w->overwritten += !before && !q->yields;
    return before || q->yields || w->action == RESTORE;
}

struct text { /* of a piece, rounded to whole pages where some may be dropped */
    const struct piece *piece;
    taddr_t start;
    size_t size;
    uint8_t *now; /* as it is, if that is to be kept; or NULL */
    uint8_t then[PIECE_BYTES];
};

static struct span text_of(const struct rewriting *w, const struct piece *piece) {
    const struct patch *first = &w->patched->code->emitted.patches[piece->first],
                       *last = &w->patched->code->emitted.patches[piece->end - 1];
    const uint64_t mask = w->pages ? page_bytes() - 1 : 0;
    const taddr_t bias = w->patched->bias;
    return (struct span){(first->at + bias) & ~mask, (last->at + last->size + bias + mask) & ~mask};
}

/* PIECE may be restored before or after its neighbours: cuts between them. */
static int prepare_ends(const struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct plan_code *c = &w->patched->code->emitted;
    taddr_t bias = w->patched->bias;
    int rc = w->action == RESTORE ? withdraw_around(w->patched, w->fd, w->share,
                                                    c->patches[piece->first].at + bias, err)
                                  : 0;
    if (rc == 0 && w->action == RESTORE && piece->end < c->patch_count)
        rc = withdraw_around(w->patched, w->fd, w->share, c->patches[piece->end].at + bias, err);
    return rc;
}

/* Drops pending pages, then writes T from FROM to TO. */
static int write_between(struct rewriting *w, const struct text *t, size_t from, size_t to,
                         struct err *err) {
    int rc = prepare_ends(w, t->piece, err);
    if (rc == 0)
        rc = withdraw_around(w->patched, w->fd, w->share, t->start + from, err);
    if (rc == 0)
        rc = withdraw_around(w->patched, w->fd, w->share, t->start + to, err);
    if (rc < 0)
        return rc;
    pages_flush(w->pages);
    return w->pages->failed ? -EBUSY
                            : memory_write(w->fd, t->start + from, t->then + from, to - from, err);
}

/* Drops pages whose file has the wanted bytes, and writes the others if they change. */
static int drop_or_write_pages(struct rewriting *w, const struct text *t, struct err *err) {
    int rc = 0;
    pages_read(w->pages, t->start, t->size);
    for (size_t at = 0, end; at < t->size && rc == 0; at = end) {
        end = at + page_bytes();
        if (pages_equal_file(w->pages, at, t->then + at)) {
            pages_drop(w->pages, t->start + at);
            continue;
        }
        while (end < t->size && !pages_equal_file(w->pages, end, t->then + end))
            end += page_bytes();
        if (memcmp(t->now + at, t->then + at, end - at) != 0)
            rc = write_between(w, t, at, end, err);
    }
    return rc == 0 && w->pages->failed ? -EBUSY : rc;
}

/* Drops all pages of PIECE, which are their file's. */
static void drop_piece(const struct rewriting *w, const struct piece *piece) {
    const struct span text = text_of(w, piece);
    const bool found = pages_find(w->pages, text.start, text.end - text.start);
    w->pages->failed |= !found;
    for (taddr_t at = text.start; found && at < text.end; at += page_bytes())
        pages_drop(w->pages, at);
}

/* Whether all pages of T have their file's bytes. */
static bool are_of_file(struct pages *g, const struct text *t) {
    bool all = true;
    pages_read(g, t->start, t->size);
    for (size_t at = 0; at < t->size && all; at += page_bytes())
        all = pages_equal_file(g, at, t->then + at);
    return all;
}

/* Makes private the pages in which patches FIRST..END-1 begin, by writing a byte that they hold
 * already. That takes long, and is done before the process is stopped. Not where the program itself
 * may write. */
static int touch_pages(const struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct patched *p = w->patched;
    taddr_t last = 0;
    int rc = 0;
    for (size_t i = piece->first; i < piece->end && rc == 0; i++) {
        const struct patch *q = &p->code->emitted.patches[i];
        taddr_t at = q->at + p->bias;
        if (q->yields || patched_is_spared(p, i) || (last != 0 && page_down(at) == page_down(last)))
            continue;
        rc = memory_write(w->fd, at, q->before, 1, err);
        last = at;
    }
    return rc;
}

/* Reads the text of PIECE into T, and puts the bytes there that it is to have. */
static int compose(struct rewriting *w, const struct piece *piece, struct text *t,
                   struct err *err) {
    const struct patched *p = w->patched;
    const struct patch *patches = p->code->emitted.patches;
    const struct span text = text_of(w, piece);
    t->piece = piece;
    t->start = text.start;
    t->size = text.end - text.start;
    int rc = text_view_read(w->view, t->start - p->bias, t->then, t->size, err);
    if (rc == 0 && t->now)
        memcpy(t->now, t->then, t->size);
    w->changed = false;
    for (size_t i = piece->first; i < piece->end && rc == 0; i++) {
        const struct patch *q = &patches[i];
        if (!patched_is_spared(p, i) && !rewrite_one(w, q, t->then + (q->at + p->bias - t->start)))
            return err_set(err, ESTALE, "text-differs",
                           "%s: its code in memory differs from its file: left untraced",
                           p->traced_module->module->path);
    }
    return rc;
}

/* Restores the piece, and drops its pages where possible. */
static int restore_pages(struct rewriting *w, const struct piece *piece, struct err *err) {
    uint8_t now[PIECE_BYTES];
    struct text t;
    t.now = now;
    int rc = compose(w, piece, &t, err);
    return rc < 0 ? rc : drop_or_write_pages(w, &t, err);
}

/* Rewrites the piece in one write. */
static int rewrite_piece(struct rewriting *w, const struct piece *piece, struct err *err) {
    struct text t;
    t.now = NULL;
    int rc = compose(w, piece, &t, err);
    if (rc == 0 && w->action == TOUCH)
        return touch_pages(w, piece, err);
    if (rc == 0 && w->changed)
        rc = prepare_ends(w, piece, err);
    if (rc < 0 || !w->changed)
        return rc;
    text_view_note_write(w->view, t.start - w->patched->bias);
    return memory_write(w->fd, t.start, t.then, t.size, err);
}

/* ---- all processors ---- */

struct share {
    struct piece patches;
    piece_array pieces; /* none: not found yet */
    bool *of_file;      /* by piece: restored, all of its pages are the file's; NULL: not known */
    size_t done;        /* pieces that are rewritten */
    size_t overwritten; /* as in struct rewriting */
    int rc;
};

struct rewriting_all {
    const struct rewriting *rewriting; /* what each share begins with */
    ARRAY(struct share) shares;
    size_t step;          /* from the share that is taken to the next one; they wrap around */
    _Atomic bool differs; /* some text differs: the rest need not be written */
};

static void find_pieces(const struct rewriting_all *all, struct share *s) {
    if (!s->pieces.count)
        pieces_find(&all->rewriting->patched->code->emitted, s->patches, &s->pieces);
}

/*
 * Puns borrow bytes of the code behind them, which must not change as long as they are in memory:
 * so higher text is written first and restored last. If spoor dies in between, the code runs.
 */
static int rewrite_share(const struct rewriting_all *all, struct share *s, struct err *err) {
    struct rewriting w = *all->rewriting;
    struct text_view view = *w.view;
    w.view = &view;
    w.share = s->patches;
    s->rc = 0;
    find_pieces(all, s);
    while (s->done < s->pieces.count && s->rc == 0) {
        size_t i = w.action == WRITE ? s->pieces.count - 1 - s->done : s->done;
        if (s->of_file && s->of_file[i])
            drop_piece(&w, &s->pieces.at[i]);
        else if (w.pages)
            s->rc = restore_pages(&w, &s->pieces.at[i], err);
        else
            s->rc = rewrite_piece(&w, &s->pieces.at[i], err);
        if (s->rc == 0) {
            s->done++;
            s->overwritten += w.overwritten;
            w.overwritten = 0;
        }
    }
    return s->rc;
}

static struct share *take_share(const struct rewriting_all *all, size_t i) {
    return &all->shares.at[i * all->step % all->shares.count];
}

static void start_share(void *arg, size_t i) {
    struct rewriting_all *all = arg;
    if (!all->differs && rewrite_share(all, take_share(all, i), NULL) == -ESTALE)
        all->differs = true;
}

/* Finds out which pieces can be dropped as a whole. Pages are dropped by remote calls, which only
 * the tracer's thread can make. */
static void look_at_share(void *arg, size_t i) {
    const struct rewriting_all *all = arg;
    struct share *s = take_share(all, i);
    struct rewriting w = *all->rewriting;
    uint8_t file[PIECE_BYTES];
    struct pages pages = pages_copy(w.pages, file);
    struct text t;
    t.now = NULL;
    find_pieces(all, s);
    s->of_file = mem_alloc(s->pieces.count);
    for (size_t k = 0; k < s->pieces.count; k++) {
        w.overwritten = 0;
        s->of_file[k] = compose(&w, &s->pieces.at[k], &t, NULL) == 0 && are_of_file(&pages, &t);
        s->overwritten += s->of_file[k] ? w.overwritten : 0;
    }
    pages_copy_end(&pages);
}

/* Does what is left, first where text differs, as then the rest need not be done. The kernel may
 * let only the tracer's thread write (proc_mem.force_override=ptrace). */
static int complete_shares(const struct rewriting_all *all, struct err *err) {
    int rc = 0;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < all->shares.count && rc == 0; i++) {
            struct share *s = &all->shares.at[i];
            if (s->rc < 0 && (s->rc != -ESTALE) == others)
                rc = rewrite_share(all, s, err);
        }
    return rc;
}

static void make_shares(struct rewriting_all *all) {
    piece_array found = {0};
    pieces_find_shares(all->rewriting->patched, &found);
    for (size_t i = 0; i < found.count; i++) {
        struct share share = {.patches = found.at[i], .rc = -EAGAIN};
        ARRAY_PUSH(&all->shares, share);
    }
    ARRAY_FREE(&found);
}

static size_t greatest_divisor(size_t a, size_t b) { return b ? greatest_divisor(b, a % b) : a; }

/*
 * Has BODY work on all shares. Threads that make pages private which the process has mapped wait
 * for each other, if the pages have one page table (2 MB of text): both take twice as long as one.
 * So shares that are taken one after the other are far apart. Where text is too small for that, the
 * caller does all, later.
 */
static void divide(struct rewriting_all *all, void (*body)(void *all, size_t index)) {
    enum { FAR_BYTES = 4 << 20 };
    const struct plan_code *c = &all->rewriting->patched->code->emitted;
    const struct text_view *view = all->rewriting->view;
    const size_t count = all->shares.count;
    const bool copies = view->known_below && !view->is_new;
    if (count < 2 || (copies && c->patches[c->patch_count - 1].at - c->patches[0].at < FAR_BYTES))
        return;
    for (all->step = count * 5 / 8; greatest_divisor(all->step, count) != 1;)
        all->step++;
    workers_run(count, body, all);
}

/* Opens the file of the text for all threads. */
static void find_file(const struct rewriting *w) {
    const taddr_t first = w->patched->code->emitted.patches[0].at + w->patched->bias;
    pages_find(w->pages, page_down(first), page_bytes());
}

/* Rewrites all text: that of a process that stands on all processors. */
static int rewrite_all(struct rewriting *w, struct err *err) {
    struct rewriting_all all = {.rewriting = w};
    make_shares(&all);
    if (w->pages && all.shares.count)
        find_file(w);
    if (w->pages)
        divide(&all, look_at_share);
    else if (w->action != TOUCH)
        divide(&all, start_share);
    int rc = complete_shares(&all, err);
    for (size_t i = 0; i < all.shares.count; i++) {
        w->overwritten += all.shares.at[i].overwritten;
        ARRAY_FREE(&all.shares.at[i].pieces);
        free(all.shares.at[i].of_file);
    }
    ARRAY_FREE(&all.shares);
    return rc;
}

int rewrite_touch(const struct patched *p, const struct text_view *view, struct err *err) {
    struct text_view now = *view;
    return rewrite_all(&(struct rewriting){p, &now, view->memory_fd, .action = TOUCH}, err);
}

int rewrite_patch(const struct patched *p, const struct text_view *view, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    struct text_view known = *view;
    if (c->patch_count)
        text_view_look_below(&known, c->patches[0].at,
                             c->patches[c->patch_count - 1].at +
                                 c->patches[c->patch_count - 1].size);
    return rewrite_all(&(struct rewriting){p, &known, view->memory_fd, .action = WRITE}, err);
}

/* TID: for fast reads; or 0. */
static int restore(const struct patched *p, int fd, pid_t tid, struct pages *pages,
                   struct err *err) {
    struct text_view view = text_view_by_reading(p, fd);
    struct rewriting w = {p, &view, fd, .action = RESTORE, .pages = pages};
    view.tid = tid;
    int rc = rewrite_all(&w, err);
    if (rc == 0 && w.overwritten)
        return err_set(err, EBUSY, "text-changed",
                       "code at 0x%jx: the program has overwritten %zu patches: they stay as they "
                       "are, and the trampolines that they may lead to stay mapped",
                       p->text, w.overwritten);
    return rc;
}

int rewrite_restore(const struct patched *p, int fd, struct pages *pages, struct err *err) {
    const pid_t tid = pages ? pages->reader : 0;
    if (!pages || !pages->space)
        return restore(p, fd, tid, NULL, err);
    pages->failed = false;
    int rc = restore(p, fd, tid, pages, err);
    pages_flush(pages);
    return pages->failed ? restore(p, fd, tid, NULL, err) : rc;
}
