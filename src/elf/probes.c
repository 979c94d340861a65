/*
 * Reads .note.stapsdt (SystemTap's wiki, "UserSpaceProbeImplementation"). A note of type 3 by
 * "stapsdt" has three words: the nop's address, the address of the section .stapsdt.base when the
 * file was linked, the semaphore's address or 0; then three strings: provider, name, arguments.
 * prelink moves sections but not notes, so addresses move with .stapsdt.base.
 */
#include "elf/probes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "elf/cursor.h"
#include "elf/internal.h"
#include "elf/sort.h"

#define PROBE_SECTION ".note.stapsdt"
enum { PROBE_NOTE = 3, NOTE_ALIGN = 4 };

struct reading {
    const struct module *module;
    vaddr_t base; /* of .stapsdt.base; 0: unknown */
    ARRAY(struct probe) list;
};

static uint32_t probe_section(const struct module *m) {
    return image_find_section(&m->priv->file, PROBE_SECTION, SHT_NOTE);
}

bool probes_exist(const struct module *module) { return probe_section(module) != 0; }

static vaddr_t read_word(const struct reading *r, struct cursor *c) {
    return r->module->word_bytes == sizeof(uint64_t) ? cursor_u64(c) : cursor_u32(c);
}

static bool is_text(const struct module *m, vaddr_t addr) {
    const struct segment *s = module_segment_at(m, addr);
    return s && s->executable;
}

static bool is_counter(const struct module *m, vaddr_t addr) {
    const struct segment *s = module_segment_at(m, addr);
    return s && s->writable && s->start + s->size - addr >= sizeof(uint16_t);
}

/* A note's contents. False: they are damaged. */
static bool read_probe(struct reading *r, struct cursor c) {
    const vaddr_t at = read_word(r, &c), base = read_word(r, &c), counter = read_word(r, &c);
    const vaddr_t moved = r->base && base ? r->base - base : 0;
    const char *provider = cursor_string(&c), *name = cursor_string(&c);
    struct probe p = {.addr = at + moved, .semaphore = counter ? counter + moved : 0};
    p.arguments = cursor_string(&c);
    if (r->module->machine == EM_ARM)
        p.addr &= ~(vaddr_t)1;
    if (c.failed || !*provider || !*name || !is_text(r->module, p.addr) ||
        (p.semaphore && !is_counter(r->module, p.semaphore)))
        return false;
    p.name = mem_printf("%s:%s", provider, name);
    ARRAY_PUSH(&r->list, p);
    return true;
}

static uint64_t aligned(uint64_t size) {
    return (size + NOTE_ALIGN - 1) & ~(uint64_t)(NOTE_ALIGN - 1);
}

/* The next note. False: it is damaged. */
static bool read_note(struct reading *r, struct cursor *c) {
    const uint32_t name_bytes = cursor_u32(c), bytes = cursor_u32(c), type = cursor_u32(c);
    const uint8_t *name = cursor_take(c, aligned(name_bytes));
    const uint8_t *contents = cursor_take(c, bytes);
    const uint64_t padding = aligned(bytes) - bytes, left = cursor_left(c);
    if (!name || !contents)
        return false;
    cursor_take(c, padding < left ? padding : left);
    if (type != PROBE_NOTE || name_bytes != sizeof "stapsdt" || memcmp(name, "stapsdt", 8) != 0)
        return true;
    return read_probe(r, cursor_over(contents, bytes, 0));
}

static void keep_one_each(struct probes *probes) {
    size_t kept = 0;
    sort_by_address(probes->at, probes->count, sizeof *probes->at);
    for (size_t i = 0; i < probes->count; i++) {
        if (kept && probes->at[kept - 1].addr == probes->at[i].addr)
            free(probes->at[i].name);
        else
            probes->at[kept++] = probes->at[i];
    }
    probes->count = kept;
}

int probes_read(const struct module *module, struct probes *ret, struct err *err) {
    const struct image *file = &module->priv->file;
    const uint32_t base = image_find_section(file, ".stapsdt.base", SHT_PROGBITS);
    struct reading r = {.module = module, .base = base ? image_section(file, base).sh_addr : 0};
    const uint32_t index = probe_section(module);
    *ret = (struct probes){0};
    if (!index)
        return 0;
    const Elf64_Shdr section = image_section(file, index);
    const uint8_t *bytes = image_section_bytes(file, &section);
    struct cursor c = cursor_over(bytes, bytes ? section.sh_size : 0, 0);
    bool whole = bytes;
    while (whole && cursor_left(&c))
        whole = read_note(&r, &c);
    *ret = (struct probes){r.list.at, r.list.count};
    if (whole) {
        keep_one_each(ret);
        return 0;
    }
    probes_done(ret);
    return err_set(err, ENOEXEC, "corrupt-probes",
                   "%s: damaged notes of USDT probes (" PROBE_SECTION "): its probes are left out",
                   module->path);
}

void probes_done(struct probes *probes) {
    for (size_t i = 0; i < probes->count; i++)
        free(probes->at[i].name);
    free(probes->at);
    *probes = (struct probes){0};
}

const struct probe *probes_at(const struct probes *probes, vaddr_t addr) {
    const size_t i = SEARCH(k, probes->count, probes->at[k].addr < addr);
    return i < probes->count && probes->at[i].addr == addr ? &probes->at[i] : NULL;
}
