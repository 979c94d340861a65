/* exec from a thread that is not the first: the process continues under the first thread's id. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "expect.h"

static NOINLINE void become(const char *self) {
    ENTER;
    expect_all("! become", "! body", NULL);
    expect_thread(0);
    expect('!', "main");
    expect_print();
    execl(self, self, "second", NULL);
    LEAVE;
}

static NOINLINE void *body(void *self) {
    expect_thread(1);
    ENTER;
    become(self);
    LEAVE;
    return NULL;
}

static NOINLINE int after_exec(void) {
    ENTER;
    puts("second life");
    LEAVE;
    return 5;
}

int main(int argc, char **argv) {
    ENTER;
    if (argc > 1) {
        int status = after_exec();
        LEAVE;
        expect_print();
        return status;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, body, argv[0]);
    pthread_join(thread, NULL);
    return 1;
}
