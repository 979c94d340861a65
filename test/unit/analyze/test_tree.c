/* src/analyze/tree.h: the call graph. Trees are compared as drawn: "name calls/total/self" and, in
 * parentheses, what is called. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/generate.h"
#include "analyze/tree.h"

#define TESTS                                                                                      \
    TEST(one_node_per_path)                                                                        \
    TEST(sum_over_threads)                                                                         \
    TEST(paths_of_brief_calls_vanish)                                                              \
    TEST(callees_of_hidden_functions)                                                              \
    TEST(empty_graph)                                                                              \
    TEST(focus_on_a_function)                                                                      \
    TEST(focus_on_recursion)                                                                       \
    TEST(focus_on_an_uncalled_function)                                                            \
    TEST(own_times_sum_to_the_total)                                                               \
    TEST(further_paths_are_joined)

static struct lab lab;

static int set_up(void **state) {
    (void)state;
    lab_init(&lab);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lab_done(&lab);
    return 0;
}

static void draw(const struct tree *t, char *text, size_t room) {
    uint32_t depth = 0, before = 0;
    FILE *f = fmemopen(text, room, "w");
    for (uint32_t node = 0; node != TREE_NONE; before = depth, node = tree_next(t, node, &depth)) {
        const struct tree_node *n = &t->nodes[node];
        for (uint32_t i = depth; i < before; i++)
            fputc(')', f);
        if (node)
            fputc(depth > before ? '(' : ' ', f);
        fprintf(f, "%s", node ? names_function(lab.source.names, n->function) : "root");
        fprintf(f, " %ju/%ju/%ju", n->calls, n->total_ns, n->self_ns);
    }
    for (uint32_t i = 0; i < before; i++)
        fputc(')', f);
    fclose(f);
}

static void expect(struct tree *t, const char *right) {
    char text[1024] = "";
    tree_sort(t, lab.source.names);
    draw(t, text, sizeof text);
    assert_string_equal(text, right);
}

static void expect_graph(const char *line, const char *right) {
    struct tree t;
    lab_open(&lab, line);
    tree_init(&t);
    tree_read(&t, &lab.source);
    expect(&t, right);
    tree_done(&t);
}

static void expect_focus(uint32_t id, const char *callees, const char *callers) {
    struct tree t, down, up;
    uint8_t chosen[FUNCTIONS] = {0};
    lab_open(&lab, "");
    chosen[names_index(lab.source.names, id)] = 1;
    tree_init(&t);
    tree_read(&t, &lab.source);
    tree_focus(&t, chosen, &down, &up);
    expect(&down, callees);
    expect(&up, callers);
    tree_done(&t);
    tree_done(&down);
    tree_done(&up);
}

/* main calls leaf twice, fib (which calls itself and, there, leaf) and leaf by a tail call. */
static void write_calls(uint32_t stream) {
    lab_enter(&lab, stream, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, stream, 1010, LEAF, 0x1fe00);
    lab_return(&lab, stream, 1020, LEAF, 0x1fe00);
    lab_enter(&lab, stream, 1030, LEAF, 0x1fe00);
    lab_return(&lab, stream, 1035, LEAF, 0x1fe00);
    lab_enter(&lab, stream, 1100, FIB, 0x1fe00);
    lab_enter(&lab, stream, 1150, FIB, 0x1fd00);
    lab_enter(&lab, stream, 1200, LEAF, 0x1fc00);
    lab_return(&lab, stream, 1300, LEAF, 0x1fc00);
    lab_return(&lab, stream, 1350, FIB, 0x1fd00);
    lab_tail(&lab, stream, 1400, FIB, 0x1fe00);
    lab_enter(&lab, stream, 1400, LEAF, 0x1fe00);
    lab_return(&lab, stream, 1401, LEAF, 0x1fe00);
    lab_return(&lab, stream, 2000, MAIN, 0x1ff00);
}

static void one_node_per_path(void **state) {
    (void)state;
    write_calls(0);
    expect_graph("", "root 0/1000/0(main 1/1000/684(fib 1/300/100(fib 1/200/100(leaf 1/100/100)) "
                     "leaf 3/16/16))");
}

static void sum_over_threads(void **state) {
    (void)state;
    write_calls(0);
    lab_enter(&lab, 1, 5000, MAIN, 0x1ff00);
    lab_return(&lab, 1, 5500, MAIN, 0x1ff00);
    lab_enter(&lab, 2, 5000, LEAF, 0x1ff00);
    expect_graph("-D 1", "root 0/1500/0(main 2/1500/1500 leaf 1/0/0)");
}

static void paths_of_brief_calls_vanish(void **state) {
    (void)state;
    write_calls(0);
    expect_graph("-t 150", "root 0/1000/0(main 1/1000/700(fib 1/300/100(fib 1/200/200)))");
}

static void callees_of_hidden_functions(void **state) {
    (void)state;
    write_calls(0);
    expect_graph("-N fib", "root 0/1000/0(main 1/1000/884(leaf 4/116/116))");
}

static void empty_graph(void **state) {
    (void)state;
    expect_graph("", "root 0/0/0");
}

static void focus_on_a_function(void **state) {
    (void)state;
    write_calls(0);
    expect_focus(LEAF, "root 4/116/116",
                 "root 4/116/116(fib 1/100/100(fib 1/100/100(main 1/100/100)) main 3/16/16)");
}

static void focus_on_recursion(void **state) {
    (void)state;
    write_calls(0);
    expect_focus(FIB, "root 1/300/100(fib 1/200/100(leaf 1/100/100))",
                 "root 2/300/200(main 1/300/100 fib 1/0/100)");
}

static void focus_on_an_uncalled_function(void **state) {
    (void)state;
    write_calls(0);
    expect_focus(DRAW, "root 0/0/0", "root 0/0/0");
}

/* Reads the trace with at most MOST paths (0: any number). The nodes' own times add up to the
 * total. */
static void expect_sums(uint32_t most, uint64_t *ret_total, uint64_t *ret_calls) {
    struct tree t;
    uint64_t self = 0;
    tree_init(&t);
    t.most = most;
    tree_read(&t, &lab.source);
    tree_sort(&t, lab.source.names);
    *ret_calls = 0;
    for (uint32_t i = 1; i < t.count; i++) {
        const struct tree_node *n = &t.nodes[i];
        uint64_t inner = 0;
        for (uint32_t c = n->first_child; c != TREE_NONE; c = t.nodes[c].next_sibling)
            inner += t.nodes[c].total_ns;
        assert_int_equal(n->total_ns, n->self_ns + inner);
        assert_true(n->parent < i);
        self += n->self_ns;
        *ret_calls += n->calls;
    }
    assert_int_equal(t.nodes[0].total_ns, self);
    assert_true(most ? t.count <= 2 * most : t.count > 1000);
    *ret_total = self;
    tree_done(&t);
}

static void write_tree(void) {
    struct trace_event *events = generate(SHAPE_TREE, 200000, 5, MAIN);
    trace_writer_events(lab.writer, 0, events, 200000);
    free(events);
    lab_open(&lab, "");
}

static void own_times_sum_to_the_total(void **state) {
    uint64_t total, calls;
    (void)state;
    write_tree();
    expect_sums(0, &total, &calls);
}

static void further_paths_are_joined(void **state) {
    uint64_t total, calls, limited, limited_calls;
    (void)state;
    write_tree();
    expect_sums(0, &total, &calls);
    for (uint32_t most = 2; most < 1000; most *= 7) {
        expect_sums(most, &limited, &limited_calls);
        assert_int_equal(limited, total);
        assert_int_equal(limited_calls, calls);
    }
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
