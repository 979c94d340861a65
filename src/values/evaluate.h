/* What an expression of a SPEC means: the way to its object. Private to src/values. */
#pragma once

#include "values/access.h"
#include "values/compile.h"
#include "values/places.h"
#include "values/spec.h"

struct evaluator {
    const struct values_request *request;
    const struct places *places; /* NULL: no signature */
    struct access_context context;
    struct err *err;
    const struct access *object; /* names are those of its members; NULL: of parameters */
};
int evaluate(const struct evaluator *e, const struct spec_node *node, struct access *ret);
/* What NODE, "OBJECT.name" or "OBJECT->name", names a member of. */
int evaluate_object(const struct evaluator *e, const struct spec_node *node, struct access *ret);
