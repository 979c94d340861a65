/*
 * Makes captures: of what a user asks for, or of all arguments and the result by their types.
 * Arguments are captured at entries, results at returns. Of a tail call nothing is: the function
 * that it goes on to has the result.
 */
#pragma once

#include "base/err.h"
#include "elf/module.h"
#include "types/signature.h"
#include "values/abi.h"

struct formats;

struct values_request {
    struct types *types;               /* of the signature; types that SPEC names are added */
    const struct signature *signature; /* NULL: not known; only argN, fpargN, %REGISTER are */
    enum abi abi;                      /* of the machine; values_abi() */
    enum event_kind kind;
    const char *spec;        /* as in values/spec.h; NULL: by types */
    bool by_types;           /* with a spec: by types besides */
    uint32_t strings;        /* most bytes of a text */
    struct formats *formats; /* what is recorded of well-known types; NULL: their members */
    bool plain_members;      /* formats are for whole items only, not for their members */
    uint32_t format_values;  /* most values that are recorded by formats; 0: all */
    uint32_t object_bytes;   /* most that is recorded of an object at once; 0: CAPTURE_MOST_BYTES */
};
/*
 * Fills RET, but for `function`. What has no known place is in it as FROM_NOTHING. A SPEC's results
 * are only in captures of returns, its other terms only in those of entries; RET may be empty.
 * Errors: "spec", about r->spec, with a caret before the place.
 */
int values_compile(const struct values_request *r, struct capture *ret, struct err *err);
/* The convention of C in M. False: not known. */
bool values_abi(const struct module *m, enum abi *ret);
