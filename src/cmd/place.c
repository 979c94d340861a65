/* The text and the JSON of a place. */
#include "cmd/place.h"

#include <inttypes.h>

#include "cmd/figures.h"
#include "cmd/json.h"
#include "cmd/labels.h"

void place_print_frame(const struct term *term, const struct line_place *place, size_t i) {
    const struct line_frame *f = &place->frames[i];
    AUTO_FREE char *name = f->function ? label_single(term, f->function, f->symbol) : NULL;
    text_print(stdout, name ? name : "??");
    if (f->function && !f->inlined)
        printf("+0x%" PRIx64, place->offset);
    if (!f->file)
        return;
    fputs(" at ", stdout);
    text_print(stdout, f->file);
    if (f->line)
        printf(":%u", f->line);
}

static void print_member(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    if (text)
        json_print_string(out, text);
    else
        fputs("null", out);
}

static void print_number(FILE *out, const char *name, bool known, uint64_t number) {
    if (known)
        fprintf(out, ", \"%s\": %" PRIu64, name, number);
    else
        fprintf(out, ", \"%s\": null", name);
}

void place_print_json(FILE *out, const struct line_place *place) {
    putc('[', out);
    for (size_t i = 0; i < place->count; i++) {
        const struct line_frame *f = &place->frames[i];
        fputs(i ? ", {" : "{", out);
        print_member(out, "function", f->function);
        print_number(out, "offset", f->function && !f->inlined, place->offset);
        fputs(", ", out);
        print_member(out, "file", f->file);
        print_number(out, "line", f->line, f->line);
        print_number(out, "column", f->column, f->column);
        fprintf(out, ", \"inlined\": %s}", f->inlined ? "true" : "false");
    }
    putc(']', out);
}
