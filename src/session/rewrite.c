#include "session/rewrite.h"

#include <errno.h>
#include <string.h>

#include "target/memory.h"

enum {
    CHUNK_BYTES = 64 * 1024, /* text is read, changed and written in pieces up to this size */
    NEAR_BYTES = 4096,       /* patches this close share a piece */
};

/* Patches FIRST..END-1 lie in one piece of text. */
struct piece {
    size_t first, end;
};
typedef ARRAY(struct piece) piece_array;

/* What belongs together, such as a short jump and the hole that it leads to, is rarely cut. */
static size_t cut(const struct patch *patches, size_t first, size_t end) {
    enum { APART = 256 };
    for (size_t i = end; i > first + 1; i--)
        if (patches[i].at - patches[i - 1].at >= APART)
            return i;
    return end;
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

enum action { CHECK, WRITE, RESTORE };

struct rewriting {
    const struct patched *patched;
    int fd;
    enum action action;
    size_t alien; /* patches in whose place something else stands, which stays */
    bool changed; /* the piece at hand */
};

/* Whether patch Q stands in TEXT, or a part of it: a tool may have been killed while it wrote. */
static bool is_ours(const struct patch *q, const uint8_t *text) {
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
    else if (w->action == RESTORE && !before && is_ours(q, text))
        put(w, text, q->before, q->size);
    else if (w->action == RESTORE)
        w->alien += !before && !q->yields;
    return before || q->yields || w->action == RESTORE;
}

/* Rewrites the piece in one go, or only sees whether it may be. */
static int treat_piece(struct rewriting *w, const struct piece *piece, struct err *err) {
    const struct patched *p = w->patched;
    const struct patch *patches = p->code->emitted.patches;
    const struct patch *first = &patches[piece->first], *last = &patches[piece->end - 1];
    uint8_t bytes[CHUNK_BYTES];
    size_t size = last->at + last->size - first->at;
    int rc = memory_read(w->fd, first->at + p->bias, bytes, size, err);
    w->changed = false;
    for (size_t i = piece->first; i < piece->end && rc == 0; i++) {
        const struct patch *q = &patches[i];
        if (!patched_spares(p, i) && !treat_patch(w, q, bytes + (q->at - first->at)))
            return err_set(err, ESTALE, "text-differs",
                           "%s: its code in memory is not its file's: left untraced",
                           p->entry->module->path);
    }
    return rc < 0 || !w->changed ? rc : memory_write(w->fd, first->at + p->bias, bytes, size, err);
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
    return treat(&(struct rewriting){p, fd, CHECK, 0, false}, err);
}

int rewrite_patch(const struct patched *p, int fd, struct err *err) {
    return treat(&(struct rewriting){p, fd, WRITE, 0, false}, err);
}

int rewrite_restore(const struct patched *p, int fd, struct err *err) {
    struct rewriting w = {p, fd, RESTORE, 0, false};
    int rc = treat(&w, err);
    if (rc == 0 && w.alien)
        return err_set(err, EBUSY, "text-changed",
                       "code at 0x%lx: %zu places that tracing has changed were changed again by "
                       "others: they stay so, and what they may lead to stays mapped",
                       p->text, w.alien);
    return rc;
}
