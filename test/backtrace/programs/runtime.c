/* The part of test programs that is the same on all machines. */
#include "runtime.h"

/* The address is a number: the linker is told which frame pointers are valid. */
extern const char chains[];

struct spoor_image image;
static int last;

#ifdef STEPS
/* The smallest undefined instruction. */
#if defined(__thumb__)
typedef uint16_t code_unit;
enum { UNDEFINED = 0xde00 };
#elif defined(__arm__)
typedef uint32_t code_unit;
#define UNDEFINED 0xe7f000f0u
#else
typedef uint32_t code_unit;
enum { UNDEFINED = 0 };
#endif
#endif

int s_leaf(void), s_leaf_with_locals(void), s_after_call(void), s_plain(void), s_locals(void);
int s_dynamic(void), s_various(void), s_deep(void), s_tail(void), s_saved(void), s_pointer(void);
int s_choose(void), s_looping(void), s_many(void), s_wide(void);
int s_ending(void), s_ending_leaf(void), s_pointed(void), s_kept(void);
void kept(int a);
void (*volatile kept_at)(int);
void s_forever(void), leave_scenario(void) __attribute__((noreturn));

void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

/* Symbols that unwind tables and divisions refer to. */
void __aeabi_unwind_cpp_pr0(void) {}
void __aeabi_unwind_cpp_pr1(void) {}
void __aeabi_unwind_cpp_pr2(void) {}
int raise(int number) { quit(number); }

static char line[128]; /* the last byte is zero */
static unsigned used;

static void put(char c) {
    line[used++] = c;
    if (c == '\n' || used == sizeof line - 1) {
        line[used] = 0;
        put_text(line, used);
        used = 0;
    }
}

void put_word(const char *word) {
    while (*word)
        put(*word++);
}

void put_number(spoor_word number) {
    put(' ');
    for (int shift = (int)sizeof number * 8 - 4; shift >= 0; shift -= 4)
        put("0123456789abcdef"[number >> shift & 15]);
}

static void walk_by(const char *name, unsigned walkers, const struct spoor_regs *regs) {
    struct spoor_walk walk;
    struct spoor_frame frame;
    enum spoor_result result = SPOOR_FRAME;
    image.walkers = (uint8_t)walkers;
    image.flags = (uint8_t)(uintptr_t)chains;
    spoor_walk_begin(&walk, &image, regs, SPOOR_INTERRUPTED);
    put_word(name);
    for (int i = 0; i < 40 && (result = spoor_walk_next(&walk, &frame)) == SPOOR_FRAME; i++) {
        put_number(frame.site);
        put(frame.trust == SPOOR_PROVEN ? "0123456789abcdefghijklmnopqrstuvwxyz"[frame.by & 31]
                                        : '?');
    }
    put(' ');
    put((char)('0' + result));
    put('\n');
}

#ifdef STEPS
/* Written by steps.py: where to stop, and in which scenario that place is reached; the last is 0.
 */
struct stop {
    uint32_t at, scenario;
};
__attribute__((section(".steps"))) volatile struct stop stops[6000] = {{1, 1}};
static volatile code_unit *patched;
static code_unit original;

/* The stop is at a replaced instruction, which is restored, or at a fault of the scenario itself.
 */
int walk_all(const struct spoor_regs *regs) {
    spoor_word pc = regs->r[sizeof pc == 8 ? SPOOR_A64_PC : SPOOR_PC] & ~(spoor_word)1;
    if (!patched || pc != (spoor_word)patched)
        return 1;
    *patched = original;
    patched = 0;
    put_word("at");
    put_number(pc);
    put(' ');
    walk_by("all", SPOOR_BY_ALL, regs);
    return 0;
}
#else
int walk_all(const struct spoor_regs *regs) {
    put_word("fault\n");
    walk_by("table", SPOOR_BY_TABLE, regs);
    walk_by("return", SPOOR_BY_RETURN, regs);
    walk_by("prologue", SPOOR_BY_PROLOGUE, regs);
    walk_by("chain", SPOOR_BY_CHAIN, regs);
    walk_by("all", SPOOR_BY_ALL, regs);
    if (last) {
        put_word("done\n");
        quit(0);
    }
    return 1;
}
#endif

static void *left[5];

/* Leaves functions that never return. */
void leave_scenario(void) { __builtin_longjmp(left, 1); }

static __attribute__((noinline)) void run_endings(void) {
    static int (*const endings[])(void) = {s_ending, s_ending_leaf, s_pointed, s_kept};
    static volatile unsigned ran;
    kept_at = kept;
    if (__builtin_setjmp(left))
        ran++;
    if (ran < sizeof endings / sizeof *endings)
        endings[ran]();
}

void run_scenarios(void) {
    static int (*const scenarios[])(void) = {
        s_leaf,    s_leaf_with_locals, s_after_call, s_plain, s_locals,
        s_dynamic, s_various,          s_deep,       s_tail,  s_saved,
        s_pointer, s_choose,           s_looping,    s_many,  s_wide};
#ifdef STEPS
    for (unsigned i = 0; stops[i].at; i++) {
        patched = (volatile code_unit *)(uintptr_t)stops[i].at;
        original = *patched;
        *patched = UNDEFINED;
        scenarios[stops[i].scenario]();
        if (patched)
            *patched = original;
    }
    put_word("done\n");
    quit(0);
#endif
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        scenarios[i]();
    run_more();
    run_endings();
    last = 1;
    s_forever();
}
