/*
 * Tells by Go's table of functions whether a file holds Go code. Stripping keeps this table.
 *
 * The table is aligned. It begins with a layout number, two zeros, and the sizes of the shortest
 * instruction and of a word (runtime/symtab.go, pcHeader). On 32-bit Arm Go's code is A32.
 */
#include <elf.h>
#include <string.h>

#include "elf/internal.h"

static uint8_t shortest_instruction(const struct module *m) {
    enum { WORD = 4 };
    return m->machine == EM_X86_64 ? 1 : WORD;
}

static bool holds_table(const struct module *m, const struct section *s) {
    const uint8_t head[] = {0xff, 0xff, 0xff, 0, 0, shortest_instruction(m), m->word_bytes};
    for (uint64_t i = -s->start % m->word_bytes; s->bytes && i + 1 + sizeof head <= s->size;
         i += m->word_bytes)
        if (memcmp(s->bytes + i + 1, head, sizeof head) == 0)
            return true;
    return false;
}

/* Without section headers, sections are parts of segments with names like "(data)". */
bool module_is_go(const struct module *m) {
    static const char name[] = "gopclntab"; /* .gopclntab, .data.rel.ro.gopclntab */
    for (size_t i = 0; i < m->section_count; i++) {
        const char *dot = strrchr(m->sections[i].name, '.');
        if (dot ? strcmp(dot + 1, name) == 0
                : m->sections[i].name[0] == '(' && holds_table(m, &m->sections[i]))
            return true;
    }
    return false;
}

bool module_is_stripped_go(const struct module *m) {
    for (size_t i = 0; i < m->symbol_count; i++)
        if (strncmp(m->symbols[i].name, "runtime.", strlen("runtime.")) == 0)
            return false;
    return module_is_go(m);
}
