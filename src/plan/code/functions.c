/*
 * Makes the list of functions from ranges of call-frame information, from function symbols, and
 * from inferred starts. Code that overlaps the function before it, or does not lie in one
 * executable section, is left out.
 */
#include "plan/code/functions.h"

#include "plan/code/roles.h"
#include "plan/code/runs_on.h"

uint32_t func_at(const struct functions *functions, vaddr_t addr) {
    const struct text *text = text_at(functions->texts, addr);
    if (!text)
        return NO_FUNC;
    const struct func *funcs = functions->at;
    size_t i = functions->first[text_place(text, addr) / PLACE_STEP];
    while (i < functions->count && funcs[i].end <= addr)
        i++;
    return i < functions->count && funcs[i].start <= addr ? (uint32_t)i : NO_FUNC;
}

static void index_all(struct functions *functions) {
    uint32_t func = 0;
    functions->first = mem_alloc((functions->texts->places / PLACE_STEP + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < functions->texts->count; i++) {
        const struct text *text = &functions->texts->at[i];
        for (vaddr_t at = text->start; at <= text_end(text); at += PLACE_STEP) {
            while (func < functions->count && functions->at[func].end <= at)
                func++;
            functions->first[text_place(text, at) / PLACE_STEP] = func;
        }
    }
}

int32_t func_cfi_depth(const struct texts *texts, const struct func *f, vaddr_t addr) {
    if (!f->range)
        return DEPTH_UNKNOWN;
    if (addr < f->range->start) /* in nops before the range (runs_up_to()) */
        addr = f->range->start;
    if (addr >= f->range->end) /* in code behind it (range_code_end()) */
        addr = f->range->end - 1;
    const struct cfa_row *row = module_row_at(texts->module, f->range, addr);
    return row && row->reg == texts->arch->sp_register ? row->offset : DEPTH_UNKNOWN;
}

struct finder {
    struct functions *functions;
    const struct texts *texts;
    const struct states *states;
    size_t range, symbol, start; /* next */
    vaddr_t done;                /* end of the last function */
    bool nameless;               /* Go's code without names */
};

/* The end of the sled at a function's ADDR; ADDR if there is none. */
static vaddr_t behind_sled(const struct finder *find, const struct text *text, vaddr_t addr) {
    enum { ALIGNMENT = 2 }; /* a nop may precede it */
    const struct sled_place *s = sled_from(find->functions->sleds, addr);
    if (!s || s->kind != SLED_ENTRY || s->start - addr >= ALIGNMENT)
        return addr;
    struct insn in = {0};
    if (s->start != addr)
        state_arch(find->states, text, addr)
            ->decode(text_bytes(text, addr), s->start - addr, addr, &in, NULL);
    return s->start == addr || in.kind == INSN_NOP ? s->end : addr;
}

static void add(struct finder *find, vaddr_t start, vaddr_t end, const struct unwind_range *range) {
    struct functions *all = find->functions;
    const struct section *section = text_section_at(find->texts, start);
    const struct text *text = text_at(find->texts, start);
    if (end <= start || start < find->done || !text || !section || (!range && section->plt) ||
        state_is_data(find->states, text, start))
        return;
    uint64_t size = end - start;
    if (size > text->size - (start - text->start) ||
        size > section->size - (start - section->start))
        return;
    struct func *f = &all->at[all->count++];
    *f = (struct func){.start = start, .end = end, .range = range, .text = text};
    f->body = start + state_arch(find->states, text, start)->landing(text_bytes(text, start), size);
    vaddr_t behind = behind_sled(find, text, f->body);
    if (behind < end)
        f->body = behind;
    f->plt = section->plt;
    f->entry_depth =
        !range || func_cfi_depth(find->texts, f, start) == find->texts->arch->entry_cfa;
    find->done = end;
    if (!range && !all->no_cfi_high)
        all->no_cfi_low = start;
    if (!range)
        all->no_cfi_high = end;
}

static bool is_function(const struct symbol *s) {
    return s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
}

static const struct unwind_range *next_unwind(const struct finder *find) {
    const struct module *m = find->texts->module;
    return find->range < m->range_count ? &m->ranges[find->range] : NULL;
}

/* The highest end of code that starts at START and has no stated size. */
static vaddr_t limit_of(const struct finder *find, vaddr_t start) {
    const struct module *m = find->texts->module;
    const struct section *section = text_section_at(find->texts, start);
    const struct text *text = text_at(find->texts, start);
    if (!section || !text)
        return start;
    vaddr_t limit = section->start + section->size;
    if (limit > text->start + text->size)
        limit = text->start + text->size;
    if (find->range < m->range_count && m->ranges[find->range].start < limit)
        limit = m->ranges[find->range].start;
    for (size_t i = find->symbol; i < m->symbol_count && m->symbols[i].addr < limit; i++) {
        if (m->symbols[i].addr > start && m->symbols[i].type != SYMBOL_NOTYPE)
            limit = m->symbols[i].addr;
    }
    const struct states *s = find->states;
    for (size_t i = find->start; i < s->starts.count && s->starts.at[i].addr < limit; i++) {
        if (s->starts.at[i].addr > start)
            limit = s->starts.at[i].addr;
    }
    return limit;
}

static bool ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP;
}

/* Adds the function from START on that the next range describes. */
static void add_range(struct finder *find, vaddr_t start) {
    const struct module *m = find->texts->module;
    const struct unwind_range *r = &m->ranges[find->range++];
    const struct unwind_range *next = next_unwind(find);
    bool apart = !next || next->start > r->end;
    vaddr_t limit = apart ? limit_of(find, r->end - 1) : r->end;
    add(find, start, range_code_end(find->states, r, limit), r);
}

/* The end of the flow from START: behind the first jump or return that no branch passes over. */
static vaddr_t flow_end(const struct arch *arch, const struct text *text, vaddr_t start,
                        vaddr_t limit) {
    vaddr_t farthest = start;
    for (vaddr_t at = start; at < limit;) {
        struct insn in;
        if (!arch->decode(text_bytes(text, at), limit - at, at, &in, NULL))
            return limit;
        bool branch = in.kind == INSN_JUMP || in.kind == INSN_BRANCH || in.kind == INSN_LOOP;
        if (branch && in.target > farthest && in.target < limit)
            farthest = in.target;
        at += in.size;
        if (ends_flow(in.kind) && at > farthest)
            return at;
    }
    return limit;
}

/* The same. Where states are known: behind the last code. */
static vaddr_t code_end(const struct states *s, vaddr_t start, vaddr_t limit) {
    const struct text *text = text_at(s->texts, start);
    if (!text)
        return limit;
    if (!s->at)
        return flow_end(s->texts->arch, text, start, limit);
    while (limit > start && state_is_data(s, text, limit - 1))
        limit -= limit - start < STATE_BYTES ? limit - start : STATE_BYTES;
    return limit;
}

/* True if only nops and landing instructions stand from START to END. GCC for AArch64 leaves nops
 * for patching, and the landing instruction before them, out of the unwind information. */
static bool runs_up_to(const struct states *s, vaddr_t start, vaddr_t end) {
    enum { LONGEST = 1024 };
    const struct text *text = text_at(s->texts, start);
    if (!text || end - start > LONGEST || !text_holds(text, end - 1))
        return false;
    struct insn in;
    for (vaddr_t at = start; at < end; at += in.size) {
        if (!state_arch(s, text, at)->decode(text_bytes(text, at), end - at, at, &in, NULL) ||
            (in.kind != INSN_NOP && in.kind != INSN_LANDING))
            return false;
    }
    return true;
}

/* True if START begins a function inside of [BEGIN, END): only code outside of it jumps there. */
static bool splits(const struct code_start *start, vaddr_t begin, vaddr_t end) {
    return start->addr > begin && start->jumps_high &&
           (start->jumps_low >= end || start->jumps_high < begin);
}

/* The end of a function from START whose symbol ends at END. It ends earlier at the next function's
 * start. On 32-bit Arm, calls and jumps from elsewhere also show starts inside of it. */
static vaddr_t sized_end(const struct finder *find, vaddr_t start, vaddr_t end) {
    const struct module *m = find->texts->module;
    const struct states *s = find->states;
    if (!find->texts->arch->other)
        return end;
    for (size_t i = find->symbol; i < m->symbol_count && m->symbols[i].addr < end; i++) {
        if (m->symbols[i].addr > start && is_function(&m->symbols[i]))
            end = m->symbols[i].addr;
    }
    for (size_t i = find->start; i < s->starts.count && s->starts.at[i].addr < end; i++) {
        if (s->starts.at[i].direct && s->starts.at[i].addr > start)
            end = s->starts.at[i].addr;
    }
    for (size_t i = find->start; i < s->starts.count && s->starts.at[i].addr < end; i++) {
        if (splits(&s->starts.at[i], start, end))
            return s->starts.at[i].addr;
    }
    return end;
}

/* True if [START, END) is not code. */
static bool is_data(const struct states *s, vaddr_t start, vaddr_t end) {
    const struct text *text = text_at(s->texts, start);
    struct insn in;
    return start < end && text &&
           (state_is_data(s, text, start) ||
            !state_arch(s, text, start)
                 ->decode(text_bytes(text, start), end - start, start, &in, NULL) ||
            in.kind == INSN_TRAP);
}

/* Arm's code: memory that IN accesses before END is a literal. *BEHIND becomes its end, if greater.
 */
static void pass_literal(const struct arch *arch, const struct insn *in, vaddr_t end,
                         vaddr_t *behind) {
    const vaddr_t after = in->target + (in->loads ? in->loads : arch->word_bytes);
    if (arch->follow && in->operand == OPERAND_PC_MEMORY && in->target < end && after > *behind)
        *behind = after;
}

/* True for a stub with a linker of its own, such as mono's stubs for code compiled ahead of time.
 * The stub is a jump through a word of memory. Behind it, up to END, stands data other than the
 * stub's own literals. The linker reads this data to find what to look up and which word to fill. A
 * stub is no function and stays unpatched. Where such a jump takes several instructions, as on
 * AArch64, functions that call through a variable look the same. Then the bytes behind must not be
 * code. */
static bool is_own_linker_stub(const struct states *s, vaddr_t start, vaddr_t end) {
    const struct text *text = text_at(s->texts, start);
    struct trail trail = {.known = 0};
    struct insn in = {.kind = INSN_OTHER};
    vaddr_t behind = 0;
    bool loaded = false;
    if (!text || !text_holds(text, end - 1))
        return false;
    start += state_arch(s, text, start)->landing(text_bytes(text, start), end - start);
    const struct arch *arch = start < end ? state_arch(s, text, start) : s->texts->arch;
    const int most = arch->follow ? 4 : 1;
    for (int i = 0; i < most && start < end && in.kind == INSN_OTHER; i++, start += in.size) {
        if (!arch->decode(text_bytes(text, start), end - start, start, &in, NULL))
            return false;
        pass_literal(arch, &in, end, &behind);
        trail.literal = text_literal(s->texts, &in);
        arch_complete(arch, &trail, text_bytes(text, start), &in);
        pass_literal(arch, &in, end, &behind);
        loaded |= in.operand == OPERAND_PC_MEMORY;
    }
    behind = behind > start ? behind : start;
    return in.kind == INSN_JUMP_INDIRECT && !in.goes_on && loaded && behind < end &&
           (arch->follow ? is_data(s, behind, end) : !runs_up_to(s, start, end));
}

/* Adds a function without call-frame information. END 0: unknown. */
static void add_without_cfi(struct finder *find, vaddr_t start, vaddr_t end) {
    const struct unwind_range *next = next_unwind(find);
    vaddr_t limit = end ? end : limit_of(find, start);
    if (!end)
        end = code_end(find->states, start, limit);
    if (next && end > next->start)
        return;
    if (is_own_linker_stub(find->states, start, limit))
        find->done = limit;
    else
        add(find, start, end, NULL);
}

/* Adds the function that the symbols at one address name. Assembly often states no size. */
static void add_symbols(struct finder *find) {
    const struct module *m = find->texts->module;
    const struct symbol *first = &m->symbols[find->symbol];
    uint64_t size = 0;
    bool function = false;
    for (; find->symbol < m->symbol_count && m->symbols[find->symbol].addr == first->addr;
         find->symbol++) {
        const struct symbol *s = &m->symbols[find->symbol];
        function |= is_function(s);
        size = is_function(s) && s->size > size ? s->size : size;
    }
    if (!function || first->addr < find->done)
        return;
    const struct unwind_range *next = next_unwind(find);
    if (next && first->addr + size == next->end &&
        runs_up_to(find->states, first->addr, next->start)) {
        add_range(find, first->addr);
        return;
    }
    size_t count = find->functions->count;
    add_without_cfi(find, first->addr, size ? sized_end(find, first->addr, first->addr + size) : 0);
    if (find->functions->count > count)
        find->functions->at[count].sized = size != 0;
}

/* Adds a function without a name. Nameless functions of Go are left out. Some are entered in their
 * middle (duffzero, by callers with less to clear), perhaps by functions that nothing describes. */
static void add_start(struct finder *find) {
    const struct code_start *start = &find->states->starts.at[find->start++];
    size_t count = find->functions->count;
    if (start->addr < find->done || find->nameless)
        return;
    add_without_cfi(find, start->addr, 0);
    if (find->functions->count > count)
        find->functions->at[count].weak = !start->called;
}

/* Addresses of the next range, symbol and start. */
static vaddr_t next_range(const struct finder *find) {
    const struct module *m = find->texts->module;
    return find->range < m->range_count ? m->ranges[find->range].start : UINT64_MAX;
}
static vaddr_t next_symbol(const struct finder *find) {
    const struct module *m = find->texts->module;
    return find->symbol < m->symbol_count ? m->symbols[find->symbol].addr : UINT64_MAX;
}
static vaddr_t next_start(const struct finder *find) {
    const struct states *s = find->states;
    return find->start < s->starts.count ? s->starts.at[find->start].addr : UINT64_MAX;
}

/* Names functions by their symbols. A cold part's name is used only if there is no other. Clang's
 * symbols for parts have no type. */
static void name_all(struct functions *functions) {
    const struct module *m = functions->texts->module;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        uint32_t index = func_at(functions, s->addr);
        struct func *f = index == NO_FUNC ? NULL : &functions->at[index];
        if (!f || f->start != s->addr)
            continue;
        f->labelled |= is_function(s) || s->type == SYMBOL_NOTYPE;
        if (!is_function(s)) {
            f->cold |= !f->name && s->type == SYMBOL_NOTYPE && role_is_part(s->name);
            continue;
        }
        bool cold = role_is_part(s->name);
        if (!f->name || (f->cold && !cold)) {
            f->name = s->name;
            f->cold = cold;
        }
        f->thunk |= role_is_thunk(s->name);
    }
}

struct functions functions_find(const struct states *states, const struct sleds *sleds) {
    const struct texts *texts = states->texts;
    const struct module *m = texts->module;
    struct functions ret = {.texts = texts, .states = states, .sleds = sleds};
    struct finder find = {.functions = &ret, .texts = texts, .states = states};
    find.nameless = states->starts.count && module_is_stripped_go(m);
    size_t most = m->range_count + m->symbol_count + states->starts.count;
    ret.at = mem_alloc((most + 1) * sizeof *ret.at);
    while (find.range < m->range_count || find.symbol < m->symbol_count ||
           find.start < states->starts.count) {
        vaddr_t range = next_range(&find), symbol = next_symbol(&find);
        if (next_start(&find) < range && next_start(&find) < symbol) {
            add_start(&find);
        } else if (symbol < range) {
            add_symbols(&find);
        } else {
            add_range(&find, range);
        }
    }
    index_all(&ret);
    name_all(&ret);
    return ret;
}

void functions_done(struct functions *functions) {
    free(functions->at);
    free(functions->first);
}
