/* The parts of code_read() that are not steps of it, and small questions about its result. */
#include "plan/code/code.h"

#include <string.h>

#include "plan/code/plt_stubs.h"
#include "plan/code/reading.h"
#include "plan/code/roles.h"

static size_t bits_bytes(const struct texts *texts) { return bitmap_bytes(texts->places) + 1; }

uint8_t *place_bits_new(const struct texts *texts, const uint8_t *from) {
    uint8_t *ret = mem_map_whole(bits_bytes(texts));
    return from ? memcpy(ret, from, bits_bytes(texts)) : ret;
}

void place_bits_free(const struct texts *texts, uint8_t *bits) {
    mem_unmap(bits, bits_bytes(texts));
}

bool insn_at(const struct code *code, vaddr_t addr) {
    const struct text *t = text_at(code->texts, addr);
    return t && insn_begins(code, t, addr);
}

vaddr_t insn_before(const struct code *code, const struct text *text, vaddr_t addr) {
    for (vaddr_t p = addr - 1; text_holds(text, p) && addr - p <= UNIT_MAX_BYTES; p--) {
        if (insn_begins(code, text, p))
            return p + insn_size(code, text, p) == addr ? p : 0;
    }
    return 0;
}

size_t transfer_at(const struct code *code, vaddr_t from) {
    return SEARCH(i, code->transfers.count, code->transfers.at[i].from < from);
}

void code_note(const struct code *code, uint8_t *bitmap, vaddr_t addr) {
    const struct text *t = text_at(code->texts, addr);
    if (t && code_is_aligned(code, t, addr)) /* else ADDR is no address of code */
        bitmap_set_shared(bitmap, text_place(t, addr));
}

void code_note_called(const struct code *code, vaddr_t addr, bool taken) {
    uint32_t i = code_func_at(code, addr);
    const struct func *f = i == NO_FUNC ? NULL : &code->funcs[i];
    if (!f || !func_is_start(f, addr) || !code_is_aligned(code, f->text, addr))
        return;
    if (addr == f->start)
        flag_set(&code->by_func[i].called);
    if (addr == f->body)
        flag_set(&code->by_func[i].body_called);
    if (addr == f->start && taken)
        flag_set(&code->by_func[i].taken);
}

void code_keep(const struct code *code, vaddr_t addr, uint64_t size) {
    const struct text *t = text_at(code->texts, addr);
    for (uint64_t i = 0; t && i < size && text_holds(t, addr + i); i++)
        bitmap_set_shared(code->kept, text_place(t, addr + i));
}

static bool returns_twice(const char *name) { return name && role_returns_twice(name); }

static void find_returns_twice(struct reading *r) {
    functions_by_name(r->code->states, returns_twice, &r->returns_twice);
    for (size_t i = 0; i < r->module->import_count; i++) {
        if (returns_twice(r->module->imports[i].name))
            ARRAY_PUSH(&r->returns_twice, r->module->imports[i].slot);
    }
    list_sort(&r->returns_twice);
}

address_list data_starts_find(const struct code *code) {
    address_list ret = {0};
    for (size_t i = 0; i < code->loads.count; i++)
        ARRAY_PUSH(&ret, code->loads.at[i].address);
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->kind == INSN_JUMP_INDIRECT && t->to)
            ARRAY_PUSH(&ret, t->to);
    }
    list_sort(&ret);
    return ret;
}

struct code code_read(const struct functions *functions) {
    const struct texts *texts = functions->texts;
    struct code ret = {.module = texts->module,
                       .arch = texts->arch,
                       .texts = texts,
                       .states = functions->states,
                       .sleds = functions->sleds,
                       .functions = functions,
                       .funcs = functions->at,
                       .func_count = functions->count,
                       .insns = mem_map_whole(texts->places + 1),
                       .refers = place_bits_new(texts, NULL),
                       .targets = place_bits_new(texts, NULL),
                       .return_points = place_bits_new(texts, NULL),
                       .kept = place_bits_new(texts, NULL)};
    ret.by_func = mem_alloc((functions->count + 1) * sizeof *ret.by_func);
    struct reading r = {.code = &ret, .module = texts->module};
    find_returns_twice(&r);
    decode_all(&r);
    literals_settle(&r);
    for (size_t i = 0; i < ret.sleds->count; i++)
        code_keep(&ret, ret.sleds->at[i].start, ret.sleds->at[i].end - ret.sleds->at[i].start);
    targets_note(&ret);
    transfers_resolve(&ret);
    sort_by_address(ret.to_returns.at, ret.to_returns.count, sizeof *ret.to_returns.at);
    ARRAY_FREE(&r.returns_twice);
    ARRAY_FREE(&r.literals);
    ARRAY_FREE(&r.undecodable);
    return ret;
}

void code_done(struct code *code) {
    mem_unmap(code->insns, code->texts->places + 1);
    place_bits_free(code->texts, code->refers);
    place_bits_free(code->texts, code->targets);
    place_bits_free(code->texts, code->return_points);
    place_bits_free(code->texts, code->kept);
    free(code->by_func);
    ARRAY_FREE(&code->transfers);
    ARRAY_FREE(&code->to_returns);
    ARRAY_FREE(&code->loads);
    ARRAY_FREE(&code->bases);
    ARRAY_FREE(&code->switches);
    ARRAY_FREE(&code->flag_callees);
    ARRAY_FREE(&code->second_returns);
}
