#include "patch/area.h"

#include <errno.h>

#include "arch/host.h"
#include "base/page.h"
#include "patch/undolog.h"
#include "target/maps.h"
#include "target/status.h"

int area_no_room(const struct patched *p, int code, struct err *err) {
    return err_set(err, code, "no-room",
                   "%s: no room for trampolines within reach of its code: left untraced",
                   p->entry->module->path);
}

/* Above HIGH, however near, and within reach of LOW, of P's module: where the reach leaves no other
 * room. Behind a program that ends at the start of the break, which the kernel puts by chance up to
 * a gigabyte farther; behind libraries, below which threads' stacks may lie, it is what the kernel
 * leaves to the first stack. */
static struct span right_above(const struct patched *p, vaddr_t low, vaddr_t high, pid_t tid) {
    taddr_t bottom = high + p->bias, top = low + p->bias + plan_reach(p->entry->plan);
    taddr_t start = status_break_start(tid);
    top = top < host_highest() ? top : host_highest();
    return (struct span){bottom, start >= bottom && start < top ? start : top};
}

/* Room within reach of what lies from LOW to HIGH of P's module. */
static taddr_t room_near(const struct patched *p, const struct patch_request *r, vaddr_t low,
                         vaddr_t high) {
    const struct span near = {low + p->bias, high + p->bias};
    return maps_find_room(r->maps, near, p->room, plan_reach(p->entry->plan),
                          status_break_start(r->caller));
}

enum { PARTS = 8 }; /* of what should be near */

/* The same of what needs it, and if it must be right above that, perhaps between parts of the
 * module. */
static taddr_t room_nearby(const struct patched *p, const struct patch_request *r, vaddr_t low,
                           vaddr_t high) {
    taddr_t area = room_near(p, r, low, high);
    return area ? area
                : maps_find_room_between(r->maps, right_above(p, low, high, r->caller), p->room);
}

/* Within reach of COUNT parts of NEAR, its lower or its upper ones. */
static taddr_t room_for_parts(const struct patched *p, const struct patch_request *r,
                              struct span near, unsigned count) {
    const uint64_t part = (near.end - near.start) * count / PARTS;
    taddr_t area = room_nearby(p, r, near.start, near.start + part);
    return area ? area : room_nearby(p, r, near.end - part, near.end);
}

/* Where there is no room for ALL within reach of what NEAR tells of: for what COUNT parts of it may
 * need within reach of these. */
static taddr_t find_room_for_some(struct patched *p, const struct patch_request *r,
                                  struct span near, size_t all, unsigned count) {
    const size_t uneven = 1 << 20, some = all / PARTS * count + uneven;
    p->room = page_up(some < all ? some : all);
    return room_for_parts(p, r, near, count);
}

/* Wherever there is some, but near some of what NEED wants near. */
static taddr_t find_room_anywhere(const struct patched *p, const struct patch_request *r,
                                  struct plan_need need) {
    const struct module *m = p->entry->module;
    const struct span text = {m->text_low + p->bias, m->text_high + p->bias};
    taddr_t area = 0;
    for (unsigned i = PARTS - 1; !area && need.near.end && i; i--)
        area = room_for_parts(p, r, need.near, i);
    return area ? area
                : maps_find_room(r->maps, text, p->room, host_highest(),
                                 status_break_start(r->caller));
}

/* Within reach of all its module; of the text alone, where data takes so much that there is no such
 * place: most processors reach data farther than code; of what of it NEED wants near. */
static taddr_t find_room(const struct patched *p, const struct patch_request *r,
                         struct plan_need need) {
    const struct module *m = p->entry->module;
    taddr_t area = room_near(p, r, m->low, m->high);
    if (!area)
        area = room_near(p, r, m->text_low, m->text_high);
    if (!area)
        area = maps_find_room_between(r->maps, right_above(p, m->text_low, m->high, r->caller),
                                      p->room);
    if (!area && need.near.end)
        area = room_nearby(p, r, need.near.start, need.near.end);
    return !area && need.far ? find_room_anywhere(p, r, need) : area;
}

/* Room for less serves less of what is chosen, and so does what reaches only some of it: the most
 * that can be had by either. */
int area_choose(struct patched *p, const struct patch_request *r, struct plan_need need,
                struct err *err) {
    const size_t all = need.bytes + undolog_bytes() + need.sites * undolog_site_bytes();
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
        return area_no_room(p, ENOSPC, err);
    maps_add(r->maps, p->area, p->area + p->room);
    return 0;
}
