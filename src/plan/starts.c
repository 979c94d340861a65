/*
 * Where functions begin that neither unwind ranges nor symbols tell of, and that states.c has come
 * by: what is called, what words lead to, what .ARM.exidx names. Each is from there to the last
 * instruction before the next one.
 *
 * One that only jumps of others lead to begins there, too, if no way of the function before leads
 * over that place, but to other such functions. It is weak if one function jumps there: it may as
 * well be a part of that, with a frame up (depth.c).
 */
#include "elf/sort.h"
#include "plan/analysis.h"

static size_t drop_repeated(struct code_start *starts, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || starts[kept - 1].addr != starts[i].addr) {
            starts[kept++] = starts[i];
            continue;
        }
        starts[kept - 1].called |= starts[i].called;
        starts[kept - 1].direct |= starts[i].direct;
    }
    return kept;
}

static void sort_starts(struct analysis *a) {
    sort_by_address(a->starts.at, a->starts.count, sizeof *a->starts.at);
    a->starts.count = drop_repeated(a->starts.at, a->starts.count);
}

/* The number of the first of COUNT starts behind ADDR. */
static size_t starts_up_to(const struct code_start *starts, size_t count, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t jumps_from(const struct analysis *a, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = a->jumps.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->jumps.at[middle].from < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Does the instruction before ADDR, in [START, ADDR), run into it? Only data and ends do not, and
 * calls that do not come back to any of ENDS. */
static bool runs_into(const struct analysis *a, const address_list *ends, vaddr_t start,
                      vaddr_t addr) {
    const struct text *t = text_at(a, addr);
    struct insn in;
    bool runs = true;
    for (vaddr_t at = start; at < addr; at += in.size) {
        const struct arch *arch = text_arch(a, t, at);
        in.size = STATE_BYTES;
        runs = false;
        if (*text_state(t, at) >= CODE_DATA)
            continue;
        arch->decode(text_bytes(t, at), addr - at, at, &in, NULL);
        if (!in.size)
            in.size = STATE_BYTES;
        runs = in.kind != INSN_RETURN && in.kind != INSN_JUMP && in.kind != INSN_TRAP &&
               (in.kind != INSN_JUMP_INDIRECT || in.goes_on);
    }
    return runs && !list_holds(ends, addr);
}

/* A place where a function may begin that only jumps lead to. */
struct weak {
    vaddr_t addr;
    vaddr_t start, end; /* between the functions that are known */
    bool no;
};
typedef ARRAY(struct weak) weak_list;

static const struct weak *weak_at(const weak_list *list, size_t count, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list->at[low].addr == addr ? &list->at[low] : NULL;
}

/* Adds TO, if it is no start that is known. KNOWN: so many are. */
static void add_candidate(const struct analysis *a, size_t known, vaddr_t to, weak_list *list) {
    const struct code_start *starts = a->starts.at;
    size_t i = starts_up_to(starts, known, to);
    if (!i || starts[i - 1].addr == to)
        return;
    struct weak w = {to, starts[i - 1].addr, i < known ? starts[i].addr : UINT64_MAX, false};
    ARRAY_PUSH(list, w);
}

/* The same, if nothing runs into it. */
static void add_weak(const struct analysis *a, const address_list *ends, size_t known, vaddr_t to,
                     weak_list *list) {
    size_t i = starts_up_to(a->starts.at, known, to);
    if (i && !runs_into(a, ends, a->starts.at[i - 1].addr, to))
        add_candidate(a, known, to, list);
}

/* What only calls run into that never return. */
static void add_behind_calls(struct analysis *a, address_list *ret_ends, weak_list *list) {
    address_list begins = {0};
    endless_find(a, ret_ends, &begins);
    for (size_t i = 0; i < begins.count; i++)
        add_candidate(a, a->starts.count, begins.at[i], list);
    ARRAY_FREE(&begins);
}

static void sort_weak(weak_list *list) {
    size_t kept = 0;
    sort_by_address(list->at, list->count, sizeof *list->at);
    for (size_t i = 0; i < list->count; i++) {
        if (!kept || list->at[kept - 1].addr != list->at[i].addr)
            list->at[kept++] = list->at[i];
    }
    list->count = kept;
}

/* A jump that leads over W to what is no start; the next one from number *I on. NULL: none. */
static const struct code_jump *jump_over(const struct analysis *a, const weak_list *list,
                                         size_t count, const struct weak *w, size_t *i) {
    for (; *i < a->jumps.count && a->jumps.at[*i].from < w->end; ++*i) {
        const struct code_jump *j = &a->jumps.at[*i];
        bool over = j->to >= w->start && j->to < w->end && (j->from < w->addr) != (j->to < w->addr);
        const struct weak *there = over ? weak_at(list, count, j->to) : NULL;
        if (over && j->to != w->start && (!there || there->no))
            return j;
    }
    return NULL;
}

/* What begins there jumps to functions of its own, which nobody else knows. */
static void add_reached(const struct analysis *a, size_t known, weak_list *list) {
    const address_list none = {0}; /* as one function's blocks stand behind such calls */
    size_t count = list->count;
    for (size_t k = 0; k < count; k++) {
        size_t i = jumps_from(a, list->at[k].start);
        struct weak w = list->at[k];
        for (const struct code_jump *j; (j = jump_over(a, list, count, &w, &i)); i++)
            add_weak(a, &none, known, j->to, list);
    }
    sort_weak(list);
}

/* Strikes out what ways of a function lead over. */
static bool strike_out(const struct analysis *a, weak_list *list) {
    bool any = false;
    for (size_t k = 0; k < list->count; k++) {
        struct weak *w = &list->at[k];
        size_t i = jumps_from(a, w->start);
        if (w->no || !jump_over(a, list, list->count, w, &i))
            continue;
        w->no = any = true;
    }
    return any;
}

struct arrival { /* a jump to a function, of the function of that number */
    vaddr_t to, at;
    size_t from;
};

/* Parts are jumped to from one function only: what others jump to as well is none. */
static void note_shared(struct analysis *a) {
    ARRAY(struct arrival) arrivals = {0};
    size_t i = 0;
    for (size_t k = 0; k < a->jumps.count; k++) {
        const struct code_jump *j = &a->jumps.at[k];
        struct arrival arrival = {j->to, j->from,
                                  starts_up_to(a->starts.at, a->starts.count, j->from)};
        ARRAY_PUSH(&arrivals, arrival);
    }
    sort_by_address(arrivals.at, arrivals.count, sizeof *arrivals.at);
    for (size_t k = 0; k < a->starts.count; k++) {
        struct code_start *start = &a->starts.at[k];
        while (i < arrivals.count && arrivals.at[i].to < start->addr)
            i++;
        const size_t first = i;
        for (; i < arrivals.count && arrivals.at[i].to == start->addr; i++) {
            const struct arrival *arrival = &arrivals.at[i];
            start->called |= arrival->from != arrivals.at[first].from;
            if (i == first || arrival->at < start->jumps_low)
                start->jumps_low = arrival->at;
            if (arrival->at > start->jumps_high)
                start->jumps_high = arrival->at;
        }
    }
    ARRAY_FREE(&arrivals);
}

void starts_settle(struct analysis *a) {
    weak_list list = {0};
    address_list ends = {0};
    sort_starts(a);
    sort_by_address(a->jumps.at, a->jumps.count, sizeof *a->jumps.at);
    size_t known = a->starts.count;
    add_behind_calls(a, &ends, &list);
    for (size_t i = 0; i < a->jumps.count; i++) {
        const struct code_jump *j = &a->jumps.at[i];
        if (starts_up_to(a->starts.at, known, j->from) != starts_up_to(a->starts.at, known, j->to))
            add_weak(a, &ends, known, j->to, &list);
    }
    sort_weak(&list);
    add_reached(a, known, &list);
    while (strike_out(a, &list))
        ;
    for (size_t i = 0; i < list.count; i++) {
        if (!list.at[i].no)
            ARRAY_PUSH(&a->starts, ((struct code_start){.addr = list.at[i].addr}));
    }
    ARRAY_FREE(&list);
    ARRAY_FREE(&ends);
    sort_starts(a);
    note_shared(a);
}
