/*
 * Finds calls that never return, where nothing else shows where functions end. Behind such a call
 * the next function begins, perhaps after padding, if nothing else leads there.
 *
 *     cbz  r0, 1f
 *     pop  {r3, pc}
 *  1: bl   die            die: bl error; bl abort
 *     nop
 *     push {r4, lr}       a function, which may never be called
 *
 * A function never returns if all its paths end in such calls or in endless loops. Some functions
 * are known by the names of their imports. Others (`die: …; blx r3`) are known because constants
 * stand right behind calls of them. All other calls count as returning.
 */
#include <string.h>

#include "elf/sort.h"
#include "plan/code/plt_stubs.h"
#include "plan/stripped/inference.h"

static const char *const names[] = {"abort",
                                    "exit",
                                    "_exit",
                                    "_Exit",
                                    "quick_exit",
                                    "pthread_exit",
                                    "longjmp",
                                    "_longjmp",
                                    "siglongjmp",
                                    "__longjmp_chk",
                                    "__assert",
                                    "__assert_fail",
                                    "__assert_perror_fail",
                                    "__stack_chk_fail",
                                    "__chk_fail",
                                    "__cxa_throw",
                                    "__cxa_rethrow",
                                    "__cxa_bad_cast",
                                    "__cxa_bad_typeid",
                                    "__cxa_pure_virtual",
                                    "__cxa_end_cleanup",
                                    "__cxa_call_unexpected",
                                    "__cxa_throw_bad_array_new_length",
                                    "_Unwind_Resume",
                                    "_ZSt9terminatev"};

static bool never_returns(const char *name) {
    if (!name)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_"); /* libstdc++'s own functions */
}

struct pad { /* a landing pad, and the start of its function */
    vaddr_t function, at;
};

struct search {
    struct inference *inf;
    address_list given;     /* known by name or by constants behind calls, and stubs; sorted */
    address_list led_to;    /* targets of jumps, switches and data; sorted */
    address_list pending;   /* places of the function at hand that are still to be followed */
    ARRAY(struct pad) pads; /* by function */
    bool *noreturn;         /* by start: taken to never return so far */
    uint32_t *seen;         /* by place / STATE_BYTES: 1 + the last start whose paths came there */
};

/* The index of the start at ADDR; SIZE_MAX: none. */
static size_t start_at(const struct inference *inf, vaddr_t addr) {
    size_t i = SEARCH(k, inf->states.starts.count, inf->states.starts.at[k].addr < addr);
    bool found = i < inf->states.starts.count && inf->states.starts.at[i].addr == addr;
    return found ? i : SIZE_MAX;
}

static bool is_noreturn(const struct search *s, vaddr_t to) {
    size_t i = start_at(s->inf, to);
    return i == SIZE_MAX ? list_holds(&s->given, to) : s->noreturn[i];
}

static bool may_lead(uint8_t kind) {
    return kind == INSN_JUMP || kind == INSN_BRANCH || kind == INSN_LOOP || kind == INSN_CALL ||
           kind == INSN_JUMP_INDIRECT;
}

bool code_insn(const struct inference *inf, const struct text *t, struct span place,
               struct insn *ret) {
    const vaddr_t at = place.start;
    const size_t left = place.end - at, most = UNIT_MAX_BYTES;
    *ret = (struct insn){.addr = at};
    if (found_state(inf, t, at) >= CODE_DATA)
        return false;
    if (found_begins(inf, t, at) && !may_lead(found_kind(inf, t, at)) &&
        found_size(inf, t, at) <= left) {
        ret->size = found_size(inf, t, at);
        ret->kind = found_kind(inf, t, at);
        return true;
    }
    return state_arch(&inf->states, t, at)
        ->decode(text_bytes(t, at), left < most ? left : most, at, ret, NULL);
}

/* The same for any ADDR. */
static bool insn_at(const struct inference *inf, vaddr_t addr, struct insn *ret) {
    const struct text *t = text_at(inf->texts, addr);
    return t && code_insn(inf, t, (struct span){addr, t->start + t->size}, ret);
}

/* ---- functions ---- */

struct frame_data { /* a function's language-specific data (LSDA) */
    vaddr_t at, function;
};

static void find_pads(struct search *s) {
    const struct module *m = s->inf->module;
    ARRAY(struct frame_data) data = {0};
    for (size_t i = 0; i < m->range_count; i++)
        ARRAY_PUSH(&data, ((struct frame_data){m->ranges[i].lsda, m->ranges[i].start}));
    for (size_t i = 0; i < m->exception_count; i++)
        ARRAY_PUSH(&data, ((struct frame_data){m->exceptions[i].lsda, m->exceptions[i].start}));
    sort_by_address(data.at, data.count, sizeof *data.at);
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        if (r->kind != CODE_REF_LANDING_PAD)
            continue;
        size_t low = SEARCH(k, data.count, data.at[k].at < r->from);
        for (; low < data.count && data.at[low].at == r->from; low++)
            ARRAY_PUSH(&s->pads, ((struct pad){data.at[low].function, r->target}));
    }
    sort_by_address(s->pads.at, s->pads.count, sizeof *s->pads.at);
    ARRAY_FREE(&data);
}

/* True if no path of start NUMBER has come to ADDR yet. */
static bool is_new(const struct search *s, vaddr_t addr, size_t number) {
    const struct text *t = text_at(s->inf->texts, addr);
    if (!t)
        return true;
    uint32_t *seen = &s->seen[text_place(t, addr) / STATE_BYTES];
    bool is_first = *seen != number + 1;
    *seen = (uint32_t)number + 1;
    return is_first;
}

enum path_end { PATH_ENDS, PATH_GOES_ON, PATH_RETURNS };

static enum path_end jump(struct search *s, const struct span *function, vaddr_t to) {
    if (to - function->start < function->end - function->start)
        ARRAY_PUSH(&s->pending, to);
    else if (!is_noreturn(s, to))
        return PATH_RETURNS;
    return PATH_ENDS;
}

static enum path_end step(struct search *s, const struct span *function, const struct insn *in) {
    switch ((enum insn_kind)in->kind) {
    case INSN_JUMP:
        return jump(s, function, in->target);
    case INSN_BRANCH:
    case INSN_LOOP:
        if (!in->target || jump(s, function, in->target) == PATH_RETURNS)
            return PATH_RETURNS;
        return PATH_GOES_ON;
    case INSN_CALL:
        return in->goes_on || !is_noreturn(s, in->target) ? PATH_GOES_ON : PATH_ENDS;
    case INSN_TRAP:
        return PATH_ENDS;
    case INSN_BAD:
    case INSN_BREAK:
    case INSN_FIXED:
    case INSN_RETURN:
    case INSN_JUMP_INDIRECT:
        return PATH_RETURNS;
    default:
        return PATH_GOES_ON;
    }
}

static enum path_end follow(struct search *s, const struct span *function, size_t number,
                            vaddr_t at) {
    enum path_end end_of_path = PATH_GOES_ON;
    struct insn in;
    while (end_of_path == PATH_GOES_ON && is_new(s, at, number)) {
        if (at >= function->end || !insn_at(s->inf, at, &in))
            return PATH_RETURNS;
        end_of_path = step(s, function, &in);
        at += in.size;
    }
    return end_of_path;
}

/* Callees that never return may throw: adds the function's landing pads. False: one lies outside
 * the function. */
static bool add_pads(struct search *s, const struct span *function) {
    size_t low = SEARCH(i, s->pads.count, s->pads.at[i].function < function->start);
    for (; low < s->pads.count && s->pads.at[low].function < function->end; low++) {
        vaddr_t at = s->pads.at[low].at;
        if (at - function->start >= function->end - function->start)
            return false;
        ARRAY_PUSH(&s->pending, at);
    }
    return true;
}

static bool may_return(struct search *s, size_t number) {
    const struct code_start *start = &s->inf->states.starts.at[number];
    bool last = number + 1 == s->inf->states.starts.count;
    const struct span function = {start->addr, last ? UINT64_MAX : start[1].addr};
    s->pending.count = 0;
    ARRAY_PUSH(&s->pending, start->addr);
    if (!add_pads(s, &function))
        return true;
    while (s->pending.count) {
        vaddr_t at = s->pending.at[--s->pending.count];
        if (follow(s, &function, number, at) == PATH_RETURNS)
            return true;
    }
    return false;
}

/* One round over all starts that still count as never returning, upwards or BACK. True if some
 * turned out to return. */
static bool find_returning(struct search *s, bool back) {
    const size_t count = s->inf->states.starts.count;
    bool found = false;
    memset(s->seen, 0, s->inf->texts->places / STATE_BYTES * sizeof *s->seen);
    for (size_t k = 0; k < count; k++) {
        size_t i = back ? count - 1 - k : k;
        if (!s->noreturn[i] || list_holds(&s->given, s->inf->states.starts.at[i].addr) ||
            !may_return(s, i))
            continue;
        s->noreturn[i] = false;
        found = true;
    }
    return found;
}

/* All functions count as never returning until a path to a return is found, over calls that return.
 * So two functions that end by calling each other never return, either. */
static void find_noreturn(struct search *s) {
    enum { MOST_ROUNDS = 64 };
    int round = 0;
    for (size_t i = 0; i < s->inf->states.starts.count; i++)
        s->noreturn[i] = true;
    while (round < MOST_ROUNDS && find_returning(s, round % 2))
        round++;
    for (size_t i = 0; round == MOST_ROUNDS && i < s->inf->states.starts.count; i++)
        s->noreturn[i] = list_holds(&s->given, s->inf->states.starts.at[i].addr);
}

/* ---- what stands behind calls ---- */

static void note_led_to(struct search *s) {
    const struct inference *inf = s->inf;
    for (size_t i = 0; i < inf->jumps.count; i++)
        ARRAY_PUSH(&s->led_to, inf->jumps.at[i].to);
    for (size_t i = 0; i < inf->labels.count; i++)
        ARRAY_PUSH(&s->led_to, inf->labels.at[i]);
    for (size_t i = 0; i < inf->module->ref_count; i++)
        ARRAY_PUSH(&s->led_to, code_address(inf->texts, inf->module->refs[i].target));
    sort_by_address(s->led_to.at, s->led_to.count, sizeof *s->led_to.at);
}

/* What is behind a call. */
enum behind { BEHIND_KNOWN, BEHIND_DATA, BEHIND_CODE /* code that nothing else leads to */ };

static enum behind what_is_behind(const struct search *s, const struct text *t, vaddr_t at) {
    struct insn in;
    if (list_holds(&s->led_to, at) || start_at(s->inf, at) != SIZE_MAX)
        return BEHIND_KNOWN;
    if (insn_at(s->inf, at, &in) && in.kind == INSN_NOP)
        at += in.size;
    return text_holds(t, at) && state_is_data(&s->inf->states, t, at) ? BEHIND_DATA : BEHIND_CODE;
}

/* Compilers put constants behind a call only if it does not return. Bytes taken for constants may
 * be something else, so more calls of the function must have constants behind them than code. */
static void add_by_constants(struct search *s) {
    address_list data = {0}, code = {0};
    struct insn in = {.size = STATE_BYTES};
    for (size_t i = 0; i < s->inf->texts->count; i++) {
        const struct text *t = &s->inf->texts->at[i];
        for (vaddr_t at = t->start; text_holds(t, at); at += in.size) {
            if (!code_insn(s->inf, t, (struct span){at, t->start + t->size}, &in)) {
                in.size = STATE_BYTES;
                continue;
            }
            if (in.kind != INSN_CALL || in.goes_on || !in.target)
                continue;
            enum behind behind = what_is_behind(s, t, at + in.size);
            if (behind == BEHIND_DATA)
                ARRAY_PUSH(&data, in.target);
            else if (behind == BEHIND_CODE)
                ARRAY_PUSH(&code, in.target);
        }
    }
    sort_by_address(data.at, data.count, sizeof *data.at);
    sort_by_address(code.at, code.count, sizeof *code.at);
    for (size_t i = 0, end; i < data.count; i = end) {
        vaddr_t to = data.at[i];
        end = list_place(&data, to + 1);
        if (end - i > list_place(&code, to + 1) - list_place(&code, to))
            ARRAY_PUSH(&s->given, to);
    }
    sort_by_address(s->given.at, s->given.count, sizeof *s->given.at);
    ARRAY_FREE(&data);
    ARRAY_FREE(&code);
}

/* A function may begin at AT, or behind padding there: adds it to s->pending. */
static void begin_behind(struct search *s, vaddr_t at) {
    struct insn in;
    while (insn_at(s->inf, at, &in) && !list_holds(&s->led_to, at) &&
           start_at(s->inf, at) == SIZE_MAX) {
        if (in.kind != INSN_NOP) {
            ARRAY_PUSH(&s->pending, at);
            return;
        }
        at += in.size;
    }
}

static void find_behind(struct search *s, const struct text *t, address_list *ret_ends) {
    struct insn in = {.size = STATE_BYTES};
    for (vaddr_t at = t->start; text_holds(t, at); at += in.size) {
        bool code = code_insn(s->inf, t, (struct span){at, t->start + t->size}, &in);
        if (!code)
            in.size = STATE_BYTES;
        else if (in.kind == INSN_CALL && !in.goes_on && is_noreturn(s, in.target)) {
            ARRAY_PUSH(ret_ends, at + in.size);
            begin_behind(s, at + in.size);
        }
    }
}

void noreturn_by_name(const struct inference *inf, address_list *ret) {
    functions_by_name(&inf->states, never_returns, ret);
}

void noreturn_find(struct inference *inf, address_list *ret_ends, address_list *ret_begins) {
    struct search s = {.inf = inf};
    s.noreturn = mem_alloc(inf->states.starts.count * sizeof *s.noreturn + 1);
    s.seen = mem_alloc((inf->texts->places / STATE_BYTES + 1) * sizeof *s.seen);
    noreturn_by_name(inf, &s.given);
    find_pads(&s);
    note_led_to(&s);
    add_by_constants(&s);
    find_noreturn(&s);
    s.pending.count = 0;
    for (size_t i = 0; i < inf->texts->count; i++)
        find_behind(&s, &inf->texts->at[i], ret_ends);
    for (size_t i = 0; i < s.pending.count; i++)
        ARRAY_PUSH(ret_begins, s.pending.at[i]);
    free(s.seen);
    free(s.noreturn);
    ARRAY_FREE(&s.given);
    ARRAY_FREE(&s.led_to);
    ARRAY_FREE(&s.pending);
    ARRAY_FREE(&s.pads);
}
