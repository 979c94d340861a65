/* The escaped names of a function, as a format writes them in each line: composed once, then kept.
 */
#pragma once

#include "analyze/names.h"
#include "cmd/out.h"

/* Returns the text about FUNCTION; to be freed. */
typedef char *spell_compose(struct names *names, uint32_t function);

struct spelling {
    char *text; /* NULL: not yet composed */
    size_t length;
};

struct speller {
    struct names *names;
    spell_compose *compose;
    struct spelling *spellings; /* by function */
};

/* NAMES must outlive the speller. */
void speller_init(struct speller *s, struct names *names, spell_compose *compose);
void speller_done(struct speller *s);
void speller_add(struct speller *s, uint32_t function);

static inline void out_spelled(struct out *o, struct speller *s, uint32_t function) {
    if (!s->spellings[function].text)
        speller_add(s, function);
    out_text(o, s->spellings[function].text, s->spellings[function].length);
}
