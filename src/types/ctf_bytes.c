/* Growing bytes; names and keys by their digests. */
#include "types/ctf_bytes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/digest.h"

/* Of texts only 128 bits of a digest are kept: those of a large file take gigabytes. */
struct ctf_word {
    uint64_t digest[2]; /* 0, 0: free */
    uint32_t number;
};

static void reserve(struct ctf_bytes *b, size_t more) {
    if (b->room - b->size >= more)
        return;
    b->room = (b->size + more) * 2;
    b->at = mem_resize(b->at, b->room, 1);
}

void ctf_put(struct ctf_bytes *to, uint32_t word) {
    reserve(to, sizeof word);
    memcpy(to->at + to->size, &word, sizeof word);
    to->size += sizeof word;
}

void ctf_append(struct ctf_bytes *to, const struct ctf_bytes *from) {
    if (!from->size)
        return;
    reserve(to, from->size);
    memcpy(to->at + to->size, from->at, from->size);
    to->size += from->size;
}

void ctf_bytes_printf(struct ctf_bytes *to, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length > 0) {
        reserve(to, (size_t)length + 1);
        vsnprintf((char *)to->at + to->size, (size_t)length + 1, fmt, again);
        to->size += (size_t)length;
    }
    va_end(again);
}

char *ctf_bytes_text(struct ctf_bytes *text) {
    reserve(text, 1);
    text->at[text->size] = '\0';
    return (char *)text->at;
}

void ctf_bytes_done(struct ctf_bytes *bytes) {
    free(bytes->at);
    *bytes = (struct ctf_bytes){0};
}

/* ---- words ---- */

static bool is_free(const struct ctf_word *word) { return !word->digest[0] && !word->digest[1]; }

static struct ctf_word *place_of(const struct ctf_words *w, const uint64_t digest[2]) {
    const size_t mask = w->room - 1;
    size_t at = digest[0] & mask;
    while (!is_free(&w->words[at]) &&
           (w->words[at].digest[0] != digest[0] || w->words[at].digest[1] != digest[1]))
        at = (at + 1) & mask;
    return &w->words[at];
}

static void grow(struct ctf_words *w) {
    struct ctf_word *old = w->words;
    size_t room = w->room;
    w->room = room ? room * 2 : 1024;
    w->words = mem_alloc(w->room * sizeof *w->words);
    for (size_t i = 0; i < room; i++)
        if (!is_free(&old[i]))
            *place_of(w, old[i].digest) = old[i];
    free(old);
}

/* KIND: 'n' of a name, 'k' of a key. */
static struct ctf_word *find(struct ctf_words *w, char kind, const char *text, bool *ret_new) {
    struct digest d;
    uint64_t digest[DIGEST_BYTES / sizeof(uint64_t)];
    digest_init(&d);
    digest_add(&d, &kind, 1);
    digest_add(&d, text, strlen(text));
    digest_finish(&d, (uint8_t *)digest);
    if (w->count * 2 >= w->room)
        grow(w);
    struct ctf_word *word = place_of(w, digest);
    *ret_new = is_free(word);
    if (*ret_new) {
        memcpy(word->digest, digest, sizeof word->digest);
        w->count++;
    }
    return word;
}

void ctf_words_start(struct ctf_words *w) {
    *w = (struct ctf_words){0};
    ctf_name(w, "");
}

void ctf_words_done(struct ctf_words *w) {
    free(w->words);
    ctf_bytes_done(&w->strings);
}

uint32_t ctf_name(struct ctf_words *w, const char *name) {
    bool is_new;
    struct ctf_word *word = find(w, 'n', name, &is_new);
    if (is_new) {
        struct ctf_bytes bytes = {.at = (uint8_t *)name, .size = strlen(name) + 1};
        word->number = (uint32_t)w->strings.size;
        ctf_append(&w->strings, &bytes);
    }
    return word->number;
}

uint32_t *ctf_number(struct ctf_words *w, const char *key) {
    bool is_new;
    return &find(w, 'k', key, &is_new)->number;
}
