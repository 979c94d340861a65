/*
 * Code is what is reached from where functions are known to begin (symbols, the entry, words that
 * lead to code, unwind tables), each in its own state, by branches, calls, which keep the state or
 * turn it, and switches. What no instruction flows into is data: literals, tables, padding of
 * unknown contents.
 *
 *     bl  f             f begins a function; what stands behind the call is followed
 *     …                 when all else is, from low addresses to high: calls that do not
 *     ldr r0, [pc, #8]  return have the next function or literals behind them, which by
 *     bl  abort         then are known as such
 *     .word …
 *
 * A few calls are switches (code/inline_tables.c), whose tables are behind them.
 */
#include <string.h>

#include "elf/sort.h"
#include "plan/code/inline_tables.h"
#include "plan/stripped/inference.h"
#include "plan/stripped/stripped.h"

struct place {
    vaddr_t addr;
    uint8_t state;
    bool behind_call; /* to which control may never come back */
    bool number;      /* which may be no address at all */
};

typedef ARRAY(struct place) place_list;

/* Places behind calls: of what is known not to return, and of all else, which come first. */
enum { ALL_ELSE, NEVER_RETURN, LATES };
struct late {
    uint8_t *states;   /* by STATE_BYTES: 1 + the state to go on in, also of those that are done */
    uint64_t *left;    /* a bit for each that is not done */
    size_t low, count; /* none is left in words of `left` before this one; how many are left */
};
enum { LEFT_BITS = 64 };

struct search {
    struct inference *inf;
    place_list ready;         /* ways that are to be followed */
    struct late *late[LATES]; /* by text */
    address_list endless;     /* what never returns by its name; sorted */
    place_list guesses;       /* words and numbers that may lead to code */
    bool all_begun;           /* nothing else tells where code is */
    bool has_t32;             /* some of it is known to be T32 */
};

struct line {                              /* instructions that run one after the other */
    struct code_bytes past[DISPATCH_PAST]; /* the last of them, number N at N % DISPATCH_PAST */
    size_t count;                          /* of all */
    struct trail trail;
};

/* ---- ways ---- */

static void go(struct search *s, vaddr_t addr, uint8_t state) {
    ARRAY_PUSH(&s->ready, ((struct place){.addr = addr, .state = state}));
}

static void begin_function(struct search *s, vaddr_t addr, bool called) {
    ARRAY_PUSH(&s->inf->states.starts, ((struct code_start){.addr = addr, .called = called}));
}

static void guess(struct search *s, vaddr_t addr, uint8_t state, bool number) {
    ARRAY_PUSH(&s->guesses, ((struct place){.addr = addr, .state = state, .number = number}));
}

/* The code of a stub of the linker's is known without following it. */
static bool is_own(const struct search *s, vaddr_t addr) {
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

static struct late late_new(const struct text *t) {
    size_t places = t->size / STATE_BYTES + 1;
    return (struct late){.states = mem_alloc(places),
                         .left = mem_alloc((places / LEFT_BITS + 1) * sizeof(uint64_t)),
                         .low = SIZE_MAX};
}

static void late_done(struct late *late) {
    free(late->states);
    free(late->left);
}

static void go_later(struct search *s, vaddr_t addr, uint8_t state, int which) {
    for (size_t i = 0; i < s->inf->texts->count; i++) {
        const struct text *t = &s->inf->texts->at[i];
        struct late *late = &s->late[which][i];
        size_t k = (addr - t->start) / STATE_BYTES;
        if (!text_holds(t, addr) || late->states[k])
            continue;
        late->states[k] = state + 1;
        late->left[k / LEFT_BITS] |= UINT64_C(1) << k % LEFT_BITS;
        late->low = k / LEFT_BITS < late->low ? k / LEFT_BITS : late->low;
        late->count++;
    }
}

static uint64_t read_entry(const uint8_t *at, const struct dispatch *d) {
    uint64_t value = 0, sign = d->is_signed ? UINT64_C(1) << (8 * d->entry_bytes - 1) : 0;
    memcpy(&value, at, d->entry_bytes);
    return (value ^ sign) - sign;
}

/* A table goes on at most to the first place that it leads to, if it stands before that. */
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
        if (!is_own(s, to))
            break;
        if (to > d->table && to < lowest)
            lowest = to;
        ARRAY_PUSH(&s->inf->labels, to);
        go(s, to, state);
    }
    if (is_own(s, d->table))
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

/* An indirect jump, or a call that is one (inline_tables.c). */
static void follow_switch(struct search *s, const struct text *t, const struct insn *in,
                          const struct line *line) {
    uint8_t state = found_state(s->inf, t, in->addr);
    struct dispatch d = dispatch_on(s, t, in, line);
    if (d.kind == DISPATCH_CALL)
        go_later(s, in->addr + in->size, state, ALL_ELSE);
    if (!d.table)
        return;
    if (d.kind == DISPATCH_COMPUTED) {
        ARRAY_PUSH(&s->inf->labels, d.table);
        go(s, d.table, state);
        for (uint32_t i = 0; i < d.count; i++) {
            ARRAY_PUSH(&s->inf->labels, d.table + (vaddr_t)i * d.entry_bytes);
            go(s, d.table + (vaddr_t)i * d.entry_bytes, state);
        }
        return;
    }
    if (d.kind == DISPATCH_ADDRESSES && !d.entry_bytes)
        d.entry_bytes = s->inf->arch->word_bytes;
    if ((d.kind == DISPATCH_OFFSETS && d.entry_bytes) || d.kind == DISPATCH_ADDRESSES)
        follow_table(s, &d, state);
}

static void note_jump(struct search *s, const struct insn *in, uint8_t state) {
    if (!is_own(s, in->target))
        return;
    ARRAY_PUSH(&s->inf->jumps, ((struct code_jump){in->addr, in->target}));
    go(s, in->target, state);
}

/* A jump to where the instructions before it say: a linker's veneer mostly. */
static void note_known_jump(struct search *s, const struct insn *whole) {
    struct insn direct = *whole;
    direct.target = code_address(s->inf->texts, whole->target);
    note_jump(s, &direct, whole->target & 1 ? CODE_T32 : CODE_A32);
}

/* What IN, or what it completes, refers to. */
static void note_operand(struct search *s, const struct arch *arch, const struct text *t,
                         const struct insn *in, struct line *line) {
    const bool memory = in->operand == OPERAND_PC_MEMORY;
    struct insn whole = *in;
    line->trail.literal = text_literal(s->inf->texts, in);
    if (memory && is_own(s, in->target))
        note_data(s, in->target, in->loads ? in->loads : arch->word_bytes);
    if (!arch->follow || !arch->follow(&line->trail, in, text_bytes(t, in->addr), &whole))
        return;
    if (whole.operand == OPERAND_PC_MEMORY && is_own(s, whole.target))
        note_data(s, whole.target, whole.loads ? whole.loads : arch->word_bytes);
    vaddr_t to = code_address(s->inf->texts, whole.target);
    bool number = whole.operand == OPERAND_ABSOLUTE;
    bool address =
        whole.operand == OPERAND_PC_ADDRESS || (number && !s->inf->module->position_independent);
    if (address && whole.kind == INSN_JUMP_INDIRECT)
        note_known_jump(s, &whole);
    if (!address || !is_own(s, to))
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
    go(s, to, CODE_T32);
}

/* Does control go on behind IN? */
static bool follow_call(struct search *s, const struct text *t, const struct insn *in,
                        const struct line *line) {
    uint8_t state = found_state(s->inf, t, in->addr);
    uint8_t there = in->turns ? state ^ CODE_A32 ^ CODE_T32 : state;
    struct dispatch form;
    if (is_own(s, in->target)) {
        ARRAY_PUSH(&s->inf->states.starts,
                   ((struct code_start){.addr = in->target, .called = true, .direct = true}));
        go(s, in->target, there);
    }
    if (call_is_switch(&s->inf->states, state_arch(&s->inf->states, t, in->addr), in, &form)) {
        follow_switch(s, t, in, line);
        return false;
    }
    go_later(s, in->addr + in->size, state,
             list_holds(&s->endless, in->target) ? NEVER_RETURN : ALL_ELSE);
    return in->goes_on;
}

/* The same of any instruction. */
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
        go_later(s, in->addr + in->size, state, ALL_ELSE);
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

/* Code that was found in one state, and is reached in the other: which is right is unknown. As data
 * it makes its function one that is not touched. */
static bool contradicts(const struct inference *inf, const struct text *t,
                        const struct place *from) {
    uint8_t state = found_state(inf, t, from->addr);
    return state < CODE_DATA && state != from->state && !from->behind_call;
}

/* A section may end by a call that does not come back. */
static bool is_filler(const struct text *t, const struct arch *arch, const struct place *from) {
    return from->behind_call && arch->is_filler &&
           arch->is_filler(text_bytes(t, from->addr), t->start + t->size - from->addr);
}

static void follow(struct search *s, struct place from) {
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

/* Takes the first place that is left; false if there is none in T. */
static bool take_late(struct late *late, const struct text *t, struct place *ret) {
    if (!late->count)
        return false;
    while (!late->left[late->low])
        late->low++;
    uint64_t *word = &late->left[late->low];
    size_t k = late->low * LEFT_BITS + (size_t)__builtin_ctzll(*word);
    *ret = (struct place){.addr = t->start + k * STATE_BYTES,
                          .state = (uint8_t)(late->states[k] - 1),
                          .behind_call = true};
    *word &= *word - 1;
    late->count--;
    return true;
}

/* Follows what is left of one of the two, up to the first text's end that is come to with more left
 * of what comes before it. False: nothing was left. */
static bool follow_late(struct search *s, int which) {
    struct place next;
    bool any = false;
    for (size_t i = 0; i < s->inf->texts->count; i++) {
        while (take_late(&s->late[which][i], &s->inf->texts->at[i], &next)) {
            any = true;
            ARRAY_PUSH(&s->ready, next);
            follow_ready(s);
            if (which == NEVER_RETURN)
                return true;
        }
    }
    return any;
}

/* Literals of all that is sure to be code are known before what may be some is followed. */
static void follow_all(struct search *s) {
    follow_ready(s);
    while (follow_late(s, ALL_ELSE) || (s->all_begun && follow_late(s, NEVER_RETURN)))
        ;
}

/* ---- where ways begin ---- */

static void begin_at_marks(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->mark_count; i++) {
        const struct code_mark *mark = &m->marks[i];
        if (!mark->sure || mark->state == CODE_DATA || !is_own(s, mark->addr))
            continue;
        begin_function(s, mark->addr, true);
        go(s, mark->addr, mark->state);
    }
    follow_all(s);
}

/* Where code begins in R. Linkers end what is unwound by entries of their own, behind which is
 * padding: zeros mean nothing as code. */
static vaddr_t code_in(const struct inference *inf, const struct exception_range *r) {
    vaddr_t at = r->start;
    for (; r->ends_unwound && at < r->end; at += STATE_BYTES) {
        const uint8_t *bytes = module_bytes(inf->module, at, STATE_BYTES);
        if (!bytes || bytes[0] || bytes[1])
            break;
    }
    return at;
}

/* Unwind tables do not tell states. */
static void begin_at_exceptions(struct search *s) {
    const struct module *m = s->inf->module;
    for (size_t i = 0; i < m->exception_count; i++) {
        vaddr_t addr = code_in(s->inf, &m->exceptions[i]);
        const struct text *t = text_at(s->inf->texts, addr);
        if (!t || addr == m->exceptions[i].end || !is_own(s, addr))
            continue;
        uint8_t state = state_likely(s->inf, t, addr, m->exceptions[i].end);
        if (state == CODE_A32)
            addr &= ~(vaddr_t)3;
        begin_function(s, addr, false);
        if (found_state(s->inf, t, addr) == CODE_UNKNOWN)
            go(s, addr, state);
        follow_all(s);
    }
}

/* Begins a function at most where an instruction begins. What is no code yet is taken for what it
 * looks like, or what stands around there, if it reads as code. False: it is not known to be any
 * now, but may be when more is known. */
static bool begin_at_guess(struct search *s, const struct place *from) {
    const struct text *t = text_at(s->inf->texts, from->addr);
    const struct code_start start = {.addr = from->addr, .called = true, .guess = true};
    const bool bit = from->state == CODE_T32;
    if (!t || !is_own(s, from->addr) || (bit && !s->has_t32))
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
    go(s, from->addr, state);
    follow_all(s);
    return true;
}

/* From low addresses to high: of a function that only guesses lead to its start comes before what
 * is in it. What they lead to makes more of them, and what was not known to be code before. */
static void begin_at_guesses(struct search *s) {
    for (bool goes_on = true; goes_on;) {
        place_list guesses = s->guesses, left = {0};
        s->guesses = (place_list){0};
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

/* Words without the bit of T32 may lead to A32 code, to labels of T32 code, or to data; those that
 * no relocation changes may be numbers, as those in code, which may be masks of bits. */
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
        if (t && is_own(s, r->target) && found_state(s->inf, t, r->target) == CODE_UNKNOWN)
            go(s, r->target, state_near(s->inf, t, r->target));
    }
    follow_all(s);
}

/* ---- the linker's stubs and padding ---- */

/* A stub of A32 may have a head for callers in T32: bx pc. */
static void take_stubs(struct inference *inf) {
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

/* Nops behind code are padding: they are of use for jumps that have no room elsewhere. */
static void take_padding(struct inference *inf, const struct text *t) {
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

/* What no instruction flows into is data. */
static void take_rest(struct inference *inf) {
    for (size_t i = 0; i < inf->texts->count; i++)
        take_padding(inf, &inf->texts->at[i]);
    for (size_t k = 0; k < inf->texts->places / STATE_BYTES; k++)
        if (inf->states.at[k] == CODE_UNKNOWN)
            inf->states.at[k] = CODE_DATA;
}

static void search(struct search *s) {
    struct inference *inf = s->inf;
    take_stubs(inf);
    inline_tables_find(&inf->states);
    endless_by_name(inf, &s->endless);
    begin_at_marks(s);
    begin_at_exceptions(s);
    guess_at_words(s);
    begin_at_guesses(s);
    begin_at_pads(s);
    s->all_begun = true;
    follow_all(s);
    begin_at_guesses(s);
    starts_settle(inf);
    take_rest(inf);
}

struct states states_infer(const struct texts *texts) {
    struct inference inf = {.texts = texts, .module = texts->module, .arch = texts->arch};
    inf.states = states_new(texts, CODE_UNKNOWN);
    inf.insns = mem_alloc(texts->places + 1);
    struct search s = {.inf = &inf};
    for (int k = 0; k < LATES; k++) {
        s.late[k] = mem_alloc((texts->count + 1) * sizeof *s.late[k]);
        for (size_t i = 0; i < texts->count; i++)
            s.late[k][i] = late_new(&texts->at[i]);
    }
    search(&s);
    for (int k = 0; k < LATES; k++) {
        for (size_t i = 0; i < texts->count; i++)
            late_done(&s.late[k][i]);
        free(s.late[k]);
    }
    ARRAY_FREE(&s.ready);
    ARRAY_FREE(&s.endless);
    ARRAY_FREE(&s.guesses);
    ARRAY_FREE(&inf.jumps);
    ARRAY_FREE(&inf.labels);
    free(inf.insns);
    return inf.states;
}
