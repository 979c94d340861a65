/* Keeps what a program may write, as its maps say and as its calls change it. */
#include "patch/writable_text.h"

#include "base/mem.h"
#include "target/maps.h"

void writable_text_set(struct writable_text *text, const struct maps *maps) {
    text->list.count = text->files.count = 0;
    for (size_t i = 0; i < maps->list.count; i++) {
        const struct map *m = &maps->list.at[i];
        if (m->writable)
            ARRAY_PUSH(&text->list, ((struct span){m->start, m->end}));
        if (m->executable && !m->shared && m->inode)
            ARRAY_PUSH(&text->files,
                       ((struct text_file){{m->start, m->end}, m->offset, m->inode, m->device}));
    }
}

void writable_text_done(struct writable_text *text) {
    ARRAY_FREE(&text->list);
    ARRAY_FREE(&text->files);
}

void writable_text_change(struct writable_text *text, struct span pages, bool writable) {
    ARRAY(struct span) now = {0};
    bool placed = !writable;
    for (size_t i = 0; i < text->list.count; i++) {
        struct span s = text->list.at[i];
        if (s.start < pages.start)
            ARRAY_PUSH(&now, ((struct span){s.start, s.end < pages.start ? s.end : pages.start}));
        if (!placed && s.end > pages.start) {
            ARRAY_PUSH(&now, pages);
            placed = true;
        }
        if (s.end > pages.end)
            ARRAY_PUSH(&now, ((struct span){s.start > pages.end ? s.start : pages.end, s.end}));
    }
    if (!placed)
        ARRAY_PUSH(&now, pages);
    ARRAY_FREE(&text->list);
    text->list.at = now.at;
    text->list.count = now.count;
    text->list.room = now.room;
}
