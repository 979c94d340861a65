/* Keeps a text for each function. */
#include "cmd/spell.h"

#include "base/mem.h"

void speller_init(struct speller *s, struct names *names, spell_compose *compose) {
    *s = (struct speller){.names = names, .compose = compose};
    s->spellings = mem_alloc(names_count(names) * sizeof *s->spellings);
}

void speller_done(struct speller *s) {
    uint32_t count = s->names ? names_count(s->names) : 0;
    for (uint32_t i = 0; i < count; i++)
        free(s->spellings[i].text);
    free(s->spellings);
}

void speller_add(struct speller *s, uint32_t function) {
    char *text = s->compose(s->names, function);
    s->spellings[function] = (struct spelling){text, strlen(text)};
}
