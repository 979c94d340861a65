/*
 * Plans and symbols of earlier runs. An entry is found by the contents of the files of which it was
 * made, the planner, and the options that change plans. So a file that was patched or stripped has
 * an entry of its own, though its build ID is the same. The contents' digest is remembered by the
 * file's inode and ctime, so that a file is read as a whole once only.
 *
 * An entry has the module's symbols and its plan in flat form. It is used in place.
 */
#pragma once

#include "base/file_id.h"
#include "cache/folder.h"
#include "elf/module.h"
#include "plan/plan.h"

struct plan_cache {
    struct folder folder;
};

struct plan_cache_key { /* of one module */
    bool known;
    bool trusted;                 /* no other user can change the files */
    uint8_t digest[DIGEST_BYTES]; /* of all but the tier */
    uint8_t file[DIGEST_BYTES];   /* of what the module's own file contains */
};

/* MOST_BYTES 0: no cache. Never fails: what cannot be used is not used. */
struct plan_cache plan_cache_open(uint64_t most_bytes);
void plan_cache_close(struct plan_cache *cache);

/* Looks for the plan of MODULE, opened with MODULE_LATER, with the tier ONLY (TIER_NONE: any). If
 * there is one, gives MODULE its symbols, and returns the plan by *RET. Otherwise completes MODULE
 * and returns false. In both cases *RET_KEY is what plan_cache_store() needs. */
bool plan_cache_find(const struct plan_cache *cache, struct module *module, enum tier only,
                     struct plan_cache_key *ret_key, struct plan **ret);
/* True if the file of MODULE still contains what it did when plan_cache_find() made KEY. */
bool plan_cache_key_is_of(const struct plan_cache_key *key, const struct module *module);
/* Keeps PLAN, which was made of MODULE with the tier ONLY after plan_cache_find() and is still
 * unchanged; then forgets the module's files. PLAN may be NULL. */
void plan_cache_store(const struct plan_cache *cache, struct module *module,
                      const struct plan_cache_key *key, enum tier only, const struct plan *plan);
/*
 * Code that was emitted of a plan, and its outline, which tells where the code fits. Entries are
 * found by the plan's key and by the request, but for what plan_code_adapt() changes. There may be
 * several cases of one request: areas of other sizes, or other functions that are not in the code
 * as their puns are lost.
 */
enum { CODE_CASES = 8 };

struct code_case {
    const struct plan *plan;
    const struct plan_cache_key *key; /* of the request */
    unsigned number;                  /* < CODE_CASES */
};

/* R is for PLAN, whose key is KEY, with the tier ONLY. Unknown: such code is not kept. */
struct plan_cache_key plan_cache_code_key(const struct plan_cache_key *key, enum tier only,
                                          const struct plan *plan, const struct plan_request *r);
/* Finds all of WHICH if WHOLE, else its outline. The caller frees RET by
 * plan_code_done(), and must not use ret->text afterwards. */
bool plan_cache_find_code(const struct plan_cache *cache, struct code_case which, bool whole,
                          struct kept_code *ret);
void plan_cache_store_code(const struct plan_cache *cache, struct code_case which,
                           const struct kept_code *code);

/* What was found out about a file: ANSWER to QUESTION. FILE may be fresh: nothing is known or kept
 * then. False: not known. */
bool plan_cache_recall(const struct plan_cache *cache, const struct file_id *file,
                       const char *question, bool *ret_answer);
void plan_cache_remember(const struct plan_cache *cache, const struct file_id *file,
                         const char *question, bool answer);

/* The plan of MODULE, from the cache or new. As plan_new_with_tier(). */
int plan_cache_plan(const struct plan_cache *cache, struct module *module, enum tier only,
                    struct plan **ret, struct err *err);
