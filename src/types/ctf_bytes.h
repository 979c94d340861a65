/* What the writer of CTF is made of: growing bytes, and tables of names and of keys. */
#pragma once

#include "base/mem.h"
#include "base/types.h"

struct ctf_bytes {
    uint8_t *at;
    size_t size, room;
};
void ctf_put(struct ctf_bytes *to, uint32_t word);
void ctf_append(struct ctf_bytes *to, const struct ctf_bytes *from);
/* Text at the end, without a NUL. */
void ctf_bytes_printf(struct ctf_bytes *to, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *ctf_bytes_text(struct ctf_bytes *text); /* its bytes with a NUL behind them; still TEXT's */
void ctf_bytes_done(struct ctf_bytes *bytes);

/* A table of strings, each once, and numbers that are found by a text. */
struct ctf_words {
    struct ctf_bytes strings;
    struct ctf_word *words; /* open addressing; a power of two of places */
    size_t count, room;
};
void ctf_words_start(struct ctf_words *w);
void ctf_words_done(struct ctf_words *w);
uint32_t ctf_name(struct ctf_words *w, const char *name);   /* its place among the strings */
uint32_t *ctf_number(struct ctf_words *w, const char *key); /* 0 at first; valid until the next */
