/* Looks at files, processes and commands of the name that was typed. */
#include "cmd/suggest.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cmd/command.h"

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Traces begin with these bytes (doc/trace-format.md). */
static bool is_trace(const char *path) {
    char bytes[8];
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes &&
           memcmp(bytes, "spoor\r\n\x1a", sizeof bytes) == 0;
}

static bool is_process(const char *text) {
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    AUTO_FREE char *folder = mem_printf("/proc/%s", text);
    return access(folder, F_OK) == 0;
}

/* NAME as a path that leads to this folder even without a slash. To be freed. */
static char *path_of(const char *name) {
    return strchr(name, '/') ? mem_strdup(name) : mem_printf("./%s", name);
}

/* The program PATH, or what is beside it without its extension ("prog" of "prog.c"). NULL: neither.
 * To be freed. */
static char *program_of(const char *name) {
    AUTO_FREE char *path = path_of(name);
    if (is_program(path))
        return steal(path);
    char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (!dot || dot < slash + 2)
        return NULL;
    *dot = '\0';
    return is_program(path) ? steal(path) : NULL;
}

/* Processes and traces. */
static char *other_command(const char *typed) {
    if (is_process(typed))
        return mem_printf("spoor attach %s", typed);
    return is_trace(typed) ? mem_printf("spoor report %s", typed) : NULL;
}

char *suggest_command(const char *typed) {
    char *other = other_command(typed);
    if (other)
        return other;
    AUTO_FREE char *program = program_of(typed);
    return program ? mem_printf("spoor record %s", program) : NULL;
}

char *suggest_program(const char *typed) {
    char *other = other_command(typed);
    for (const struct command *c = commands; !other && c < commands + COMMAND_COUNT; c++)
        if (strcmp(c->name, typed) == 0)
            other = mem_printf("spoor %s", typed);
    if (other)
        return other;
    AUTO_FREE char *program = program_of(typed);
    bool same = program && strcmp(program, typed) == 0; /* it is what cannot be run */
    return program && !same ? mem_printf("spoor record %s", program) : NULL;
}
