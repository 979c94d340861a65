/*
 * Changes its own code as it is told, by letters on standard input, and answers each with a line:
 *
 *     o, c   makes the page of the switches writable; ends that
 *     e, E   throws the switch at an entry on; off: the page is opened and closed for it, unless it
 *            is open
 *     m, M   the same for the switch behind an entry
 *     w      calls each function CALLS times
 */
#include "../../fault/programs/switches.h"

OWN_PAGES
SWITCH(at_entry, "")
SWITCH(behind_entry, BEFORE)
SWITCH(unchanged, "")
OWN_PAGES

enum { CALLS = 1000 };

static int is_open, first = 1, second = 1;

__attribute__((noinline)) static int elsewhere(int n) {
    __asm__ volatile("");
    return n + 1;
}

static void protect(int open) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int prot = open ? PROT_READ | PROT_WRITE | PROT_EXEC : PROT_READ | PROT_EXEC;
    check(mprotect((void *)page_of(&at_entry_switch), size, prot) == 0, "mprotect");
    is_open = open;
}

static void throw_switch(code_word *at, int *state, int on) {
    int was_open = is_open;
    if (!was_open)
        protect(1);
    put(at, on ? OFF : ON, on ? ON : OFF);
    if (!was_open)
        protect(0);
    *state = 1 + on;
}

static void call_all(void) {
    for (int i = 0; i < CALLS; i++)
        check(at_entry(i) == i + first && behind_entry(i) == i + second && unchanged(i) == i + 1 &&
                  elsewhere(i) == i + 1,
              "results");
}

static void carry_out(int letter) {
    if (letter == 'o' || letter == 'c')
        protect(letter == 'o');
    if (letter == 'e' || letter == 'E')
        throw_switch(&at_entry_switch, &first, letter == 'e');
    if (letter == 'm' || letter == 'M')
        throw_switch(&behind_entry_switch, &second, letter == 'm');
    if (letter == 'w')
        call_all();
}

int main(void) {
    char letter, line[2] = {0, '\n'};
    check(write(1, "ready\n", 6) == 6, "output");
    while (read(0, &letter, 1) == 1) {
        carry_out(letter);
        line[0] = letter;
        check(write(1, line, 2) == 2, "output");
    }
    call_all();
    check(right() == RIGHT, "output");
    return 0;
}
