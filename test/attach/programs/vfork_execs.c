/*
 * Children of vfork execute another program, again and again, until standard input ends. Prints
 * "right" if all of them have ended well.
 *
 *     vfork_execs BYTES
 *
 * BYTES is a multiple of the page size, or 0. The stack limit of the children is larger, so that
 * the kernel maps their memory BYTES lower than the parent's (personality(2): ADDR_NO_RANDOMIZE, by
 * setarch -R).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 4,
    STATUS = 7,
    WORDS = 300, /* the kernel copies these words during execve() */
    WORD_BYTES = 4000
};
/* Smaller stacks make no difference (Linux arch/x86/mm/mmap.c, mmap_base()). */
static const unsigned long LEAST_GAP = 128UL << 20;

static _Atomic bool over;
static _Atomic long done, wrong;
static struct rlimit stack;
static char *words[WORDS + 1], *self;

/* A child of vfork may not write the shared memory: its arguments are prepared before. */
static void *executing(void *unused) {
    char *const command[] = {self, "child", NULL};
    while (!over) {
        int status = 0;
        pid_t child = vfork();
        if (child == 0) {
            setrlimit(RLIMIT_STACK, &stack);
            execve(self, command, words);
            _exit(1);
        }
        waitpid(child, &status, 0);
        wrong += !WIFEXITED(status) || WEXITSTATUS(status) != STATUS;
        done++;
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "child") == 0)
        return STATUS;
    self = argv[0];
    getrlimit(RLIMIT_STACK, &stack);
    if (strtoul(argv[1], NULL, 0) > 0)
        stack.rlim_cur = LEAST_GAP + strtoul(argv[1], NULL, 0);
    for (int i = 0; i < WORDS; i++) {
        words[i] = calloc(1, WORD_BYTES + 1);
        memset(words[i], '=', WORD_BYTES);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, executing, NULL);
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!wrong && done)
        puts("right");
    else
        printf("wrong: %ld of %ld children\n", wrong, done);
    return wrong || !done;
}
