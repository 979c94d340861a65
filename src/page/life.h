/* How long the server runs: until a signal, or until some time after the last page was closed. A
 * page keeps a request open (/api/progress); a timer of its own could be slowed by its browser. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From now on SIGINT, SIGTERM and SIGHUP end the program at once, with status 0. */
void life_init(void);
/* A page has come, or gone. Any thread. */
void life_page_opened(void);
void life_page_closed(void);
/* Returns LINGER_NS after the last page was closed, if there was one; STAY: never. */
void life_wait(uint64_t linger_ns, bool stay);
