/* See code_file.h. */
#include "patch/code_file.h"

#include <string.h>

#include "patch/undolog.h"

/* Of a module with few sites, code is emitted as fast as it is read. */
enum { LEAST_FUNCTIONS = 64 };

static struct code_case case_of(const struct patched *p, const struct plan_cache_key *key,
                                unsigned number) {
    return (struct code_case){p->traced_module->plan, key, number};
}

struct code_file code_file_find(const struct patched *p, const struct plan_request *q) {
    const struct traced_module *m = p->traced_module;
    struct code_file file = {.found = false};
    if (plan_function_count(m->plan) >= LEAST_FUNCTIONS)
        file.key = plan_cache_code_key(&m->key, m->only, m->plan, q);
    file.found = plan_cache_find_code(m->cache, case_of(p, &file.key, 0), false, &file.first);
    file.need = file.found ? file.first.need : plan_need(m->plan, q);
    return file;
}

/* Whether case NUMBER fits Q. Another process may have written it anew since its outline was read.
 */
static bool take(const struct patched *p, const struct plan_request *q, struct code_case which,
                 struct kept_code *ret) {
    if (!plan_cache_find_code(p->traced_module->cache, which, true, ret))
        return false;
    if (plan_code_adapt(which.plan, q, ret))
        return true;
    plan_code_done(&ret->code);
    return false;
}

/* If none can be taken, file->cases is the number for a new one: that of an outline that fits, and
 * whose code was removed; else the first that is free. */
static bool find_fitting(struct code_file *file, const struct plan_request *q,
                         const struct patched *p, struct kept_code *ret) {
    struct kept_code outline = file->first;
    for (file->cases = 0; file->cases < CODE_CASES; file->cases++) {
        const struct code_case which = case_of(p, &file->key, file->cases);
        const bool first = !file->cases;
        if (first ? !file->found
                  : !plan_cache_find_code(p->traced_module->cache, which, false, &outline))
            break;
        const bool fits = plan_code_fits(which.plan, q, &outline);
        if (!first)
            plan_code_done(&outline.code);
        if (fits)
            return take(p, q, which, ret);
    }
    return false;
}

bool code_file_use(struct code_file *file, const struct plan_request *q, struct patched *p) {
    struct code *code = p->code;
    struct kept_code kept;
    if (!find_fitting(file, q, p, &kept))
        return false;
    code->bias = kept.bias;
    code->emitted = kept.code;
    ARRAY_RESERVE(&code->looked, kept.text_count);
    if (kept.text_count)
        memcpy(code->looked.at, kept.text, kept.text_count * sizeof *kept.text);
    code->looked.count = kept.text_count;
    return true;
}

void code_file_add(const struct code_file *file, struct patched *p) {
    struct code *code = p->code;
    code->key = file->key;
    code->key.known &= file->cases < CODE_CASES;
    code->number = file->cases;
    code->need = file->need;
}

void code_file_close(struct code_file *file) {
    if (file->found)
        plan_code_done(&file->first.code);
    file->found = false;
}

/* Whether the file was not changed since the plan's module was made of it. */
static bool is_unchanged(const struct traced_module *m) {
    struct stat st;
    if (stat(m->module->path, &st) < 0)
        return false;
    const struct file_id now = file_id_of(&st);
    return file_id_is_same(&now, &m->file);
}

void code_file_keep(struct patched *p) {
    struct code *code = p->code;
    const struct traced_module *m = p->traced_module;
    const struct kept_code kept = {.code = code->emitted,
                                   .need = code->need,
                                   .bias = code->bias,
                                   .area = p->area - patched_moved(p),
                                   .area_size = p->room - undolog_bytes(p),
                                   .first_id = m->first_id,
                                   .text = code->looked.at,
                                   .text_count = code->looked.count};
    if (code->key.known && code->looked.count && is_unchanged(m))
        plan_cache_store_code(m->cache, case_of(p, &code->key, code->number), &kept);
    code->key.known = false;
}
