/* How long the server runs: until a signal, or until some time after the last page was closed. A
 * page keeps a request open (/api/progress); a timer of its own could be slowed by its browser. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Blocks the signals that end the server; to be called before there are threads. */
void life_init(void);
/* A page has come, or gone. Any thread. */
void life_page_opened(void);
void life_page_closed(void);
/* Returns when the server must end. LINGER_NS: so long after the last page was closed, if there was
 * one; STAY: never by that. */
void life_wait(uint64_t linger_ns, bool stay);
