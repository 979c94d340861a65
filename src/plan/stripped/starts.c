/*
 * Completes the starts of functions that neither unwind ranges nor symbols describe. infer.c has
 * found call targets, targets of words, and entries of .ARM.exidx. A function ends at the last
 * instruction before the next start.
 *
 * A place to which only jumps of other functions lead may be a start, too. No path of the function
 * before may pass over it, except to other such starts. It is weak if only one function jumps to
 * it: it may be a part of that function, with a frame up (depth/walk.c). The same holds for
 * targets of words that may be labels or numbers (code_start.guess), but these are never weak.
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

/* The index of the first of COUNT starts behind ADDR. */
static size_t starts_up_to(const struct code_start *starts, size_t count, vaddr_t addr) {
    return SEARCH(i, count, starts[i].addr <= addr);
}

/* The progress of decoding code behind a start. */
struct cursor {
    vaddr_t start, at;
    bool runs;      /* the last instruction runs into `at` */
    vaddr_t behind; /* end of the call, which may not return, before `at` or its padding; 0: none */
};

/* Decodes one more instruction before END. */
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

/* Decodes from START to ADDR. LAST keeps the progress: places in ascending order are decoded in one
 * pass. It must be zero at first. */
static struct cursor cursor_to(const struct inference *inf, vaddr_t start, vaddr_t addr,
                               struct cursor *last) {
    const struct text *t = text_at(inf->texts, addr);
    if (start < t->start)
        start = t->start;
    if (last->start != start || last->at > addr || !last->at)
        *last = (struct cursor){.start = start, .at = start, .runs = true};
    while (last->at + UNIT_MAX_BYTES <= addr)
        cursor_step(inf, t, last, addr);
    struct cursor c = *last; /* the next place decodes an instruction that ADDR cuts short again */
    while (c.at < addr)
        cursor_step(inf, t, &c, addr);
    return c;
}

/* True if the instruction before ADDR, in [START, ADDR), runs into it. Data, ends of flow, and
 * calls that do not return (ENDS) do not. */
static bool runs_into(const struct inference *inf, const address_list *ends, vaddr_t start,
                      vaddr_t addr, struct cursor *last) {
    return cursor_to(inf, start, addr, last).runs && !list_holds(ends, addr);
}

/* A place where a function may begin: only jumps or uncertain words lead to it. */
struct candidate {
    vaddr_t addr;
    bool guess; /* words lead here */
    bool removed;
};
typedef ARRAY(struct candidate) candidate_list;

/* The index of the first candidate not below ADDR among the first COUNT, which are sorted. */
static size_t candidate_from(const candidate_list *list, size_t count, vaddr_t addr) {
    return SEARCH(i, count, list->at[i].addr < addr);
}

/* Adds TO as a candidate, if it is none of the first KNOWN starts. */
static bool add_candidate(const struct inference *inf, size_t known, vaddr_t to,
                          candidate_list *list) {
    size_t i = starts_up_to(inf->states.starts.at, known, to);
    if (!i || inf->states.starts.at[i - 1].addr == to)
        return false;
    ARRAY_PUSH(list, ((struct candidate){.addr = to}));
    return true;
}

/* The same for all of PLACES that no instruction runs into. Sorts PLACES. */
static void add_unreached(const struct inference *inf, const address_list *ends, size_t known,
                          address_list *places, candidate_list *list) {
    struct cursor last = {0};
    sort_by_address(places->at, places->count, sizeof *places->at);
    for (size_t k = 0; k < places->count; k++) {
        vaddr_t to = places->at[k];
        size_t i = starts_up_to(inf->states.starts.at, known, to);
        if (i && !runs_into(inf, ends, inf->states.starts.at[i - 1].addr, to, &last))
            add_candidate(inf, known, to, list);
    }
}

/* True if nops stand from ADDR on to one of the first KNOWN starts, one of GUESSES, or no code. */
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

/* True if control comes to TO from C, which has reached it. A call before TO may not return, which
 * is not known of all calls. If every word was relocated, this is likelier than a label. */
static bool is_reached(const struct inference *inf, const address_list *ends,
                       const struct cursor *c, vaddr_t to) {
    bool never_back =
        c->behind && (inf->module->position_independent || list_holds(ends, c->behind));
    return c->runs && c->start != to && !never_back;
}

/* Removes from GUESSES, which are sorted, padding and places that control runs into. */
static void drop_reached(const struct inference *inf, const address_list *ends, size_t known,
                         address_list *guesses) {
    struct cursor last = {0};
    size_t kept = 0;
    for (size_t k = 0; k < guesses->count; k++) {
        vaddr_t to = guesses->at[k];
        size_t i = starts_up_to(inf->states.starts.at, known, to);
        struct cursor c = {0};
        if (i)
            c = cursor_to(inf, inf->states.starts.at[i - 1].addr, to, &last);
        if (!is_reached(inf, ends, &c, to) && !is_padding(inf, known, guesses, to))
            guesses->at[kept++] = to;
    }
    guesses->count = kept;
}

/* Moves starts that are only guesses to RET. Returns how many starts are left. */
static size_t take_guesses(struct inference *inf, address_list *ret) {
    size_t kept = 0;
    for (size_t i = 0; i < inf->states.starts.count; i++) {
        if (inf->states.starts.at[i].guess)
            ARRAY_PUSH(ret, inf->states.starts.at[i].addr);
        else
            inf->states.starts.at[kept++] = inf->states.starts.at[i];
    }
    return inf->states.starts.count = kept;
}

static void sort_candidates(candidate_list *list) {
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

/* True if J stays between two known starts and does not lead to the first one. */
static bool stays_between(const struct inference *inf, size_t known, const struct code_jump *j) {
    size_t i = starts_up_to(inf->states.starts.at, known, j->from);
    return i && inf->states.starts.at[i - 1].addr != j->to &&
           starts_up_to(inf->states.starts.at, known, j->to) == i;
}

/* Candidates jump to functions that nothing else knows: adds these. */
static void add_reached(const struct inference *inf, size_t known, candidate_list *list) {
    const address_list none = {0}; /* a function's own blocks may stand behind such calls, too */
    address_list reached = {0};
    size_t count = list->count;
    for (size_t i = 0; i < inf->jumps.count; i++) {
        const struct code_jump *j = &inf->jumps.at[i];
        vaddr_t low = j->from < j->to ? j->from : j->to, high = j->from < j->to ? j->to : j->from;
        size_t k = candidate_from(list, count, low + 1), there = candidate_from(list, count, j->to);
        bool known_there = there < count && list->at[there].addr == j->to;
        if (k < count && list->at[k].addr <= high && !known_there && stays_between(inf, known, j))
            ARRAY_PUSH(&reached, j->to);
    }
    add_unreached(inf, &none, known, &reached, list);
    ARRAY_FREE(&reached);
    sort_candidates(list);
}

/* A jump that stays between two known starts. */
struct inner_jump {
    vaddr_t to, from;
};

/* State of removing candidates that control passes over. */
struct removal {
    candidate_list *list;
    size_t *next;      /* by index: itself, or a later one nearer to the next that is left */
    address_list work; /* removed candidates whose jumps are not looked at yet */
};

/* The index of the first one left from K on. */
static size_t next_left(struct removal *s, size_t k) {
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

/* Removes candidates between the ends of the jump W. */
static void remove_between(struct removal *s, const struct inner_jump *w) {
    vaddr_t low = w->from < w->to ? w->from : w->to, high = w->from < w->to ? w->to : w->from;
    size_t count = s->list->count;
    size_t k = next_left(s, candidate_from(s->list, count, low + 1));
    for (; k < count && s->list->at[k].addr <= high; k = next_left(s, k)) {
        s->list->at[k].removed = true;
        s->next[k] = k + 1;
        ARRAY_PUSH(&s->work, s->list->at[k].addr);
    }
}

/* Removes candidates that a function's own jumps pass over: jumps not to a candidate that is left.
 */
static void remove_passed(const struct inference *inf, size_t known, candidate_list *list) {
    ARRAY(struct inner_jump) jumps = {0};
    AUTO_FREE size_t *next = mem_alloc((list->count + 1) * sizeof *next);
    struct removal s = {.list = list, .next = next};
    for (size_t k = 0; k <= list->count; k++)
        next[k] = k;
    for (size_t i = 0; i < inf->jumps.count; i++) {
        const struct code_jump *j = &inf->jumps.at[i];
        if (stays_between(inf, known, j))
            ARRAY_PUSH(&jumps, ((struct inner_jump){j->to, j->from}));
    }
    sort_by_address(jumps.at, jumps.count, sizeof *jumps.at);
    for (size_t i = 0; i < jumps.count; i++) {
        size_t k = candidate_from(list, list->count, jumps.at[i].to);
        if (k >= list->count || list->at[k].addr != jumps.at[i].to)
            remove_between(&s, &jumps.at[i]);
    }
    while (s.work.count) {
        vaddr_t to = s.work.at[--s.work.count];
        size_t low = SEARCH(i, jumps.count, jumps.at[i].to < to);
        for (; low < jumps.count && jumps.at[low].to == to; low++)
            remove_between(&s, &jumps.at[low]);
    }
    ARRAY_FREE(&s.work);
    ARRAY_FREE(&jumps);
}

struct arrival { /* a jump to a start, and the number of the function that holds it */
    vaddr_t to, at;
    size_t from;
};

/* Only one function jumps to a part. A start to which several functions jump is no part. */
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

/* Targets of jumps from behind another known start, or behind another of GUESSES. */
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

/* The results of noreturn.c. */
struct endings {
    address_list ends, begins;
};

/* Finds candidates, and marks those that code passes over. */
static void find_candidates(const struct inference *inf, const struct endings *endings,
                            size_t known, const address_list *guesses, candidate_list *ret) {
    address_list jumped = {0};
    find_jumped(inf, known, guesses, &jumped);
    for (size_t i = 0; i < guesses->count; i++)
        ARRAY_PUSH(ret, ((struct candidate){.addr = guesses->at[i], .guess = true}));
    for (size_t i = 0; i < endings->begins.count; i++)
        add_candidate(inf, known, endings->begins.at[i], ret);
    add_unreached(inf, &endings->ends, known, &jumped, ret);
    sort_candidates(ret);
    add_reached(inf, known, ret);
    remove_passed(inf, known, ret);
    ARRAY_FREE(&jumped);
}

/* Removes from GUESSES what was removed from LIST. True if there was any. */
static bool drop_removed(const candidate_list *list, address_list *guesses) {
    size_t kept = 0, count = guesses->count;
    for (size_t i = 0; i < count; i++) {
        size_t k = candidate_from(list, list->count, guesses->at[i]);
        if (!list->at[k].removed)
            guesses->at[kept++] = guesses->at[i];
    }
    guesses->count = kept;
    return kept != count;
}

/* A wrong guess makes jumps look like jumps from another function. So rounds repeat until no guess
 * is removed. */
static void add_candidates(struct inference *inf) {
    enum { MOST_ROUNDS = 8 };
    struct endings endings = {0};
    address_list guesses = {0};
    candidate_list list = {0};
    noreturn_find(inf, &endings.ends, &endings.begins);
    size_t known = take_guesses(inf, &guesses);
    drop_reached(inf, &endings.ends, known, &guesses);
    int round = 0;
    do {
        list.count = 0;
        find_candidates(inf, &endings, known, &guesses, &list);
    } while (drop_removed(&list, &guesses) && ++round < MOST_ROUNDS);
    for (size_t i = 0; i < list.count; i++) {
        const struct candidate *w = &list.at[i];
        if (!w->removed)
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
