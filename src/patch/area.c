/* Chooses the place of a module's area: near all of the module, or near as much of it as
 * possible. */
#include "patch/area.h"

#include <errno.h>
#include <sys/mman.h>

#include "arch/host.h"
#include "base/page.h"
#include "patch/limits.h"
#include "patch/remote.h"
#include "patch/undolog.h"
#include "target/maps.h"

static int no_room(const struct patched *p, int code, struct err *err) {
    return err_set(err, code, "no-room",
                   "%s: no room for trampolines within reach of its code: left untraced",
                   p->traced_module->module->path);
}

/* mmap() has failed in CALLER's process with ENOMEM. */
static int no_memory(const struct patched *p, pid_t caller, struct err *err) {
    size_t count, most;
    if (!maps_are_full(caller, &count, &most))
        return no_room(p, ENOMEM, err);
    return err_set(err, ENOMEM, "too-many-maps",
                   "%s: left untraced: the process has %zu mappings, and vm.max_map_count allows "
                   "%zu: raise that (sysctl)",
                   p->traced_module->module->path, count, most);
}

/* The room above HIGH, however near, within reach of LOW of P's module. It serves if there is no
 * other room within reach. Above a program it ends at the break, which the kernel puts up to a
 * gigabyte farther, at random. Above libraries it is the room that the kernel leaves for the first
 * stack. Below libraries there may be stacks of threads. */
static struct span right_above(const struct patched *p, const struct patch_request *r, vaddr_t low,
                               vaddr_t high) {
    taddr_t bottom = high + p->bias, top = low + p->bias + plan_reach(p->traced_module->plan);
    taddr_t start = r->break_start;
    top = top < host_highest() ? top : host_highest();
    return (struct span){bottom, start >= bottom && start < top ? start : top};
}

/* Room within reach of LOW to HIGH of P's module. */
static taddr_t room_near(const struct patched *p, const struct patch_request *r, vaddr_t low,
                         vaddr_t high) {
    const struct span near = {low + p->bias, high + p->bias};
    return maps_find_room(r->maps, near, p->room, plan_reach(p->traced_module->plan),
                          r->break_start);
}

enum { PARTS = 8 }; /* into which need.near is divided */

/* The same, and failing that right above, perhaps between parts of the module. */
static taddr_t room_nearby(const struct patched *p, const struct patch_request *r, vaddr_t low,
                           vaddr_t high) {
    taddr_t area = room_near(p, r, low, high);
    return area ? area : maps_find_room_between(r->maps, right_above(p, r, low, high), p->room);
}

/* Room within reach of the lower or the upper COUNT parts of NEAR. */
static taddr_t room_for_parts(const struct patched *p, const struct patch_request *r,
                              struct span near, unsigned count) {
    const uint64_t part = (near.end - near.start) * count / PARTS;
    taddr_t area = room_nearby(p, r, near.start, near.start + part);
    return area ? area : room_nearby(p, r, near.end - part, near.end);
}

/* Room for the bytes that COUNT parts of NEAR may need, within reach of these; used if ALL bytes
 * fit nowhere within reach of all of NEAR. */
static taddr_t find_room_for_some(struct patched *p, const struct patch_request *r,
                                  struct span near, size_t all, unsigned count) {
    const size_t uneven = 1 << 20, some = all / PARTS * count + uneven;
    p->room = page_up(some < all ? some : all);
    return room_for_parts(p, r, near, count);
}

/* Room anywhere, but near some parts of need.near if possible. */
static taddr_t find_room_anywhere(const struct patched *p, const struct patch_request *r,
                                  struct plan_need need) {
    const struct module *m = p->traced_module->module;
    const struct span text = {m->text_low + p->bias, m->text_high + p->bias};
    taddr_t area = 0;
    for (unsigned i = PARTS - 1; !area && need.near.end && i; i--)
        area = room_for_parts(p, r, need.near, i);
    return area ? area : maps_find_room(r->maps, text, p->room, host_highest(), r->break_start);
}

/* Room within reach of the whole module; of its text, if data is too large (most processors reach
 * data farther than code); of need.near. */
static taddr_t find_room(const struct patched *p, const struct patch_request *r,
                         struct plan_need need) {
    const struct module *m = p->traced_module->module;
    taddr_t area = room_near(p, r, m->low, m->high);
    if (!area)
        area = room_near(p, r, m->text_low, m->text_high);
    if (!area)
        area = maps_find_room_between(r->maps, right_above(p, r, m->text_low, m->high), p->room);
    if (!area && need.near.end)
        area = room_nearby(p, r, need.near.start, need.near.end);
    return !area && need.far ? find_room_anywhere(p, r, need) : area;
}

/* A smaller area serves fewer of the chosen functions, and so does an area that reaches only some
 * of them. Takes the largest of either kind. */
int area_choose(struct patched *p, const struct patch_request *r, struct plan_need need,
                struct err *err) {
    const size_t all = need.bytes + undolog_bytes(p) + need.sites * undolog_site_bytes();
    unsigned parts = PARTS;
    p->area = 0;
    for (size_t bytes = all; !p->area && bytes >= all / 16; bytes -= bytes / 8 + 1) {
        const unsigned some = (unsigned)((bytes * PARTS + all - 1) / all);
        if (some < parts)
            p->area = find_room_for_some(p, r, need.near, all, parts = some);
        if (p->area)
            break;
        p->room = page_up(bytes);
        p->area = find_room(p, r, need);
    }
    if (!p->area)
        return no_room(p, ENOSPC, err);
    maps_add(r->maps, p->area, p->area + p->room);
    return 0;
}

struct remote_call area_mapping(taddr_t start, size_t size) {
    return (struct remote_call){REGS_CALL_MMAP,
                                {start, size, PROT_READ | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ul, 0}};
}

int area_map(const struct patched *p, const struct patch_request *r, taddr_t start, size_t size,
             struct err *err) {
    struct remote_step step = {.call = area_mapping(start, size)}; /* a series has one stop less */
    int64_t at = 0;
    int rc = 0;
    if (space_calls(r->space, r->caller, &step, 1))
        at = step.result;
    else if ((rc = limits_raise(r->space, r->caller, size, err)) == 0)
        rc = thread_call(r->caller, &r->space->remote, &step.call, &at, err);
    if (rc == -ENOMEM || (rc == 0 && at == -ENOMEM))
        return no_memory(p, r->caller, err);
    return rc == 0 && (taddr_t)at != start ? no_room(p, ENOMEM, err) : rc;
}
