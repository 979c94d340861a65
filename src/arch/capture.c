/* The order of a value's instructions (capture.h). */
#include "arch/capture.h"

struct putting {
    const struct capture_machine *machine;
    void *ctx;
    const struct capture *capture;
    size_t value;
    uint32_t number; /* of its first word */
};

static bool has_length(const struct capture_value *v) { return v->string && v->length_of >= 0; }

/* How many of the first COUNT values are texts with a length of their own. */
static int lengths(const struct capture *c, size_t count) {
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += has_length(&c->values[i]);
    return n;
}

int capture_lengths(const struct capture *c) { return lengths(c, c->count); }

/* Keeps the word for the texts whose length it is. */
static void keep_lengths(const struct putting *p, unsigned size) {
    for (size_t i = p->value; i < p->capture->count; i++) {
        const struct capture_value *v = &p->capture->values[i];
        if (has_length(v) && (size_t)v->length_of == p->value)
            p->machine->keep_length(p->ctx, size, lengths(p->capture, i));
    }
}

void capture_lead(const struct value_reader *reader, void *ctx, const struct capture_value *v) {
    reader->begin(ctx, v, 0, true);
    reader->check_owner(ctx);
    for (int i = 0; i < v->steps; i++) {
        if (v->step[i].offset)
            reader->add_offset(ctx, v->step[i].offset);
        if (i + 1 == v->steps)
            break;
        reader->check_address(ctx);
        reader->follow(ctx);
    }
}

static void put_words(const struct putting *p, const struct capture_value *v) {
    for (unsigned done = 0; done < v->bytes; done += 8) {
        const unsigned size = v->bytes - done < 8 ? v->bytes - done : 8;
        if (v->steps)
            p->machine->reader->load(p->ctx, size, done);
        else
            p->machine->reader->begin(p->ctx, v, done / 8, false);
        if (!done)
            keep_lengths(p, size);
        p->machine->put_word(p->ctx, size, p->number + done / 8);
    }
}

void capture_put_value(const struct capture_machine *machine, void *ctx, const struct capture *c,
                       size_t value, uint32_t number) {
    const struct putting p = {machine, ctx, c, value, number};
    const struct capture_value *v = &c->values[value];
    if (!capture_value_records(v))
        return;
    if (v->steps || v->string)
        capture_lead(machine->reader, ctx, v);
    if (v->string) {
        machine->reader->check_address(ctx);
        machine->put_text(ctx, v, has_length(v) ? lengths(c, value) : -1, number);
    } else if (v->address_only) {
        machine->keep_address(ctx);
        machine->put_word(ctx, v->bytes, number);
    } else {
        if (v->steps)
            machine->reader->check_address(ctx);
        put_words(&p, v);
    }
    machine->end_value(ctx);
}
