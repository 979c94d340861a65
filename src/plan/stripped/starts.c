/*
 * Where functions begin that neither unwind ranges nor symbols tell of, and that infer.c has come
 * by: what is called, what words lead to, what .ARM.exidx names. Each is from there to the last
 * instruction before the next one.
 *
 * One that only jumps of others lead to begins there, too, if no way of the function before leads
 * over that place, but to other such functions. It is weak if one function jumps there: it may as
 * well be a part of that, with a frame up (depth/walk.c). The same holds for what only words lead
 * to that may be labels, or numbers that may be no addresses (code_start.guess), but that these are
 * never weak.
 */
#include "elf/sort.h"
#include "plan/stripped/inference.h"

static size_t drop_repeated(struct code_start *starts, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || starts[kept - 1].addr != starts[i].addr) {
            starts[kept++] = starts[i];
            continue;
        }
        starts[kept - 1].called |= starts[i].called;
        starts[kept - 1].guess &= starts[i].guess;
        starts[kept - 1].direct |= starts[i].direct;
    }
    return kept;
}

static void sort_starts(struct inference *inf) {
    sort_by_address(inf->states.starts.at, inf->states.starts.count, sizeof *inf->states.starts.at);
    inf->states.starts.count = drop_repeated(inf->states.starts.at, inf->states.starts.count);
}

/* The number of the first of COUNT starts behind ADDR. */
static size_t starts_up_to(const struct code_start *starts, size_t count, vaddr_t addr) {
    return SEARCH(i, count, starts[i].addr <= addr);
}

/* How far the code behind a start has been gone through. */
struct cursor {
    vaddr_t start, at;
    bool runs;      /* into AT */
    vaddr_t behind; /* what stands before AT, but for padding: a call, to which it may never come
                       back; else 0 */
};

/* Goes on by an instruction of those before END. */
static void cursor_step(const struct inference *inf, const struct text *t, struct cursor *c,
                        vaddr_t end) {
    struct insn in;
    code_insn(inf, t, (struct span){c->at, end}, &in);
    c->runs = in.size && in.kind != INSN_RETURN && in.kind != INSN_JUMP && in.kind != INSN_TRAP &&
              (in.kind != INSN_JUMP_INDIRECT || in.goes_on);
    c->at += in.size ? in.size : STATE_BYTES;
    if (in.kind == INSN_CALL)
        c->behind = c->at;
    else if (!in.size || in.kind != INSN_NOP)
        c->behind = 0;
}

/* Goes from START, or on from where the call before has come, to ADDR. LAST: all zeros at first;
 * what is asked for in order is gone through once. */
static struct cursor cursor_to(const struct inference *inf, vaddr_t start, vaddr_t addr,
                               struct cursor *last) {
    const struct text *t = text_at(inf->texts, addr);
    if (start < t->start)
        start = t->start;
    if (last->start != start || last->at > addr || !last->at)
        *last = (struct cursor){.start = start, .at = start, .runs = true};
    while (last->at + UNIT_MAX_BYTES <= addr)
        cursor_step(inf, t, last, addr);
    struct cursor c = *last; /* what ADDR cuts short may be another instruction than for the next */
    while (c.at < addr)
        cursor_step(inf, t, &c, addr);
    return c;
}

/* Does the instruction before ADDR, in [START, ADDR), run into it? Only data and ends do not, and
 * calls that do not come back to any of ENDS. */
static bool runs_into(const struct inference *inf, const address_list *ends, vaddr_t start,
                      vaddr_t addr, struct cursor *last) {
    return cursor_to(inf, start, addr, last).runs && !list_holds(ends, addr);
}

/* A place where a function may begin that only jumps lead to, or words that may be others. */
struct weak {
    vaddr_t addr;
    bool guess; /* words lead there */
    bool no;
};
typedef ARRAY(struct weak) weak_list;

/* The number of the first of the first COUNT of LIST, which are sorted, that is not before ADDR. */
static size_t weak_from(const weak_list *list, size_t count, vaddr_t addr) {
    return SEARCH(i, count, list->at[i].addr < addr);
}

/* Adds TO, if it is no start that is known. KNOWN: so many are. */
static bool add_candidate(const struct inference *inf, size_t known, vaddr_t to, weak_list *list) {
    size_t i = starts_up_to(inf->states.starts.at, known, to);
    if (!i || inf->states.starts.at[i - 1].addr == to)
        return false;
    ARRAY_PUSH(list, ((struct weak){.addr = to}));
    return true;
}

/* The same with all of PLACES that nothing runs into. Sorts them. */
static void add_weak(const struct inference *inf, const address_list *ends, size_t known,
                     address_list *places, weak_list *list) {
    struct cursor last = {0};
    sort_by_address(places->at, places->count, sizeof *places->at);
    for (size_t k = 0; k < places->count; k++) {
        vaddr_t to = places->at[k];
        size_t i = starts_up_to(inf->states.starts.at, known, to);
        if (i && !runs_into(inf, ends, inf->states.starts.at[i - 1].addr, to, &last))
            add_candidate(inf, known, to, list);
    }
}

/* Do nops stand from ADDR on, up to one of the first KNOWN starts, to one of GUESSES, or to no
 * code? */
static bool is_padding(const struct inference *inf, size_t known, const address_list *guesses,
                       vaddr_t addr) {
    const struct text *t = text_at(inf->texts, addr);
    struct insn in;
    vaddr_t at = addr;
    for (; text_holds(t, at); at += in.size) {
        size_t i = starts_up_to(inf->states.starts.at, known, at);
        bool start = (i && inf->states.starts.at[i - 1].addr == at) || list_holds(guesses, at);
        if (at > addr && start)
            return true;
        if (!code_insn(inf, t, (struct span){at, t->start + t->size}, &in))
            break;
        if (in.kind != INSN_NOP)
            return false;
    }
    return at > addr;
}

/* Does control come to TO from C, which stands there? A call before it may be one that never comes
 * back, which is not known of all; where every word was relocated that is likelier than a label. */
static bool comes_to(const struct inference *inf, const address_list *ends, const struct cursor *c,
                     vaddr_t to) {
    bool never_back =
        c->behind && (inf->module->position_independent || list_holds(ends, c->behind));
    return c->runs && c->start != to && !never_back;
}

/* Takes out of GUESSES, which are sorted, padding, and what is in the midst of code that runs on.
 */
static void drop_idle(const struct inference *inf, const address_list *ends, size_t known,
                      address_list *guesses) {
    struct cursor last = {0};
    size_t kept = 0;
    for (size_t k = 0; k < guesses->count; k++) {
        vaddr_t to = guesses->at[k];
        size_t i = starts_up_to(inf->states.starts.at, known, to);
        struct cursor c = {0};
        if (i)
            c = cursor_to(inf, inf->states.starts.at[i - 1].addr, to, &last);
        if (!comes_to(inf, ends, &c, to) && !is_padding(inf, known, guesses, to))
            guesses->at[kept++] = to;
    }
    guesses->count = kept;
}

/* Takes those out of the starts, to the end of the array, that only words tell of which may be
 * labels. Returns how many are left. */
static size_t part_guesses(struct inference *inf, address_list *ret) {
    size_t kept = 0;
    for (size_t i = 0; i < inf->states.starts.count; i++) {
        if (inf->states.starts.at[i].guess)
            ARRAY_PUSH(ret, inf->states.starts.at[i].addr);
        else
            inf->states.starts.at[kept++] = inf->states.starts.at[i];
    }
    return inf->states.starts.count = kept;
}

static void sort_weak(weak_list *list) {
    size_t kept = 0;
    sort_by_address(list->at, list->count, sizeof *list->at);
    for (size_t i = 0; i < list->count; i++) {
        if (!kept || list->at[kept - 1].addr != list->at[i].addr)
            list->at[kept++] = list->at[i];
        else
            list->at[kept - 1].guess |= list->at[i].guess;
    }
    list->count = kept;
}

/* Does J lead from between two functions that are known to there, and not to the first's start? */
static bool stays_between(const struct inference *inf, size_t known, const struct code_jump *j) {
    size_t i = starts_up_to(inf->states.starts.at, known, j->from);
    return i && inf->states.starts.at[i - 1].addr != j->to &&
           starts_up_to(inf->states.starts.at, known, j->to) == i;
}

/* What begins there jumps to functions of its own, which nobody else knows. */
static void add_reached(const struct inference *inf, size_t known, weak_list *list) {
    const address_list none = {0}; /* as one function's blocks stand behind such calls */
    address_list reached = {0};
    size_t count = list->count;
    for (size_t i = 0; i < inf->jumps.count; i++) {
        const struct code_jump *j = &inf->jumps.at[i];
        vaddr_t low = j->from < j->to ? j->from : j->to, high = j->from < j->to ? j->to : j->from;
        size_t k = weak_from(list, count, low + 1), there = weak_from(list, count, j->to);
        bool known_there = there < count && list->at[there].addr == j->to;
        if (k < count && list->at[k].addr <= high && !known_there && stays_between(inf, known, j))
            ARRAY_PUSH(&reached, j->to);
    }
    add_weak(inf, &none, known, &reached, list);
    ARRAY_FREE(&reached);
    sort_weak(list);
}

/* A jump that stays between two functions, by where it leads to. */
struct passage {
    vaddr_t to, from;
};

/* Candidates while they are struck out. */
struct strikes {
    weak_list *list;
    size_t *next;      /* by number: the same, or one behind it that is nearer to one left */
    address_list work; /* those struck out whose jumps are not looked at yet */
};

/* The first from number K on that is not struck out. */
static size_t next_left(struct strikes *s, size_t k) {
    size_t left = k;
    while (s->next[left] != left)
        left = s->next[left];
    while (s->next[k] != left) {
        size_t then = s->next[k];
        s->next[k] = left;
        k = then;
    }
    return left;
}

/* Strikes out what W leads over. */
static void strike_over(struct strikes *s, const struct passage *w) {
    vaddr_t low = w->from < w->to ? w->from : w->to, high = w->from < w->to ? w->to : w->from;
    size_t count = s->list->count;
    size_t k = next_left(s, weak_from(s->list, count, low + 1));
    for (; k < count && s->list->at[k].addr <= high; k = next_left(s, k)) {
        s->list->at[k].no = true;
        s->next[k] = k + 1;
        ARRAY_PUSH(&s->work, s->list->at[k].addr);
    }
}

/* Strikes out what ways of a function lead over: jumps to what is no start. */
static void strike_out(const struct inference *inf, size_t known, weak_list *list) {
    ARRAY(struct passage) ways = {0};
    AUTO_FREE size_t *next = mem_alloc((list->count + 1) * sizeof *next);
    struct strikes s = {.list = list, .next = next};
    for (size_t k = 0; k <= list->count; k++)
        next[k] = k;
    for (size_t i = 0; i < inf->jumps.count; i++) {
        const struct code_jump *j = &inf->jumps.at[i];
        if (stays_between(inf, known, j))
            ARRAY_PUSH(&ways, ((struct passage){j->to, j->from}));
    }
    sort_by_address(ways.at, ways.count, sizeof *ways.at);
    for (size_t i = 0; i < ways.count; i++) {
        size_t k = weak_from(list, list->count, ways.at[i].to);
        if (k == list->count || list->at[k].addr != ways.at[i].to)
            strike_over(&s, &ways.at[i]);
    }
    while (s.work.count) {
        vaddr_t to = s.work.at[--s.work.count];
        size_t low = SEARCH(i, ways.count, ways.at[i].to < to);
        for (; low < ways.count && ways.at[low].to == to; low++)
            strike_over(&s, &ways.at[low]);
    }
    ARRAY_FREE(&s.work);
    ARRAY_FREE(&ways);
}

struct arrival { /* a jump to a function, of the function of that number */
    vaddr_t to, at;
    size_t from;
};

/* Parts are jumped to from one function only: what others jump to as well is none. */
static void note_shared(struct inference *inf) {
    ARRAY(struct arrival) arrivals = {0};
    size_t i = 0;
    for (size_t k = 0; k < inf->jumps.count; k++) {
        const struct code_jump *j = &inf->jumps.at[k];
        struct arrival arrival = {
            j->to, j->from, starts_up_to(inf->states.starts.at, inf->states.starts.count, j->from)};
        ARRAY_PUSH(&arrivals, arrival);
    }
    sort_by_address(arrivals.at, arrivals.count, sizeof *arrivals.at);
    for (size_t k = 0; k < inf->states.starts.count; k++) {
        struct code_start *start = &inf->states.starts.at[k];
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

/* What jumps lead to from behind another known start, or another of GUESSES. */
static void find_jumped(const struct inference *inf, size_t known, const address_list *guesses,
                        address_list *ret) {
    for (size_t i = 0; i < inf->jumps.count; i++) {
        const struct code_jump *j = &inf->jumps.at[i];
        if (starts_up_to(inf->states.starts.at, known, j->from) !=
                starts_up_to(inf->states.starts.at, known, j->to) ||
            list_place(guesses, j->from + 1) != list_place(guesses, j->to + 1))
            ARRAY_PUSH(ret, j->to);
    }
}

/* What endless.c has found. */
struct endings {
    address_list ends, begins;
};

/* Places where functions may begin that nothing is sure to, but for those that code leads over. */
static void find_candidates(const struct inference *inf, const struct endings *endings,
                            size_t known, const address_list *guesses, weak_list *ret) {
    address_list jumped = {0};
    find_jumped(inf, known, guesses, &jumped);
    for (size_t i = 0; i < guesses->count; i++)
        ARRAY_PUSH(ret, ((struct weak){.addr = guesses->at[i], .guess = true}));
    for (size_t i = 0; i < endings->begins.count; i++)
        add_candidate(inf, known, endings->begins.at[i], ret);
    add_weak(inf, &endings->ends, known, &jumped, ret);
    sort_weak(ret);
    add_reached(inf, known, ret);
    strike_out(inf, known, ret);
    ARRAY_FREE(&jumped);
}

/* Takes what was struck out of LIST out of GUESSES. Was there any? */
static bool drop_struck(const weak_list *list, address_list *guesses) {
    size_t kept = 0, count = guesses->count;
    for (size_t i = 0; i < count; i++) {
        size_t k = weak_from(list, list->count, guesses->at[i]);
        if (!list->at[k].no)
            guesses->at[kept++] = guesses->at[i];
    }
    guesses->count = kept;
    return kept != count;
}

/* By guesses that are wrong other places seem to be jumped to from elsewhere. */
static void add_candidates(struct inference *inf) {
    enum { MOST_ROUNDS = 8 };
    struct endings endings = {0};
    address_list guesses = {0};
    weak_list list = {0};
    endless_find(inf, &endings.ends, &endings.begins);
    size_t known = part_guesses(inf, &guesses);
    drop_idle(inf, &endings.ends, known, &guesses);
    int round = 0;
    do {
        list.count = 0;
        find_candidates(inf, &endings, known, &guesses, &list);
    } while (drop_struck(&list, &guesses) && ++round < MOST_ROUNDS);
    for (size_t i = 0; i < list.count; i++) {
        const struct weak *w = &list.at[i];
        if (!w->no)
            ARRAY_PUSH(&inf->states.starts,
                       ((struct code_start){.addr = w->addr, .called = w->guess}));
    }
    ARRAY_FREE(&list);
    ARRAY_FREE(&guesses);
    ARRAY_FREE(&endings.ends);
    ARRAY_FREE(&endings.begins);
}

void starts_settle(struct inference *inf) {
    sort_starts(inf);
    sort_by_address(inf->jumps.at, inf->jumps.count, sizeof *inf->jumps.at);
    add_candidates(inf);
    sort_starts(inf);
    note_shared(inf);
}
