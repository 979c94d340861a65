/*
 * What the sites of chosen functions record besides events: -a, -A and -R. A function's signature
 * is read from its module's debugging information when it is chosen.
 */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

struct captures;
struct spec_uses;
struct argument_types; /* the types of all captures of a recording */

struct argument_types *argument_types_new(void);
struct types *argument_types_graph(struct argument_types *t);
struct spec_uses *argument_types_uses(struct argument_types *t);
void argument_types_free(struct argument_types *t); /* may be NULL; modules are freed before */

struct arguments_context {
    const struct filter *filter; /* the present one */
    const struct record_options *options;
    struct captures *captures; /* gets them */
    struct argument_types *types;
};
/* Fills M's choice.captures for its selected functions. What cannot be captured is left out;
 * argument_types_uses() then know it. */
void arguments_choose(const struct arguments_context *c, struct traced_module *m);
