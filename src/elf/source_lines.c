/* See source_lines.h. */
#include "elf/source_lines.h"

#include <string.h>

#include "elf/lineinfo_internal.h"

struct source_lines {
    struct source_line *lines; /* by function */
    size_t count;
    struct arena *arena; /* of the files' names */
};

static void read_lines(struct source_lines *s, const struct lineinfo *info, const vaddr_t *starts) {
    const char *last = NULL, *kept = NULL; /* the name before, and its copy */
    struct line_cache cache = {0};
    for (size_t i = 0; i < s->count; i++) {
        struct source_line *at = &s->lines[i];
        const char *file;
        if (!lineinfo_dwarf_line(info, starts[i], &cache, &file, &at->line))
            continue;
        if (!last || strcmp(file, last) != 0)
            kept = arena_strdup(s->arena, file);
        last = at->file = kept;
    }
}

struct source_lines *source_lines_new(const char *path, const uint8_t *id, size_t id_size,
                                      const vaddr_t *starts, size_t count) {
    struct lineinfo *info;
    struct source_lines *s = NULL;
    if (lineinfo_open_local(path, &info, NULL) < 0)
        return NULL;
    if (info->units.count && lineinfo_has_id(info, id, id_size)) {
        s = mem_alloc(sizeof *s);
        s->lines = mem_alloc(count * sizeof *s->lines);
        s->count = count;
        s->arena = arena_new();
        read_lines(s, info, starts);
    }
    lineinfo_close(info);
    return s;
}

struct source_line source_lines_at(const struct source_lines *s, size_t i) {
    return s->lines[i];
}

void source_lines_free(struct source_lines *s) {
    if (!s)
        return;
    arena_free(s->arena);
    free(s->lines);
    free(s);
}
