/* The part of test programs that is the same everywhere. */
#include "runtime.h"

/* Its address is a number: the linker is told which frame pointers lead on. */
extern const char chains[];

struct spoor_image image;
static int last;

int s_leaf(void), s_leaf_with_locals(void), s_after_call(void), s_plain(void), s_locals(void);
int s_dynamic(void), s_various(void), s_deep(void), s_tail(void), s_saved(void), s_pointer(void);
int s_choose(void), s_looping(void), s_many(void), s_wide(void);
void s_forever(void);

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

/* What unwind tables and divisions refer to. */
void __aeabi_unwind_cpp_pr0(void) {}
void __aeabi_unwind_cpp_pr1(void) {}
void __aeabi_unwind_cpp_pr2(void) {}
int raise(int number) { quit(number); }

static char line[128]; /* the last is a zero */
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
        put("0123456789abcdefghijklmnopqrstuvwxyz"[frame.by & 31]);
    }
    put(' ');
    put((char)('0' + result));
    put('\n');
}

void walk_all(const struct spoor_regs *regs) {
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
}

void run_scenarios(void) {
    static int (*const scenarios[])(void) = {
        s_leaf,    s_leaf_with_locals, s_after_call, s_plain, s_locals,
        s_dynamic, s_various,          s_deep,       s_tail,  s_saved,
        s_pointer, s_choose,           s_looping,    s_many,  s_wide};
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        scenarios[i]();
    run_more();
    last = 1;
    s_forever();
}
