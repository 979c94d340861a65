/*
 * Types as a C header that a compiler reads: each definition once, after what it needs. Types of
 * other languages are written in the same form, but their names are no C.
 */
#pragma once

#include <stdio.h>

#include "types/ctf.h"

struct c_text;
struct c_text *c_text_new(struct types *graph, FILE *to);
/* The graph has forgotten its types. What was written is not written again. */
void c_text_forget(struct c_text *c);
void c_text_free(struct c_text *c);
/* Writes the type ID, and before it what it needs and was not written yet. */
void c_text_type(struct c_text *c, type_id id);
void c_text_symbol(struct c_text *c, const struct type_symbol *symbol);
