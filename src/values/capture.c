/* The life of a capture. */
#include "values/capture.h"

#include "base/mem.h"

void capture_done(struct capture *c) {
    for (size_t i = 0; i < c->name_count; i++)
        free(c->names[i]);
    free(c->names);
    free(c->values);
    *c = (struct capture){0};
}

void capture_copy(struct capture *ret, const struct capture *from) {
    struct capture copy = *from;
    copy.values = mem_alloc(from->count * sizeof *copy.values);
    copy.names = mem_alloc(from->count * sizeof *copy.names);
    copy.name_count = 0;
    for (size_t i = 0; i < from->count; i++) {
        copy.values[i] = from->values[i];
        if (!from->values[i].name)
            continue;
        copy.names[copy.name_count] = mem_strdup(from->values[i].name);
        copy.values[i].name = copy.names[copy.name_count++];
    }
    *ret = copy;
}

void capture_add_hidden(struct capture *c) {
    c->values = mem_resize(c->values, c->count + 1, sizeof *c->values);
    c->values[c->count++] = (struct capture_value){
        .from = FROM_REGISTER, .bytes = 1, .name = "", .length_of = -1};
}

bool capture_records(const struct capture *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i].from != FROM_NOTHING && c->values[i].from != FROM_CONSTANT)
            return true;
    return false;
}
