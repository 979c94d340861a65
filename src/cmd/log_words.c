/* Splits a stream of bytes into words, and finds addresses among them. */
#include "cmd/log_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cmd/values.h"

enum escape { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_PARAMETERS };
enum { ESC = 0x1b };

/* Bytes of UTF-8 sequences count as letters, so that they do not end a word. */
static bool is_word(uint8_t byte) { return isalnum(byte) || byte == '_' || byte >= 0x80; }

/* Escape sequences (ECMA-48, 5.4) end with a letter, which does not belong to the next word. */
static bool is_escape(struct scan *s, uint8_t byte) {
    switch (s->escape) {
    case ESCAPE_BEGUN:
        s->escape = byte == '[' ? ESCAPE_PARAMETERS : ESCAPE_NONE;
        return true;
    case ESCAPE_PARAMETERS:
        if (byte < 0x20 || byte >= 0x40)
            s->escape = ESCAPE_NONE;
        return byte >= 0x20 && byte < 0x7f;
    default:
        if (byte == ESC)
            s->escape = ESCAPE_BEGUN;
        return byte == ESC;
    }
}

static bool is_number(const char *word) { return word[strspn(word, "0123456789")] == '\0'; }

static bool is_link_register(const char *word) {
    return strcasecmp(word, "lr") == 0 || strcasecmp(word, "x30") == 0 ||
           strcasecmp(word, "r14") == 0;
}

/* Handles the word that has ended before BYTE. True if it is an address. */
static bool end_word(struct scan *s, uint8_t byte, struct scan_hit *ret) {
    if (s->length >= sizeof s->word) {
        s->in_register = false;
        return false;
    }
    s->word[s->length] = '\0';
    bool prefixed = s->word[0] == '0' && (s->word[1] | 0x20) == 'x';
    bool bracketed = s->before_that == '[' && s->before == '<' && byte == '>';
    bool is_address = (prefixed || bracketed) && s->before != '+' && s->before != '-' &&
                      value_address(s->word, &ret->addr);
    if (is_address)
        ret->is_return = s->in_callers || s->in_register;
    if (s->before == '#' && is_number(s->word))
        s->in_callers = s->word[strspn(s->word, "0")] != '\0';
    s->in_register = is_link_register(s->word);
    return is_address;
}

bool scan_byte(struct scan *s, uint8_t byte, struct scan_hit *ret) {
    bool escape = is_escape(s, byte);
    if (!escape && is_word(byte)) {
        if (s->length < sizeof s->word)
            s->word[s->length++] = (char)byte;
        return false;
    }
    bool found = s->length && end_word(s, byte, ret);
    s->length = 0;
    s->before_that = s->before;
    s->before = byte;
    if (byte == '\n')
        s->in_callers = s->in_register = false;
    return found;
}
