/* Expands the templates of arch/disasm.h. */
#include "arch/disasm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void disasm_add(struct disasm *d, const char *format, ...) {
    size_t room = FORMAT_BYTES - d->used;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(d->out + d->used, room, format, list);
    va_end(list);
    if (n > 0)
        d->used += (size_t)n < room ? (size_t)n : room - 1;
}

static bool expand(struct disasm *d, const char *p, const char *end);

/* P: the text behind "<LOW:". */
static bool expand_choice(struct disasm *d, unsigned low, const char *p) {
    uint32_t count = 1;
    for (const char *q = p; *q != '>'; q++)
        count += *q == '|';
    for (uint32_t skip = d->word >> low & (count - 1); skip; skip--)
        p = strchr(p, '|') + 1;
    return *p != '?' && expand(d, p, p + strcspn(p, "|>"));
}

/* P: the text behind '<'. */
static bool expand_field(struct disasm *d, const char *p) {
    char *end;
    unsigned low = (unsigned)strtoul(p, &end, 10);
    if (*end == ':')
        return expand_choice(d, low, end + 1);
    unsigned count = (unsigned)strtoul(end + 1, &end, 10);
    uint32_t value = d->word >> low & ((UINT32_C(1) << count) - 1);
    if (*end == '*')
        value *= (uint32_t)strtoul(end + 1, &end, 10);
    if (*end == '+')
        value += (uint32_t)strtoul(end + 1, &end, 10);
    disasm_add(d, *end == 'x' ? "0x%" PRIx32 : "%" PRIu32, value);
    return true;
}

/* P: the text behind '%'. Returns how many letters it used, 0 if the row does not fit. */
static size_t expand_operand(struct disasm *d, const char *p) {
    size_t letters = d->print_register ? d->print_register(d, p) : 0;
    if (letters)
        return letters;
    const struct operand *o = d->operands;
    while (o->letter && o->letter != *p)
        o++;
    if (o->text && !disasm_expand(d, o->text))
        return 0;
    if (o->print)
        o->print(d);
    return 1;
}

static void add_condition(struct disasm *d) {
    disasm_add(d, "%s", d->condition ? d->condition : "");
    d->condition = NULL;
}

static bool expand(struct disasm *d, const char *p, const char *end) {
    while (p < end) {
        if (*p == '<') {
            if (!expand_field(d, p + 1))
                return false;
            p = strchr(p, '>') + 1;
        } else if (*p == '%') {
            size_t letters = expand_operand(d, p + 1);
            if (!letters)
                return false;
            p += 1 + letters;
        } else {
            if (*p == '.' || *p == ' ')
                add_condition(d);
            disasm_add(d, "%c", *p++);
        }
    }
    return true;
}

bool disasm_expand(struct disasm *d, const char *text) {
    return expand(d, text, text + strlen(text));
}

bool disasm_print(struct disasm *d, const struct opcode *rows) {
    const size_t used = d->used;
    const char *condition = d->condition;
    for (;; rows++) {
        if ((d->word & rows->mask) != rows->value)
            continue;
        if (!rows->text)
            return false;
        if (disasm_expand(d, rows->text))
            break;
        d->used = used;
        d->out[used] = '\0';
        d->condition = condition;
    }
    add_condition(d);
    return true;
}
