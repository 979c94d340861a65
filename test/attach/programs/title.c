/* Writes a title over all of its arguments, as servers do, and waits until standard input ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char title[] = "title: at rest";
    char c, *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t room = (size_t)(end - argv[0]);
    if (room < sizeof title)
        return 1;
    memset(argv[0], 0, room);
    memcpy(argv[0], title, sizeof title);
    puts("ready");
    fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    puts("right");
    return 0;
}
