/* Has as many mappings as the system allows, minus LEFT, and calls functions until a line or the
 * end of standard input comes. Ends with status 7. SKIP where the limit is high.
 *
 *     full_maps LEFT
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 200000, SKIP = 77 };

static volatile int sum;

__attribute__((noinline)) static void work(int i) { sum += i; }

static int lines_of(const char *path) {
    FILE *f = fopen(path, "r");
    int lines = 0;
    for (int c; (c = getc(f)) != EOF;)
        lines += c == '\n';
    fclose(f);
    return lines;
}

static int limit(void) {
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    int most = 0;
    if (!f || fscanf(f, "%d", &most) != 1)
        exit(SKIP);
    fclose(f);
    return most;
}

int main(int argc, char **argv) {
    int most = limit(), all = most - (argc > 1 ? atoi(argv[1]) : 0);
    int wanted = all - lines_of("/proc/self/maps") - 1;
    if (most > MOST)
        return SKIP;
    char *at = mmap(NULL, (size_t)(wanted + 2) * PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 1; i < wanted; i += 2)
        if (mprotect(at + (size_t)i * PAGE, PAGE, PROT_READ) < 0)
            break;
    if (lines_of("/proc/self/maps") < all) /* the last page makes one more, each other one two */
        mprotect(at + (size_t)(wanted + 1) * PAGE, PAGE, PROT_READ);
    while (lines_of("/proc/self/maps") < all) /* mmap() may go beyond the limit by one */
        if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            break;
    write(1, "ready\n", 6);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (int i = 0; poll(&input, 1, 2) == 0; i++)
        work(i);
    return 7;
}
