/*
 * Draws the code of one function and its patches:
 *
 *     address   bytes                   instruction
 *             entry: jump
 *   |    1149   [55 48 89 e5 53]        …          bar: this instruction runs elsewhere
 *                                                  brackets: the patch overwrites these bytes
 */
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/search.h"
#include "base/text.h"
#include "cmd/explain.h"
#include "cmd/figures.h"
#include "cmd/labels.h"

struct drawing {
    const struct subject *subject;
    uint32_t number; /* of the function */
    struct term term;
    unsigned shown; /* bytes of an instruction on a line */
    bool refused[REFUSED_COUNT];
    bool tiers[TIER_COUNT];
};

static const char *const colors[TIER_COUNT] = {
    [TIER_NONE] = "\033[31m", [TIER_PAD] = "\033[32m", [TIER_JUMP] = "\033[32m",
    [TIER_HOP] = "\033[36m",  [TIER_PUN] = "\033[33m", [TIER_TRAP] = "\033[35m"};

static vaddr_t end_of(const struct plan_window *w) {
    vaddr_t written = w->start + w->written;
    return w->end > written ? w->end : written;
}

/* The first window that ends behind AT; v->windows.count if there is none. */
static size_t window_from(const struct plan_view *v, vaddr_t at) {
    return SEARCH(i, v->windows.count, end_of(&v->windows.at[i]) <= at);
}

static const struct plan_window *window_at(const struct plan_view *v, vaddr_t at) {
    size_t i = window_from(v, at);
    return i < v->windows.count && v->windows.at[i].start <= at ? &v->windows.at[i] : NULL;
}

/* The window whose hole holds AT; NULL: none. A hole is within reach of a short jump. */
static const struct plan_window *hole_at(const struct plan_view *v, vaddr_t at) {
    enum { REACH = 256 };
    vaddr_t low = at > REACH ? at - REACH : 0;
    for (size_t i = window_from(v, low); i < v->windows.count; i++) {
        const struct plan_window *w = &v->windows.at[i];
        if (w->start > at + REACH)
            break;
        if (w->hole && at - w->hole < w->hole_bytes)
            return w;
    }
    return NULL;
}

static bool is_written(const struct plan_view *v, vaddr_t at) {
    const struct plan_window *w = window_at(v, at);
    return (w && at - w->start < w->written) || hole_at(v, at);
}

/* ---- notes above an instruction ---- */

static void print_note(const struct drawing *d, enum tier tier, const char *text) {
    printf("%14s%s%s%s\n", "", d->term.color ? colors[tier] : "", text,
           d->term.color ? "\033[0m" : "");
}

static void note_place(struct drawing *d, const struct plan_place *p) {
    const struct plan_window *w =
        p->tier == TIER_NONE ? NULL : &d->subject->view.windows.at[p->window];
    AUTO_FREE char *text = NULL;
    d->tiers[p->tier] = true;
    if (!w) {
        const char *mark = p->kind == PLACE_ENTRY ? "" : FIGURE_INFERRED " ";
        text = mem_printf("%s: %snone, %s", place_name(p->kind), mark, refusal_tag(p->refused));
        d->refused[p->refused] = true;
    } else if (w->hole) {
        text = mem_printf("%s: hop to %jx", place_name(p->kind), w->hole);
    } else {
        text = mem_printf("%s: %s", place_name(p->kind), tier_name(p->tier));
    }
    print_note(d, p->tier, text);
}

/* The first place at or behind AT. */
static size_t place_from(const struct plan_view *v, vaddr_t at) {
    return SEARCH(i, v->places.count, v->places.at[i].at < at);
}

/* True if W serves a place from number FIRST on. It may serve a return right behind it. */
static bool holds_place(const struct plan_view *v, const struct plan_window *w, size_t first) {
    if (first == v->places.count || v->places.at[first].at > w->end)
        return false;
    return v->places.at[first].at < w->end ||
           v->places.at[first].window == (uint32_t)(w - v->windows.at);
}

static void print_notes(struct drawing *d, vaddr_t at, size_t size) {
    const struct plan_view *v = &d->subject->view;
    for (size_t i = place_from(v, at); i < v->places.count && v->places.at[i].at == at; i++)
        note_place(d, &v->places.at[i]);
    const struct plan_window *w = window_at(v, at);
    size_t place = place_from(v, at);
    if (w && w->start == at && !holds_place(v, w, place))
        print_note(d, w->tier, "moved away to make a hole");
    for (size_t i = 0; i < size; i++) {
        const struct plan_window *from = hole_at(v, at + i);
        if (!from || from->hole != at + i)
            continue;
        AUTO_FREE char *text =
            mem_printf("hole at %jx: of the hop at %jx", from->hole, from->start);
        print_note(d, TIER_HOP, text);
    }
}

/* ---- instructions ---- */

static void print_byte(const struct drawing *d, vaddr_t at, uint8_t byte, bool first, bool last) {
    const struct plan_view *v = &d->subject->view;
    bool here = is_written(v, at), before = !first && is_written(v, at - 1);
    printf("%s%02x", here && !before ? "[" : before && !here ? "]" : " ", byte);
    if (last)
        putchar(here ? ']' : ' ');
}

static void print_insn(struct drawing *d, vaddr_t at, const uint8_t *bytes, size_t size,
                       const char *text) {
    const struct plan_window *w = window_at(&d->subject->view, at);
    const bool moved = w && at < w->end;
    if (d->term.color && moved)
        fputs("\033[1m", stdout);
    for (size_t i = 0; i < size; i += d->shown) {
        size_t end = i + d->shown < size ? i + d->shown : size;
        printf("%c %10lx  ", moved ? '|' : ' ', (unsigned long)(at + i));
        for (size_t k = i; k < end; k++)
            print_byte(d, at + k, bytes[k], k == i, k + 1 == end);
        if (!i) {
            unsigned head = 15 + 3 * d->shown + 2;
            int room = d->term.columns > head ? (int)(d->term.columns - head) : FORMAT_BYTES;
            printf("%*s %.*s", (int)(3 * (d->shown - (end - i))), "", room, text);
        }
        putchar('\n');
    }
    if (d->term.color && moved)
        fputs("\033[0m", stdout);
}

/* Formats data between code: a word, or half of one. Returns its size. */
static size_t format_data(const struct drawing *d, vaddr_t at, const uint8_t *bytes,
                          char text[FORMAT_BYTES]) {
    enum { HALF = 2 };
    uint32_t word = 0;
    bool whole = at % sizeof word == 0 && !plan_arch_at(d->subject->plan, at + HALF);
    size_t size = whole ? sizeof word : HALF;
    memcpy(&word, bytes, size);
    snprintf(text, FORMAT_BYTES, "data %#x", word);
    return size;
}

static void draw_range(struct drawing *d, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end;) {
        char text[FORMAT_BYTES];
        size_t room = UNIT_MAX_BYTES;
        const uint8_t *bytes;
        while (!(bytes = module_bytes(d->subject->module, at, room)) && room)
            room--;
        if (!room)
            return;
        const struct arch *arch = plan_arch_at(d->subject->plan, at);
        size_t size = arch ? arch->format(bytes, room, at, text) : format_data(d, at, bytes, text);
        print_notes(d, at, size);
        print_insn(d, at, bytes, size, text);
        at += size;
    }
}

/* END, or the end of the patched padding behind it. */
static vaddr_t shown_end(const struct drawing *d, vaddr_t end) {
    enum { MOST = 32 };
    vaddr_t last = end;
    for (vaddr_t at = end; at < end + MOST && !module_range_at(d->subject->module, at) &&
                           plan_function_at(d->subject->plan, at) == UINT32_MAX;
         at++) {
        if (is_written(&d->subject->view, at))
            last = at + 1;
    }
    return last;
}

/* *RET: the range of unwind information that holds AT, or else the part of a function. */
static bool part_at(const struct drawing *d, vaddr_t at, struct span *ret) {
    const struct unwind_range *r = module_range_at(d->subject->module, at);
    if (r)
        *ret = (struct span){r->start, r->end};
    for (size_t i = 0; !r && plan_part(d->subject->plan, i, ret); i++)
        if (at >= ret->start && at < ret->end)
            return true;
    return r;
}

/* Draws parts of the function that lie elsewhere, if they hold places of the function. */
static void draw_parts(struct drawing *d, const struct plan_function *f) {
    const struct plan_view *v = &d->subject->view;
    vaddr_t drawn = 0;
    for (size_t i = 0; i < v->places.count; i++) {
        const struct plan_place *p = &v->places.at[i];
        if (p->function != d->number || p->at - f->addr < f->size || p->at < drawn)
            continue;
        struct span part;
        if (!part_at(d, p->at, &part))
            continue;
        printf("\n  a part of it at %jx, %ju bytes\n", part.start, part.end - part.start);
        draw_range(d, part.start, shown_end(d, part.end));
        drawn = part.end;
    }
}

/* ---- legend ---- */

static void print_legend(const struct drawing *d) {
    static const char *const meanings[TIER_COUNT] = {
        [TIER_PAD] = "a jump in nops that the compiler left for patches.",
        [TIER_JUMP] = "a jump over the bytes in brackets; code with a bar runs elsewhere.",
        [TIER_HOP] = "a short jump to a hole nearby that holds the long one.",
        [TIER_PUN] = ("a jump that shares the bytes behind the brackets with the next instruction; "
                      "its target is chosen when the file is loaded."),
        [TIER_TRAP] = ("a breakpoint, because -F names the function in full. Each hit stops its "
                       "thread, and costs thousands of times as much as a jump.")};
    enum { INDENT = 26 };
    putchar('\n');
    for (int i = TIER_NONE + 1; i < TIER_COUNT; i++) {
        if (!d->tiers[i])
            continue;
        printf("  %-23s ", tier_name((enum tier)i));
        text_print_wrapped(meanings[i], INDENT, d->term.columns);
    }
    for (int i = 0; i < REFUSED_COUNT; i++) {
        if (!d->refused[i])
            continue;
        printf("  %-23s ", refusal_tag((enum refusal)i));
        text_print_wrapped(refusal_meaning((enum refusal)i), INDENT, d->term.columns);
    }
}

void explain_draw(const struct subject *s, uint32_t number, const struct term *term) {
    enum { WIDE = 110, BYTES_WIDE = INSN_MAX_BYTES - 4, BYTES = 7 };
    const struct plan_function *f = plan_function(s->plan, number);
    module_complete(s->module);
    struct drawing d = {.subject = s, .number = number, .term = *term};
    d.shown = term->columns >= WIDE ? BYTES_WIDE : BYTES;
    AUTO_FREE char *full = subject_name(s, number);
    AUTO_FREE char *name = label_single(term, full, f->name);
    AUTO_FREE char *where =
        mem_printf(": %s, at %jx, %ju bytes", s->module->name, f->addr, f->size);
    size_t used = text_columns(where);
    AUTO_FREE char *shown = label_cut(term, name, term->width > used ? term->width - used : 1);
    printf("%s", term->color ? "\033[1m" : "");
    text_print(stdout, shown);
    printf("%s%s\n", term->color ? "\033[0m" : "", where);
    draw_range(&d, f->addr, shown_end(&d, f->addr + f->size));
    draw_parts(&d, f);
    print_legend(&d);
    putchar('\n');
}
