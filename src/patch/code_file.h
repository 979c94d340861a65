/*
 * Emitted code of earlier recordings, in files (cache/plan_cache.h). The code of one module is
 * looked for when its area is to be chosen. It is kept once its text was compared with the file: an
 * entry says what text that was, too.
 */
#pragma once

#include "patch/patched.h"

struct code_file {
    struct plan_cache_key key;
    struct kept_code first; /* the outline of the first case; of use if `found` */
    bool found;
    struct plan_need need; /* of the request */
    unsigned cases;        /* how many there are, as far as is known */
};

/* Looks for code for P and the request Q, whose area is not set yet. */
struct code_file code_file_find(const struct patched *p, const struct plan_request *q);
/* Makes it P's code, if some case of it fits Q. */
bool code_file_use(struct code_file *file, const struct plan_request *q, struct patched *p);
/* P's code was emitted instead: it will be kept, if that many cases may be. */
void code_file_add(const struct code_file *file, struct patched *p);
void code_file_close(struct code_file *file);
/* Keeps P's code, if it is to be kept, and its text is as in the file. */
void code_file_keep(struct patched *p);
