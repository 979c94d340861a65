/*
 * A planned module (module.S, inner.S), run unpatched and patched, with all registers and flags
 * filled:
 *
 *     trampolines RESULT whole|traps|filtered|far module|inner
 *
 * RESULT is the output of write_patched.c. With far trampolines, sites without room for a far jump
 * are left out, and the others run as ever.
 *
 * Each function must leave registers, flags and stack as it does unpatched. The events must match
 * its calls: r8 and r9 count the functions that it called and jumped to. A thread is also stopped
 * at each instruction of a trampoline and put back by the mark there. It must then continue as if
 * it had not been stopped, with IT blocks continued and registers restored from the stack. Where
 * the mark permits it, the same is done while the function stays patched, as before a signal: then
 * the call must also record the same events.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "code_memory.h"
#include "patched_module.h"
#include "wire/lane_lookup.h"
#include "wire/ring.h"

enum { LANE = GROUND_STACK - 0x100000, RING = 4096, SEEDS = 48, MOST_CALLS = 8 };

static struct laid_out head;
static struct laid_patch *patches;
static struct laid_function *functions;
static struct laid_mark *marks;
static bool filtered, far;
static uint32_t left_out;

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */
static struct lane *lane(void) { return pointer(LANE); }
static const struct event *event(uint32_t i) {
    return (const struct event *)pointer(LANE + LANE_RING) + i;
}

static void die(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void *read_some(FILE *f, size_t size) {
    void *bytes = malloc(size + 1);
    if (!bytes || fread(bytes, 1, size, f) != size)
        die("what was laid out is cut off");
    return bytes;
}

static void map_far(uint32_t at, uint32_t size) {
    const int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (mmap(pointer(at), size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
        pointer(at))
        die("no memory that is far away");
}

/* The last piece is the area. */
static uint32_t read_pieces(FILE *f) {
    struct laid_piece *piece = NULL;
    uint32_t at = 0;
    for (uint32_t i = 0; i < head.pieces; i++) {
        free(piece);
        piece = read_some(f, sizeof *piece);
        uint8_t *bytes = read_some(f, piece->size);
        if (far && i + 1 == head.pieces)
            map_far(piece->at, piece->size);
        ground_write_bytes(piece->at, bytes, piece->size);
        free(bytes);
        at = piece->at;
    }
    free(piece);
    return at;
}

static uint32_t load(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fread(&head, sizeof head, 1, f) != 1)
        die("nothing was laid out");
    uint32_t area = read_pieces(f);
    patches = read_some(f, head.patches * sizeof *patches);
    functions = read_some(f, head.functions * sizeof *functions);
    marks = read_some(f, head.marks * sizeof *marks);
    (void)fclose(f);
    return area;
}

static void patch(bool on) {
    for (uint32_t i = 0; i < head.patches; i++)
        ground_write_bytes(patches[i].at, on ? patches[i].after : patches[i].before,
                           patches[i].size);
}

static uint32_t thread_pointer(void) {
    uint32_t value;
    __asm__("mrc p15, 0, %0, c13, c0, 3" : "=r"(value));
    return value;
}

static void enter_thread(uint32_t area) {
    struct lane_key *keys = pointer(area);
    uint32_t self = thread_pointer();
    keys[self >> LANES_SHIFT & ((1U << LANES_BITS) - 1)] = (struct lane_key){self, LANE};
}

/* ---- traps, and the clock, which emulators may not let programs read ---- */

static uint64_t ticks;

static bool clock_registers(const uint8_t *code, bool t32, unsigned *low, unsigned *high) {
    uint32_t word;
    memcpy(&word, code, sizeof word);
    if (t32)
        word = word << 16 | word >> 16;
    *low = word >> 12 & 15;
    *high = word >> 16 & 15;
    return (word & 0x0ff00fff) == 0x0c500f1e; /* mrrc p15, 1, low, high, c14 */
}

/* Continues a thread at a trap as spoor would: no code but the trap has run yet. */
static bool send_on(ucontext_t *c) {
    for (uint32_t i = 0; i < head.patches; i++)
        if (patches[i].at == c->uc_mcontext.arm_pc && patches[i].trampoline) {
            c->uc_mcontext.arm_pc = patches[i].trampoline;
            return true;
        }
    return false;
}

/* The mark at which a thread is stopped, to be put back by it, and the function in whose code it
 * stops: its text is restored; NULL: all text stays patched. */
static const struct laid_mark *stop;
static const struct laid_function *stopped;
static uint32_t under_stop, stops;

static uint32_t trap_for(const struct laid_mark *m) {
    uint32_t code;
    memcpy(&code, pointer(m->at), sizeof code);
    if (!m->t32)
        return 0xe7f001f0;
    return (code & 0xf800) >= 0xe800 ? 0xa000f7f0 : (code & 0xffff0000) | 0xde01;
}

static void set_stop(const struct laid_function *f, const struct laid_mark *m) {
    const uint32_t trap = trap_for(m);
    memcpy(&under_stop, pointer(m->at), sizeof under_stop);
    stop = m;
    stopped = f;
    ground_write(m->at, trap);
}

static bool is_of(const struct laid_function *f, uint32_t at) {
    return at - (f->at & ~1U) < f->size;
}

static void patch_function(const struct laid_function *f, bool on) {
    for (uint32_t i = 0; i < head.patches; i++)
        if (is_of(f, patches[i].at))
            ground_write_bytes(patches[i].at, on ? patches[i].after : patches[i].before,
                               patches[i].size);
}

static void end_stop(void) {
    if (stop)
        ground_write(stop->at, under_stop);
    stop = NULL;
}

/* Does what spoor does to a stopped thread after it has restored the text. */
static void put_back(ucontext_t *c, const struct laid_mark *m) {
    enum { STATE = 0x0600fc20 /* IT and T */ };
    unsigned long *registers = &c->uc_mcontext.arm_r0, *cpsr = &c->uc_mcontext.arm_cpsr;
    if (m->pushed) {
        registers[m->pushed - 1] = *(const uint32_t *)pointer(c->uc_mcontext.arm_sp);
        c->uc_mcontext.arm_sp += 4;
    }
    *cpsr = (*cpsr & ~(unsigned long)STATE) | (m->t32 ? 0x20 : 0) | (m->it & 3UL) << 25 |
            (m->it >> 2 & 0x3fUL) << 10;
    c->uc_mcontext.arm_pc = m->orig;
}

static bool is_stop(ucontext_t *c) {
    if (!stop || c->uc_mcontext.arm_pc != stop->at)
        return false;
    const struct laid_mark *m = stop;
    end_stop();
    if (stopped)
        patch_function(stopped, false);
    put_back(c, m);
    stops++;
    return true;
}

static void take(int sig, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    unsigned long *registers = &c->uc_mcontext.arm_r0;
    unsigned low, high;
    (void)info;
    if (is_stop(c) || send_on(c))
        return;
    if (!clock_registers(pointer(c->uc_mcontext.arm_pc), c->uc_mcontext.arm_cpsr & 0x20, &low,
                         &high)) {
        (void)signal(sig, SIG_DFL);
        return;
    }
    ticks += 0x123456789;
    registers[low] = (uint32_t)ticks;
    registers[high] = (uint32_t)(ticks >> 32);
    c->uc_mcontext.arm_pc += 4;
}

/* Handlers run on an alternate stack: the words below the tested stack pointer are compared. */
static void catch_signals(void) {
    static uint8_t stack[65536];
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
}

/* ---- the state that must be the same ---- */

struct outcome {
    struct state state;
    uint8_t stack[GROUND_PART];
};

static void run(const struct laid_function *f, uint64_t seed, struct outcome *ret) {
    struct state in;
    ground_fill(&in, seed);
    if (seed % 3 == 0) /* zeros, for tests of them */
        in.r[0] = 0;
    if (seed % 4 == 0)
        in.r[1] = 0;
    in.r[8] = in.r[9] = 0;
    in.r[14] = ground_arrival(0);
    memset(lane(), 0, LANE_RING + RING);
    lane()->limit = RING;
    ground_run(f->at, &in, &ret->state);
    memcpy(ret->stack, pointer(GROUND_STACK), sizeof ret->stack);
}

/* ---- events ---- */

struct call {
    uint32_t function, sp;
};

/* The number of calls that there must be. */
static uint32_t count_calls(const char *name, const struct outcome *o) {
    const char *what = name + strcspn(name, "_");
    uint32_t tails = o->state.r[9] - !strncmp(what, "_other", 6);
    uint32_t calls = o->state.r[8] - !strncmp(what, "_called", 7);
    if (filtered && !strncmp(what, "_inner", 6)) /* its callee jumps to others */
        return 1;
    return 1 + tails + (filtered ? 0 : calls);
}

static uint32_t returned_for; /* return addresses, by the functions that were called */

static bool events_are_right(uint32_t number, const struct outcome *o) {
    struct call open[MOST_CALLS];
    uint32_t depth = 0, events = (uint32_t)(lane()->head / EVENT_BYTES), controls = 0;
    uint32_t calls = count_calls(functions[number].name, o), left = 0;
    const bool inner = strstr(functions[number].name, "inner") != NULL;
    for (uint32_t i = 0; i < events; i++) {
        const struct event *e = event(i);
        const struct call call = {e->site >> 2, e->sp_low};
        while (inner && depth > 1 && e->site & 3 && open[depth - 1].sp < call.sp) {
            depth--; /* returned for its caller */
            left++;
        }
        const struct call *top = depth ? &open[depth - 1] : NULL;
        switch (e->site & 3) {
        case EVENT_ENTRY:
            if (depth == MOST_CALLS || (!depth && call.sp != GROUND_STACK) ||
                (i == 0 && call.function != number))
                return false;
            open[depth++] = call;
            break;
        case EVENT_CONTROL: /* behind the function's `push {r4, lr}` */
            if (!top || call.sp != top->sp - 8 + 1)
                return false;
            controls++;
            break;
        default:
            if (!top || (top->function != call.function && !inner) || top->sp != call.sp)
                return false;
            depth--;
            if ((e->site & 3) == EVENT_TAIL &&
                (i + 1 == events || event(i + 1)->site & 3 || event(i + 1)->sp_low != call.sp))
                return false;
        }
    }
    returned_for += left;
    return !depth && events == 2 * calls - left + controls &&
           controls == (strstr(functions[number].name, "twice") != NULL);
}

static void print_events(void) {
    static const char *const kinds[] = {"entry", "return", "tail", "control"};
    for (uint32_t i = 0; i < lane()->head / EVENT_BYTES && i < 16; i++)
        printf("    %s %s, sp %x\n", kinds[event(i)->site & 3],
               event(i)->site >> 2 < head.functions ? functions[event(i)->site >> 2].name : "?",
               (unsigned)event(i)->sp_low);
}

/* A function without a name is a routine within a function. */
static bool is_called_only(const struct laid_function *f) {
    return !strcmp(f->name, "setjmp") || !strcmp(f->name, "?");
}

/* The file's entry point is not called as a function. */
static bool is_entry(const struct laid_function *f) { return !strcmp(f->name, "start"); }

static void check_function(uint32_t number) {
    static struct outcome here[SEEDS], there[SEEDS];
    const struct laid_function *f = &functions[number];
    if (is_entry(f))
        return;
    if (far && (!f->traced || !f->exact)) {
        left_out++;
        return;
    }
    if (!f->traced || !f->exact)
        ground_fail(f->name, f->at, "is not traced, or not all of its ends");
    if (is_called_only(f))
        return;
    patch(false);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(f, seed, &here[seed]);
    patch(true);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run(f, seed, &there[seed]);
        ground_compare(f->name, f->at, &here[seed].state, &there[seed].state);
        if (memcmp(here[seed].stack, there[seed].stack, GROUND_PART) != 0)
            ground_fail(f->name, f->at, "leaves another stack");
        if (events_are_right(number, &there[seed]))
            continue;
        ground_fail(f->name, f->at, "records wrong events");
        printf("    seed %u: %u calls, %u tail calls\n", (unsigned)seed,
               (unsigned)there[seed].state.r[8], (unsigned)there[seed].state.r[9]);
        print_events();
        break;
    }
}

/* ---- threads stopped at any instruction of a trampoline, and put back ---- */

enum { FEW = 8 };

/* Checks that F, stopped at M, has continued as if it had not been stopped. */
static void check_move(const struct laid_function *f, const struct laid_mark *m,
                       const struct outcome here[FEW], uint32_t counts[2]) {
    const uint32_t before = stops;
    for (uint64_t seed = 0; seed < FEW; seed++) {
        struct outcome there;
        set_stop(f, m);
        run(f, seed, &there);
        end_stop();
        patch_function(f, true);
        ground_compare(f->name, m->orig, &here[seed].state, &there.state);
        if (memcmp(here[seed].stack, there.stack, GROUND_PART) != 0)
            ground_fail(f->name, m->orig, "put back there, leaves another stack");
    }
    counts[0] += stops > before && m->it;
    counts[1] += stops > before && m->pushed;
}

/* What a call records, apart from the times. */
struct record {
    uint32_t count;
    struct {
        uint32_t site, sp;
    } events[4 * MOST_CALLS];
};

static void run_recorded(const struct laid_function *f, uint64_t seed, struct record *ret) {
    struct outcome ignored;
    run(f, seed, &ignored);
    memset(ret, 0, sizeof *ret);
    ret->count = (uint32_t)(lane()->head / EVENT_BYTES);
    if (ret->count > sizeof ret->events / sizeof *ret->events)
        die("a call records too much");
    for (uint32_t i = 0; i < ret->count; i++) {
        ret->events[i].site = event(i)->site;
        ret->events[i].sp = event(i)->sp_low;
    }
}

/* Checks that F, put back at M as before a signal, records what it records undisturbed. */
static void check_record(const struct laid_function *f, const struct laid_mark *m,
                         const struct record here[FEW]) {
    for (uint64_t seed = 0; seed < FEW; seed++) {
        struct record there;
        set_stop(NULL, m);
        run_recorded(f, seed, &there);
        end_stop();
        if (memcmp(&here[seed], &there, sizeof there) == 0)
            continue;
        ground_fail(f->name, m->orig, "put back there while patched, records other events");
        print_events();
        return;
    }
}

static bool is_in_area(uint32_t at) { return at >= marks[0].at && at <= marks[head.marks - 1].at; }

static void check_records(void) {
    static struct record here[FEW];
    const uint32_t before = stops;
    patch(true);
    for (uint32_t k = 0; k < head.marks; k++)
        if (is_in_area(marks[k].orig))
            ground_fail("marks", marks[k].orig, "is no place of the program");
    for (uint32_t i = 0; i < head.functions; i++) {
        const struct laid_function *f = &functions[i];
        if (!strcmp(f->name, "?"))
            continue;
        for (uint64_t seed = 0; seed < FEW; seed++)
            run_recorded(f, seed, &here[seed]);
        for (uint32_t k = 0; k < head.marks; k++)
            if (marks[k].at_start && is_of(f, marks[k].orig))
                check_record(f, &marks[k], here);
    }
    printf("%u stops while patched\n", (unsigned)(stops - before));
}

static void check_moves(bool has_blocks) {
    static struct outcome here[FEW];
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < head.functions; i++) {
        const struct laid_function *f = &functions[i];
        if (!strcmp(f->name, "?"))
            continue;
        patch(false);
        for (uint64_t seed = 0; seed < FEW; seed++)
            run(f, seed, &here[seed]);
        patch(true);
        for (uint32_t k = 0; k < head.marks; k++)
            if (marks[k].orig && is_of(f, marks[k].orig))
                check_move(f, &marks[k], here, counts);
    }
    if (has_blocks && (counts[0] < 8 || !counts[1]))
        ground_fail("marks", counts[0],
                    "have not been come to in blocks, or with a pushed register");
    printf("%u stops, %u marks in blocks\n", (unsigned)stops, (unsigned)counts[0]);
}

int main(int argc, char **argv) {
    if (argc != 4)
        die("trampolines RESULT whole|traps|filtered|far module|inner");
    const bool inner = strcmp(argv[3], "inner") == 0;
    filtered = strcmp(argv[2], "filtered") == 0;
    far = strcmp(argv[2], "far") == 0;
    ground_open();
    catch_signals();
    enter_thread(load(argv[1]));
    for (uint32_t i = 0; i < head.functions; i++)
        check_function(i);
    if (inner && !filtered && !returned_for)
        ground_fail("inner", 0, "has returned for no caller");
    if (left_out > head.functions / 4)
        ground_fail("far", left_out, "functions are left out");
    if (!filtered)
        check_moves(!inner);
    check_records();
    printf("%u functions run, %u left out, %d failures\n", (unsigned)(head.functions - left_out),
           (unsigned)left_out, ground_failures);
    return ground_failures != 0 || !head.functions;
}
