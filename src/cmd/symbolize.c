/* spoor symbolize: shows functions and lines at addresses, of operands or in a log. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/log_words.h"
#include "cmd/place.h"
#include "cmd/say.h"
#include "cmd/values.h"

struct symbolize {
    const struct options *options;
    struct term term;
    struct lineinfo *info;
    uint64_t bias;
    uint64_t line; /* of the log, from 1 */
};

/* True if ADDR is in code. *RET: its place, to be freed. */
static bool find(const struct symbolize *s, uint64_t addr, bool is_return, struct line_place *ret) {
    vaddr_t at = addr - s->bias;
    if (!lineinfo_is_64bit(s->info))
        at &= UINT32_MAX;
    if (!(is_return ? lineinfo_find_return(s->info, at, &at)
                    : lineinfo_find_code(s->info, at, &at)))
        return false;
    lineinfo_find(s->info, at, is_return, ret);
    return true;
}

static void print_json(uint64_t addr, bool is_return, const struct line_place *place) {
    printf("\"address\": %" PRIu64 ", \"return\": %s, \"frames\": ", addr,
           is_return ? "true" : "false");
    place_print_json(stdout, place);
    putchar('}');
}

/* ---- operands ---- */

static void print_place(const struct symbolize *s, uint64_t addr, const struct line_place *place) {
    int width = lineinfo_is_64bit(s->info) ? 16 : 8;
    int indent = printf("0x%0*" PRIx64, width, addr);
    for (size_t i = 0; i < place->count; i++) {
        printf("%*s ", i ? indent : 0, "");
        place_print_frame(&s->term, place, i);
        puts(place->frames[i].inlined ? " (inlined)" : "");
    }
    if (!place->count)
        puts(" ?? (no code of the image)");
}

static int parse_all(int count, char **words, uint64_t *ret) {
    for (int i = 0; i < count; i++)
        if (!value_address(words[i], &ret[i])) {
            say_error("%s: is not an address: give hexadecimal numbers, like 0x80012f4", words[i]);
            return -EINVAL;
        }
    return 0;
}

static void show_all(const struct symbolize *s, int count, const uint64_t *addrs) {
    for (int i = 0; i < count; i++) {
        struct line_place place = {0};
        find(s, addrs[i], s->options->image.returns, &place);
        if (s->options->view.json) {
            fputs(i ? ",\n{" : "[\n{", stdout);
            print_json(addrs[i], s->options->image.returns, &place);
        } else {
            print_place(s, addrs[i], &place);
        }
        line_place_done(&place);
    }
    if (s->options->view.json)
        puts("\n]");
}

/* ---- logs ---- */

/* Shows addresses in functions only: other numbers may look like addresses. */
static void show_hit(const struct symbolize *s, const struct scan_hit *hit) {
    bool is_return = hit->is_return || s->options->image.returns;
    struct line_place place = {0};
    bool known = find(s, hit->addr, is_return, &place) &&
                 (place.frames[place.count - 1].function || place.frames[0].file);
    if (known && s->options->view.json) {
        printf("{\"line\": %" PRIu64 ", ", s->line);
        print_json(hit->addr, is_return, &place);
        putchar('\n');
    } else if (known) {
        for (size_t i = 0; i < place.count; i++) {
            fputs(i ? ", inlined in " : " (", stdout);
            place_print_frame(&s->term, &place, i);
        }
        putchar(')');
    }
    line_place_done(&place);
}

/* Writes BYTES at once, even if their line has not ended. */
static void pass_on(struct symbolize *s, struct scan *scan, const uint8_t *bytes, size_t size) {
    bool copies = !s->options->view.json;
    size_t done = 0;
    struct scan_hit hit;
    for (size_t i = 0; i < size; i++) {
        if (scan_byte(scan, bytes[i], &hit)) {
            if (copies)
                fwrite(bytes + done, 1, i - done, stdout);
            done = i;
            show_hit(s, &hit);
        }
        s->line += bytes[i] == '\n';
    }
    if (copies)
        fwrite(bytes + done, 1, size - done, stdout);
    fflush(stdout);
}

static int read_log(struct symbolize *s) {
    static uint8_t bytes[64 * 1024];
    struct scan scan = {0};
    struct scan_hit hit;
    s->line = 1;
    while (!ferror(stdout)) {
        ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0) {
            say_error("standard input: %s", strerror(errno));
            return STATUS_FAILED;
        }
        if (size == 0)
            break;
        pass_on(s, &scan, bytes, (size_t)size);
    }
    if (scan_byte(&scan, '\n', &hit))
        show_hit(s, &hit);
    return STATUS_OK;
}

int cmd_symbolize(struct options *options, int argc, char **argv) {
    struct symbolize s = {.options = options, .term = term_open(&options->view)};
    AUTO_FREE uint64_t *addrs = mem_alloc((size_t)argc * sizeof *addrs);
    struct err err;
    if (parse_all(argc - 1, argv + 1, addrs) < 0)
        return STATUS_USAGE;
    if (lineinfo_open(argv[0], &s.info, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (options->image.base != NO_BASE)
        s.bias = options->image.base - lineinfo_lowest_page(s.info);
    int status = STATUS_OK;
    if (argc > 1)
        show_all(&s, argc - 1, addrs);
    else
        status = read_log(&s);
    lineinfo_close(s.info);
    return status;
}
