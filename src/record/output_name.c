/* Expands the names of trace files. */
#include "record/output_name.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"

typedef ARRAY(char) text;

static void add(text *t, const char *more) {
    while (*more)
        ARRAY_PUSH(t, *more++);
}

static void add_time(text *t, int64_t unix_s) {
    char stamp[32] = "";
    time_t seconds = (time_t)unix_s;
    struct tm tm;
    if (localtime_r(&seconds, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    add(t, stamp);
}

/* A program may give itself a title: only its first word counts. */
static void add_command(text *t, const char *command) {
    AUTO_FREE char *word = mem_strdup(command ? command : "");
    word[strcspn(word, " :")] = '\0';
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    add(t, *name ? name : "program");
}

static void add_pid(text *t, pid_t pid) {
    AUTO_FREE char *number = mem_printf("%d", pid);
    add(t, number);
}

char *output_name(const char *given, pid_t pid, const char *command, int64_t unix_s) {
    text t = {0};
    for (const char *p = given; *p; p++) {
        char next = *p == '%' ? p[1] : '\0';
        if (next == 'p')
            add_pid(&t, pid);
        else if (next == 'c')
            add_command(&t, command);
        else if (next == 't')
            add_time(&t, unix_s);
        else
            ARRAY_PUSH(&t, *p);
        p += next && strchr("pct%", next);
    }
    ARRAY_PUSH(&t, '\0');
    return t.at;
}

char *output_name_numbered(const char *name, unsigned number) {
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *dot = strrchr(base, '.');
    int stem = (int)(dot && dot > base ? dot - name : (ptrdiff_t)strlen(name));
    return mem_printf("%.*s-%u%s", stem, name, number, name + stem);
}
