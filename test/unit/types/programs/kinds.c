/* A type of each kind of C. */
#include <stdbool.h>
#include <stddef.h>

struct bits {
    unsigned a : 3;
    int b : 7;
    unsigned long long c : 40;
    bool d : 1;
    char e;
    int : 5;
    int f : 4;
};
enum signs { MINUS = -1, PLUS = 5 };
enum wide { WIDE = 0x80000000u };
union any {
    int i;
    float f;
    double d;
    long double ld;
    _Complex double cd;
};
struct only_declared;
typedef struct only_declared only_declared_t;
typedef int (*callback)(const char *restrict, volatile int *, ...);
struct node {
    struct node *next;
    only_declared_t *declared;
    callback call;
    union any any;
    int matrix[6];
    struct {
        int x, y;
    };
    enum signs sign;
    wchar_t letter;
    char rest[];
};
struct large {
    char first[0x20000000];
    int last;
};

struct node node;
enum wide wide;
__int128 big;
float _Complex complex_number;
extern struct large large;

int take(struct node *p, int q, ...) { return q + p->sign; }
void nothing(void) {}
long by_value(struct bits x) { return x.a; }
int main(void) {
    struct bits bits = {0};
    return (int)by_value(bits) + (int)sizeof(struct large);
}
