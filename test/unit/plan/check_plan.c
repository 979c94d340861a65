/*
 * Checks the windows of any file's plan. Capstone reads the code independently:
 *
 *     check-plan [--debug PATH] FILE…      a line for each wrong window; status 1 if there is any
 *
 *  - A window begins and ends at instructions.
 *  - No branch, call, jump table, symbol, reference from data or landing pad leads into it. A
 *    trap's window is exempt: a trap changes its first byte only (all possible traps are
 *    permitted here). In a 32-bit program at a fixed address a number in data is no reference
 *    if it leads into the middle of code without a jump to a computed address; the code that
 *    this code branches to must not have one, either.
 *  - It holds no system call, landing instruction or return address. It may end with an
 *    indirect call through a word at a known place or, in T32, through a register.
 *  - Overwritten padding and holes are padding behind a return or jump, or bytes that another
 *    window has moved away.
 *  - No byte is written twice. Of XRay's sleds only the first two bytes are written.
 *  - Arm: a window has the state that symbols tell, no data is overwritten, and no function
 *    begins in it (check_states.h). PATH is a directory of debug files by build-id, or a debug
 *    file.
 *  - Arm: no patch is between an exclusive load and its store, and no data is moved.
 *
 * A file that cannot be planned is no failure: `spoor explain` names the reason.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/mem.h"
#include "check_states.h"
#include "oracle.h"
#include "oracle_a64.h"
#include "oracle_arm.h"
#include "plan/plan.h"

/* Facts about one byte of text. */
enum {
    BOUNDARY = 1, /* an instruction starts here */
    SEEN = 2,     /* part of an instruction of known code */
    MOVED = 4,    /* moved to a trampoline */
    INSIDE = 8,   /* in a window, behind its first byte */
    WRITTEN = 16, /* a jump is written over it */
    DEAD = 32,    /* padding behind a return, a jump or data */
    FIRST = 64,   /* the first byte of a window */
    CLOSED = 128, /* of code without jumps to computed addresses */
};

struct part { /* of the code */
    vaddr_t start, end;
    size_t leader; /* the index of another part of the same function, finally its own */
    bool jumps;    /* has a jump to an address from a register or memory */
    bool bounded;  /* the file states its end */
};

struct lead { /* a branch out of a part */
    vaddr_t to;
    size_t from;
};

struct checked {
    const struct module *module;
    const struct plan *plan;
    struct plan_view view;
    uint8_t *facts;           /* indexed by address − text_low */
    ARRAY(struct part) parts; /* by start */
    ARRAY(struct lead) leads;
    size_t wrong;
};

struct table { /* a table from which an indirect jump may read its target */
    vaddr_t at;
    unsigned word; /* the size of an entry: 4, relative to `at`, or 8 */
};

static void wrong(struct checked *c, const char *what, vaddr_t at) {
    enum { MOST = 20 };
    if (c->wrong++ < MOST)
        printf("%s: %#lx: %s\n", c->module->path, (unsigned long)at, what);
}

static uint8_t *fact(const struct checked *c, vaddr_t at) {
    static uint8_t nowhere;
    const struct module *m = c->module;
    nowhere = 0;
    return at >= m->text_low && at < m->text_high ? &c->facts[at - m->text_low] : &nowhere;
}

/* ---- facts of the plan ---- */

static void note_written(struct checked *c, vaddr_t at, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) {
        if (*fact(c, at + i) & WRITTEN)
            wrong(c, "is written twice", at + i);
        *fact(c, at + i) |= WRITTEN;
    }
}

static void note_windows(struct checked *c) {
    vaddr_t end = 0;
    for (size_t i = 0; i < c->view.windows.count; i++) {
        const struct plan_window *w = &c->view.windows.at[i];
        if (w->start < end || w->end <= w->start)
            wrong(c, "a window overlaps another", w->start);
        end = w->end;
        for (vaddr_t at = w->start; at < w->end; at++)
            *fact(c, at) |= at > w->start && w->tier != TIER_TRAP ? MOVED | INSIDE : MOVED;
        *fact(c, w->start) |= FIRST;
        note_written(c, w->start, w->written);
        note_written(c, w->hole, w->hole_bytes);
    }
}

/* ---- facts of the file ---- */

static void lead_to(struct checked *c, vaddr_t target, const char *what) {
    uint8_t there = *fact(c, target);
    if (there & INSIDE || (there & WRITTEN && !(there & FIRST)))
        wrong(c, what, target);
}

static struct oracle_insn decode_a64(const uint8_t *p, size_t room, vaddr_t at) {
    enum { BYTES = 4 };
    static const char *const landings[] = {"paciasp", "pacibsp", "hint #0x22", "hint #0x24",
                                           "hint #0x26"};
    struct oracle_insn in = {.size = (uint8_t)(room < BYTES ? room : BYTES)};
    struct oracle_a64 a;
    uint32_t word;
    if (room < BYTES)
        return in;
    memcpy(&word, p, sizeof word);
    if (!oracle_a64_decode(word, at, &a))
        return in;
    in = (struct oracle_insn){.size = BYTES,
                              .call = a.call,
                              .ret = a.ret,
                              .jump = a.jump,
                              .branch = a.branch,
                              .direct = a.direct,
                              .padding = a.nop,
                              .syscall = a.svc,
                              .exclusive = a.exclusive,
                              .exclusive_load = a.exclusive && a.load,
                              .target = a.target};
    for (size_t i = 0; i < sizeof landings / sizeof *landings; i++)
        in.landing |= strncmp(a.text, landings[i], strlen(landings[i])) == 0;
    return in;
}

/* The plan decides which state code has, and which bytes are no code. */
static bool is_data(const struct checked *c, vaddr_t at) { return !plan_arch_at(c->plan, at); }

static struct oracle_insn decode_arm(const struct checked *c, const uint8_t *p, size_t room,
                                     vaddr_t at) {
    enum { HALF = 2 };
    const struct arch *arch = plan_arch_at(c->plan, at);
    struct oracle_insn in = {.size = (uint8_t)(room < HALF ? room : HALF)};
    if (arch)
        oracle_arm_decode(arch->insn_bytes == HALF, p, room, at, &in);
    return in;
}

/* 0xd4, with which lld fills gaps between sections. As A32 it is never executed: its condition is
 * followed by a coprocessor number that does not exist. As T32 it is an ordinary instruction. */
static bool is_filled(const struct checked *c, const struct oracle_insn *in, const uint8_t *p) {
    enum { FILLER = 0xd4 };
    for (uint8_t i = 0; i < in->size; i++)
        if (p[i] != FILLER)
            return false;
    return c->module->machine == EM_ARM;
}

/* Capstone 4 misreads some of AVX-512; there the decoder under test counts. */
static struct oracle_insn decode(const struct checked *c, const uint8_t *p, size_t room,
                                 vaddr_t at) {
    enum { EVEX = 0x62 };
    struct oracle_insn in = {0};
    struct insn own;
    if (c->module->machine == EM_AARCH64)
        return decode_a64(p, room, at);
    if (c->module->machine == EM_ARM)
        return decode_arm(c, p, room, at);
    if (*p != EVEX && oracle_decode(p, room, at, &in))
        return in;
    arch_for_machine(c->module->machine)->decode(p, room, at, &own, NULL);
    return (struct oracle_insn){.size = own.size};
}

static void check_insn(struct checked *c, const struct oracle_insn *in, vaddr_t at) {
    if (is_data(c, at) && *fact(c, at) & (MOVED | WRITTEN))
        wrong(c, "data is taken for code", at);
    if (in->direct)
        lead_to(c, in->target, "a branch leads into a window");
    if (in->call)
        lead_to(c, at + in->size, "a return address lies in a window");
    uint8_t any = 0;
    for (uint8_t i = 0; i < in->size; i++) {
        any |= *fact(c, at + i);
        *fact(c, at + i) |= SEEN;
    }
    *fact(c, at) |= BOUNDARY;
    bool through = strstr(in->text, "qword ptr [0x") ||
                   (c->module->machine == EM_ARM && strncmp(in->text, "blx", strlen("blx")) == 0);
    bool last = !(*fact(c, at + in->size) & MOVED) || *fact(c, at + in->size) & FIRST;
    bool stays = in->call && !in->direct && !(through && last);
    if (any & MOVED && (stays || in->syscall || in->landing))
        wrong(c, "a window holds an indirect call, a system call or a landing instruction", at);
}

static int64_t word_at(const struct module *m, const struct table *t, size_t i, bool *ret_ok) {
    const uint8_t *p = module_bytes(m, t->at + i * t->word, t->word);
    int32_t offset;
    int64_t address;
    *ret_ok = p;
    if (!p)
        return 0;
    memcpy(&offset, p, sizeof offset);
    if (t->word == sizeof offset)
        return (int64_t)t->at + offset;
    memcpy(&address, p, sizeof address);
    return address;
}

/* A jump table of the code in [start, end) ends at the first entry that leads elsewhere. */
static void check_table(struct checked *c, const struct table *t, vaddr_t start, vaddr_t end) {
    for (size_t i = 0;; i++) {
        bool ok;
        vaddr_t to = (vaddr_t)word_at(c->module, t, i, &ok);
        if (!ok || to < start || to >= end || !(*fact(c, to) & BOUNDARY))
            return;
        lead_to(c, to, "a jump table leads into a window");
    }
}

/* The number behind the last "0x" of an instruction's text, and whether it is an address. */
static bool text_address(const char *text, vaddr_t *ret) {
    const char *number = strstr(text, "0x");
    if (!number)
        return false;
    *ret = strtoull(number, NULL, 16);
    return true;
}

typedef ARRAY(struct table) table_array;

static void note_table(const struct checked *c, table_array *tables, const struct oracle_insn *in) {
    struct table t = {0};
    bool lea = strncmp(in->text, "lea ", 4) == 0, indirect = in->jump && !in->direct;
    if ((!lea && !indirect) || !text_address(in->text, &t.at))
        return;
    const struct segment *s = module_segment_at(c->module, t.at);
    t.word = lea ? 4 : 8;
    if (s && !s->executable)
        ARRAY_PUSH(tables, t);
}

/* Between an exclusive load and its store nothing may be patched. *LOAD is the address of the last
 * such load, or 0 after its store. */
static void check_exclusive(struct checked *c, const struct oracle_insn *in, vaddr_t at,
                            vaddr_t *load) {
    enum { LONGEST = 128 };
    if (in->exclusive_load)
        *load = at;
    if (!in->exclusive || in->exclusive_load || !*load)
        return;
    uint8_t any = 0;
    for (vaddr_t i = *load; at - *load < LONGEST && i <= at; i++)
        any |= *fact(c, i);
    if (any & (MOVED | WRITTEN))
        wrong(c, "a window lies between an exclusive load and its store", *load);
    *load = 0;
}

static void check_code(struct checked *c, size_t part) {
    const vaddr_t start = c->parts.at[part].start, end = c->parts.at[part].end;
    const uint8_t *bytes = end > start ? module_bytes(c->module, start, end - start) : NULL;
    table_array tables = {0};
    bool indirect = false, through = false, dead = false;
    vaddr_t exclusive = 0;
    for (vaddr_t at = start; bytes && at < end;) {
        struct oracle_insn in = decode(c, bytes + (at - start), end - at, at);
        check_insn(c, &in, at);
        check_exclusive(c, &in, at, &exclusive);
        note_table(c, &tables, &in);
        indirect |= in.jump && !in.direct;
        through |= in.through;
        if (in.direct && !in.call && (in.target < start || in.target >= end))
            ARRAY_PUSH(&c->leads, ((struct lead){in.target, part}));
        dead = in.ret || in.jump || is_data(c, at) || (in.padding && dead);
        for (uint8_t i = 0; i < in.size && in.padding && dead; i++)
            *fact(c, at + i) |= DEAD;
        at += in.size;
    }
    c->parts.at[part].jumps = through;
    for (size_t i = 0; indirect && i < tables.count; i++)
        check_table(c, &tables.at[i], start, end);
    ARRAY_FREE(&tables);
}

/* Marks the gap between code and the next known place as padding, from its start on. */
static void note_padding(struct checked *c, vaddr_t at, vaddr_t end, bool dead) {
    const uint8_t *bytes = end > at ? module_bytes(c->module, at, end - at) : NULL;
    for (const vaddr_t start = at; bytes && at < end;) {
        struct oracle_insn in = decode(c, bytes + (at - start), end - at, at);
        if (dead && is_filled(c, &in, bytes + (at - start)))
            in = (struct oracle_insn){.size = in.size, .padding = true};
        if (in.padding && !dead)
            return;
        if (!in.padding && !in.ret && !in.jump)
            return;
        dead = true;
        for (uint8_t i = 0; i < in.size && in.padding; i++)
            *fact(c, at + i) |= DEAD;
        at += in.size;
    }
}

static int compare_part(const void *x, const void *y) {
    const struct part *a = x, *b = y;
    return (a->start > b->start) - (a->start < b->start);
}

static bool ends_dead(const struct checked *c, const struct part *p) {
    vaddr_t last = p->end - 1;
    while (last > p->start && !(*fact(c, last) & BOUNDARY))
        last--;
    const uint8_t *bytes = module_bytes(c->module, last, p->end - last);
    struct oracle_insn in = bytes ? decode(c, bytes, p->end - last, last) : (struct oracle_insn){0};
    return in.ret || in.jump || is_data(c, last) || *fact(c, last) & DEAD;
}

static void add_part(struct checked *c, vaddr_t start, vaddr_t end, bool bounded) {
    ARRAY_PUSH(&c->parts, ((struct part){.start = start, .end = end, .bounded = bounded}));
}

/* Code of F behind its unwind range, as in glibc's clone(). */
static void add_rest(struct checked *c, const struct plan_function *f) {
    const struct unwind_range *range = module_range_at(c->module, f->addr);
    vaddr_t end = f->addr + f->size;
    if (range && range->end < end && !module_range_at(c->module, range->end))
        add_part(c, range->end, end, true);
}

/* All known code: unwind ranges, functions, parts of functions, linker stubs. */
static void find_parts(struct checked *c) {
    const struct module *m = c->module;
    for (size_t i = 0; i < m->range_count; i++)
        add_part(c, m->ranges[i].start, m->ranges[i].end, true);
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        if (s->type == SYMBOL_FUNCTION && s->size && !module_range_at(m, s->addr))
            add_part(c, s->addr, s->addr + s->size, true);
    }
    for (size_t i = 0; i < m->section_count; i++) {
        const struct section *s = &m->sections[i];
        if (s->plt && s->bytes && !module_range_at(m, s->start))
            add_part(c, s->start, s->start + s->size, false);
    }
    for (size_t i = 0; i < plan_function_count(c->plan); i++) {
        const struct plan_function *f = plan_function(c->plan, i);
        bool known = f->entry != TIER_NONE || m->machine == EM_ARM;
        if (known && !module_range_at(m, f->addr))
            add_part(c, f->addr, f->addr + f->size, false);
        add_rest(c, f);
    }
    struct span part;
    for (size_t i = 0; plan_part(c->plan, i, &part); i++) {
        if (!module_range_at(m, part.start))
            add_part(c, part.start, part.end, false);
    }
    if (c->parts.count)
        qsort(c->parts.at, c->parts.count, sizeof *c->parts.at, compare_part);
}

static void check_parts(struct checked *c) {
    const struct module *m = c->module;
    find_parts(c);
    for (size_t i = 0; i < c->parts.count; i++)
        check_code(c, i);
    for (size_t i = 0; i < c->parts.count; i++) {
        const struct part *p = &c->parts.at[i];
        vaddr_t end = i + 1 == c->parts.count ? m->text_high : p[1].start;
        if (p->end > p->start && module_segment_at(m, p->start))
            note_padding(c, p->end, end, ends_dead(c, p));
    }
}

/* ---- code that a number in data may refer to ---- */

static size_t leader_of(const struct checked *c, size_t part) {
    while (c->parts.at[part].leader != part)
        part = c->parts.at[part].leader;
    return part;
}

/* A function's start, or a stub for a function of another module. */
static bool is_function(const struct checked *c, vaddr_t at) {
    const struct section *s = module_section_at(c->module, at);
    const uint32_t f = plan_function_at(c->plan, at);
    return (s && s->plt) || (f != NO_FUNCTION && plan_function(c->plan, f)->addr == at);
}

/* Index of the first part that begins behind AT. */
static size_t part_behind(const struct checked *c, vaddr_t at) {
    size_t low = 0;
    for (size_t high = c->parts.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (c->parts.at[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Unites parts that branch to each other, except to a function's start. */
static void unite_parts(struct checked *c) {
    for (size_t i = 0; i < c->parts.count; i++)
        c->parts.at[i].leader = i;
    for (size_t i = 0; i < c->leads.count; i++) {
        const struct lead *l = &c->leads.at[i];
        size_t into = part_behind(c, l->to);
        if (!into || l->to >= c->parts.at[into - 1].end || is_function(c, l->to))
            continue;
        size_t from = leader_of(c, l->from), to = leader_of(c, into - 1);
        c->parts.at[from].leader = to;
        c->parts.at[to].jumps |= c->parts.at[from].jumps;
    }
}

static void find_closed(struct checked *c) {
    unite_parts(c);
    for (int jumps = false; jumps <= true; jumps++) { /* parts with jumps decide last */
        for (size_t i = 0; i < c->parts.count; i++) {
            const struct part *p = &c->parts.at[i];
            if (c->parts.at[leader_of(c, i)].jumps != jumps || !(jumps || p->bounded))
                continue;
            for (vaddr_t at = p->start; at < p->end; at++)
                *fact(c, at) = jumps ? *fact(c, at) & (uint8_t)~CLOSED : *fact(c, at) | CLOSED;
        }
    }
}

static bool is_number(const struct checked *c, const struct code_ref *r) {
    const struct module *m = c->module;
    return r->kind == CODE_REF_DATA && m->word_bytes == sizeof(uint32_t) &&
           *fact(c, r->target) & CLOSED && !is_function(c, r->target);
}

static struct oracle_insn insn_at(const struct checked *c, vaddr_t at) {
    size_t room = 15;
    const uint8_t *bytes;
    while (!(bytes = module_bytes(c->module, at, room)) && room > 1)
        room--;
    return bytes ? decode(c, bytes, room, at) : (struct oracle_insn){.size = 1};
}

/* Lists name places that can be patched; no code jumps there. __mcount_loc lists calls of the
 * profiler, and nops instead of them. */
static bool is_listed(const struct checked *c, const struct code_ref *r) {
    enum { CALL_BYTES = 5 };
    const struct section *s = module_section_at(c->module, r->from);
    struct oracle_insn in = insn_at(c, r->target);
    if (s && strcmp(s->name, "__patchable_function_entries") == 0)
        return in.padding || in.landing;
    if (!s || strcmp(s->name, "__mcount_loc") != 0)
        return false;
    return (in.call || in.padding) && in.size >= CALL_BYTES;
}

static void check_references(struct checked *c) {
    const struct module *m = c->module;
    for (size_t i = 0; i < m->symbol_count; i++)
        lead_to(c, m->symbols[i].addr, "a symbol lies in a window");
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct arch *arch = plan_arch_at(c->plan, m->refs[i].target);
        const unsigned aligned = arch ? arch->insn_bytes : 1; /* others are no addresses of code */
        if (m->refs[i].target % aligned == 0 && !is_listed(c, &m->refs[i]) &&
            !is_number(c, &m->refs[i]))
            lead_to(c, m->refs[i].target, "a reference leads into a window");
    }
    for (size_t i = 0; i < m->range_count; i++)
        lead_to(c, m->ranges[i].start, "a function begins in a window");
}

/* Custom events (kinds from 4 on) consist of the head only. */
static void check_sleds(struct checked *c) {
    enum { CUSTOM = 4 };
    const bool words = c->module->machine == EM_AARCH64;
    const unsigned head = words ? 0 : 2, size = words ? 32 : 11;
    for (size_t i = 0; i < c->module->sled_count; i++) {
        const struct sled *s = &c->module->sleds[i];
        uint8_t there = 0;
        for (vaddr_t at = s->addr + head; s->kind < CUSTOM && at < s->addr + size; at++)
            there |= *fact(c, at);
        if (there & WRITTEN)
            wrong(c, "a patch lies in a sled", s->addr);
    }
}

/* ---- plan and file compared ---- */

static bool all_dead_or_moved(const struct checked *c, vaddr_t at, vaddr_t end) {
    for (; at < end; at++) {
        if (!(*fact(c, at) & (DEAD | MOVED)))
            return false;
    }
    return true;
}

/* Padding behind a trapping instruction: the trap removes the patch before a handler could resume
 * there. */
static bool is_behind_trap(const struct checked *c, const struct plan_window *w) {
    vaddr_t last = w->end - 1;
    while (last > w->start && !(*fact(c, last) & BOUNDARY))
        last--;
    struct oracle_insn in = insn_at(c, last);
    static const char *const traps[] = {"ud", "hlt", "trap" /* LLVM's of T32 */};
    bool padding = false;
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++)
        padding |= !strncmp(in.text, traps[i], strlen(traps[i]));
    for (vaddr_t at = w->end; padding && at < w->start + w->written; at += in.size) {
        in = insn_at(c, at);
        padding = in.padding;
    }
    return padding;
}

static void check_windows(struct checked *c) {
    for (size_t i = 0; i < c->view.windows.count; i++) {
        const struct plan_window *w = &c->view.windows.at[i];
        if (!(*fact(c, w->start) & BOUNDARY))
            wrong(c, "a window begins where no instruction does", w->start);
        bool cut = *fact(c, w->end) & SEEN && !(*fact(c, w->end) & BOUNDARY);
        if (cut)
            wrong(c, "a window ends in the middle of an instruction", w->end);
        if (!all_dead_or_moved(c, w->end, w->start + w->written) && !is_behind_trap(c, w))
            wrong(c, "a patch is written over what may run", w->start);
        if (w->hole && !all_dead_or_moved(c, w->hole, w->hole + w->hole_bytes))
            wrong(c, "a hole is no padding", w->hole);
    }
}

static void wrong_state(void *ctx, const char *what, vaddr_t at) { wrong(ctx, what, at); }

static void check_arm(struct checked *c, const char *directory) {
    struct checked_states s = {c->module, c->plan, &c->view, wrong_state, c, 0, 0};
    if (c->module->machine != EM_ARM && c->module->machine != EM_AARCH64)
        return;
    check_states(&s, directory);
    printf("%s: states of %zu functions told, of %zu inferred\n", c->module->path, s.mapped,
           s.inferred);
}

static void permit_all_traps(struct plan *plan) {
    size_t bytes = plan_function_count(plan) / 8 + 1;
    AUTO_FREE uint8_t *all = mem_alloc(bytes);
    memset(all, 0xff, bytes);
    plan_permit_traps(plan, all);
}

static size_t check_file(const char *path, const char *directory) {
    struct err err;
    struct module *module;
    struct plan *plan;
    struct checked c = {0};
    if (module_load(path, 0, &module, &err))
        return 0;
    if (plan_new(module, &plan, &err) == 0) {
        c.module = module;
        c.plan = plan;
        c.facts = mem_alloc(module->text_high - module->text_low + 1);
        permit_all_traps(plan);
        plan_view_init(&c.view, plan);
        note_windows(&c);
        check_parts(&c);
        find_closed(&c);
        check_references(&c);
        check_sleds(&c);
        check_windows(&c);
        check_arm(&c, directory);
        printf("%s: %zu windows, %zu wrong\n", path, c.view.windows.count, c.wrong);
        plan_view_done(&c.view);
        free(c.facts);
        ARRAY_FREE(&c.parts);
        ARRAY_FREE(&c.leads);
        plan_free(plan);
    }
    module_free(module);
    return c.wrong;
}

int main(int argc, char **argv) {
    size_t wrong = 0;
    const char *directory = argc > 2 && !strcmp(argv[1], "--debug") ? argv[2] : NULL;
    for (int i = directory ? 3 : 1; i < argc; i++)
        wrong += check_file(argv[i], directory);
    return wrong != 0;
}
