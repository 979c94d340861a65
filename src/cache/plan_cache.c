/* Makes keys, and reads and writes entries. */
#include "cache/plan_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/version.h"
#include "base/log.h"
#include "cache/packed.h"
#include "cache/planner_version.h"
#include "elf/files.h"

struct plan_cache plan_cache_open(uint64_t most_bytes) {
    struct plan_cache cache = {{.fd = -1}};
    if (most_bytes)
        cache.folder = folder_open(most_bytes);
    return cache;
}

void plan_cache_close(struct plan_cache *cache) { folder_close(&cache->folder); }

/* Writes PREFIX and DIGEST in hexadecimal. */
static void name_of(char ret[FOLDER_NAME_BYTES], const char *prefix, const uint8_t *digest) {
    int n = snprintf(ret, FOLDER_NAME_BYTES, "%s", prefix);
    for (int i = 0; i < DIGEST_BYTES; i++)
        n += snprintf(ret + n, (size_t)(FOLDER_NAME_BYTES - n), "%02x", digest[i]);
}

/* ---- what a file contains, by its identity ---- */

/* The digest of a file's identity names what is known of it. */
static void identity_digest(const struct file_id *id, uint8_t ret[DIGEST_BYTES]) {
    const uint64_t words[] = {id->device, id->inode, id->size, (uint64_t)id->changed_ns};
    struct digest d;
    digest_init(&d);
    digest_add(&d, PLANNER_VERSION, sizeof PLANNER_VERSION); /* it tells what is digested */
    digest_add(&d, words, sizeof words);
    digest_finish(&d, ret);
}

static bool recall(const struct folder *folder, const uint8_t identity[DIGEST_BYTES],
                   uint8_t ret[DIGEST_BYTES]) {
    char name[FOLDER_NAME_BYTES];
    struct folder_file file;
    name_of(name, "file-", identity);
    if (!folder_read(folder, name, identity, true, &file))
        return false;
    const uint8_t *known = flat_take(&file.contents, DIGEST_BYTES, 1);
    if (known)
        memcpy(ret, known, DIGEST_BYTES);
    mem_unmap(file.pages, file.size);
    return known;
}

static void write_digest(struct flat_writer *w, void *ctx) { flat_put(w, ctx, DIGEST_BYTES); }

static void remember(const struct folder *folder, const uint8_t identity[DIGEST_BYTES],
                     uint8_t digest[DIGEST_BYTES]) {
    char name[FOLDER_NAME_BYTES];
    name_of(name, "file-", identity);
    folder_write(folder, name, identity, write_digest, digest);
}

/* What the file WHICH of MODULE contains. All 0: there is no such file. */
static void contents_digest(const struct folder *folder, const struct module *module,
                            enum module_file which, uint8_t ret[DIGEST_BYTES]) {
    uint8_t identity[DIGEST_BYTES];
    struct file_id id;
    struct digest d;
    memset(ret, 0, DIGEST_BYTES);
    if (!module_file_id(module, which, &id))
        return;
    identity_digest(&id, identity);
    if (!id.fresh && recall(folder, identity, ret))
        return;
    digest_init(&d);
    module_file_digest(module, which, &d);
    digest_finish(&d, ret);
    if (module_files_are_trusted(module) && module_files_are_same(module))
        remember(folder, identity, ret);
}

/* ---- entries ---- */

/* Plans do not depend on the processor's features: the options of plan_emit() do. */
static struct plan_cache_key key_of(const struct folder *folder, const struct module *module) {
    const uint64_t words[] = {arch_version(), sizeof(void *), module->build_id_size};
    struct plan_cache_key key = {.known = true};
    struct digest d;
    digest_init(&d);
    digest_add(&d, PLANNER_VERSION, sizeof PLANNER_VERSION);
    digest_add(&d, words, sizeof words);
    digest_add(&d, module->build_id, module->build_id_size);
    for (int i = 0; i < MODULE_FILES; i++) {
        uint8_t contents[DIGEST_BYTES];
        contents_digest(folder, module, (enum module_file)i, contents);
        digest_add(&d, contents, sizeof contents);
        if (i == MODULE_FILE)
            memcpy(key.file, contents, sizeof contents);
    }
    digest_finish(&d, key.digest);
    return key;
}

/* The entry of a plan with the tier ONLY. RET_KEY: what the entry is written with. */
static void entry_of(const struct plan_cache_key *key, enum tier only,
                     char ret_name[FOLDER_NAME_BYTES], uint8_t ret_key[DIGEST_BYTES]) {
    const uint64_t tier = only;
    struct digest d;
    digest_init(&d);
    digest_add(&d, key->digest, sizeof key->digest);
    digest_add(&d, &tier, sizeof tier);
    digest_finish(&d, ret_key);
    name_of(ret_name, "plan-", ret_key);
}

bool plan_cache_key_is_of(const struct plan_cache_key *key, const struct module *module) {
    uint8_t now[DIGEST_BYTES];
    struct digest d;
    if (!key->known)
        return false;
    digest_init(&d);
    module_file_digest(module, MODULE_FILE, &d);
    digest_finish(&d, now);
    return memcmp(now, key->file, sizeof now) == 0;
}

/* Takes FILE's memory over if it is an entry. */
static bool use(struct module *module, struct folder_file *file, struct plan **ret) {
    if (!flat_symbols_read(module, &file->contents, file->pages, file->size)) {
        mem_unmap(file->pages, file->size);
        return false;
    }
    return plan_read_flat(module, &file->contents, ret);
}

bool plan_cache_find(const struct plan_cache *cache, struct module *module, enum tier only,
                     struct plan_cache_key *ret_key, struct plan **ret) {
    const struct folder *folder = &cache->folder;
    char name[FOLDER_NAME_BYTES];
    uint8_t key[DIGEST_BYTES];
    struct file_id id;
    struct folder_file file;
    *ret_key = (struct plan_cache_key){0};
    if (module_file_id(module, MODULE_FILE, &id)) {
        *ret_key = key_of(folder, module);
        entry_of(ret_key, only, name, key);
        ret_key->known = module_files_may_be_same(module); /* read so far, and digested */
        ret_key->trusted = module_files_are_trusted(module);
        if (ret_key->known && folder_read(folder, name, key, true, &file) &&
            use(module, &file, ret)) {
            log_print(2, "%s: its plan is in the cache", module->name);
            module_forget_files(module);
            if (module_is_go(module) && module_is_stripped_go(module))
                module_complete(module); /* its unwind ranges are needed when it is stopped */
            return true;
        }
    }
    module_complete(module);
    return false;
}

struct entry {
    const struct module *module;
    const struct plan *plan;
};

static void write_entry(struct flat_writer *w, void *ctx) {
    const struct entry *e = ctx;
    AUTO_FREE uint32_t *names = NULL;
    flat_symbols_write(e->module, w, &names);
    plan_write_flat(e->plan, w, names);
    if (!module_files_are_same(e->module) && !w->failed)
        w->failed = -ESTALE;
}

void plan_cache_store(const struct plan_cache *cache, struct module *module,
                      const struct plan_cache_key *key, enum tier only, const struct plan *plan) {
    char name[FOLDER_NAME_BYTES];
    uint8_t entry_key[DIGEST_BYTES];
    struct entry entry = {module, plan};
    if (key->known && plan && cache->folder.fd >= 0 && module_files_are_trusted(module) &&
        module_files_are_same(module)) {
        entry_of(key, only, name, entry_key);
        folder_write(&cache->folder, name, entry_key, write_entry, &entry);
    }
    module_forget_files(module);
}

/* ---- code ---- */

struct plan_cache_key plan_cache_code_key(const struct plan_cache_key *key, enum tier only,
                                          const struct plan *plan, const struct plan_request *r) {
    struct plan_cache_key ret = {.known = key->known && key->trusted &&
                                          plan_request_may_be_kept(plan, r)};
    const uint64_t tier = only;
    struct digest d;
    if (!ret.known)
        return ret;
    digest_init(&d);
    digest_add(&d, key->digest, sizeof key->digest);
    digest_add(&d, &tier, sizeof tier);
    plan_request_digest(plan, r, &d);
    digest_finish(&d, ret.digest);
    return ret;
}

static void case_digest(struct code_case which, uint8_t ret[DIGEST_BYTES]) {
    struct digest d;
    digest_init(&d);
    digest_add(&d, which.key->digest, sizeof which.key->digest);
    digest_add(&d, &which.number, sizeof which.number);
    digest_finish(&d, ret);
}

/* The area and the marks stay packed until they are used: that may be never, and memory that is not
 * touched costs nothing. */
static bool use_packed_code(struct code_case which, struct folder_file *file,
                            struct kept_code *ret) {
    struct packed *packed = packed_open(file);
    struct span later[PLAN_CODE_LATER];
    if (!packed)
        return false;
    struct flat_reader contents = packed_contents(packed);
    plan_code_later(&contents, later);
    if (!packed_unpack(packed, later, PLAN_CODE_LATER) ||
        !plan_code_read_flat(which.plan, &contents, ret)) {
        packed_close(packed);
        return false;
    }
    ret->code.pages = packed_contents(packed).at;
    ret->code.source = packed_source(packed);
    return true;
}

/* Takes FILE's memory over, or returns false. */
static bool use_code(struct code_case which, struct folder_file *file, struct kept_code *ret) {
    const uint64_t *packed = flat_take(&file->contents, 1, sizeof *packed);
    if (!packed || *packed)
        return packed && use_packed_code(which, file, ret);
    if (!plan_code_read_flat(which.plan, &file->contents, ret))
        return false;
    ret->code.pages = file->pages;
    ret->code.pages_size = file->size;
    return true;
}

bool plan_cache_find_code(const struct plan_cache *cache, struct code_case which, bool whole,
                          struct kept_code *ret) {
    char name[FOLDER_NAME_BYTES];
    uint8_t digest[DIGEST_BYTES];
    struct folder_file file;
    if (!which.key->known)
        return false;
    case_digest(which, digest);
    name_of(name, whole ? "code-" : "outline-", digest);
    if (!folder_read(&cache->folder, name, digest, true, &file))
        return false;
    const bool used = use_code(which, &file, ret);
    if (!used && file.pages)
        mem_unmap(file.pages, file.size);
    return used;
}

struct code_entry {
    const struct plan *plan;
    const struct kept_code *code;
};

static void put_code(struct flat_writer *w, void *ctx) {
    const struct code_entry *e = ctx;
    plan_code_write_flat(e->plan, e->code, w);
}

static void put_is_packed(struct flat_writer *w, bool is_packed) {
    const uint64_t packed = is_packed;
    flat_put(w, &packed, sizeof packed);
    flat_align(w);
}

/* Of a large module eight entries would fill the cache, and push each other out. Small ones are
 * used as they are mapped. */
static void write_code(struct flat_writer *w, void *ctx) {
    enum { LARGE = 32 << 20 };
    const struct code_entry *e = ctx;
    const bool is_large = e->code->code.area_used >= LARGE;
    put_is_packed(w, is_large);
    if (is_large)
        packed_write(w, put_code, ctx);
    else
        put_code(w, ctx);
}

static void write_outline(struct flat_writer *w, void *ctx) {
    const struct code_entry *e = ctx;
    put_is_packed(w, false);
    plan_code_write_outline(e->plan, e->code, w);
}

void plan_cache_store_code(const struct plan_cache *cache, struct code_case which,
                           const struct kept_code *code) {
    char name[FOLDER_NAME_BYTES];
    uint8_t digest[DIGEST_BYTES];
    struct code_entry entry = {which.plan, code};
    if (!which.key->known || cache->folder.fd < 0 ||
        !plan_code_may_be_kept(which.plan, &code->code))
        return;
    case_digest(which, digest);
    name_of(name, "code-", digest);
    folder_write(&cache->folder, name, digest, write_code, &entry);
    name_of(name, "outline-", digest);
    folder_write(&cache->folder, name, digest, write_outline, &entry);
}

/* ---- answers ---- */

static void question_digest(const struct file_id *file, const char *question,
                            uint8_t ret[DIGEST_BYTES]) {
    struct digest d;
    identity_digest(file, ret);
    digest_init(&d);
    digest_add(&d, ret, DIGEST_BYTES);
    digest_add(&d, PLANNER_VERSION, sizeof PLANNER_VERSION);
    digest_add(&d, question, strlen(question));
    digest_finish(&d, ret);
}

bool plan_cache_recall(const struct plan_cache *cache, const struct file_id *file,
                       const char *question, bool *ret_answer) {
    char name[FOLDER_NAME_BYTES];
    uint8_t digest[DIGEST_BYTES];
    struct folder_file entry;
    question_digest(file, question, digest);
    name_of(name, "answer-", digest);
    if (file->fresh || !folder_read(&cache->folder, name, digest, true, &entry))
        return false;
    *ret_answer = *entry.contents.at;
    mem_unmap(entry.pages, entry.size);
    return true;
}

static void write_answer(struct flat_writer *w, void *ctx) { flat_put(w, ctx, 1); }

void plan_cache_remember(const struct plan_cache *cache, const struct file_id *file,
                         const char *question, bool answer) {
    char name[FOLDER_NAME_BYTES];
    uint8_t digest[DIGEST_BYTES], byte = answer;
    question_digest(file, question, digest);
    name_of(name, "answer-", digest);
    if (!file->fresh)
        folder_write(&cache->folder, name, digest, write_answer, &byte);
}

int plan_cache_plan(const struct plan_cache *cache, struct module *module, enum tier only,
                    struct plan **ret, struct err *err) {
    struct plan_cache_key key = {0};
    if (cache->folder.fd < 0) /* no key is needed */
        module_complete(module);
    else if (plan_cache_find(cache, module, only, &key, ret))
        return 0;
    int rc = plan_new_with_tier(module, only, ret, err);
    plan_cache_store(cache, module, &key, only, rc == 0 ? *ret : NULL);
    return rc;
}
