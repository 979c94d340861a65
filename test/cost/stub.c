/*
 * Prints how many instructions a traced call executes besides those of the untraced call: NAME and
 * number on each line. A child is stepped through the call, unpatched and patched. The counts
 * depend on what spoor emits, not on a compiler or a processor.
 */
#include <stdio.h>
#include <string.h>

#include "../unit/patch/guest.h"

/* The number of instructions until CALL is over. */
static unsigned steps(struct guest *g, const struct call *call) {
    unsigned count = 0;
    guest_enter(g, call);
    while (guest_step(g))
        count++;
    return count;
}

static void print(const char *name, struct guest *bare, struct guest *g, const struct call *call) {
    printf("%s %u\n", name, steps(g, call) - steps(bare, call));
}

/* One call for each kind of site; events are written. */
static void print_sites(struct guest *bare) {
    static const struct {
        const char *name;
        struct call call;
    } all[] = {
        {"stub.jump", {"site_plain", 5, 6, false}},
        {"stub.flags", {"site_flags", 5, 6, true}},
        {"stub.tail", {"site_tail", 5, 6, false}},
        {"stub.loop", {"site_loop", 5, 1, false}},
        {"stub.hop", {"site_hop", 5, 3, false}},
        {"stub.pad", {"site_pad", 5, 6, true}},
        {"stub.pun", {"site_pun", 2, 0, false}},
        {"stub.empty", {"site_empty", 5, 6, false}},
        {"stub.moved-call", {"site_call", 5, 6, false}},
    };
    struct guest *g = guest_new(OVERFLOW_WAIT);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        print(all[i].name, bare, g, &all[i].call);
    guest_free(g);
}

/* The same call under other options. */
static void print_options(struct guest *bare) {
    static const struct call plain = {"site_plain", 5, 6, false};
    struct guest *g = guest_new(OVERFLOW_OVERWRITE);
    print("stub.overwrite", bare, g, &plain);
    guest_free(g);
    g = guest_new_sliced(OVERFLOW_WAIT);
    print("stub.slice-of-4-words", bare, g, &plain);
    guest_free(g);
    g = guest_new(OVERFLOW_WAIT);
    guest_filter(g, (struct span){0, 1}); /* the program that calls is elsewhere */
    print("stub.other-caller", bare, g, &plain);
    guest_free(g);
}

/* Values beside the events of the same call. */
static void print_captures(struct guest *bare) {
    static const char text[32] = "this text has thirty-two letters";
    const struct call call = {"site_plain", 5, (uint64_t)text, false};
    static const struct {
        const char *name, *arguments;
    } all[] = {
        {"stub.one-integer", "site_plain@%rdi/i32"},
        {"stub.three-integers", "site_plain@%rdi/i32,%r15/x,%rbx/i"}, /* two of 64 bits */
        {"stub.text-of-32-bytes", "site_plain@%rsi/s"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct guest *g = guest_new_capturing(OVERFLOW_WAIT, all[i].arguments, NULL);
        print(all[i].name, bare, g, &call);
        guest_free(g);
    }
}

int main(void) {
    struct guest *bare = guest_new_bare();
    print_sites(bare);
    print_options(bare);
    print_captures(bare);
    guest_free(bare);
    return 0;
}
