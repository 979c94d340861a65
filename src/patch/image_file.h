/* Files with the code of areas, for code_image.h. */
#pragma once

#include "plan/plan.h"

/* A sealed memfd of BYTES that begins with the code of C, as for the address for which it was
 * emitted. Negative: it cannot be made, or there are many such files. */
int image_file_new(const struct plan_code *c, size_t bytes);
/* FD: of image_file_new(), which may have failed; 0: none. */
void image_file_close(int fd);
