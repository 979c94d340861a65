/* spoor view: hands over to the program spoor-view, which serves the page. It stands beside spoor,
 * where spoor was built, or in the folder for such programs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/say.h"

static const char NAME[] = "spoor-view";

/* Its path beside this program; to be freed. */
static char *path_beside(void) {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return NULL;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    return slash ? mem_printf("%.*s/%s", (int)(slash - self), self, NAME) : NULL;
}

int cmd_view(struct options *options, int argc, char **argv) {
    AUTO_FREE char *beside = path_beside();
    (void)argc;
    (void)argv;
    options->given[0] = (char *)(uintptr_t)NAME;
    fflush(stdout);
    if (beside)
        execv(beside, options->given);
    execv(SPOOR_LIBEXEC "/spoor-view", options->given);
    if (errno == ENOENT)
        say_error("view: the program spoor-view is missing, here and in " SPOOR_LIBEXEC
                  ": 'make' builds it, 'make install' installs it");
    else
        say_error("view: " SPOOR_LIBEXEC "/spoor-view: %s", strerror(errno));
    return STATUS_FAILED;
}
