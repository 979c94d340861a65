/* The answer about a function's source text. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/json.h"
#include "elf/source_md5.h"
#include "page/answers.h"
#include "page/sites.h"

enum {
    TEXT_MOST = 16 << 20, /* bytes of a file that is read */
    LINES_BEFORE = 20,    /* in front of the function's first one */
    LINES_AFTER = 400,
};

struct text {
    char *bytes; /* with a zero; to be freed */
    size_t size;
    struct timespec changed;
};

/* False: it is no regular file, too large, or cannot be read. */
static bool read_text(const char *path, struct text *ret) {
    struct stat st;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TEXT_MOST)
        return false;
    size_t size = (size_t)st.st_size, done = 0;
    char *bytes = mem_alloc(size + 1);
    for (ssize_t n = 1; done < size && n > 0; done += n > 0 ? (size_t)n : 0)
        n = read(fd, bytes + done, size - done);
    *ret = (struct text){bytes, done, st.st_mtim};
    return true;
}

static bool is_later(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Writes whether the text is the one that the module M was built from, and how that is known: by
 * the MD5 in its debugging information, else by whether the text was changed after the module's
 * file. That file has the recorded build ID, if there is one (names_source()). */
static void write_same_build(FILE *out, const struct trace_module *m, uint64_t address,
                             const char *file, const struct text *text) {
    uint8_t recorded[MD5_BYTES], found[MD5_BYTES];
    const char *same = "null", *by = "null";
    struct stat st;
    struct build_id id = {m->build_id, m->build_id_size};
    if (source_md5(m->path, id, address, file, recorded)) {
        md5(text->bytes, text->size, found);
        same = memcmp(recorded, found, MD5_BYTES) == 0 ? "true" : "false";
        by = "\"md5\"";
    } else if (stat(m->path, &st) == 0) {
        same = is_later(text->changed, st.st_mtim) ? "false" : "true";
        by = m->build_id_size ? "\"build-id and time\"" : "\"time\"";
    }
    fprintf(out, "\"same_build\": %s, \"judged_by\": %s", same, by);
}

/* Writes the lines around LINE, as "first" and "lines". Changes BYTES. */
static void write_lines(FILE *out, char *bytes, unsigned line) {
    unsigned first = line > LINES_BEFORE ? line - LINES_BEFORE : 1, number = 1;
    char *rest = bytes;
    fprintf(out, "\"first\": %u, \"lines\": [", first);
    for (const char *at; number <= line + LINES_AFTER && (at = strsep(&rest, "\n")); number++) {
        if (number < first || (!*at && !rest))
            continue;
        fputs(number > first ? ",\n" : "\n", out);
        json_print_string(out, at);
    }
    fputs("]", out);
}

int answer_source(struct writing *w, struct err *err) {
    struct names *names = w->desk->view.source.names;
    const struct trace_reader *r = shown_reader(w->request->shown);
    uint32_t function;
    int rc = parameter_function(w->request, &function, err);
    if (rc < 0)
        return rc;
    struct source_line line = names_source(names, function);
    const struct trace_module *m = trace_reader_module(r, names_module(names, function));
    struct text text;
    fputs("{\"file\": ", w->out);
    if (line.file)
        json_print_string(w->out, line.file);
    else
        fputs("null", w->out);
    fprintf(w->out, line.file ? ", \"line\": %u, " : ", \"line\": null, ", line.line);
    if (line.file && read_text(line.file, &text)) {
        write_same_build(w->out, m, names_address(names, function), line.file, &text);
        fputs(", ", w->out);
        write_lines(w->out, text.bytes, line.line);
        free(text.bytes);
    } else {
        fputs("\"same_build\": null, \"judged_by\": null, \"first\": 1, \"lines\": []", w->out);
    }
    fputs(", \"sites\": ", w->out);
    if (!m || !sites_write(w->out, m, names_address(names, function)))
        fputs("null", w->out);
    fputs("}\n", w->out);
    return 0;
}
