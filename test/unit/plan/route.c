/* Reads patched bytes as if they were written, and follows their jumps into the area. */
#include "route.h"

#include <string.h>

enum { INSN_ROOM = 15 };

static size_t patch_after(const struct plan_code *code, vaddr_t at) {
    size_t low = 0, high = code->patch_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (code->patches[mid].at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct patch *route_patch(const struct plan_code *code, vaddr_t at) {
    size_t i = patch_after(code, at);
    const struct patch *p = i ? &code->patches[i - 1] : NULL;
    return p && at - p->at < p->size ? p : NULL;
}

const struct patch *route_spare(const struct plan_code *code, vaddr_t at, unsigned bytes) {
    for (size_t i = patch_after(code, at); i-- > 0;) {
        const struct patch *p = &code->patches[i];
        if (p->window) /* the last patch that moves instructions */
            return at >= p->at + p->size && at + bytes <= p->at + p->window ? p : NULL;
    }
    return NULL;
}

static bool byte_at(const struct scene *s, vaddr_t at, uint8_t *ret) {
    for (size_t i = 0; i < s->code->island_count; i++) {
        const struct island *land = &s->code->islands[i];
        if (at + s->bias - land->at < ISLAND_BYTES) {
            *ret = land->bytes[at + s->bias - land->at];
            return true;
        }
    }
    const uint8_t *own = module_bytes(s->module, at, 1);
    const struct patch *p = route_patch(s->code, at);
    if (own)
        *ret = p ? p->after[at - p->at] : *own;
    return own;
}

bool route_insn(const struct scene *s, vaddr_t at, struct oracle_insn *ret) {
    uint8_t bytes[INSN_ROOM];
    size_t room = 0;
    while (room < INSN_ROOM && byte_at(s, at + room, &bytes[room]))
        room++;
    return room && oracle_decode(bytes, room, at, ret);
}

bool route_follow(const struct scene *s, vaddr_t at, struct route *ret) {
    struct oracle_insn jump;
    struct route r = {0};
    for (int jumps = 0; jumps < 2; jumps++) {
        if (!route_insn(s, at, &jump) || !jump.jump || !jump.direct)
            return false;
        uint64_t offset = jump.target + s->bias - s->area;
        if (offset < s->code->area_used) {
            r.offset = (uint32_t)offset;
            *ret = r;
            return true;
        }
        at = r.way = jump.target;
    }
    return false;
}

bool route_is_dead(const struct module *m, vaddr_t start, vaddr_t at, unsigned bytes) {
    bool dead = false;
    while (start < at + bytes) {
        struct oracle_insn in;
        size_t room = INSN_ROOM;
        const uint8_t *code;
        while (!(code = module_bytes(m, start, room)) && room)
            room--;
        if (!oracle_decode(code, room, start, &in))
            return false;
        if (in.padding ? !dead : start + in.size > at)
            return false; /* executed, or more than padding */
        dead = in.padding || in.ret || in.jump;
        start += in.size;
    }
    return dead;
}

static bool meets(taddr_t island, taddr_t start, taddr_t end) {
    return island < end && island + ISLAND_BYTES > start;
}

bool route_is_clear(const struct scene *s, size_t i, const struct span *spans, size_t count) {
    const struct island *islands = s->code->islands;
    taddr_t at = islands[i].at;
    bool clear = at % ISLAND_BYTES == 0 && (!i || at >= islands[i - 1].at + ISLAND_BYTES) &&
                 !meets(at, s->module->low + s->bias, s->module->high + s->bias);
    for (size_t j = 0; j < count; j++)
        clear &= !meets(at, spans[j].start, spans[j].end);
    return clear;
}

bool loses_puns(const struct plan_code *code) {
    bool lost = false;
    for (size_t i = 0; i < code->pun_log.puns.count; i++)
        lost |= code->pun_log.puns.at[i].lost;
    return lost;
}
