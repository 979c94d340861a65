/* A library of less than a page: its code lies in the page in which the file ends. */
static int calls;
__attribute__((noinline)) int brief_one(int n) { return calls += n; }
int brief_two(int n) { return brief_one(n) * 2 + brief_one(n + 1); }
