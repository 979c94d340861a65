/* See text_view.h. */
#include "patch/text_view.h"

#include <unistd.h>

#include "base/page.h"
#include "base/search.h"
#include "target/memory.h"
#include "target/pagemap.h"

void text_view_open(struct text_view *ret, const struct patched *p, const struct space *space) {
    *ret = text_view_by_reading(p, space->remote.memory_fd);
    ret->text = &space->writable;
    ret->tid = space->pid;
    ret->is_new = !space->positions;
    if (module_shares_pages(p->traced_module->module))
        ret->pagemap_fd = pagemap_open(space->pid);
}

struct text_view text_view_by_reading(const struct patched *p, int memory_fd) {
    return (struct text_view){.patched = p, .memory_fd = memory_fd, .pagemap_fd = -1};
}

void text_view_close(struct text_view *view) {
    if (view->pagemap_fd >= 0)
        close(view->pagemap_fd);
    view->pagemap_fd = -1;
}

/* Whether SIZE bytes at AT are mapped from where they are in the module's file. */
static bool is_mapped_from_file(const struct text_view *view, vaddr_t at, size_t size) {
    const struct patched *p = view->patched;
    const struct segment *s = module_segment_at(p->traced_module->module, at);
    const taddr_t start = at + p->bias;
    size_t i = SEARCH(k, view->text->files.count, view->text->files.at[k].at.end <= start);
    if (!s || i == view->text->files.count)
        return false;
    const struct text_file *f = &view->text->files.at[i];
    return f->at.start <= start && start + size <= f->at.end && f->inode == p->inode &&
           f->device == p->device &&
           f->offset + (start - f->at.start) == s->offset + (at - s->start);
}

void text_view_look_below(struct text_view *view, vaddr_t at, vaddr_t end) {
    view->known_below = text_view_is_file(view, at, end - at) ? end : 0;
}

void text_view_note_write(struct text_view *view, vaddr_t at) {
    const vaddr_t page = page_down(at + view->patched->bias) - view->patched->bias;
    if (page < view->known_below)
        view->known_below = page;
}

bool text_view_is_file(const struct text_view *view, vaddr_t at, size_t size) {
    if (at + size <= view->known_below)
        return true;
    return view->pagemap_fd >= 0 && is_mapped_from_file(view, at, size) &&
           module_bytes(view->patched->traced_module->module, at, size) &&
           pagemap_is_of_file(view->pagemap_fd, at + view->patched->bias, size);
}

int text_view_read(const struct text_view *view, vaddr_t at, uint8_t *out, size_t size,
                   struct err *err) {
    const taddr_t start = at + view->patched->bias;
    if (!text_view_is_file(view, at, size))
        return view->tid && memory_read_fast(view->tid, start, out, size)
                   ? 0
                   : memory_read(view->memory_fd, start, out, size, err);
    memcpy(out, module_bytes(view->patched->traced_module->module, at, size), size);
    return 0;
}
