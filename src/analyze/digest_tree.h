/* Digests (digest.h) for the call graph. */
#pragma once

#include "analyze/digests.h"

extern const struct digest_ops digest_tree_ops;
