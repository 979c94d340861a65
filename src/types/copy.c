/*
 * Copies from one graph to another, by a list of types whose copies are promised. What a pointer
 * points to is copied in a mode of its own, in which structs become forwards; so a type may have
 * two copies.
 */
#include "base/mem.h"
#include "types/types.h"

enum mode { WHOLE, BY_NAME, MODES };

struct work {
    type_id from, to;
    enum mode mode;
};

struct types_copy {
    struct types *from, *to;
    bool shallow;
    ARRAY(type_id) map[MODES]; /* by the number in `from`; 0: no copy yet */
    ARRAY(struct work) work;
};

struct types_copy *types_copy_new(struct types *from, struct types *to, bool shallow) {
    struct types_copy *copy = mem_alloc(sizeof *copy);
    *copy = (struct types_copy){.from = from, .to = to, .shallow = shallow};
    return copy;
}

void types_copy_free(struct types_copy *copy) {
    if (!copy)
        return;
    for (int i = 0; i < MODES; i++)
        ARRAY_FREE(&copy->map[i]);
    ARRAY_FREE(&copy->work);
    free(copy);
}

static type_id promise(struct types_copy *copy, type_id id, enum mode mode) {
    if (!id || types_get(copy->from, id)->kind == TYPE_UNKNOWN)
        return 0;
    while (copy->map[mode].count <= id)
        ARRAY_PUSH(&copy->map[mode], 0);
    type_id *copied = &copy->map[mode].at[id];
    if (!*copied) {
        *copied = types_reserve(copy->to, NULL, 0);
        if (*copied)
            ARRAY_PUSH(&copy->work, ((struct work){id, *copied, mode}));
    }
    return *copied;
}

static bool becomes_forward(const struct type *type, enum mode mode) {
    return mode == BY_NAME && (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION);
}

static void copy_forward(struct types_copy *copy, const struct work *w, const struct type *type) {
    struct type forward = {.kind = TYPE_FORWARD, .name = type->name};
    forward.flags = type->flags & TYPE_TAG;
    if (type->kind == TYPE_UNION)
        forward.flags |= TYPE_OF_UNION;
    types_set(copy->to, w->to, &forward);
}

static void copy_one(struct types_copy *copy, const struct work *w) {
    const struct type *original = types_get(copy->from, w->from);
    if (becomes_forward(original, w->mode)) {
        copy_forward(copy, w, original);
        return;
    }
    bool refers = original->kind == TYPE_POINTER || original->kind == TYPE_FUNCTION;
    enum mode mode = copy->shallow && refers ? BY_NAME : w->mode;
    struct type type = *original;
    struct type_member *members = mem_alloc((type.count + 1) * sizeof *members);
    for (uint32_t i = 0; type.members && i < type.count; i++) {
        members[i] = type.members[i];
        members[i].type = promise(copy, members[i].type, mode);
    }
    type.of = promise(copy, type.of, mode);
    type.members = type.members ? members : NULL;
    types_set(copy->to, w->to, &type);
    free(members);
}

type_id types_copy_add(struct types_copy *copy, type_id id) {
    type_id copied = promise(copy, id, WHOLE);
    while (copy->work.count) {
        struct work w = copy->work.at[--copy->work.count];
        copy_one(copy, &w);
    }
    return copied;
}
