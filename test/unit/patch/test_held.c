/* Text that the program changes while spoor is about to patch it. */
#include <string.h>

#include "base/bitmap.h"
#include "guest.h"
#include "patch/patcher.h"
#include "target/memory.h"

#define TESTS TEST(text_changed_behind_a_look)

static size_t patches_in_text(const struct patched *p, int fd) {
    size_t count = 0;
    for (size_t i = 0; i < p->code->emitted.patch_count; i++) {
        const struct patch *q = &p->code->emitted.patches[i];
        uint8_t text[sizeof q->after];
        assert_int_equal(memory_read(fd, q->at + p->bias, text, q->size, NULL), 0);
        count += memcmp(text, q->after, q->size) == 0;
    }
    return count;
}

/* The program switches code of a function between the look at its text and the stop: only that one
 * stays out. */
static void text_changed_behind_a_look(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    struct patched *p = guest_sites(g);
    int fd = g->space->remote.memory_fd;
    struct err err = {0};
    const size_t all = patches_in_text(p, fd);
    const struct patch *first = &p->code->emitted.patches[0];
    assert_int_equal(patcher_undo(p, fd, NULL, &err), 0);
    assert_int_equal(patches_in_text(p, fd), 0);
    patcher_check_early(p, g->space);
    const uint8_t other = (uint8_t)~first->before[0];
    assert_int_equal(memory_write(fd, first->at + p->bias, &other, 1, NULL), 0);
    if (patcher_redo(p, g->space, &err) < 0)
        fail_msg("%s", err.text);
    const size_t some = patches_in_text(p, fd);
    assert_true(some > all / 2 && some < all);
    const size_t functions = plan_function_count(p->traced_module->plan);
    assert_true(bitmap_count(p->changed, functions) > 0);
    guest_free(g);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
