/* Dies by a signal in the way that its argument names. deaths.py looks for the places that comments
 * mark. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero; /* hides constants from the compiler */

static int load(const int *at) { return *at + zero; /* loads */ }

static bool alone; /* the worker waits until the first thread has ended */

static void *work(void *at) {
    char program[8];
    pthread_setname_np(pthread_self(), "worker");
    while (alone && readlink("/proc/self/exe", program, sizeof program) > 0)
        usleep(1000);
    printf("%d\n", load(at) + zero);
    return NULL;
}

static void send_again(int signal_number) {
    signal(signal_number, SIG_DFL);
    kill(getpid(), signal_number);
    pause(); /* the signal comes when this handler ends, if not before */
}

static int recurse(int n) {
    volatile char room[256];
    room[0] = (char)n;
    return zero ? n : recurse(n + 1) + room[0]; /* recurses */
}

static void give_up(void) { abort(); /* aborts */ }

static void end(const char *how) {
    if (strcmp(how, "abort") == 0)
        give_up();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM); /* terminates */
    if (strcmp(how, "nowhere") == 0)
        ((void (*)(void))(long)zero)(); /* calls nothing */
    if (strcmp(how, "overflow") == 0)
        printf("%d\n", recurse(zero));
    if (strcmp(how, "again") == 0)
        signal(SIGSEGV, send_again);
}

int main(int argc, char **argv) {
    pthread_t thread;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "survive") == 0) { /* a signal that is caught, and one that is ignored */
        signal(SIGUSR1, SIG_IGN);
        raise(SIGUSR1);
        raise(SIGCHLD);
        return 0;
    }
    if (strcmp(how, "child") == 0 && fork() > 0) {
        sleep(2);
        return 3;
    }
    end(strcmp(how, "child") == 0 ? "abort" : how);
    alone = strcmp(how, "alone") == 0;
    pthread_create(&thread, NULL, work, NULL);
    if (alone)
        pthread_exit(NULL);
    pthread_join(thread, NULL);
    return 0;
}
