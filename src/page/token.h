/* The secret that a request must know, and where requests may come from. */
#pragma once

#include <stdbool.h>

enum { TOKEN_BYTES = 16, TOKEN_ROOM = 2 * TOKEN_BYTES + 1 };

/* 128 random bits in hexadecimal. */
void token_make(char ret[TOKEN_ROOM]);
/* Whether GIVEN (or NULL) is TOKEN. Takes the same time for all of that length. */
bool token_is(const char token[TOKEN_ROOM], const char *given);

/* Whether HOST, a header or NULL, is this machine as its users call it: 127.0.0.1, localhost or
 * [::1], with any port, as people forward ports. Other names may be made to lead here (DNS
 * rebinding). */
bool host_is_local(const char *host);
/* Whether ORIGIN, a header or NULL, is a page of such a host. NULL: the request comes from no
 * other page. */
bool origin_is_local(const char *origin);
