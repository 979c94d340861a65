/*
 * Infers states: code is what control reaches from known starts (symbols, the entry, words that
 * lead to code, unwind tables). Each start has its state. Branches and calls keep the state or
 * change it; switches keep it. Bytes that no instruction flows into are data: literals, tables,
 * unknown padding.
 *
 *     bl  f             f begins a function; the code behind the call is followed
 *     …                 after all other code, from low addresses to high. A call that does
 *     ldr r0, [pc, #8]  not return has the next function or literals behind it. By then
 *     bl  abort         these are known as such.
 *     .word …
 *
 * A few calls are switches with a table behind them (code/inline_tables.c).
 */
#include <string.h>

#include "elf/sort.h"
#include "plan/code/inline_tables.h"
#include "plan/stripped/inference.h"
#include "plan/stripped/stripped.h"

struct lead { /* a place to follow, and its state */
    vaddr_t addr;
    uint8_t state;
    bool behind_call; /* behind a call that may not return */
    bool number;      /* it may be no address at all */
};

typedef ARRAY(struct lead) lead_list;

/* Places behind calls. Those behind calls of functions known to never return are followed last. */
enum { MAY_RETURN, NEVER_RETURN, DEFERRED_KINDS };
struct deferred {
    uint8_t *states;   /* by STATE_BYTES: 1 + the state there; also of places that are done */
    uint64_t *left;    /* a bit for each place that is not done */
    size_t low, count; /* `low`: no earlier word of `left` has a bit; `count`: bits in `left` */
};
enum { LEFT_BITS = 64 };

struct search {
    struct inference *inf;
    lead_list ready;                           /* places to follow */
    struct deferred *deferred[DEFERRED_KINDS]; /* by text */
    address_list noreturn;                     /* functions that never return, by name; sorted */
    lead_list guesses;                         /* targets of words and numbers that may be code */
    bool all_begun;                            /* all starts have been followed */
    bool has_t32;                              /* some code is T32 */
};

struct line {                              /* a straight line of instructions */
    struct code_bytes past[DISPATCH_PAST]; /* the last ones: number N is at N % DISPATCH_PAST */
    size_t count;                          /* of all instructions */
    struct trail trail;
};

/* ---- ways ---- */

static void push(struct search *s, vaddr_t addr, uint8_t state) {
    ARRAY_PUSH(&s->ready, ((struct lead){.addr = addr, .state = state}));
}

static void begin_function(struct search *s, vaddr_t addr, bool called) {
    ARRAY_PUSH(&s->inf->states.starts, ((struct code_start){.addr = addr, .called = called}));
}

static void guess(struct search *s, vaddr_t addr, uint8_t state, bool number) {
    ARRAY_PUSH(&s->guesses, ((struct lead){.addr = addr, .state = state, .number = number}));
}

/* True if ADDR is in code outside of the linker's stubs, whose states are known anyway. */
static bool is_outside_stubs(const struct search *s, vaddr_t addr) {
    const struct section *section = text_section_at(s->inf->texts, addr);
    return section && section->bytes && !section->plt;
}

static void note_data(const struct search *s, vaddr_t start, size_t size) {
    const struct text *t = text_at(s->inf->texts, start);
    for (vaddr_t at = start; t && at < start + size && text_holds(t, at); at += STATE_BYTES) {
        if (found_state(s->inf, t, at) == CODE_UNKNOWN)
            *state_at(&s->inf->states, t, at) = CODE_DATA;
    }
}

static struct deferred deferred_new(const struct text *t) {
    size_t places = t->size / STATE_BYTES + 1;
    return (struct deferred){.states = mem_alloc(places),
                             .left = mem_alloc((places / LEFT_BITS + 1) * sizeof(uint64_t)),
                             .low = SIZE_MAX};
}

static void deferred_done(struct deferred *deferred) {
    free(deferred->states);
    free(deferred->left);
}

static void defer(struct search *s, vaddr_t addr, uint8_t state, int which) {
    for (size_t i = 0; i < s->inf->texts->count; i++) {
        const struct text *t = &s->inf->texts->at[i];
        struct deferred *deferred = &s->deferred[which][i];
        size_t k = (addr - t->start) / STATE_BYTES;
        if (!text_holds(t, addr) || deferred->states[k])
            continue;
        deferred->states[k] = state + 1;
        deferred->left[k / LEFT_BITS] |= UINT64_C(1) << k % LEFT_BITS;
        deferred->low = k / LEFT_BITS < deferred->low ? k / LEFT_BITS : deferred->low;
        deferred->count++;
    }
}

static uint64_t read_entry(const uint8_t *at, const struct dispatch *d) {
    uint64_t value = 0, sign = d->is_signed ? UINT64_C(1) << (8 * d->entry_bytes - 1) : 0;
    memcpy(&value, at, d->entry_bytes);
    return (value ^ sign) - sign;
}

/* A table ends at the latest at the lowest place behind it that it leads to. */
static void follow_table(struct search *s, const struct dispatch *d, uint8_t state) {
    enum { MOST = 4096 };
    vaddr_t lowest = UINT64_MAX;
    uint32_t most = d->count ? d->count : MOST, i = 0;
    for (; i < most; i++) {
        vaddr_t at = d->table + (vaddr_t)i * d->entry_bytes;
        const uint8_t *entry = module_bytes(s->inf->module, at, d->entry_bytes);
        if (!entry || at >= lowest)
            break;
        vaddr_t value = read_entry(entry, d) << d->shift;
        vaddr_t to = code_address(s->inf->texts, d->base + value) & UINT32_MAX;
        if (!is_outside_stubs(s, to))
            break;
        if (to > d->table && to < lowest)
            lowest = to;
        ARRAY_PUSH(&s->inf->labels, to);
        push(s, to, state);
    }
    if (is_outside_stubs(s, d->table))
        note_data(s, d->table, (size_t)i * d->entry_bytes);
}

static struct dispatch dispatch_on(const struct search *s, const struct text *t,
                                   const struct insn *in, const struct line *line) {
    struct code_line all = {.jump = {text_bytes(t, in->addr), in->size, in->addr}};
    all.count = line->count < DISPATCH_PAST ? line->count : DISPATCH_PAST;
    for (size_t i = 0; i < all.count; i++)
        all.past[i] = line->past[(line->count - 1 - i) % DISPATCH_PAST];
    return dispatch_of(&s->inf->states, state_arch(&s->inf->states, t, in->addr), in, &all);
}

/* An indirect jump, or a call that is a switch (inline_tables.c). */
static void follow_switch(struct search *s, const struct text *t, const struct insn *in,
                          const struct line *line) {
    uint8_t state = found_state(s->inf, t, in->addr);
    struct dispatch d = dispatch_on(s, t, in, line);
    if (d.kind == DISPATCH_CALL)
        defer(s, in->addr + in->size, state, MAY_RETURN);
    if (!d.table)
        return;
    if (d.kind == DISPATCH_COMPUTED) {
        ARRAY_PUSH(&s->inf->labels, d.table);
        push(s, d.table, state);
        for (uint32_t i = 0; i < d.count; i++) {
            ARRAY_PUSH(&s->inf->labels, d.table + (vaddr_t)i * d.entry_bytes);
            push(s, d.table + (vaddr_t)i * d.entry_bytes, state);
        }
        return;
    }
    if (d.kind == DISPATCH_ADDRESSES && !d.entry_bytes)
        d.entry_bytes = s->inf->arch->word_bytes;
    if ((d.kind == DISPATCH_OFFSETS && d.entry_bytes) || d.kind == DISPATCH_ADDRESSES)
        follow_table(s, &d, state);
}

static void note_jump(struct search *s, const struct insn *in, uint8_t state) {
    if (!is_outside_stubs(s, in->target))
        return;
    ARRAY_PUSH(&s->inf->jumps, ((struct code_jump){in->addr, in->target}));
    push(s, in->target, state);
}

/* An indirect jump whose target the instructions before it compute: mostly a linker's veneer. */
static void note_known_jump(struct search *s, const struct insn *whole) {
    struct insn direct = *whole;
    direct.target = code_address(s->inf->texts, whole->target);
    note_jump(s, &direct, whole->target & 1 ? CODE_T32 : CODE_A32);
}

/* Notes what IN, or the address that IN completes, refers to. */
static void note_operand(struct search *s, const struct arch *arch, const struct text *t,
                         const struct insn *in, struct line *line) {
    const bool memory = in->operand == OPERAND_PC_MEMORY;
    struct insn whole = *in;
    line->trail.literal = text_literal(s->inf->texts, in);
    if (memory && is_outside_stubs(s, in->target))
        note_data(s, in->target, in->loads ? in->loads : arch->word_bytes);
    if (!arch->follow || !arch->follow(&line->trail, in, text_bytes(t, in->addr), &whole))
        return;
    if (whole.operand == OPERAND_PC_MEMORY && is_outside_stubs(s, whole.target))
        note_data(s, whole.target, whole.loads ? whole.loads : arch->word_bytes);
    vaddr_t to = code_address(s->inf->texts, whole.target);
    bool number = whole.operand == OPERAND_ABSOLUTE;
    bool address =
        whole.operand == OPERAND_PC_ADDRESS || (number && !s->inf->module->position_independent);
    if (address && whole.kind == INSN_JUMP_INDIRECT)
        note_known_jump(s, &whole);
    if (!address || !is_outside_stubs(s, to))
        return;
    if (!(whole.target & 1)) {
        if (!number && arch == s->inf->arch && whole.target % arch->insn_bytes == 0)
            guess(s, to, CODE_A32, false);
        return;
    }
    if (number) {
        guess(s, to, CODE_T32, true);
        return;
    }
    begin_function(s, to, true);
    push(s, to, CODE_T32);
}

/* True if control goes on behind IN. */
static bool follow_call(struct search *s, const struct text *t, const struct insn *in,
                        const struct line *line) {
    uint8_t state = found_state(s->inf, t, in->addr);
    uint8_t there = in->turns ? state ^ CODE_A32 ^ CODE_T32 : state;
    struct dispatch form;
    if (is_outside_stubs(s, in->target)) {
        ARRAY_PUSH(&s->inf->states.starts,
                   ((struct code_start){.addr = in->target, .called = true, .direct = true}));
        push(s, in->target, there);
    }
    if (call_is_switch(&s->inf->states, state_arch(&s->inf->states, t, in->addr), in, &form)) {
        follow_switch(s, t, in, line);
        return false;
    }
    defer(s, in->addr + in->size, state,
          list_holds(&s->noreturn, in->target) ? NEVER_RETURN : MAY_RETURN);
    return in->goes_on;
}

/* The same for any instruction. */
static bool follow_insn(struct search *s, const struct text *t, const struct insn *in,
                        const struct line *line) {
    uint8_t state = found_state(s->inf, t, in->addr);
    uint8_t there = in->turns ? state ^ CODE_A32 ^ CODE_T32 : state;
    switch ((enum insn_kind)in->kind) {
    case INSN_JUMP:
        note_jump(s, in, there);
        return false;
    case INSN_BRANCH:
    case INSN_LOOP:
        if (!insn_may_return(in))
            note_jump(s, in, there);
        return true;
    case INSN_CALL:
        return follow_call(s, t, in, line);
    case INSN_CALL_INDIRECT:
        defer(s, in->addr + in->size, state, MAY_RETURN);
        return in->goes_on;
    case INSN_JUMP_INDIRECT:
        follow_switch(s, t, in, line);
        return in->goes_on;
    case INSN_FIXED:
        if (in->operand == OPERAND_PLAIN && in->target)
            note_jump(s, in, there);
        return true;
    default:
        return in->kind != INSN_RETURN && in->kind != INSN_TRAP;
    }
}

static bool is_free(const struct inference *inf, const struct text *t, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end; at += STATE_BYTES) {
        if (found_state(inf, t, at) != CODE_UNKNOWN)
            return false;
    }
    return true;
}

static void remember(struct line *line, const struct text *t, const struct insn *in) {
    line->past[line->count++ % DISPATCH_PAST] =
        (struct code_bytes){text_bytes(t, in->addr), in->size, in->addr};
}

/* True if the code was found in the other state: it is unknown which is right. Marked as data, it
 * keeps its function from being patched. */
static bool contradicts(const struct inference *inf, const struct text *t,
                        const struct lead *from) {
    uint8_t state = found_state(inf, t, from->addr);
    return state < CODE_DATA && state != from->state && !from->behind_call;
}

/* The linker's filler may stand behind a call that does not return. */
static bool is_filler(const struct text *t, const struct arch *arch, const struct lead *from) {
    return from->behind_call && arch->is_filler &&
           arch->is_filler(text_bytes(t, from->addr), t->start + t->size - from->addr);
}

static void follow(struct search *s, struct lead from) {
    const struct text *t = text_at(s->inf->texts, from.addr);
    const struct arch *arch = from.state == CODE_T32 ? s->inf->arch->other : s->inf->arch;
    const bool wrong = t && contradicts(s->inf, t, &from);
    bool known = t && found_state(s->inf, t, from.addr) != CODE_UNKNOWN;
    if (!t || from.addr % arch->insn_bytes || (known && !wrong))
        return;
    const struct section *section = text_section_at(s->inf->texts, from.addr);
    if (!section || section->plt || is_filler(t, arch, &from))
        return;
    if (wrong) {
        *state_at(&s->inf->states, t, from.addr) = CODE_DATA;
        return;
    }
    struct line line = {.count = 0};
    vaddr_t limit = section->start + section->size;
    if (limit > t->start + t->size)
        limit = t->start + t->size;
    for (vaddr_t at = from.addr; at < limit && found_state(s->inf, t, at) == CODE_UNKNOWN;) {
        struct insn in;
        size_t room = limit - at < UNIT_MAX_BYTES ? limit - at : UNIT_MAX_BYTES;
        if (!arch->decode(text_bytes(t, at), room, at, &in, NULL) ||
            !is_free(s->inf, t, at, at + in.size))
            return;
        states_fill(&s->inf->states, t, (struct span){at, at + in.size}, from.state);
        s->has_t32 |= from.state == CODE_T32;
        s->inf->insns[text_place(t, at)] = (uint8_t)(in.size >> t->size_shift << 4 | in.kind);
        note_operand(s, arch, t, &in, &line);
        if (!follow_insn(s, t, &in, &line))
            return;
        remember(&line, t, &in);
        at += in.size;
    }
}

static void follow_ready(struct search *s) {
    while (s->ready.count)
        follow(s, s->ready.at[--s->ready.count]);
}

/* Takes the first place that is left of T; false: none is. */
static bool take_deferred(struct deferred *deferred, const struct text *t, struct lead *ret) {
    if (!deferred->count)
        return false;
    while (!deferred->left[deferred->low])
        deferred->low++;
    uint64_t *word = &deferred->left[deferred->low];
    size_t k = deferred->low * LEFT_BITS + (size_t)__builtin_ctzll(*word);
    *ret = (struct lead){.addr = t->start + k * STATE_BYTES,
                         .state = (uint8_t)(deferred->states[k] - 1),
                         .behind_call = true};
    *word &= *word - 1;
    deferred->count--;
    return true;
}

/* Follows the deferred places of one kind; for NEVER_RETURN only the first one, since other places
 * may be found there. False: nothing was left. */
static bool follow_deferred(struct search *s, int which) {
    struct lead next;
    bool any = false;
    for (size_t i = 0; i < s->inf->texts->count; i++) {
        while (take_deferred(&s->deferred[which][i], &s->inf->texts->at[i], &next)) {
            any = true;
            ARRAY_PUSH(&s->ready, next);
            follow_ready(s);
            if (which == NEVER_RETURN)
                return true;
        }
    }
    return any;
}

/* Literals of certain code are known before uncertain code is followed. */
static void follow_all(struct search *s) {
    follow_ready(s);
    while (follow_deferred(s, MAY_RETURN) || (s->all_begun && follow_deferred(s, NEVER_RETURN)))
        ;
}

/* ---- where code begins ---- */

static void begin_at_marks(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->mark_count; i++) {
        const struct code_mark *mark = &m->marks[i];
        if (!mark->sure || mark->state == CODE_DATA || !is_outside_stubs(s, mark->addr))
            continue;
        begin_function(s, mark->addr, true);
        push(s, mark->addr, mark->state);
    }
    follow_all(s);
}

/* Where code begins in R. Linkers end an unwound range by an entry of their own, with padding
 * behind it: zeros are no code. */
static vaddr_t code_in(const struct inference *inf, const struct exception_range *r) {
    vaddr_t at = r->start;
    for (; r->ends_unwound && at < r->end; at += STATE_BYTES) {
        const uint8_t *bytes = module_bytes(inf->module, at, STATE_BYTES);
        if (!bytes || bytes[0] || bytes[1])
            break;
    }
    return at;
}

/* Unwind tables do not give states. */
static void begin_at_exceptions(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->exception_count; i++) {
        vaddr_t addr = code_in(s->inf, &m->exceptions[i]);
        const struct text *t = text_at(s->inf->texts, addr);
        if (!t || addr == m->exceptions[i].end || !is_outside_stubs(s, addr))
            continue;
        uint8_t state = state_likely(s->inf, t, addr, m->exceptions[i].end);
        if (state == CODE_A32)
            addr &= ~(vaddr_t)3;
        begin_function(s, addr, false);
        if (found_state(s->inf, t, addr) == CODE_UNKNOWN)
            push(s, addr, state);
        follow_all(s);
    }
}

/* Begins a function at FROM, if an instruction begins there. Unknown bytes that read as code get
 * the guessed state. False: FROM is no code as far as known, but may be later. */
static bool begin_at_guess(struct search *s, const struct lead *from) {
    const struct text *t = text_at(s->inf->texts, from->addr);
    const struct code_start start = {.addr = from->addr, .called = true, .guess = true};
    const bool bit = from->state == CODE_T32;
    if (!t || !is_outside_stubs(s, from->addr) || (bit && !s->has_t32))
        return true;
    uint8_t state = found_state(s->inf, t, from->addr);
    bool found = state != CODE_UNKNOWN;
    if (!found)
        state = state_guessed(s->inf, t, from->addr, bit, from->number);
    if (state == CODE_DATA)
        return found;
    bool begins = found ? state == CODE_T32 && found_begins(s->inf, t, from->addr) : true;
    if (state == from->state && begins)
        ARRAY_PUSH(&s->inf->states.starts, start);
    if (found)
        return true;
    push(s, from->addr, state);
    follow_all(s);
    return true;
}

/* Goes from low addresses to high: a function's start comes before guesses inside of it. Guessed
 * code may make more guesses, and may show other guesses to be code. */
static void begin_at_guesses(struct search *s) {
    for (bool goes_on = true; goes_on;) {
        lead_list guesses = s->guesses, left = {0};
        s->guesses = (lead_list){0};
        sort_by_address(guesses.at, guesses.count, sizeof *guesses.at);
        for (size_t i = 0; i < guesses.count; i++) {
            if (!begin_at_guess(s, &guesses.at[i]))
                ARRAY_PUSH(&left, guesses.at[i]);
        }
        goes_on = s->guesses.count || left.count < guesses.count;
        for (size_t i = 0; i < left.count; i++)
            ARRAY_PUSH(&s->guesses, left.at[i]);
        ARRAY_FREE(&left);
        ARRAY_FREE(&guesses);
    }
}

/* Words without the bit of T32 may lead to A32 code, to labels of T32 code, or to data. Words
 * without a relocation may be numbers; numbers in code may be masks. */
static void guess_at_words(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->mark_count; i++) {
        if (!m->marks[i].sure)
            guess(s, m->marks[i].addr, m->marks[i].state, !m->position_independent);
    }
}

/* Only unwinders reach landing pads. A landing pad has the state of its function. */
static void begin_at_pads(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        const struct text *t =
            r->kind == CODE_REF_LANDING_PAD ? text_at(s->inf->texts, r->target) : NULL;
        if (t && is_outside_stubs(s, r->target) &&
            found_state(s->inf, t, r->target) == CODE_UNKNOWN)
            push(s, r->target, state_near(s->inf, t, r->target));
    }
    follow_all(s);
}

/* ---- the linker's stubs and padding ---- */

/* A stub of A32 may have a head for callers in T32: bx pc. */
static void mark_stubs(struct inference *inf) {
    enum { BX_PC = 0x4778, HEAD_BYTES = 4 };
    for (size_t i = 0; i < inf->module->section_count; i++) {
        const struct section *s = &inf->module->sections[i];
        const struct text *t = s->plt && s->bytes ? text_at(inf->texts, s->start) : NULL;
        if (!t)
            continue;
        states_fill(&inf->states, t, (struct span){s->start, s->start + s->size}, CODE_A32);
        for (uint64_t at = 0; at + HEAD_BYTES <= s->size; at += HEAD_BYTES) {
            uint16_t half;
            memcpy(&half, s->bytes + at, sizeof half);
            if (half == BX_PC)
                states_fill(&inf->states, t,
                            (struct span){s->start + at, s->start + at + HEAD_BYTES}, CODE_T32);
        }
    }
}

/* Nops behind code are padding, which gives room to jumps. */
static void mark_padding(struct inference *inf, const struct text *t) {
    for (vaddr_t at = t->start + STATE_BYTES; text_holds(t, at + STATE_BYTES);) {
        uint8_t before = found_state(inf, t, at - STATE_BYTES);
        struct insn in = {.size = STATE_BYTES};
        if (found_state(inf, t, at) == CODE_UNKNOWN && before < CODE_DATA) {
            const struct arch *arch = before == CODE_T32 ? inf->arch->other : inf->arch;
            size_t room = t->start + t->size - at;
            room = room < UNIT_MAX_BYTES ? room : UNIT_MAX_BYTES;
            bool nop = at % arch->insn_bytes == 0 &&
                       arch->decode(text_bytes(t, at), room, at, &in, NULL) &&
                       in.kind == INSN_NOP && is_free(inf, t, at, at + in.size);
            if (nop)
                states_fill(&inf->states, t, (struct span){at, at + in.size}, before);
            else
                in.size = STATE_BYTES;
        }
        at += in.size;
    }
}

/* Bytes that no instruction flows into are data. */
static void mark_rest_as_data(struct inference *inf) {
    for (size_t i = 0; i < inf->texts->count; i++)
        mark_padding(inf, &inf->texts->at[i]);
    for (size_t k = 0; k < inf->texts->places / STATE_BYTES; k++)
        if (inf->states.at[k] == CODE_UNKNOWN)
            inf->states.at[k] = CODE_DATA;
}

static void search(struct search *s) {
    struct inference *inf = s->inf;
    mark_stubs(inf);
    inline_tables_find(&inf->states);
    noreturn_by_name(inf, &s->noreturn);
    begin_at_marks(s);
    begin_at_exceptions(s);
    guess_at_words(s);
    begin_at_guesses(s);
    begin_at_pads(s);
    s->all_begun = true;
    follow_all(s);
    begin_at_guesses(s);
    starts_settle(inf);
    mark_rest_as_data(inf);
}

struct states states_infer(const struct texts *texts) {
    struct inference inf = {.texts = texts, .module = texts->module, .arch = texts->arch};
    inf.states = states_new(texts, CODE_UNKNOWN);
    inf.insns = mem_alloc(texts->places + 1);
    struct search s = {.inf = &inf};
    for (int k = 0; k < DEFERRED_KINDS; k++) {
        s.deferred[k] = mem_alloc((texts->count + 1) * sizeof *s.deferred[k]);
        for (size_t i = 0; i < texts->count; i++)
            s.deferred[k][i] = deferred_new(&texts->at[i]);
    }
    search(&s);
    for (int k = 0; k < DEFERRED_KINDS; k++) {
        for (size_t i = 0; i < texts->count; i++)
            deferred_done(&s.deferred[k][i]);
        free(s.deferred[k]);
    }
    ARRAY_FREE(&s.ready);
    ARRAY_FREE(&s.noreturn);
    ARRAY_FREE(&s.guesses);
    ARRAY_FREE(&inf.jumps);
    ARRAY_FREE(&inf.labels);
    free(inf.insns);
    return inf.states;
}
