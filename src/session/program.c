#include "session/program.h"

#include "base/page.h"

bool map_is_same_file(const struct map *a, const struct map *b) {
    return a->inode && a->inode == b->inode && a->device == b->device;
}

bool map_bias(const struct map *map, const struct module *module, taddr_t *ret) {
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *g = &module->segments[i];
        if (g->executable && page_down(g->offset) == map->offset) {
            *ret = map->start - page_down(g->start);
            return true;
        }
    }
    return false;
}

void program_find(const struct space_context *ctx, struct space *space, pid_t caller,
                  const struct maps *maps, const struct map *executable) {
    struct program *program = &space->program;
    for (size_t i = 0; ctx->options->libcalls && i < maps->list.count && !program->entry; i++) {
        const struct map *m = &maps->list.at[i];
        struct entry *e;
        taddr_t bias;
        if (!m->executable || !map_is_same_file(m, executable) ||
            catalog_find(ctx->catalog, caller, m, &e, NULL) < 0 || !map_bias(m, e->module, &bias))
            continue;
        program->entry = e;
        program->text = (struct span){e->module->text_low + bias, e->module->text_high + bias};
        catalog_libcalls(ctx->catalog, e);
    }
}
