/*
 * Makes one document of the page's files. A document from a file may load no module, so its modules
 * become one script: in the order in which the browser would run them, without their import lines
 * and without `export`. Each import is a line of its own, and names of different modules differ.
 */
#include "page/html.h"

#include <string.h>

#include "page/files.h"

static const char STYLE_LINK[] = "<link rel=\"stylesheet\" href=\"style.css\">\n";
static const char SCRIPT[] = "<script type=\"module\" src=\"main.js\"></script>\n";

enum { MODULES_MOST = 100 };

struct joining {
    FILE *out;
    const struct page_file *done[MODULES_MOST];
    size_t count;
};

static bool is_done(const struct joining *j, const struct page_file *file) {
    for (size_t i = 0; i < j->count; i++)
        if (j->done[i] == file)
            return true;
    return j->count == MODULES_MOST;
}

/* The module that LINE imports; NULL: it is no import. */
static const struct page_file *imported(const char *line, size_t length) {
    static const char from[] = " from './";
    const char *at = length > 7 && memcmp(line, "import ", 7) == 0
                         ? memmem(line, length, from, sizeof from - 1)
                         : NULL;
    const char *name = at ? at + sizeof from - 1 : NULL;
    const char *end = name ? memchr(name, '\'', length - (size_t)(name - line)) : NULL;
    if (!end)
        return NULL;
    AUTO_FREE char *text = mem_printf("%.*s", (int)(end - name), name);
    return page_file_find(text);
}

static void join_line(FILE *out, const char *line, size_t length) {
    static const char word[] = "export ";
    bool exports = length >= sizeof word - 1 && memcmp(line, word, sizeof word - 1) == 0;
    size_t skip = exports ? sizeof word - 1 : 0;
    fwrite(line + skip, 1, length - skip, out);
}

/* Writes what FILE imports, and then FILE. */
static void join(struct joining *j, const struct page_file *file) {
    if (is_done(j, file))
        return;
    j->done[j->count++] = file;
    for (int write = 0; write < 2; write++) {
        const char *line = (const char *)file->bytes, *end = line + file->size;
        for (size_t length; line < end; line += length) {
            const char *newline = memchr(line, '\n', (size_t)(end - line));
            length = newline ? (size_t)(newline + 1 - line) : (size_t)(end - line);
            const struct page_file *module = imported(line, length);
            if (module && !write)
                join(j, module);
            else if (!module && write)
                join_line(j->out, line, length);
        }
    }
}

/* The page's document, from FROM (or its beginning) to TO (or its end), which are texts in it. */
static const char *part_of_page(const char *from, const char *to, size_t *ret_size) {
    const struct page_file *index = page_file_find("index.html");
    const char *start = (const char *)index->bytes, *end = start + index->size;
    const char *begin = from ? strstr(start, from) : start;
    begin = begin && from ? begin + strlen(from) : begin;
    const char *stop = begin && to ? strstr(begin, to) : end;
    *ret_size = begin && stop ? (size_t)(stop - begin) : 0;
    return begin;
}

static void write_part(FILE *out, const char *from, const char *to) {
    size_t size;
    const char *text = part_of_page(from, to, &size);
    fwrite(text, 1, size, out);
}

char *html_page_head(const char *nonce) {
    static const char charset[] = "<meta charset=\"utf-8\">\n";
    const struct page_file *style = page_file_find("style.css");
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    write_part(out, NULL, charset);
    fprintf(out,
            "%s<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data:; base-uri 'none'; "
            "form-action 'none'\">\n",
            charset, nonce, nonce);
    write_part(out, charset, STYLE_LINK);
    fprintf(out, "<style nonce=\"%s\">\n%s</style>\n", nonce,
            style ? (const char *)style->bytes : "");
    write_part(out, STYLE_LINK, SCRIPT);
    fclose(out);
    return text;
}

char *html_page_rest(const char *nonce) {
    char *text;
    size_t size;
    struct joining joining = {.out = open_memstream(&text, &size)};
    fprintf(joining.out, "<script type=\"module\" nonce=\"%s\">\n", nonce);
    const struct page_file *first = page_file_find("main.js");
    if (first)
        join(&joining, first);
    fputs("</script>\n", joining.out);
    write_part(joining.out, SCRIPT, NULL);
    fclose(joining.out);
    return text;
}
