/* See islands.h. */
#include "patch/islands.h"

#include "patch/area.h"
#include "patch/remote.h"
#include "target/maps.h"
#include "target/memory.h"

enum { MOST_ISLANDS = 16384 }; /* in a process: a quarter of the usual vm.max_map_count */

size_t islands_room(const struct space *s) {
    size_t used = 0;
    for (size_t i = 0; i < s->modules.count; i++)
        used += s->modules.at[i].islands;
    for (size_t i = 0; i < s->prepared.count; i++)
        used += s->prepared.at[i].code->emitted.island_count;
    return used < MOST_ISLANDS ? MOST_ISLANDS - used : 0;
}

static int fill_islands(const struct patched *p, const struct space *s, size_t first, size_t end,
                        struct err *err) {
    const struct island *islands = p->code->emitted.islands;
    int rc = 0;
    for (size_t i = first; i < end && rc == 0; i++)
        rc = memory_write(s->remote.memory_fd, patched_island_at(p, i), islands[i].bytes,
                          ISLAND_BYTES, err);
    return rc;
}

/* Maps and fills COUNT adjacent islands from number FIRST on. */
static int map_run(struct patched *p, const struct patch_request *r, size_t first, size_t count,
                   struct err *err) {
    int rc = area_map(p, r, patched_island_at(p, first), count * ISLAND_BYTES, err);
    if (rc < 0)
        return rc;
    p->islands = first + count;
    return fill_islands(p, r->space, first, first + count, err);
}

enum { RUNS_AT_ONCE = 24 };

/* Maps the runs of islands from number FIRST on, in one series of calls. Returns the number behind
 * them; FIRST if there is no such series, or a place is taken: then none of them is mapped. */
static size_t map_runs(struct patched *p, const struct patch_request *r, size_t first) {
    const struct plan_code *c = &p->code->emitted;
    struct remote_step steps[RUNS_AT_ONCE] = {0};
    size_t end = first, count = 0;
    bool all = true;
    for (; end < c->island_count && count < RUNS_AT_ONCE; count++) {
        const size_t run = patched_island_run(c, end);
        steps[count].call = area_mapping(patched_island_at(p, end), run * ISLAND_BYTES);
        end += run;
    }
    if (count < 2 || !space_calls(r->space, r->caller, steps, count))
        return first;
    for (size_t i = 0; i < count; i++)
        all &= (uint64_t)steps[i].result == steps[i].call.args[0];
    for (size_t i = 0; i < count && !all; i++)
        if ((uint64_t)steps[i].result == steps[i].call.args[0])
            space_unmap(r->space, r->caller, steps[i].call.args[0], steps[i].call.args[1], NULL);
    return all ? end : first;
}

int islands_map(struct patched *p, const struct patch_request *r, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    int rc = 0;
    for (size_t i = 0, end; i < c->island_count && rc == 0; i = end) {
        end = map_runs(p, r, i);
        if (end > i) {
            p->islands = end;
            rc = fill_islands(p, r->space, i, end, err);
        } else {
            end = i + patched_island_run(c, i);
            rc = map_run(p, r, i, end - i, err);
        }
    }
    return rc;
}

void islands_note(const struct patched *p, struct maps *maps) {
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->island_count;) {
        size_t run = patched_island_run(c, i);
        maps_add(maps, patched_island_at(p, i), patched_island_at(p, i) + run * ISLAND_BYTES);
        i += run;
    }
}
