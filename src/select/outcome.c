/* Sums up the patches of a module over all places where it is loaded, and writes the sum. */
#include "select/outcome.h"

#include <string.h>

#include "base/bitmap.h"

_Static_assert((int)TIER_COUNT == (int)TRACE_TIERS, "the trace counts by the planner's tiers");

typedef ARRAY(const char *) name_list;

static void add_name(name_list *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    ARRAY_PUSH(names, name);
}

/* True if an executable imports function I of M by NAME. */
static bool is_imported(const struct traced_module *m, size_t i, const char *name) {
    for (size_t c = 0; c < m->called.count; c++)
        if (m->called.at[c].imported && m->called.at[c].function == i &&
            strcmp(m->called.at[c].name, name) == 0)
            return true;
    return false;
}

static void add_called(const struct traced_module *m, size_t i, bool imported, name_list *names) {
    for (size_t c = 0; c < m->called.count; c++)
        if (m->called.at[c].function == i && m->called.at[c].imported == imported)
            add_name(names, m->called.at[c].name);
}

/* Sets NAMES to those of function I of M. Views show the first one: its own name, unless
 * executables import it by other names only. */
static void set_names(name_list *names, const struct traced_module *m, size_t i) {
    const struct plan_function *f = plan_function(m->plan, i);
    names->count = 0;
    if (f->name && is_imported(m, i, f->name))
        add_name(names, f->name);
    add_called(m, i, true, names);
    if (f->name)
        add_name(names, f->name);
    for (const char **a = f->aliases; a && *a; a++)
        add_name(names, *a);
    add_called(m, i, false, names);
}

static char *join(struct arena *arena, const char *const *names, size_t count) {
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 1;
    char *text = arena_alloc(arena, size), *at = text;
    for (size_t i = 0; i < count; i++) {
        if (i)
            *at++ = '\n';
        at = stpcpy(at, names[i]);
    }
    return text;
}

/* Adds function F, which was WRITTEN to the trace, to the counts of M. */
static void count(struct trace_module *m, uint64_t *refused, const struct plan_function *f,
                  const struct trace_function *written) {
    m->seen++;
    if (f->entry == TIER_NONE) {
        refused[f->refused]++;
        return;
    }
    if (!written->instrumented)
        return;
    m->instrumented++;
    m->exact_exit += written->exact;
    m->tiers[written->entry_tier]++;
    for (int t = 0; t < TIER_COUNT; t++)
        m->exit_tiers[t] += f->exits[t];
}

static bool add_bits(uint8_t *to, uint8_t bits) {
    bool added = bits & ~*to;
    *to |= bits;
    return added;
}

/* A function counts as patched if it had a patch at any place at any time. Missed exits are
 * compared only between places with the same selection. */
bool outcome_add_load(struct traced_module *m, const struct plan_code *code,
                      const struct left_out *left_out) {
    size_t bytes = plan_function_count(m->plan) / 8 + 1;
    struct load_outcome *o = &m->outcome;
    bool first = !o->ever_selected, again = o->loaded;
    if (first) {
        o->ever_selected = mem_alloc(bytes);
        o->ever_patched = mem_alloc(bytes);
        o->ever_inexact = mem_alloc(bytes);
        o->ever_trapped = mem_alloc(bytes);
        o->ever_changed = mem_alloc(bytes);
        o->ever_open = mem_alloc(bytes);
    }
    struct load_outcome before = *o;
    bool changed = first;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t selected = m->choice.selected[i], placed = selected & (uint8_t)~code->missed[i];
        uint8_t out = left_out ? placed & left_out->all[i] : 0;
        changed |= add_bits(&o->ever_selected[i], selected);
        changed |= add_bits(&o->ever_open[i], out);
        changed |= add_bits(&o->ever_changed[i], left_out ? placed & left_out->changed[i] : 0);
        changed |= add_bits(&o->ever_patched[i], placed & (uint8_t)~out);
        changed |= add_bits(&o->ever_inexact[i], code->inexact[i]);
        changed |= add_bits(&o->ever_trapped[i], code->trapped[i]);
    }
    o->loaded = true;
    for (int t = 0; t < TIER_COUNT; t++) {
        if (!again || code->missed_exits[t] < o->missed_exits[t])
            o->missed_exits[t] = code->missed_exits[t];
        if (code->trapped_exits[t] > o->trapped_exits[t])
            o->trapped_exits[t] = code->trapped_exits[t];
        changed |= o->missed_exits[t] != before.missed_exits[t] ||
                   o->trapped_exits[t] != before.trapped_exits[t];
    }
    return changed;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

void outcome_new_selection(struct traced_module *m) {
    struct load_outcome *o = &m->outcome;
    for (int t = 0; t < TIER_COUNT; t++) {
        o->past_missed_exits[t] = larger(o->missed_exits[t], o->past_missed_exits[t]);
        o->missed_exits[t] = 0;
    }
    o->loaded = false;
}

void outcome_forget_patches(struct traced_module *m) {
    if (m->outcome.ever_patched)
        memset(m->outcome.ever_patched, 0, plan_function_count(m->plan) / 8 + 1);
}

/* Corrects the tiers of M's exits: some have no patch or a trap in place of the planned tier. A
 * return that several jumps share counts once in M, and is missed once for each jump. */
static void move_exits(struct trace_module *m, const struct load_outcome *o) {
    for (int t = TIER_PAD; t < TIER_TRAP; t++) {
        uint64_t planned = m->exit_tiers[t],
                 missed = larger(o->missed_exits[t], o->past_missed_exits[t]);
        uint64_t none = missed < planned ? missed : planned, patched = planned - none;
        uint64_t trapped = o->trapped_exits[t] < patched ? o->trapped_exits[t] : patched;
        m->exit_tiers[t] -= none + trapped;
        m->exit_tiers[TIER_NONE] += none;
        m->exit_tiers[TIER_TRAP] += trapped;
    }
}

/* Counts function F, number I, if something but its file has kept it from being patched. */
static void count_missing(const struct load_outcome *o, const struct plan_function *f, size_t i,
                          bool placed, uint64_t *refused) {
    bool wanted = f->entry != TIER_NONE && bitmap_test(o->ever_selected, i);
    bool open = bitmap_test(o->ever_open, i);
    refused[REFUSED_NO_ADDRESS] += wanted && !placed && !open;
    refused[REFUSED_CHANGED] += wanted && (bitmap_test(o->ever_changed, i) || (open && !placed));
}

void outcome_write(struct trace_writer *writer, struct traced_module *m) {
    const struct load_outcome *code = &m->outcome;
    struct arena *arena = arena_new();
    const struct module *from = m->module;
    size_t n = plan_function_count(m->plan);
    struct trace_function *functions = mem_alloc(n * sizeof *functions);
    uint64_t refused[REFUSED_COUNT] = {0};
    name_list names = {0};
    struct trace_module described = {.first_id = m->first_id,
                                     .path = from->path,
                                     .name = from->name,
                                     .build_id_size = from->build_id_size,
                                     .functions = functions,
                                     .function_count = (uint32_t)n};
    memcpy(described.build_id, from->build_id, sizeof described.build_id);
    for (size_t i = 0; i < n; i++) {
        const struct plan_function *f = plan_function(m->plan, i);
        bool placed = bitmap_test(code->ever_patched, i),
             exact = f->exact && !bitmap_test(code->ever_inexact, i);
        bool instrumented = f->entry != TIER_NONE && placed;
        enum tier tier = bitmap_test(code->ever_trapped, i) ? TIER_TRAP : f->entry;
        set_names(&names, m, i);
        size_t others = names.count > 1 ? names.count - 1 : 0;
        functions[i] =
            (struct trace_function){.address = f->addr,
                                    .size = f->size,
                                    .name = names.count ? names.at[0] : NULL,
                                    .aliases = others ? join(arena, names.at + 1, others) : NULL,
                                    .entry_tier = (uint8_t)tier,
                                    .instrumented = instrumented,
                                    .exact = exact,
                                    .partly = instrumented && bitmap_test(code->ever_open, i)};
        count(&described, refused, f, &functions[i]);
        count_missing(code, f, i, placed, refused);
    }
    move_exits(&described, code);
    struct trace_refused list[REFUSED_COUNT];
    for (int r = 0; r < REFUSED_COUNT; r++)
        if (refused[r])
            list[described.refused_count++] =
                (struct trace_refused){refusal_tag((enum refusal)r), refused[r]};
    described.refused = list;
    trace_writer_module(writer, &described);
    ARRAY_FREE(&names);
    free(functions);
    arena_free(arena);
    m->instrumented_count = described.instrumented;
    m->missed_count = refused[REFUSED_NO_ADDRESS];
}
