"""gcc: driver, cc1, as, collect2 and ld compile and link a program, and reject another."""
import os

from real import real_program, which

GCC = which("gcc")
GOOD = r"""
#include <stdio.h>
struct node { struct node *next; int key; double weight; };
static int compare(const struct node *a, const struct node *b) { return a->key - b->key; }
static struct node *merge(struct node *a, struct node *b) {
    struct node head = {0}, *tail = &head;
    while (a && b) {
        struct node **from = compare(a, b) <= 0 ? &a : &b;
        tail = tail->next = *from;
        *from = (*from)->next;
    }
    tail->next = a ? a : b;
    return head.next;
}
static struct node *sort(struct node *list, int n) {
    if (n < 2) { if (list) list->next = 0; return list; }
    struct node *half = list;
    for (int i = 0; i < n / 2; i++) half = half->next;
    return merge(sort(list, n / 2), sort(half, n - n / 2));
}
int main(void) {
    static struct node nodes[100];
    for (int i = 0; i < 100; i++)
        nodes[i] = (struct node){i < 99 ? &nodes[i + 1] : 0, i * 37 % 101, i / 3.0};
    double sum = 0;
    int place = 0;
    for (struct node *n = sort(nodes, 100); n; n = n->next) sum += n->weight * place++;
    switch ((int)sum % 5) { case 0: puts("a"); break; case 1: puts("b"); break; default: puts("c"); }
    printf("%.6f\n", sum);
    return place == 100 ? 0 : 1;
}
"""
BAD = "int f(int x) { retrun x + y; }\n"


def prepare(directory):
    for name, text in ("good.c", GOOD), ("bad.c", BAD):
        with open(os.path.join(directory, name), "w", encoding="ascii") as out:
            out.write(text)


real_program(["/bin/sh", "-c", f"{GCC} -O2 -g -Wall good.c -o good && ./good && "
              f"{GCC} -O1 -S -o - good.c | wc -l && {GCC} -c bad.c"], prepare, status=1, processes=8)
