/* Finds the executable segments of a module, and the segment or section of an address. */
#include "plan/code/text.h"

#include <errno.h>

enum { MAX_TEXT = INT32_MAX }; /* what a direct branch can span */

int texts_open(const struct module *module, const struct arch *arch, struct texts *ret,
               struct err *err) {
    struct texts t = {.module = module, .arch = arch};
    uint64_t total = 0;
    vaddr_t done = 0;
    t.at = mem_alloc((module->segment_count + 1) * sizeof *t.at);
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *s = &module->segments[i];
        if (!s->executable || !s->file_size || s->start < done)
            continue;
        total += s->file_size;
        if (s->file_size > MAX_TEXT || total > MAX_TEXT) {
            texts_done(&t);
            return err_set(err, EFBIG, "text-too-large", "%s: more than 2 GB of code",
                           module->name);
        }
        t.at[t.count++] = (struct text){.start = s->start,
                                        .size = s->file_size,
                                        .bytes = s->bytes,
                                        .first = t.places,
                                        .size_shift = arch->other ? 1 : 0};
        t.places += (s->file_size / PLACE_STEP + 1) * PLACE_STEP;
        done = s->start + s->file_size;
    }
    *ret = t;
    return 0;
}

void texts_done(struct texts *texts) { free(texts->at); }

const struct text *text_at(const struct texts *texts, vaddr_t addr) {
    for (size_t i = 0; i < texts->count; i++) {
        if (text_holds(&texts->at[i], addr))
            return &texts->at[i];
    }
    return NULL;
}

const struct section *text_section_at(const struct texts *texts, vaddr_t addr) {
    for (size_t i = 0; i < texts->module->section_count; i++) {
        const struct section *s = &texts->module->sections[i];
        if (s->executable && addr - s->start < s->size)
            return s;
    }
    return NULL;
}

const uint8_t *text_literal(const struct texts *texts, const struct insn *in) {
    bool memory = in->operand == OPERAND_PC_MEMORY && texts->arch->other;
    return memory ? module_constant(texts->module, in->target, texts->arch->word_bytes) : NULL;
}
