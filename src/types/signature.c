#include "types/signature.h"

#include <stdlib.h>

void signature_done(struct signature *s) {
    free(s->parameters);
    *s = (struct signature){0};
}
