/* spoor unwind: shows the calls of a dead program, from registers and a dump of its stack. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/json.h"
#include "cmd/place.h"
#include "cmd/say.h"
#include "unwind/dump.h"
#include "unwind/offline.h"

enum { DUMP_MOST = 256 << 20 };

struct unwind {
    struct term term;
    const struct options *options;
    struct offline_program program;
    struct offline_registers registers;
    struct dump dump;
    offline_frames frames;
    struct err end;
};

/* ---- input ---- */

typedef ARRAY(uint8_t) byte_array;

static int read_all(int fd, const char *path, byte_array *ret, struct err *err) {
    static uint8_t block[64 * 1024];
    for (ssize_t size; (size = read(fd, block, sizeof block)) != 0;) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
        if (ret->count > DUMP_MOST)
            return err_set(err, EFBIG, "too-large", "%s: is larger than any stack", path);
        for (ssize_t i = 0; i < size; i++)
            ARRAY_PUSH(ret, block[i]);
    }
    return 0;
}

static int read_file(const char *path, byte_array *ret, struct err *err) {
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", ret, err);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    return read_all(fd, path, ret, err);
}

static int read_dumps(struct unwind *u, struct err *err) {
    const struct image_options *o = &u->options->image;
    struct dump_place place = {.word = lineinfo_is_64bit(u->program.info) ? 8 : 4,
                               .has_base = o->stack_base != NO_BASE,
                               .base = o->stack_base,
                               .sp = offline_sp(u->program.machine, &u->registers)};
    for (size_t i = 0; i < o->stacks.count; i++) {
        byte_array bytes = {0};
        int rc = read_file(o->stacks.at[i], &bytes, err);
        if (rc == 0) {
            rc = dump_read(bytes.at, bytes.count, &place, &u->dump, err);
            if (rc < 0)
                err_prefix(err, "%s", o->stacks.at[i]);
        }
        ARRAY_FREE(&bytes);
        if (rc < 0)
            return rc;
    }
    u->program.pieces = u->dump.pieces.at;
    u->program.piece_count = u->dump.pieces.count;
    return 0;
}

static int open_image(struct unwind *u, const char *path, struct err *err) {
    int rc = lineinfo_open(path, &u->program.info, err);
    if (rc < 0)
        return rc;
    u->program.machine = offline_machine(lineinfo_machine(u->program.info));
    if (!u->program.machine)
        return err_set(err, ENOTSUP, "foreign-machine",
                       "%s: its machine is not supported: spoor unwinds Arm, AArch64 and "
                       "x86-64",
                       path);
    if (u->options->image.base != NO_BASE)
        u->program.bias = u->options->image.base - lineinfo_lowest_page(u->program.info);
    return 0;
}

/* ---- output ---- */

static void find_place(const struct unwind *u, const struct offline_frame *f,
                       struct line_place *ret) {
    *ret = (struct line_place){0};
    if (f->is_code)
        lineinfo_find(u->program.info, f->addr, !f->exact, ret);
}

static uint64_t shown_pc(const struct unwind *u, const struct offline_frame *f) {
    return f->is_code ? f->addr + u->program.bias : f->pc;
}

static void print_frame(const struct unwind *u, size_t number) {
    const struct offline_frame *f = &u->frames.at[number];
    struct line_place place;
    find_place(u, f, &place);
    int indent = printf("#%-3zu 0x%0*" PRIx64, number, lineinfo_is_64bit(u->program.info) ? 16 : 8,
                        shown_pc(u, f));
    for (size_t i = 0; i < place.count; i++) {
        printf("%*s ", i ? indent : 0, "");
        place_print_frame(&u->term, &place, i);
        if (place.frames[i].inlined)
            puts(" (inlined)");
    }
    printf("%s [%s]\n", place.count ? "" : " ??", offline_how_name(f->how));
    line_place_done(&place);
}

static void print_json(const struct unwind *u) {
    fputs("{\"frames\": [", stdout);
    for (size_t i = 0; i < u->frames.count; i++) {
        const struct offline_frame *f = &u->frames.at[i];
        struct line_place place;
        find_place(u, f, &place);
        printf("%s\n{\"address\": %" PRIu64 ", \"return\": %s, \"found\": \"%s\", \"frames\": ",
               i ? "," : "", shown_pc(u, f), f->exact ? "false" : "true", offline_how_name(f->how));
        place_print_json(stdout, &place);
        putchar('}');
        line_place_done(&place);
    }
    printf("\n], \"end\": \"%s\", \"reason\": ", u->end.tag);
    json_print_string(stdout, u->end.text);
    puts("}");
}

static void print_text(const struct unwind *u) {
    for (size_t i = 0; i < u->frames.count; i++)
        print_frame(u, i);
    printf("end: %s\n", u->end.text);
}

static int check_options(const struct options *options) {
    const char *missing = !options->image.registers      ? "registers are missing: give --regs"
                          : !options->image.stacks.count ? "no stack: give --stack"
                                                         : NULL;
    if (missing)
        say_error("unwind: %s: try 'spoor unwind --help'", missing);
    return missing ? -EINVAL : 0;
}

int cmd_unwind(struct options *options, int argc, char **argv) {
    (void)argc;
    struct unwind u = {.options = options, .term = term_open(&options->view)};
    struct err err;
    if (check_options(options) < 0)
        return STATUS_USAGE;
    int rc = open_image(&u, argv[0], &err), status = STATUS_FAILED;
    if (rc == 0) {
        rc =
            offline_registers_read(u.program.machine, options->image.registers, &u.registers, &err);
        status = rc < 0 ? STATUS_USAGE : STATUS_FAILED;
    }
    if (rc == 0)
        rc = read_dumps(&u, &err);
    if (rc == 0) {
        offline_unwind(&u.program, &u.registers, &u.frames, &u.end);
        if (options->view.json)
            print_json(&u);
        else
            print_text(&u);
        status = STATUS_OK;
    } else {
        say_err(&err);
    }
    ARRAY_FREE(&u.frames);
    dump_done(&u.dump);
    lineinfo_close(u.program.info);
    return status;
}
