/* See elf_invariants.h. The promises are those of src/elf/module.h. */
#include "elf_invariants.h"

#include <elf.h>
#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/probes.h"

static void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "module invariant violated: %s\n", what);
    abort();
}

static uint8_t sum_of(const uint8_t *bytes, uint64_t size) {
    uint8_t sum = 0;
    for (uint64_t i = 0; i < size; i++)
        sum += bytes[i];
    return sum;
}

static bool is_text(const struct module *module, vaddr_t addr) {
    const struct segment *segment = module_segment_at(module, addr);
    return segment && segment->executable;
}

static void check_probes(const struct module *module) {
    struct probes probes;
    struct err err = {0};
    volatile uint8_t sum = 0;
    int r = probes_read(module, &probes, &err);
    require(r == 0 || (r == -ENOEXEC && err.text[0] && !probes.count), "result of probes");
    for (size_t i = 0; i < probes.count; i++) {
        const struct probe *p = &probes.at[i];
        require(i == 0 || p[-1].addr < p->addr, "probes in order, each place once");
        require(is_text(module, p->addr), "probe lies in code");
        require(!p->semaphore || module_segment_at(module, p->semaphore)->writable, "counter");
        require(strchr(p->name, ':') && probes_at(&probes, p->addr) == p, "probe is found");
        sum += (uint8_t)strlen(p->arguments);
    }
    probes_done(&probes);
    (void)sum;
}

static void check_layout(const struct module *module) {
    volatile uint8_t sum = 0;
    require(module->segment_count > 0, "has segments");
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *s = module->segments + i;
        require(s->file_size <= s->size && s->start + s->size >= s->start, "segment's size");
        require(i == 0 || s[-1].start + s[-1].size <= s->start, "segments in order");
        require(s->start >= module->low && s->start + s->size <= module->high, "span");
        sum += sum_of(s->bytes, s->file_size);
    }
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        require(i == 0 || s[-1].start + s[-1].size <= s->start, "sections in order");
        require(module_section_at(module, s->start + s->size - 1) == s, "section is found");
        require(s->name != NULL, "section has a name");
        sum += (uint8_t)strlen(s->name);
        if (s->bytes)
            require(s->bytes == module_bytes(module, s->start, s->size), "section's bytes");
    }
    (void)sum;
}

static void check_symbols(const struct module *module) {
    for (size_t i = 0; i < module->symbol_count; i++) {
        const struct symbol *s = module->symbols + i;
        require(i == 0 || s[-1].addr <= s->addr, "symbols in order");
        require(s->name[0] && !strchr(s->name + 1, '@'), "symbol's name");
        require(module_segment_at(module, s->addr) != NULL, "symbol lies in memory");
    }
    size_t last = module->symbol_count;
    for (size_t i = 0; i < last; i += 1 + last / 64) {
        const struct symbol *found = module_symbol_named(module, module->symbols[i].name);
        require(found && strcmp(found->name, module->symbols[i].name) == 0, "symbol is found");
    }
}

static void check_rows(const struct module *module, const struct unwind_range *range) {
    require(range->row_count > 0, "range has rows");
    require((size_t)range->first_row + range->row_count <= module->row_count, "rows exist");
    const struct cfa_row *rows = module->rows + range->first_row;
    require(rows[0].pc == range->start, "first row's pc");
    for (uint32_t i = 0; i < range->row_count; i++) {
        require(rows[i].pc < range->end, "row inside its range");
        require(rows[i].reg >= CFA_EXPRESSION, "row's register");
        require(module_row_at(module, range, rows[i].pc) == rows + i, "row is found");
        if (i == 0)
            continue;
        require(rows[i - 1].pc < rows[i].pc, "rows in order");
        require(rows[i - 1].reg != rows[i].reg || rows[i - 1].offset != rows[i].offset,
                "equal rows are one");
    }
}

static void check_ranges(const struct module *module) {
    size_t rows = 0;
    for (size_t i = 0; i < module->range_count; i++) {
        const struct unwind_range *range = module->ranges + i;
        require(range->start < range->end, "range is not empty");
        require(i == 0 || range[-1].end <= range->start, "ranges in order");
        require(is_text(module, range->start) && is_text(module, range->end - 1), "range of text");
        require(module_range_at(module, range->end - 1) == range, "range is found");
        require(range->first_row == rows, "rows in the order of ranges");
        check_rows(module, range);
        rows += range->row_count;
    }
    require(rows == module->row_count, "each row has a range");
}

static void check_refs(const struct module *module) {
    for (size_t i = 0; i < module->ref_count; i++) {
        const struct code_ref *ref = module->refs + i;
        require(i == 0 || ref[-1].target <= ref->target, "references in order");
        require(is_text(module, ref->target), "reference to text");
    }
    for (size_t i = 0; i < module->patchable_count; i++) {
        const struct patchable *patchable = module->patchables + i;
        require(i == 0 || patchable[-1].addr <= patchable->addr, "patchables in order");
        require(is_text(module, patchable->addr), "patchable text");
    }
}

static void check_marks(const struct module *module) {
    require(module->machine == EM_ARM || (!module->mark_count && !module->exception_count),
            "marks and exceptions are Arm's");
    for (size_t i = 0; i < module->mark_count; i++) {
        const struct code_mark *mark = module->marks + i;
        require(i == 0 || mark[-1].addr < mark->addr, "marks in order, each once");
        require(is_text(module, mark->addr) && mark->state <= CODE_DATA, "mark of text");
        require(module->marks_complete || !(mark->addr & 1), "no bit of the state is left");
    }
    for (size_t i = 0; i < module->exception_count; i++) {
        const struct exception_range *range = module->exceptions + i;
        require(range->start < range->end, "exception range is not empty");
        require(i == 0 || range[-1].end <= range->start, "exception ranges in order");
        require(is_text(module, range->start), "exception range of text");
        require(!range->lsda || module_bytes(module, range->lsda, 1), "its data is there");
    }
}

void elf_check_invariants(const struct module *module) {
    require(module->word_bytes == 8 || module->word_bytes == 4, "size of words");
    require(module->build_id_size <= sizeof module->build_id, "build ID's size");
    require(strcmp(module->path + strlen(module->path) - strlen(module->name), module->name) == 0,
            "name is the path's end");
    check_layout(module);
    check_probes(module);
    check_symbols(module);
    check_ranges(module);
    check_refs(module);
    check_marks(module);
}
