/* What is in a summary's file (kept.h). */
#pragma once

#include "summary/kept.h"
#include "summary/kept_file.h"

void kept_put_pass(struct kept_writer *w, const struct pass *p);
/* False: the file does not fit to P. Then P must be made anew. */
bool kept_get_pass(struct kept_reader *r, struct pass *p);
