/*
 * Kept code of real modules at many places. The modules are the files that this test has mapped,
 * and those of its arguments. Places differ in the load address, the area's distance, what else is
 * mapped, and event ids. Kept code must be exactly what is emitted for the place, or be refused for
 * a reason: something is out of reach, or without a lost pun's function other code was emitted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/flat.h"
#include "base/mem.h"
#include "elf/module.h"
#include "kept.h"

enum { PAGE = 4096, PLACES = 16, SPANS = 64 };
static const uint64_t MIB = 1 << 20, REACH = 0x7fff0000, HIGH = 0x7f1234567000;

static char **paths;
static int path_count;
static struct module *module; /* that is checked, and its plan */
static struct plan *plan;

/* ---- places ---- */

struct place {
    struct plan_request request;
    struct span taken[SPANS];
};

static uint64_t draw(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Half of the addresses around the module, in pieces that differ from place to place. */
static void take_some(struct place *p, uint64_t *state) {
    const uint64_t piece = 2 * REACH / SPANS & ~(uint64_t)(PAGE - 1);
    const taddr_t low = p->request.bias > REACH ? p->request.bias - REACH : 0;
    for (uint64_t i = 0; i < SPANS; i++) {
        const taddr_t start = (low & ~(taddr_t)(PAGE - 1)) + i * piece;
        const uint64_t size = draw(state) % piece & ~(uint64_t)(PAGE - 1);
        p->taken[i] = (struct span){start, start + size + PAGE};
    }
    p->request.taken = p->taken;
    p->request.taken_count = SPANS;
}

/* The distances are those of the first 2 GiB, of areas below and above, at the limit, and beyond.
 */
static void make_places(const struct plan_request *like, struct place *ret) {
    const size_t size = plan_area_size(plan) + plan_slices_size(plan) + PAGE;
    const uint64_t high = (module->high + PAGE) & ~(uint64_t)(PAGE - 1),
                   low = module->low & ~(uint64_t)(PAGE - 1);
    const uint64_t area = (size + PAGE) & ~(uint64_t)(PAGE - 1);
    const struct {
        taddr_t bias;
        uint64_t apart; /* of the area and the load address, modulo 2^64 */
        bool taken;
    } places[PLACES] = {
        {HIGH, high + 256 * MIB, false},
        {HIGH - 5 * MIB, high + 256 * MIB, false},
        {HIGH, high + 256 * MIB + PAGE, false},
        {HIGH, high + 256 * MIB - PAGE, true},
        {HIGH, high, false},
        {HIGH, low - area, false},
        {HIGH + 77 * MIB, low - area - 256 * MIB, true},
        {HIGH, low + REACH - area - 2 * PAGE, false},
        {HIGH, high - REACH, false},
        {HIGH, low + REACH + MIB, false},
        {HIGH, high + 3 * REACH, false},
        {HIGH, high - 3 * REACH, false},
        {1024 * MIB, high + MIB, false},
        {1024 * MIB, low - area - MIB, true},
        {1500 * MIB, high + 256 * MIB, true},
        {2040 * MIB, high + 700 * MIB, false},
    };
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < PLACES; i++) {
        ret[i].request = *like;
        ret[i].request.bias = places[i].bias;
        ret[i].request.area = places[i].bias + places[i].apart;
        ret[i].request.area_size = size;
        ret[i].request.first_id = (uint32_t)(i % 3 * 100000 + 1);
        ret[i].request.most_islands = i % 5 == 3 ? 2 : 1024;
        if (places[i].taken)
            take_some(&ret[i], &state);
    }
}

/* ---- the check ---- */

static struct { size_t moved, at_other_distance, with_other_losses, after_others, refused; } seen;

static bool are_lost_alike(const struct pun_site *a, const struct pun_site *b, size_t count) {
    bool alike = true;
    for (size_t i = 0; alike && i < count; i++)
        alike = a[i].lost == b[i].lost && a[i].at == b[i].at;
    return alike;
}

/* Whether the same functions are lost that must not be in the next round's code. */
static bool go_alike(const struct pun_site *a, const struct pun_site *b, size_t count) {
    bool alike = true;
    for (size_t i = 0; alike && i < count; i++)
        alike = a[i].at == b[i].at && a[i].if_lost == b[i].if_lost &&
                (a[i].if_lost != LOST_WITH_CODE || a[i].lost == b[i].lost);
    return alike;
}

static size_t puns_before_last_round(const struct pun_log *log) {
    return log->puns.count - log->rounds.at[log->rounds.count - 1].puns;
}

/* Whether all rounds but the last lead to the same code. */
static bool are_alike(const struct pun_log *a, const struct pun_log *b) {
    return a->rounds.count == b->rounds.count && a->puns.count == b->puns.count &&
           go_alike(a->puns.at, b->puns.at, puns_before_last_round(a));
}

/* Whether B, which is like A, has lost others before its last round. */
static bool differ_before(const struct pun_log *a, const struct pun_log *b) {
    return !are_lost_alike(a->puns.at, b->puns.at, puns_before_last_round(a));
}

/* Whether some of M is farther away from some of the area than REACH. */
static bool is_far(const struct plan_request *r) {
    const taddr_t low = module->low + r->bias, high = module->high + r->bias,
                  end = r->area + r->area_size;
    return (end > low && end - low > REACH) || (high > r->area && high - r->area > REACH);
}

/* Adapts CODE, emitted for FROM, to TO, where new code is FRESH; NULL: there is none that can be
 * kept. */
static void check_place(const struct plan_code *code, const struct plan_request *from,
                        const struct plan_request *to, const struct plan_code *fresh) {
    struct kept_code kept = kept_make(plan, from, code, plan_code_write_flat);
    struct kept_code outline = kept_make(plan, from, code, plan_code_write_outline);
    if ((seen.moved + seen.refused) % 2)
        kept_withhold(&kept);
    const bool fits = plan_code_fits(plan, to, &outline);
    const bool alike = fresh && are_alike(&code->pun_log, &fresh->pun_log);
    if (fits != alike && (fits || !is_far(to)))
        fail_msg("the code of %#lx, area at %#lx, is for %#lx, area at %#lx: %d", from->bias,
                 from->area, to->bias, to->area, fits);
    assert_int_equal(fits, plan_code_adapt(plan, to, &kept));
    if (fits)
        kept_assert_as_new(plan, &kept, to, fresh);
    seen.moved += fits;
    seen.at_other_distance += fits && to->area - to->bias != from->area - from->bias;
    seen.with_other_losses += fits && !are_lost_alike(code->pun_log.puns.at, fresh->pun_log.puns.at,
                                                      code->pun_log.puns.count);
    seen.after_others += fits && differ_before(&code->pun_log, &fresh->pun_log);
    seen.refused += !fits;
    kept_free(&kept);
    kept_free(&outline);
}

/* LIKE: a request without a place. */
static void check_requests(const struct plan_request *like) {
    enum { SOURCES = 3 };
    static const size_t sources[SOURCES] = {0, 3, 6};
    static struct place places[PLACES];
    struct plan_code codes[PLACES] = {0};
    bool reached[PLACES];
    make_places(like, places);
    for (size_t i = 0; i < PLACES; i++)
        reached[i] = plan_emit(plan, &places[i].request, &codes[i], NULL) == 0 &&
                     plan_code_may_be_kept(plan, &codes[i]);
    for (size_t k = 0; k < SOURCES; k++)
        for (size_t i = 0; reached[sources[k]] && i < PLACES; i++)
            check_place(&codes[sources[k]], &places[sources[k]].request, &places[i].request,
                        reached[i] ? &codes[i] : NULL);
    for (size_t i = 0; i < PLACES; i++)
        plan_code_done(&codes[i]);
}

/* In the second round, functions without any other tier have traps, and so have lost puns. */
static void check_module(void) {
    const size_t bytes = plan_function_count(plan) / 8 + 1;
    uint8_t *all = memset(mem_alloc(bytes), 0xff, bytes);
    uint8_t *some = memset(mem_alloc(bytes), 0x5b, bytes);
    const struct plan_request waiting = {.ring_bytes = 1 << 16, .overflow = OVERFLOW_WAIT};
    struct plan_request dropping = {.ring_bytes = 1 << 12, .overflow = OVERFLOW_DROP};
    dropping.selected = dropping.sliced = some;
    dropping.controls = true;
    check_requests(&waiting);
    plan_permit_traps(plan, all);
    check_requests(&dropping);
    free(all);
    free(some);
}

static void check_file(const char *path) {
    struct err err = {0};
    if (module_load(path, 0, &module, &err) || plan_new(module, &plan, &err))
        fail_msg("%s", err.text);
    print_message("%s: %zu functions\n", path, plan_function_count(plan));
    if (plan_function_count(plan))
        check_module();
    plan_free(plan);
    module_free(module);
}

static void kept_code_of_mapped_files_is_as_new(void **state) {
    (void)state;
    char line[PAGE], kind[5], last[PAGE] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    int files = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*x-%*x %4s", kind) != 1 || kind[2] != 'x' || !path ||
            strcmp(path, last) == 0)
            continue;
        strcpy(last, path);
        check_file(path);
        files++;
    }
    fclose(maps);
    assert_in_range(files, 3, 100);
}

static void kept_code_of_given_files_is_as_new(void **state) {
    (void)state;
    for (int i = 0; i < path_count; i++)
        check_file(paths[i]);
}

static void all_kinds_of_places_were_seen(void **state) {
    (void)state;
    print_message("%zu adapted, %zu at another distance, %zu with other lost puns (%zu in earlier "
                  "rounds), %zu refused\n",
                  seen.moved, seen.at_other_distance, seen.with_other_losses, seen.after_others,
                  seen.refused);
    assert_in_range(seen.at_other_distance, 10, seen.moved);
    assert_in_range(seen.with_other_losses, 10, seen.moved);
    assert_in_range(seen.after_others, 1, seen.with_other_losses);
    assert_in_range(seen.refused, 10, SIZE_MAX);
}

int main(int argc, char **argv) {
    paths = argv + 1;
    path_count = argc - 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_code_of_mapped_files_is_as_new),
                                       cmocka_unit_test(kept_code_of_given_files_is_as_new),
                                       cmocka_unit_test(all_kinds_of_places_were_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
